//! One request at a time, waited for: what has to be known before a run, and between runs.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::answer::{Answer, Fed, Keep};
use crate::error::BenchError;

/// A connection that is opened when it is needed.
pub(crate) struct Caller {
    address: SocketAddr,
    timeout: Duration,
    stream: Option<TcpStream>,
    answer: Answer,
    buffer: Vec<u8>,
}

impl Caller {
    pub(crate) fn new(address: SocketAddr, timeout: Duration) -> Self {
        Caller {
            address,
            timeout,
            stream: None,
            answer: Answer::new(),
            buffer: vec![0; 64 * 1024],
        }
    }

    /// The answer to a request, its content kept.
    ///
    /// # Errors
    /// Failed: there was none.
    pub(crate) fn call(&mut self, request: &[u8]) -> Result<&Answer, BenchError> {
        // A server may have closed what was idle: once more on a new connection.
        let reused = self.stream.is_some();
        let mut result = self.exchange(request);
        if reused && result.is_err() {
            self.stream = None;
            result = self.exchange(request);
        }
        let address = self.address;
        match result {
            Ok(()) => {
                if !self.answer.persistent {
                    self.stream = None;
                }
                Ok(&self.answer)
            }
            Err(error) => {
                self.stream = None;
                let why = match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                        format!("no complete answer within {:?}", self.timeout)
                    }
                    _ => error.to_string(),
                };
                Err(BenchError::Failed(format!(
                    "{address} cannot be asked: {why}"
                )))
            }
        }
    }

    fn exchange(&mut self, request: &[u8]) -> std::io::Result<()> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect_timeout(&self.address, self.timeout)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(self.timeout))?;
                stream.set_write_timeout(Some(self.timeout))?;
                self.stream.insert(stream)
            }
        };
        self.answer.begin(Keep::Bytes);
        stream.write_all(request)?;
        loop {
            let read = stream.read(&mut self.buffer)?;
            let bytes = self.buffer.get(..read).unwrap_or_default();
            if bytes.is_empty() {
                return match self.answer.is_ended_by_close() {
                    true => Ok(()),
                    false => Err(ErrorKind::UnexpectedEof.into()),
                };
            }
            match self.answer.feed(bytes) {
                Fed::More => {}
                Fed::Done(_) => return Ok(()),
                Fed::Malformed => {
                    let text = "its answer is not HTTP/1.1";
                    return Err(std::io::Error::new(ErrorKind::InvalidData, text));
                }
            }
        }
    }
}
