//! A blocking HTTP/1.1 client that believes nothing.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use crate::exchange::Request;
use crate::response::{Response, parse_head};
use crate::transport::Transport;

/// How long an answer, or the end of a connection, may take before it counts as missing.
const PATIENCE: Duration = Duration::from_secs(3);
/// A head longer than this is a mistake.
const MAX_HEAD: usize = 64 * 1024;

/// One connection to the server under test.
pub(crate) struct Connection {
    stream: TcpStream,
    /// Bytes received and not yet taken.
    received: Vec<u8>,
}

impl Connection {
    /// Connects; each write is sent at once.
    pub(crate) fn open(address: SocketAddr) -> Result<Self, String> {
        let open = || {
            let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok::<_, std::io::Error>(stream)
        };
        let stream = open().map_err(|error| format!("connect: {error}"))?;
        Ok(Self {
            stream,
            received: Vec::new(),
        })
    }

    /// Sends bytes. A server may refuse and close before it has read all: what counts is the
    /// answer, so a failing write is no failure by itself.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let _ = self
            .stream
            .write_all(bytes)
            .and_then(|()| self.stream.flush());
    }

    /// Tells the server that nothing more will come.
    pub(crate) fn finish(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// More bytes into `received`; `false` at the end of the connection.
    fn fill(&mut self) -> Result<bool, String> {
        let mut chunk = [0; 64 * 1024];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    self.received
                        .extend_from_slice(chunk.get(..count).unwrap_or_default());
                    return Ok(true);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                    return Err("the connection was reset".to_owned());
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    return Err(format!("nothing came for {PATIENCE:?}"));
                }
                Err(error) => return Err(format!("read: {error}")),
            }
        }
    }

    /// Reads one head; gives it and the length of the content that follows.
    pub(crate) fn receive_head(&mut self, headless: bool) -> Result<(Response, usize), String> {
        let mut searched = 0_usize;
        let end = loop {
            let tail = self.received.get(searched..).unwrap_or_default();
            if let Some(at) = tail.windows(4).position(|window| window == b"\r\n\r\n") {
                break searched + at + 4;
            }
            searched = self.received.len().saturating_sub(3);
            if self.received.len() > MAX_HEAD {
                return Err("the head does not end".to_owned());
            }
            if !self.fill()? {
                return Err(if self.received.is_empty() {
                    "the connection ended without an answer".to_owned()
                } else {
                    format!(
                        "the connection ended in the head: {}",
                        self.received.escape_ascii()
                    )
                });
            }
        };
        let rest = self.received.split_off(end);
        let bytes = std::mem::replace(&mut self.received, rest);
        let head = parse_head(&bytes, headless)?;
        let response = Response {
            status: head.status,
            fields: head.fields,
            content: Vec::new(),
        };
        Ok((response, head.length))
    }

    /// Reads one whole answer. `interim` says whether "100 Continue" may come first.
    pub(crate) fn receive(&mut self, headless: bool, interim: bool) -> Result<Response, String> {
        loop {
            let (mut response, length) = self.receive_head(headless)?;
            if response.status == 100 && interim {
                continue;
            }
            if response.status < 200 {
                return Err(format!(
                    "an interim answer nobody asked for: {}",
                    response.status
                ));
            }
            while self.received.len() < length {
                if !self.fill()? {
                    let got = self.received.len();
                    return Err(format!(
                        "the connection ended after {got} of {length} bytes"
                    ));
                }
            }
            let rest = self.received.split_off(length);
            response.content = std::mem::replace(&mut self.received, rest);
            return Ok(response);
        }
    }

    /// Succeeds if the server ends the connection without a further byte.
    pub(crate) fn expect_end(&mut self) -> Result<(), String> {
        loop {
            if !self.received.is_empty() {
                return Err(format!("bytes after the last answer: {}", self.shown()));
            }
            match self.fill() {
                Ok(false) => return Ok(()),
                Ok(true) => {}
                // What we sent after the refusal may have met a closed socket.
                Err(error) if error.contains("reset") => return Ok(()),
                Err(error) => return Err(format!("the connection is not closed: {error}")),
            }
        }
    }

    /// Succeeds if nothing has been received beyond the answers taken so far.
    pub(crate) fn expect_nothing_left(&self) -> Result<(), String> {
        if self.received.is_empty() {
            Ok(())
        } else {
            Err(format!("bytes beyond the answer: {}", self.shown()))
        }
    }

    fn shown(&self) -> String {
        self.received
            .get(..80)
            .unwrap_or(&self.received)
            .escape_ascii()
            .to_string()
    }
}

/// HTTP/1.1, each request on a fresh connection.
pub(crate) struct Http1 {
    /// Where the server listens.
    pub(crate) address: SocketAddr,
}

impl Transport for Http1 {
    fn exchange(&self, request: &Request) -> Result<Response, String> {
        let mut connection = Connection::open(self.address)?;
        connection.send(&request.to_http1());
        connection.receive(request.method == "HEAD", false)
    }
}
