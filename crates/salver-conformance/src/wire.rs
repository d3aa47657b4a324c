//! A blocking connection to the server under test, bare or with TLS.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::{ClientConnection, StreamOwned};

use crate::endpoint::Endpoint;

/// How long an answer, or the end of a connection, may take before it counts as missing.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes in both directions.
pub(crate) enum Wire {
    /// As they are.
    Bare(TcpStream),
    /// In TLS records; each write makes its own.
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Wire {
    /// Connects, and ends the handshake if there is one; each write is sent at once.
    pub(crate) fn open(endpoint: &Endpoint) -> Result<Self, String> {
        let open = || {
            let stream = TcpStream::connect_timeout(&endpoint.address, PATIENCE)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok::<_, io::Error>(stream)
        };
        let stream = open().map_err(|error| format!("connect: {error}"))?;
        let Some(config) = &endpoint.tls else {
            return Ok(Self::Bare(stream));
        };
        let connection = ClientConnection::new(Arc::clone(config), Endpoint::server_name()?)
            .map_err(|error| format!("TLS: {error}"))?;
        let mut stream = StreamOwned::new(connection, stream);
        while stream.conn.is_handshaking() {
            stream
                .conn
                .complete_io(&mut stream.sock)
                .map_err(|error| format!("TLS handshake: {error}"))?;
        }
        let wanted = config.alpn_protocols.first().map(Vec::as_slice);
        if stream.conn.alpn_protocol() != wanted {
            return Err(format!(
                "ALPN chose {:?}, offered was {:?}",
                stream.conn.alpn_protocol().map(<[u8]>::escape_ascii),
                wanted.map(<[u8]>::escape_ascii)
            ));
        }
        Ok(Self::Tls(Box::new(stream)))
    }

    /// Sends bytes at once.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Bare(stream) => stream.write_all(bytes),
            Self::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }

    /// Tells the server that nothing more will come; answers can still be read.
    pub(crate) fn finish(&mut self) {
        // A server that has closed already knows.
        let _ = match self {
            Self::Bare(stream) => stream.shutdown(Shutdown::Write),
            Self::Tls(stream) => {
                stream.conn.send_close_notify();
                stream.flush()
            }
        };
    }

    /// The next bytes, at the end of `received`; `false` at the end of the connection.
    pub(crate) fn fill(&mut self, received: &mut Vec<u8>) -> Result<bool, String> {
        let mut chunk = [0; 64 * 1024];
        loop {
            let outcome = match self {
                Self::Bare(stream) => stream.read(&mut chunk),
                Self::Tls(stream) => stream.read(&mut chunk),
            };
            match outcome {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    received.extend_from_slice(chunk.get(..count).unwrap_or_default());
                    return Ok(true);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
                    ) =>
                {
                    return Err("the connection was reset".to_owned());
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    return Err(format!("nothing came for {PATIENCE:?}"));
                }
                // RFC 8446 section 6.1: without the alert, an answer may have been cut short.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    return Err("the connection ended without close_notify".to_owned());
                }
                Err(error) => return Err(format!("read: {error}")),
            }
        }
    }

    /// How long a read and a write wait from now on.
    pub(crate) fn set_patience(&self, read: Duration, write: Duration) -> io::Result<()> {
        let socket = match self {
            Self::Bare(stream) => stream,
            Self::Tls(stream) => &stream.sock,
        };
        socket.set_read_timeout(Some(read))?;
        socket.set_write_timeout(Some(write))
    }
}
