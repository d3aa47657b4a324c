//! The client of an admin listener: one request over HTTP/1.1, by TCP or a Unix socket.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use salver_admin::Token;
use salver_config::{Environment, Machine, Typed};

use super::admin_settings;
use crate::failure::Failure;
use crate::serve_flags::configuration;

/// The time for an answer to begin, and for each part of it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest answer, in bytes.
const LONGEST: u64 = 16 * 1024 * 1024;

/// The flags by which clients find the listener: those that the server has.
#[derive(Clone, Debug)]
pub struct AdminFlags {
    typed: Typed,
}

/// The flags of the table that say where the listener is.
const FLAGS: [&str; 5] = [
    "config",
    "admin",
    "metrics",
    "admin-socket",
    "admin-token-file",
];

impl Args for AdminFlags {
    fn augment_args(command: Command) -> Command {
        let command = command.args(salver_config::arguments_of(&FLAGS));
        command.args_override_self(true)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for AdminFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = Typed::of(matches);
        Ok(AdminFlags { typed })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// An admin listener, as its clients know it.
pub(crate) struct AdminClient {
    place: Place,
    token: Option<Token>,
}

/// The place where it listens.
enum Place {
    Address(SocketAddr),
    Socket(PathBuf),
}

/// The answer of an admin listener.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl AdminClient {
    /// The listener that flags, variables and a configuration file name.
    ///
    /// # Errors
    /// They name none, or something wrong.
    pub(crate) fn new(flags: &AdminFlags, environment: &Environment) -> Result<Self, Failure> {
        let configuration = configuration(&flags.typed, environment, Machine::default());
        let configuration = configuration.map_err(|failures| {
            let mut failures = failures.into_iter();
            let nothing = || Failure::Failed("the configuration cannot be read".to_owned());
            failures.next().unwrap_or_else(nothing)
        })?;
        let settings = admin_settings(&configuration.server)?.ok_or_else(|| {
            Failure::Misused(
                "no admin listener is named: give --metrics, --admin or --admin-socket, or the \
                 configuration file, as the server has it"
                    .to_owned(),
            )
        })?;
        let address = settings.plain_addresses().into_iter().map(|address| {
            // One that stands for every interface is reached by this machine's own.
            let ip = match address.ip() {
                IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
                ip => ip,
            };
            Place::Address(SocketAddr::new(ip, address.port()))
        });
        let mut places = settings
            .socket
            .map(Place::Socket)
            .into_iter()
            .chain(address);
        let place = places.next().ok_or_else(|| {
            Failure::Misused(
                "the admin listener has TLS at all its addresses: let it listen at one of loopback, too, by --metrics"
                    .to_owned(),
            )
        })?;
        Ok(AdminClient {
            place,
            token: settings.token,
        })
    }

    /// Asks for a target.
    ///
    /// # Errors
    /// There is no answer.
    pub(crate) fn ask(&self, method: &str, target: &str) -> Result<Answer, Failure> {
        let (place, asked) = match &self.place {
            Place::Address(address) => {
                let host = address.to_string();
                (host.clone(), self.ask_at(*address, method, target))
            }
            Place::Socket(path) => {
                let stream = UnixStream::connect(path).and_then(|stream| {
                    stream.set_read_timeout(Some(PATIENCE))?;
                    stream.set_write_timeout(Some(PATIENCE))?;
                    Ok(stream)
                });
                let head = self.head(method, target, "localhost");
                let asked = stream.and_then(|stream| exchange(stream, &head));
                (format!("{path:?}"), asked)
            }
        };
        asked.map_err(|error| {
            Failure::Failed(match error.kind() {
                io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => format!(
                    "nobody listens at {place}: start the server with its admin listener there"
                ),
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    format!("{place} does not answer")
                }
                _ => format!("{place} cannot be asked: {error}"),
            })
        })
    }

    /// Asks for a target; an answer that is no success is a failure.
    ///
    /// # Errors
    /// There is no answer, or what it says is wrong.
    pub(crate) fn succeed(&self, method: &str, target: &str) -> Result<String, Failure> {
        let answer = self.ask(method, target)?;
        match answer.status {
            200..300 => Ok(answer.body),
            401 => Err(Failure::Failed(
                "the server wants its token: give --admin-token-file or the variable SALVER_ADMIN_TOKEN"
                    .to_owned(),
            )),
            status => Err(Failure::Failed(format!(
                "the server says {status}: {}",
                answer.body.trim_end().escape_debug()
            ))),
        }
    }

    fn ask_at(&self, address: SocketAddr, method: &str, target: &str) -> io::Result<Answer> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        exchange(stream, &self.head(method, target, &address.to_string()))
    }

    fn head(&self, method: &str, target: &str, host: &str) -> Vec<u8> {
        let mut head =
            format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
        if method == "POST" {
            head.push_str("Content-Length: 0\r\n");
        }
        let mut head = head.into_bytes();
        if let Some(token) = &self.token {
            head.extend([&b"Authorization: "[..], &token.authorization(), b"\r\n"].concat());
        }
        head.extend(b"\r\n");
        head
    }
}

/// Sends a request, and reads the answer to its end, which is that of the connection.
fn exchange(mut stream: impl Read + Write, head: &[u8]) -> io::Result<Answer> {
    stream.write_all(head)?;
    let mut bytes = Vec::new();
    stream.take(LONGEST).read_to_end(&mut bytes)?;
    let invalid = || io::Error::new(io::ErrorKind::InvalidData, "its answer is none of HTTP/1.1");
    let text = String::from_utf8(bytes).map_err(|_| invalid())?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(invalid)?;
    let rest = head.strip_prefix("HTTP/1.1 ").ok_or_else(invalid)?;
    let status = rest
        .split(' ')
        .next()
        .and_then(|status| status.parse().ok());
    Ok(Answer {
        status: status.ok_or_else(invalid)?,
        body: body.to_owned(),
    })
}
