//! A wait for sockets to become ready, or for a moment, exact to microseconds.

use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};

const EVENTS: usize = 256;

/// The system call that waits for sockets rounds up to whole milliseconds: shorter waits are made
/// by one that takes nanoseconds.
const SHORT: Duration = Duration::from_millis(10);

pub(crate) struct Poller {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

/// The readiness of a socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    /// The number that it was added with.
    pub(crate) number: usize,
    /// There are bytes, an end or an error to take.
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// The peer sends nothing more after what is there: the end is not told again.
    pub(crate) ends: bool,
}

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Poller {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(EVENTS),
        })
    }

    /// Reports each time that the socket *becomes* ready; closing it ends that.
    pub(crate) fn add(&self, stream: &TcpStream, number: usize) -> io::Result<()> {
        let data = epoll::EventData::new_u64(u64::try_from(number).unwrap_or(u64::MAX));
        let flags = epoll::EventFlags::IN
            | epoll::EventFlags::OUT
            | epoll::EventFlags::RDHUP
            | epoll::EventFlags::ET;
        Ok(epoll::add(&self.epoll, stream, data, flags)?)
    }

    /// The sockets that have become ready; empty if nothing did within `timeout`.
    pub(crate) fn wait(&mut self, timeout: Duration, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        let timeout = if timeout < SHORT {
            let mut on_epoll = [PollFd::new(&self.epoll, PollFlags::IN)];
            let timeout = Timespec::try_from(timeout).map_err(io::Error::other)?;
            match poll(&mut on_epoll, Some(&timeout)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(()),
                Ok(_) => Duration::ZERO,
                Err(error) => return Err(error.into()),
            }
        } else {
            timeout
        };
        let timeout = Timespec::try_from(timeout).map_err(io::Error::other)?;
        match epoll::wait(
            &self.epoll,
            spare_capacity(&mut self.events),
            Some(&timeout),
        ) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in self.events.drain(..) {
            let (flags, data) = (event.flags, event.data);
            let has = |some| flags.intersects(some);
            let broken = epoll::EventFlags::ERR | epoll::EventFlags::HUP;
            ready.push(Ready {
                number: usize::try_from(data.u64()).unwrap_or(usize::MAX),
                readable: has(epoll::EventFlags::IN | epoll::EventFlags::RDHUP | broken),
                writable: has(epoll::EventFlags::OUT | broken),
                ends: has(epoll::EventFlags::RDHUP | broken),
            });
        }
        Ok(())
    }
}
