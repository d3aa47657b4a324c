//! The sockets that whoever started the process has opened for it (sd_listen_fds(3)).

use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::{FdFlags, fcntl_setfd};
use socket2::{Domain, SockRef, Type};

/// The first descriptor behind the standard ones.
const FIRST: i32 = 3;

/// The most sockets that are taken.
const MOST: i32 = 1024;

static ARE_TAKEN: AtomicBool = AtomicBool::new(false);

/// The sockets that were given to this process.
#[derive(Debug, Default)]
pub struct GivenSockets {
    /// Those that listen over TCP.
    pub listeners: Vec<TcpListener>,
    /// Those for datagrams over UDP.
    pub datagrams: Vec<UdpSocket>,
}

/// Takes the sockets that the environment says were given to this process: once, before anything else is opened.
/// Programs that it starts do not get them.
///
/// # Errors
/// One of them is not open, or of another kind.
pub fn take_given_sockets() -> io::Result<GivenSockets> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<i32>().ok();
    let own = i32::try_from(std::process::id()).ok();
    let mut given = GivenSockets::default();
    let count = number("LISTEN_FDS").filter(|_| own.is_some() && number("LISTEN_PID") == own);
    let Some(count) = count.filter(|_| !ARE_TAKEN.swap(true, Ordering::Relaxed)) else {
        return Ok(given);
    };
    for descriptor in FIRST..FIRST.saturating_add(count.min(MOST)) {
        // SAFETY: `fcntl` takes a number, open or not.
        if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it is open, and given to this process by its number, so that nothing else here owns it; this is done
        // once.
        let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
        fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
        sort(socket, &mut given)?;
    }
    Ok(given)
}

/// Adds a socket to those of its kind.
fn sort(socket: OwnedFd, given: &mut GivenSockets) -> io::Result<()> {
    let (kind, listens, domain) = {
        let socket = SockRef::from(&socket);
        let listens = socket.is_listener()?;
        (socket.r#type()?, listens, socket.domain()?)
    };
    let over_ip = domain == Domain::IPV4 || domain == Domain::IPV6;
    match (kind, listens) {
        (Type::STREAM, true) if over_ip => given.listeners.push(socket.into()),
        (Type::DGRAM, _) if over_ip => given.datagrams.push(socket.into()),
        _ => {
            let text = "one is neither a listener over TCP nor a socket over UDP";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_goes_to_its_own() {
        let mut given = GivenSockets::default();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = UdpSocket::bind("[::1]:0").unwrap();
        let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        sort(listener.into(), &mut given).unwrap();
        sort(socket.into(), &mut given).unwrap();
        assert_eq!((given.listeners.len(), given.datagrams.len()), (1, 1));
        let (local, _) = std::os::unix::net::UnixDatagram::pair().unwrap();
        for wrong in [OwnedFd::from(stream), local.into()] {
            let error = sort(wrong, &mut given).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn without_the_variables_there_are_none() {
        let given = take_given_sockets().unwrap();
        assert!(given.listeners.is_empty() && given.datagrams.is_empty());
    }
}
