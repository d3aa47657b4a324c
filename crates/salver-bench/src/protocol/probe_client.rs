//! A client that sends one request at a time and waits for the answer: for what has to be known
//! before a run, and between runs.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use tokio::runtime::Runtime;

use crate::answer::{Answer, Fed, Keep};
use crate::error::BenchError;
use crate::protocol::message::message;
use crate::protocol::opened::{Failed, How};
use crate::protocol::session::{Opener, Session, runtime};
use crate::protocol::tls;
use crate::protocol::transport::Dialer;
use crate::result::model::Http;

/// A connection that is opened when it is needed.
pub(crate) struct ProbeClient {
    dialer: Dialer,
    timeout: Duration,
    line: Option<Line>,
    answer: Answer,
    buffer: Vec<u8>,
}

enum Line {
    One(Box<dyn Stream>),
    More(Box<More>),
}

/// A connection of HTTP/2 or HTTP/3 with the runtime that drives it.
struct More {
    session: Session,
    opener: Opener,
    runtime: Runtime,
}

impl Drop for More {
    fn drop(&mut self) {
        self.runtime.block_on(self.opener.close());
    }
}

/// TCP, or TLS over it.
trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

impl ProbeClient {
    pub(crate) fn new(dialer: Dialer, timeout: Duration) -> Self {
        ProbeClient {
            dialer,
            timeout,
            line: None,
            answer: Answer::default(),
            buffer: vec![0; 64 * 1024],
        }
    }

    /// The answer to a request, its content kept.
    ///
    /// # Errors
    /// Failed: there was none. Misused: the request cannot be sent.
    pub(crate) fn call(&mut self, request: &[u8]) -> Result<&Answer, BenchError> {
        // A server may have closed what was idle: once more on a new connection.
        let reused = self.line.is_some();
        let message = match self.dialer.http {
            Http::One => Request::default(),
            Http::Two | Http::Three => message(request, self.dialer.secure.is_some())?,
        };
        let mut result = self.exchange(request, &message);
        if reused && result.is_err() {
            self.line = None;
            result = self.exchange(request, &message);
        }
        let address = self.dialer.address;
        match result {
            Ok(()) => {
                if !self.answer.persistent {
                    self.line = None;
                }
                Ok(&self.answer)
            }
            Err(error) => {
                self.line = None;
                let why = match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                        format!("no complete answer within {:?}", self.timeout)
                    }
                    _ => tls::explain(error).to_string(),
                };
                let why = format!("{address} cannot be asked: {why}");
                Err(BenchError::Failed(why))
            }
        }
    }

    /// A request, as bytes or as a message, and its answer.
    fn exchange(&mut self, request: &[u8], message: &Request<Bytes>) -> io::Result<()> {
        let line = match &mut self.line {
            Some(line) => line,
            None => self.line.insert(open(&self.dialer, self.timeout)?),
        };
        self.answer.begin(Keep::Bytes);
        match line {
            Line::One(stream) => converse(stream, request, &mut self.answer, &mut self.buffer),
            Line::More(more) => {
                let More {
                    session, runtime, ..
                } = &mut **more;
                let asking = async {
                    let asked = session.ask(message.clone(), &mut self.answer);
                    tokio::time::timeout(self.timeout, asked).await
                };
                let asked = runtime.block_on(asking)?;
                asked.map_err(|failed| in_words(failed, self.dialer.http))
            }
        }
    }
}

fn open(dialer: &Dialer, timeout: Duration) -> io::Result<Line> {
    if dialer.http != Http::One {
        let runtime = runtime()?;
        let (opener, session) = runtime.block_on(async {
            let opener = Opener::new(dialer.clone(), 1)?;
            let (session, ..) = opener.open(0, timeout).await?;
            io::Result::Ok((opener, session))
        })?;
        return Ok(Line::More(Box::new(More {
            session,
            opener,
            runtime,
        })));
    }
    let mut tcp = TcpStream::connect_timeout(&dialer.address, timeout)?;
    tcp.set_nodelay(true)?;
    tcp.set_read_timeout(Some(timeout))?;
    tcp.set_write_timeout(Some(timeout))?;
    let Some(mut session) = dialer.tls()? else {
        return Ok(Line::One(Box::new(tcp)));
    };
    while session.is_handshaking() {
        session.complete_io(&mut tcp)?;
    }
    tls::agreed(&session, dialer.http, dialer.is_any_certificate_good)?;
    let stream = rustls::StreamOwned::new(session, tcp);
    Ok(Line::One(Box::new(stream)))
}

/// A request and its answer over HTTP/1.1.
fn converse(
    stream: &mut dyn Stream,
    request: &[u8],
    answer: &mut Answer,
    buffer: &mut [u8],
) -> io::Result<()> {
    stream.write_all(request)?;
    stream.flush()?;
    loop {
        let read = match stream.read(buffer) {
            // A signal that somebody else takes.
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read?,
        };
        let bytes = buffer.get(..read).unwrap_or_default();
        if bytes.is_empty() {
            return match answer.is_ended_by_close() {
                true => Ok(()),
                false => Err(ErrorKind::UnexpectedEof.into()),
            };
        }
        match answer.feed(bytes) {
            Fed::More => {}
            Fed::Done(_) => return Ok(()),
            Fed::Malformed => return Err(malformed(Http::One)),
        }
    }
}

fn in_words(failed: Failed, http: Http) -> io::Error {
    match failed.how {
        How::Malformed => malformed(http),
        How::Ended | How::Unprocessed => io::Error::new(
            ErrorKind::ConnectionReset,
            "the server ended the stream or the connection without a complete answer",
        ),
    }
}

fn malformed(http: Http) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("its answer is not {http}"))
}
