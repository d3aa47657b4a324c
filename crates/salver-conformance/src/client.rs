//! A blocking HTTP/1.1 client that believes nothing.

use crate::endpoint::Endpoint;
use crate::exchange::Request;
use crate::response::{Response, parse_head};
use crate::transport::Transport;
use crate::wire::Wire;

/// A head longer than this is a mistake.
const MAX_HEAD: usize = 64 * 1024;

/// One connection to the server under test.
pub(crate) struct Connection {
    wire: Wire,
    /// Bytes received and not yet taken.
    received: Vec<u8>,
}

impl Connection {
    /// Connects; each write is sent at once.
    pub(crate) fn open(endpoint: &Endpoint) -> Result<Self, String> {
        Ok(Self {
            wire: Wire::open(endpoint)?,
            received: Vec::new(),
        })
    }

    /// Sends bytes. A server may refuse and close before it has read all: what counts is the
    /// answer, so a failing write is no failure by itself.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let _ = self.wire.send(bytes);
    }

    /// Tells the server that nothing more will come.
    pub(crate) fn finish(&mut self) {
        self.wire.finish();
    }

    /// More bytes into `received`; `false` at the end of the connection.
    fn fill(&mut self) -> Result<bool, String> {
        self.wire.fill(&mut self.received)
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
pub struct Http1<'a> {
    /// Where the server listens.
    pub endpoint: &'a Endpoint,
}

impl Transport for Http1<'_> {
    fn exchange(&self, request: &Request) -> Result<Response, String> {
        let mut connection = Connection::open(self.endpoint)?;
        connection.send(&request.to_http1());
        connection.receive(request.method == "HEAD", false)
    }
}
