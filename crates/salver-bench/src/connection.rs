//! One connection of a load, and what it waits for.
//!
//! ```text
//!          ┌────── retry later ◄── refused ──┐
//!          ▼                                 │
//! Down ──► Connecting ───────────────────────┘
//!              │ open
//!              ▼      send            answered
//!            Idle ──────────► Busy ─────────────► Idle
//!              │                │ time-out, end, nonsense
//!              └── closed ──────┴───────────────► Connecting
//! ```

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Instant;

use socket2::{Domain, Protocol, Socket, Type};

use crate::accounts::SentRequest;
use crate::answer::Answer;
use crate::wire::Wire;

/// Connections from one address of the loopback network: there are about 28,000 ports for each.
const PER_SOURCE: usize = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    Down,
    Connecting,
    Idle,
    Busy,
}

pub(crate) struct Connection<'a> {
    pub(crate) wire: Option<Wire>,
    pub(crate) at: At,
    /// Since when it is there; in [`At::Busy`] the moment at which the request was sent.
    pub(crate) since: Instant,
    /// The request that is under way.
    pub(crate) asked: Option<SentRequest<'a>>,
    /// Bytes of it that are sent.
    pub(crate) sent: usize,
    pub(crate) answer: Answer,
}

impl Connection<'_> {
    pub(crate) fn new(now: Instant) -> Self {
        Connection {
            wire: None,
            at: At::Down,
            since: now,
            asked: None,
            sent: 0,
            answer: Answer::new(),
        }
    }
}

/// Begins to connect, without waiting. `number` spreads many connections over source addresses.
pub(crate) fn connect(address: SocketAddr, number: usize) -> io::Result<TcpStream> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM.nonblocking(),
        Some(Protocol::TCP),
    )?;
    socket.set_tcp_nodelay(true)?;
    if let (IpAddr::V4(ip), source @ 1..) = (address.ip(), number / PER_SOURCE)
        && ip.is_loopback()
    {
        let last = u8::try_from(source + 1).unwrap_or(u8::MAX);
        let source = SocketAddr::from((Ipv4Addr::new(127, 0, 0, last), 0));
        socket.bind(&source.into())?;
    }
    match socket.connect(&address.into()) {
        Ok(()) => {}
        Err(error)
            if error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error()) => {}
        Err(error) => return Err(error),
    }
    Ok(socket.into())
}
