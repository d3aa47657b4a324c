//! The bytes of a connection over TCP, with TLS or without, that never waits.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustls::ClientConnection;
use socket2::{Domain, Protocol, Socket as NewSocket, Type};

use crate::protocol::tls;
use crate::protocol::transport::Dialer;
use crate::result::model::{Http, Tls};

/// Bytes taken from a socket at a time: more than most answers, and less than a core's cache.
const BUFFER: usize = 128 * 1024;

/// Room for one record of TLS that had come in part before (RFC 8446 section 5.1).
const RECORD: usize = 20 * 1024;

/// Connections from one address of the loopback network: there are about 28,000 ports for each.
const PER_SOURCE: usize = 20_000;

/// Room for what is received, shared by all connections of a thread.
#[derive(Default)]
pub(crate) struct Room {
    plain: Vec<u8>,
    /// Empty without TLS.
    coded: Vec<u8>,
}

impl Room {
    pub(crate) fn new(dialer: &Dialer) -> Room {
        let (plain, coded) = match dialer.secure {
            None => (BUFFER, 0),
            Some(_) => (BUFFER + RECORD, BUFFER),
        };
        Room {
            plain: vec![0; plain],
            coded: vec![0; coded],
        }
    }
}

pub(crate) struct Received<'a> {
    pub(crate) bytes: &'a [u8],
    /// There may be more now: it will not be told.
    pub(crate) more: bool,
    /// The server has ended the connection, in order, after these.
    pub(crate) is_end: bool,
}

pub(crate) struct Wire {
    tcp: TcpStream,
    tls: Option<Box<ClientConnection>>,
}

impl Wire {
    pub(crate) fn new(tcp: TcpStream, dialer: &Dialer) -> io::Result<Wire> {
        let tls = dialer.tls()?.map(Box::new);
        Ok(Wire { tcp, tls })
    }

    pub(crate) fn tcp(&self) -> &TcpStream {
        &self.tcp
    }

    /// Goes on with the handshakes; whether they are complete.
    ///
    /// # Errors
    /// They failed. With TLS the error says what to do about it.
    pub(crate) fn open(&mut self, room: &mut Room) -> io::Result<bool> {
        if let Some(error) = self.tcp.take_error()? {
            return Err(error);
        }
        if self.tcp.peer_addr().is_err() {
            return Ok(false);
        }
        while self.tls.as_ref().is_some_and(|tls| tls.is_handshaking()) {
            if !self.flush()? {
                return Ok(false);
            }
            match self.receive(room) {
                Ok(received) if received.is_end => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(tls::explain(error)),
            }
        }
        // The last flight, which may wait for room.
        self.flush()?;
        Ok(true)
    }

    /// The agreed TLS parameters; `None` without TLS.
    pub(crate) fn agreed(&self, dialer: &Dialer) -> io::Result<Option<Tls>> {
        let Some(session) = &self.tls else {
            return Ok(None);
        };
        tls::agreed(session, Http::One, dialer.is_any_certificate_good).map(Some)
    }

    /// Sends bytes from `sent` on, and counts them there; returns when all are, or there is no room.
    pub(crate) fn send(&mut self, bytes: &[u8], sent: &mut usize) -> io::Result<()> {
        match &mut self.tls {
            None => {
                let mut socket = Socket(&self.tcp);
                while let Some(rest @ [_, ..]) = bytes.get(*sent..) {
                    match socket.write(rest) {
                        Ok(written) => *sent += written,
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                        Err(error) => return Err(error),
                    }
                }
                Ok(())
            }
            Some(_) => loop {
                // It takes as much as it keeps; what cannot be sent is told when there is room.
                if let (Some(tls), Some(rest @ [_, ..])) = (&mut self.tls, bytes.get(*sent..)) {
                    *sent += tls.writer().write(rest)?;
                }
                if !self.flush()? || *sent >= bytes.len() {
                    return Ok(());
                }
            },
        }
    }

    /// Sends what TLS has kept; whether nothing is left.
    fn flush(&mut self) -> io::Result<bool> {
        let Some(tls) = &mut self.tls else {
            return Ok(true);
        };
        while tls.wants_write() {
            match tls.write_tls(&mut Socket(&self.tcp)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Takes what has come: no bytes at the end in order, or if it was TLS's own.
    ///
    /// # Errors
    /// `WouldBlock`: nothing has come. Otherwise the connection has failed; with TLS also if it
    /// ended without saying so, which may be somebody else's doing (RFC 8446 section 6.1).
    pub(crate) fn receive<'a>(&mut self, room: &'a mut Room) -> io::Result<Received<'a>> {
        let into = match self.tls {
            None => &mut room.plain,
            Some(_) => &mut room.coded,
        };
        let (received, of) = loop {
            match recv(&self.tcp, &mut **into, RecvFlags::empty()) {
                Ok((received, _)) => break (received, into.len()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        };
        let more = received == of;
        let Some(session) = &mut self.tls else {
            return Ok(Received {
                bytes: room.plain.get(..received).unwrap_or_default(),
                more,
                is_end: received == 0,
            });
        };
        let mut coded = room.coded.get(..received).unwrap_or_default();
        if coded.is_empty() {
            // The session has to know, to tell an end from a cut.
            session.read_tls(&mut io::empty())?;
        }
        let mut plain = 0;
        let mut is_end = false;
        loop {
            // Nothing is taken after the session's end.
            if !coded.is_empty() && session.read_tls(&mut coded)? == 0 {
                break;
            }
            if let Err(error) = session.process_new_packets() {
                // The server is told why, if it still listens.
                let _ = session.write_tls(&mut Socket(&self.tcp));
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
            loop {
                let into = room.plain.get_mut(plain..).unwrap_or_default();
                match session.reader().read(into) {
                    Ok(0) => {
                        is_end = true;
                        break;
                    }
                    Ok(read) => plain += read,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // What came before the cut counts; the cut is met again.
                    Err(_) if plain > 0 => break,
                    Err(error) => return Err(error),
                }
            }
            if coded.is_empty() {
                break;
            }
        }
        // What it has to say to that: new keys, say.
        self.flush()?;
        Ok(Received {
            bytes: room.plain.get(..plain).unwrap_or_default(),
            more,
            is_end,
        })
    }
}

/// Begins to connect, without waiting. `number` spreads many connections over source addresses.
pub(crate) fn connect(address: SocketAddr, number: usize) -> io::Result<TcpStream> {
    let socket = NewSocket::new(
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
        Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => Err(error),
        _ => Ok(socket.into()),
    }
}

/// A connection that is open, for a runtime.
pub(crate) async fn connected(
    address: SocketAddr,
    number: usize,
) -> io::Result<tokio::net::TcpStream> {
    let tcp = tokio::net::TcpStream::from_std(connect(address, number)?)?;
    tcp.writable().await?;
    match tcp.take_error()? {
        Some(error) => Err(error),
        None => Ok(tcp),
    }
}

/// A socket that never waits, and never kills the process.
struct Socket<'a>(&'a TcpStream);

impl io::Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match send(self.0, bytes, SendFlags::NOSIGNAL) {
                Err(Errno::INTR) => {}
                result => return Ok(result?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
