//! The service manager that has started the process: what it is told (sd_notify(3)), and the sockets that it gives
//! (sd_listen_fds(3)).

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use salver_server::{Handle, InheritedSockets};

use crate::failure::Failure;

/// The variable that names the socket of the service manager.
const SOCKET: &str = "NOTIFY_SOCKET";

/// The longest line that it is told.
const LONGEST: usize = 512;

/// The service manager, or none.
#[derive(Debug, Default)]
pub(crate) struct ServiceManager {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// The time within which it wants to hear that the process lives.
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// The one that the environment names. Where it cannot be reached there is none: it says so itself when it has
    /// waited in vain.
    pub(crate) fn of_environment() -> Self {
        let socket = std::env::var_os(SOCKET).and_then(|name| {
            let address = match name.as_bytes().strip_prefix(b"@") {
                Some(name) => SocketAddr::from_abstract_name(name),
                None => SocketAddr::from_pathname(Path::new(&name)),
            };
            let socket = UnixDatagram::unbound().and_then(|socket| {
                socket.set_nonblocking(true)?;
                Ok(socket)
            });
            Some((socket.ok()?, address.ok()?))
        });
        ServiceManager {
            socket,
            watchdog: watchdog(
                std::env::var("WATCHDOG_USEC").ok(),
                std::env::var("WATCHDOG_PID").ok(),
            ),
        }
    }

    /// True if it wants to hear again and again that the process lives.
    pub(crate) fn has_watchdog(&self) -> bool {
        self.socket.is_some() && self.watchdog.is_some()
    }

    fn tell(&self, state: &str) {
        if let Some((socket, address)) = &self.socket {
            // Who does not listen is not told.
            let _ = socket.send_to_addr(state.as_bytes(), address);
        }
    }

    /// It serves, by what it was told last.
    pub(crate) fn is_ready(&self, status: &str) {
        self.tell(&format!("READY=1\nSTATUS={}", one_line(status)));
    }

    /// It reads its configuration again, until it [is ready](Self::is_ready).
    pub(crate) fn is_reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
        let nanoseconds = u64::try_from(now.tv_nsec).unwrap_or_default();
        let microseconds = seconds.saturating_mul(1_000_000) + nanoseconds / 1000;
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={microseconds}"));
    }

    /// It ends.
    pub(crate) fn is_stopping(&self) {
        self.tell("STOPPING=1");
    }

    /// Another process has taken its place.
    pub(crate) fn is_replaced_by(&self, pid: u32) {
        self.tell(&format!("MAINPID={pid}\nREADY=1"));
    }

    /// Tells that the process lives, twice as often as it wants to hear it, as long as every loop of the server goes on.
    /// Returns at once where nobody wants to.
    pub(crate) fn watch(&self, handle: &Handle) {
        let Some(interval) = self.watchdog.filter(|_| self.has_watchdog()) else {
            return;
        };
        let mut before = Vec::new();
        loop {
            std::thread::sleep(interval / 2);
            let now = handle.heartbeats();
            let is_stuck = |(one, other): (&u64, &u64)| one == other;
            if !before.iter().zip(&now).any(is_stuck) {
                self.tell("WATCHDOG=1");
            }
            before = now;
        }
    }
}

/// The time within which this process has to say that it lives (sd_watchdog_enabled(3)).
fn watchdog(microseconds: Option<String>, pid: Option<String>) -> Option<Duration> {
    let own = std::process::id().to_string();
    let is_meant = pid.is_none_or(|pid| pid == own);
    let microseconds = microseconds.filter(|_| is_meant)?.parse().ok()?;
    Some(Duration::from_micros(microseconds)).filter(|time| !time.is_zero())
}

/// A text as one line of a state.
fn one_line(text: &str) -> String {
    let shown = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    shown.take(LONGEST).collect()
}

/// The sockets that the service manager has bound for this process, by socket activation.
///
/// # Errors
/// One of them is of no use.
pub(crate) fn given_sockets() -> Result<InheritedSockets, Failure> {
    let failed = |error: io::Error| {
        Failure::Failed(format!(
            "the sockets of the service manager cannot be taken over: {error}"
        ))
    };
    let mut inherited = InheritedSockets::default();
    let given = salver_server::take_given_sockets().map_err(failed)?;
    for listener in given.listeners {
        let address = listener.local_addr().map_err(failed)?;
        inherited.add_listener(address, listener);
    }
    for socket in given.datagrams {
        let address = socket.local_addr().map_err(failed)?;
        inherited.add_datagrams(address, socket);
    }
    Ok(inherited)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watchdog_is_for_the_process_that_is_named() {
        let check = |time: &str, pid: Option<u32>, expected: Option<u64>| {
            let found = watchdog(Some(time.to_owned()), pid.map(|pid| pid.to_string()));
            assert_eq!(found, expected.map(Duration::from_secs), "{time} {pid:?}");
        };
        check("3000000", None, Some(3));
        check("3000000", Some(std::process::id()), Some(3));
        check("3000000", Some(1), None);
        check("0", None, None);
        check("x", None, None);
        assert_eq!(watchdog(None, None), None);
    }

    #[test]
    fn a_state_is_one_line() {
        assert_eq!(one_line("a\nREADY=0\r"), "a READY=0 ");
        assert_eq!(one_line(&"x".repeat(9999)).len(), LONGEST);
    }

    #[test]
    fn without_a_socket_nobody_is_told() {
        let nobody = ServiceManager::default();
        nobody.is_ready("ready");
        assert!(!nobody.has_watchdog());
    }
}
