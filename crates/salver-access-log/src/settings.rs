//! The settings of a log.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::format::Format;
use crate::sampling::Sampling;

/// The settings of a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Where lines go.
    pub destination: Destination,
    /// What lines look like. Combined Log Format by default.
    pub format: Format,
    /// Which requests are logged. All by default.
    pub sampling: Sampling,
    /// The bytes of lines that may wait for each loop; beyond, they are dropped and counted. 512 KiB by default,
    /// which is some 2,000 lines; 64 KiB at least. The writer holds half as much again per log.
    pub queue_bytes: usize,
}

impl Settings {
    /// The defaults, with this destination.
    pub fn new(destination: Destination) -> Settings {
        Settings {
            destination,
            format: Format::default(),
            sampling: Sampling::default(),
            queue_bytes: 512 * 1024,
        }
    }
}

/// The place where lines go.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Destination {
    /// A file, to which lines are appended; made with mode 0640 if there is none. It may also be a named pipe
    /// that somebody reads, or a terminal.
    File(PathBuf),
    /// Standard output.
    StandardOutput,
    /// Standard error.
    StandardError,
    /// A Unix stream socket that somebody listens on; lines as in a file.
    UnixStream(PathBuf),
    /// A Unix datagram socket; each line is a datagram, without its line feed.
    UnixDatagram(PathBuf),
    /// A daemon of syslog.
    Syslog(Syslog),
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Destination::File(path) => write!(f, "{}", path.display()),
            Destination::StandardOutput => f.write_str("standard output"),
            Destination::StandardError => f.write_str("standard error"),
            Destination::UnixStream(path) | Destination::UnixDatagram(path) => {
                write!(f, "the socket {}", path.display())
            }
            Destination::Syslog(syslog) => match &syslog.socket {
                SyslogSocket::Unix(path) => write!(f, "syslog at {}", path.display()),
                SyslogSocket::Udp(address) => write!(f, "syslog at {address}"),
            },
        }
    }
}

/// A daemon of syslog, and what it is told besides the line. The severity is 6, informational.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Syslog {
    /// Where it receives.
    pub socket: SyslogSocket,
    /// The form of messages.
    pub framing: SyslogFraming,
    /// The facility, 0 to 23. 16, `local0`, by default.
    pub facility: u8,
    /// The name of the program: letters, digits and `._-`, 32 at most; others are left out. `salver` by default.
    pub tag: String,
}

impl Syslog {
    /// The daemon of this machine, by `/dev/log` and in the form that is used there.
    pub fn local() -> Syslog {
        Syslog {
            socket: SyslogSocket::Unix(PathBuf::from("/dev/log")),
            framing: SyslogFraming::Rfc3164,
            facility: 16,
            tag: "salver".to_owned(),
        }
    }

    /// A daemon that receives RFC 5424 over UDP.
    pub fn udp(address: SocketAddr) -> Syslog {
        Syslog {
            socket: SyslogSocket::Udp(address),
            framing: SyslogFraming::Rfc5424,
            ..Syslog::local()
        }
    }
}

/// Where a daemon of syslog receives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SyslogSocket {
    /// A Unix datagram socket.
    Unix(PathBuf),
    /// UDP.
    Udp(SocketAddr),
}

/// The form of messages to syslog.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum SyslogFraming {
    /// The older form without a host, which daemons expect at `/dev/log`: `<134>Nov 22 13:55:39 salver[42]: …`.
    Rfc3164,
    /// RFC 5424: `<134>1 2026-11-22T13:55:39Z host salver 42 access - …`.
    Rfc5424,
}
