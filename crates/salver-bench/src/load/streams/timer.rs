//! A timer that is exact to microseconds, for a runtime whose own counts milliseconds.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

pub(super) struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    /// To be called within a runtime.
    pub(super) fn new() -> io::Result<Timer> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        #[expect(
            deprecated,
            reason = "what could go wrong is a type that changes its descriptor: an OwnedFd does not"
        )]
        let registered = AsyncFd::with_interest(fd, Interest::READABLE)?;
        Ok(Timer(registered))
    }

    /// Waits until then.
    pub(super) async fn until(&self, then: Instant) -> io::Result<()> {
        let wait = then.saturating_duration_since(Instant::now());
        if wait.is_zero() {
            return Ok(());
        }
        let timer = Itimerspec {
            it_interval: Timespec::try_from(Duration::ZERO).map_err(io::Error::other)?,
            it_value: Timespec::try_from(wait).map_err(io::Error::other)?,
        };
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &timer)?;
        loop {
            let mut ready = self.0.readable().await?;
            let count = &mut [0; 8];
            let read = ready.try_io(|fd| Ok(rustix::io::read(fd.get_ref(), count)?));
            // Otherwise what was told was a moment that has been set anew.
            if let Ok(read) = read {
                return read.map(|_| ());
            }
        }
    }
}
