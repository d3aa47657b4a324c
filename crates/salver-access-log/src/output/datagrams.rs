//! Datagrams, one for each line: a Unix socket, or a daemon of syslog.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, send, socket_with,
};

use super::outcome_of;
use crate::digits;
use crate::outcome::Outcome;
use crate::rendered_second::RenderedSecond;
use crate::settings::{Syslog, SyslogFraming};

/// The bytes of lines that are sent before other logs have their turn.
const TURN: usize = 64 * 1024;

/// The severity of a message: informational (RFC 5424 section 6.2.1).
const SEVERITY: u64 = 6;

/// Who receives.
#[derive(Debug)]
pub(crate) enum Peer {
    Unix(SocketAddrUnix),
    Udp(SocketAddr),
}

impl Peer {
    pub(super) fn unix(path: &Path) -> io::Result<Peer> {
        Ok(Peer::Unix(SocketAddrUnix::new(path)?))
    }

    fn connect(&self) -> rustix::io::Result<OwnedFd> {
        let family = match self {
            Peer::Unix(_) => AddressFamily::UNIX,
            Peer::Udp(SocketAddr::V4(_)) => AddressFamily::INET,
            Peer::Udp(SocketAddr::V6(_)) => AddressFamily::INET6,
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(family, SocketType::DGRAM, flags, None)?;
        match self {
            Peer::Unix(address) => connect(&socket, address)?,
            Peer::Udp(address) => connect(&socket, address)?,
        }
        Ok(socket)
    }
}

/// What stands before each line.
#[derive(Debug)]
pub(crate) enum Frame {
    /// Nothing.
    Line,
    /// `<134>Nov 22 13:55:39 salver[42]: `.
    Rfc3164 { priority: u64, program: String },
    /// `<134>1 2026-11-22T13:55:39Z host salver 42 access - `.
    Rfc5424 { priority: u64, program: String },
}

impl Frame {
    pub(super) fn of(syslog: &Syslog) -> Frame {
        let priority = u64::from(syslog.facility.min(23)) * 8 + SEVERITY;
        let is_name = |sign: &char| sign.is_ascii_alphanumeric() || "._-".contains(*sign);
        let tag: String = syslog.tag.chars().filter(is_name).take(32).collect();
        let process = std::process::id();
        match syslog.framing {
            SyslogFraming::Rfc3164 => Frame::Rfc3164 {
                priority,
                program: format!("{tag}[{process}]: "),
            },
            SyslogFraming::Rfc5424 => {
                let system = rustix::system::uname();
                let host = system.nodename().to_string_lossy();
                // 255 printable signs, or a dash for none (section 6.2.4).
                let host: String = host
                    .chars()
                    .filter(char::is_ascii_graphic)
                    .take(255)
                    .collect();
                let [host, tag] =
                    [&host, &tag].map(|name| if name.is_empty() { "-" } else { name });
                Frame::Rfc5424 {
                    priority,
                    program: format!(" {host} {tag} {process} access - "),
                }
            }
        }
    }

    /// Appends what stands before a line that is sent in this second.
    fn begin(&self, second: &RenderedSecond, out: &mut Vec<u8>) {
        let priority = |out: &mut Vec<u8>, priority: u64| {
            out.push(b'<');
            digits::push(out, priority);
            out.push(b'>');
        };
        match self {
            Frame::Line => {}
            Frame::Rfc3164 {
                priority: number,
                program,
            } => {
                priority(out, *number);
                out.extend_from_slice(&second.syslog);
                out.push(b' ');
                out.extend_from_slice(program.as_bytes());
            }
            Frame::Rfc5424 {
                priority: number,
                program,
            } => {
                priority(out, *number);
                out.extend_from_slice(b"1 ");
                out.extend_from_slice(&second.iso);
                out.push(b'Z');
                out.extend_from_slice(program.as_bytes());
            }
        }
    }
}

/// A socket of datagrams; connected when there are lines, and again after the other side went away.
#[derive(Debug)]
pub(crate) struct Datagrams {
    peer: Peer,
    frame: Frame,
    socket: Option<OwnedFd>,
    second: RenderedSecond,
    message: Vec<u8>,
}

impl Datagrams {
    pub(super) fn new(peer: Peer, frame: Frame) -> Datagrams {
        Datagrams {
            peer,
            frame,
            socket: None,
            second: RenderedSecond::new(Duration::ZERO),
            message: Vec::new(),
        }
    }

    pub(super) fn write(&mut self, lines: &[u8]) -> Outcome {
        let socket = match self.socket.take().map_or_else(|| self.peer.connect(), Ok) {
            Ok(socket) => socket,
            Err(error) => return outcome_of(Err(error)),
        };
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        self.second.turn_to(now.unwrap_or_default());
        let (mut bytes, mut refused) = (0, 0);
        let error = loop {
            let rest = lines.get(bytes..).unwrap_or_default();
            if rest.is_empty() || bytes >= TURN {
                break None;
            }
            let end = rest.iter().position(|byte| *byte == b'\n');
            let line = end.and_then(|end| rest.get(..end)).unwrap_or(rest);
            self.message.clear();
            self.frame.begin(&self.second, &mut self.message);
            self.message.extend_from_slice(line);
            match send(
                &socket,
                &self.message,
                SendFlags::DONTWAIT | SendFlags::NOSIGNAL,
            ) {
                Ok(_) => {}
                // The other side takes no message of that length.
                Err(Errno::MSGSIZE) => refused += 1,
                Err(Errno::INTR) => continue,
                Err(error) => break Some(error),
            }
            bytes += (line.len() + 1).min(rest.len());
        };
        // After an error it is connected anew: a daemon that was started again has another socket.
        if matches!(error, None | Some(Errno::AGAIN)) {
            self.socket = Some(socket);
        }
        match error {
            Some(error) if bytes == 0 => outcome_of(Err(error)),
            _ => Outcome::Taken { bytes, refused },
        }
    }

    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd)
    }
}
