//! Many connections that all ask for the same at the same moment, once.
//!
//! All are open, and have been answered once, before the moment: what is measured is neither
//! connecting nor accepting. Nothing is asked for before it that could make the server load what the
//! burst asks for.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use rustix::net::sockopt::set_socket_linger;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::unconstrained;
use tokio::time::timeout;

use crate::answer::coding::Coding;
use crate::answer::expected::{Bytes, Content, Expected, Wrong};
use crate::answer::{Answer, Fed, Keep};
use crate::error::BenchError;
pub use crate::machine::open_files::allow_files;
use crate::machine::thread_time::ThreadTime;
use crate::protocol::session::runtime;
use crate::protocol::target::{self, Target};
use crate::protocol::wire::connected;
use crate::result::latency::Latencies;
use crate::result::model::{ClientCost, ErrorKind as Kind, Errors, Measured, Schedule, Verified};

/// Connections that are opened at a time, so that the server's queue of those which it has not
/// accepted yet does not overflow.
const STEP: usize = 128;

/// Bytes taken from a socket at a time.
const BUFFER: usize = 128 * 1024;

/// Connections that are open and idle, ready to ask at once.
pub struct Burst {
    runtime: Runtime,
    callers: Vec<Caller>,
    target: Target,
    form: String,
    expected: Expected,
    timeout: Duration,
}

/// One connection, and the answer on it.
struct Caller {
    stream: TcpStream,
    answer: Answer,
}

/// The outcome of the burst.
#[derive(Default)]
struct Outcome {
    ended: usize,
    right: u64,
    errors: Errors,
    head_bytes: u64,
    content_bytes: u64,
    latencies: Latencies,
    /// From the moment when all requests are written to the last answer.
    took: Duration,
}

impl Burst {
    /// Opens `connections` connections to the server of a URL, which is to answer `content`, as it
    /// is, within `timeout`. On each one `OPTIONS *` is asked, which concerns no resource: once it
    /// is answered, the server has taken the connection.
    ///
    /// # Errors
    /// Misused: no URL. Failed: one that could not be opened or was not answered.
    pub fn connect(
        url: &str,
        content: &[u8],
        connections: usize,
        patience: Duration,
    ) -> Result<Burst, BenchError> {
        let url = target::parse(url)?;
        let target = Target::of(std::slice::from_ref(&url))?;
        if target.is_secure {
            return Err(BenchError::Misused(
                "such bursts are made without TLS: give a URL of http".to_owned(),
            ));
        }
        let failed = |error: io::Error| {
            BenchError::Failed(format!("{} cannot be asked: {error}", target.authority))
        };
        let runtime = runtime().map_err(failed)?;
        let options = format!("OPTIONS * HTTP/1.1\r\nHost: {}\r\n\r\n", target.authority);
        let buffer = RefCell::new(vec![0; BUFFER]);
        let mut callers = Vec::with_capacity(connections);
        while callers.len() < connections {
            let numbers = callers.len()..connections.min(callers.len() + STEP);
            let open = |number| Caller::open(target.address, number, options.as_bytes(), &buffer);
            let opened = async { timeout(patience, try_join_all(numbers.map(open))).await };
            let opened = runtime.block_on(opened).map_err(io::Error::from);
            callers.extend(opened.flatten().map_err(failed)?);
        }
        let content = Content::Coded {
            coding: Coding::Identity,
            bytes: Bytes::of(content),
        };
        Ok(Burst {
            runtime,
            callers,
            form: target::origin_form(&url),
            expected: Expected {
                content,
                ..Expected::status(200)
            },
            timeout: patience,
            target,
        })
    }

    /// Asks on all of them, calls `release` when every request is written, and waits for the last
    /// answer. Time is from there on, latencies too: a server that was held until then finds all
    /// requests at once. Requests that fail are in the result.
    pub fn fire(self, release: impl FnOnce()) -> Measured {
        let (form, authority) = (&self.form, &self.target.authority);
        let request = format!("GET {form} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
        let target = format!("http://{authority}{form}");
        let connections = self.callers.len();
        let before = ThreadTime::of_this_thread();
        let outcome = ask(self.callers, request, &self.expected, self.timeout, release);
        let outcome = self.runtime.block_on(unconstrained(outcome));
        let cpu = ThreadTime::of_this_thread().since(before).cpu.as_secs_f64();
        let seconds = outcome.took.as_secs_f64().max(f64::MIN_POSITIVE);
        let latency = outcome.latencies.summary();
        Measured {
            target,
            schedule: Schedule::Burst { every_ms: 0 },
            connections,
            streams: 1,
            seconds,
            requests: outcome.right,
            requests_per_second: outcome.right as f64 / seconds,
            errors: outcome.errors,
            statuses: [(200, outcome.right)].into(),
            codings: [("identity".to_owned(), outcome.right)].into(),
            head_bytes: outcome.head_bytes,
            content_bytes: outcome.content_bytes,
            raw: latency.clone(),
            corrected: Some(latency),
            client: ClientCost {
                threads: 1,
                cpu_us_per_request: cpu * 1e6 / outcome.right.max(1) as f64,
                busiest_thread: cpu / seconds,
                ..ClientCost::default()
            },
            verified: Verified::Content,
            ..Measured::default()
        }
    }
}

/// One request on each connection, at once; all answers, or what became of them.
async fn ask(
    mut callers: Vec<Caller>,
    request: String,
    expected: &Expected,
    patience: Duration,
    release: impl FnOnce(),
) -> Outcome {
    let buffer = RefCell::new(vec![0; BUFFER]);
    for caller in &mut callers {
        caller.answer.begin(expected.keep());
        // A connection that has ended meanwhile tells so when its answer is read.
        let _ = caller.stream.write_all(request.as_bytes()).await;
    }
    let mut outcome = Outcome::default();
    let began = Instant::now();
    release();
    let answers = callers.iter_mut().map(|caller| caller.read(&buffer));
    let mut answers: FuturesUnordered<_> = answers.collect();
    let all = async {
        while let Some(read) = answers.next().await {
            outcome.ended += 1;
            let judged = read.and_then(|answer| {
                outcome.head_bytes += answer.head_bytes;
                outcome.content_bytes += answer.content_bytes;
                outcome.took = began.elapsed();
                expected.judge(answer).map_err(|wrong| -> Kind {
                    match wrong {
                        Wrong::Status => |errors| &mut errors.status,
                        Wrong::Content => |errors| &mut errors.content,
                    }
                })
            });
            match judged {
                Ok(()) => {
                    outcome.right += 1;
                    outcome.latencies.record(outcome.took);
                }
                Err(kind) => *kind(&mut outcome.errors) += 1,
            }
        }
    };
    // Whatever has not been answered by then is not.
    let _ = timeout(patience, all).await;
    drop(answers);
    outcome.errors.timeout += (callers.len() - outcome.ended) as u64;
    outcome
}

impl Caller {
    /// Opens a connection, and waits for the answer to a first request.
    async fn open(
        address: SocketAddr,
        number: usize,
        options: &[u8],
        buffer: &RefCell<Vec<u8>>,
    ) -> io::Result<Caller> {
        let mut caller = Caller {
            stream: connected(address, number).await?,
            answer: Answer::default(),
        };
        caller.answer.begin(Keep::Length);
        caller.stream.write_all(options).await?;
        match caller.read(buffer).await {
            Ok(_) => Ok(caller),
            Err(_) => Err(io::Error::other("a connection was not answered")),
        }
    }

    /// Reads an answer to its end; why there is none. The buffer is that of all.
    async fn read(&mut self, buffer: &RefCell<Vec<u8>>) -> Result<&Answer, Kind> {
        loop {
            // What is wrong is met again when it is read.
            let _ = self.stream.readable().await;
            let mut buffer = buffer.borrow_mut();
            match self.stream.try_read(&mut buffer) {
                Ok(read @ 1..) => match self.answer.feed(buffer.get(..read).unwrap_or_default()) {
                    Fed::More => {}
                    Fed::Done(taken) if taken == read => return Ok(&self.answer),
                    Fed::Done(_) | Fed::Malformed => return Err(|errors| &mut errors.malformed),
                },
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Ok(_) | Err(_) if self.answer.has_begun => return Err(|errors| &mut errors.short),
                Ok(_) | Err(_) => return Err(|errors| &mut errors.closed),
            }
        }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        // A port that was closed in order is not free for a minute: a few bursts would take all.
        let _ = set_socket_linger(&self.stream, Some(Duration::ZERO));
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener};

    use super::*;

    const CONTENT: &[u8] = b"what was asked for";

    /// Serves each connection with the answer that its number gives; `None` closes it unanswered.
    fn serve(answer: impl Fn(usize) -> Option<String> + Copy + Send + 'static) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                std::thread::spawn(move || {
                    let mut head = Vec::new();
                    let mut byte = [0];
                    while let Ok(1) = stream.read(&mut byte) {
                        head.push(byte[0]);
                        if !head.ends_with(b"\r\n\r\n") {
                            continue;
                        }
                        let answer = match head.starts_with(b"OPTIONS * ") {
                            true => Some("HTTP/1.1 204 No Content\r\n\r\n".to_owned()),
                            false => answer(number),
                        };
                        head.clear();
                        let Some(answer) = answer else { return };
                        if stream.write_all(answer.as_bytes()).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        address
    }

    fn ok(content: &[u8]) -> String {
        let text = std::str::from_utf8(content).unwrap();
        let length = content.len();
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{text}")
    }

    fn fire(address: SocketAddr, connections: usize, timeout: Duration) -> Measured {
        let url = format!("http://{address}/a");
        let burst = Burst::connect(&url, CONTENT, connections, timeout).unwrap();
        let mut released = 0;
        let found = burst.fire(|| released += 1);
        assert_eq!(released, 1);
        found
    }

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn each_connection_asks_once_and_all_are_answered() {
        let address = serve(|_| Some(ok(CONTENT)));
        for connections in [1, STEP, STEP * 2 + 1] {
            let found = fire(address, connections, PATIENCE);
            assert!(found.is_sound(), "{found:?}");
            assert_eq!(found.requests, connections as u64);
            assert_eq!(found.content_bytes, (connections * CONTENT.len()) as u64);
            assert_eq!(found.raw.count, connections as u64);
            // To the histogram's finest step, which is a share of the value.
            let whole_us = found.seconds * 1e6 * 1.002 + 1.0;
            assert!(whole_us >= found.raw.p50_us, "{found:?}");
        }
    }

    #[test]
    fn each_failure_is_counted_as_what_it_is() {
        let address = serve(|number| match number {
            0 => None,
            1 => Some("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n".to_owned()),
            2 => Some(ok(b"something else all")),
            3 => Some("nonsense\r\n\r\n".to_owned()),
            // The rest does not come.
            4 => Some("HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\nwhat".to_owned()),
            _ => Some(ok(CONTENT)),
        });
        let found = fire(address, 10, Duration::from_secs(2));
        let expected = Errors {
            closed: 1,
            status: 1,
            content: 1,
            malformed: 1,
            timeout: 1,
            ..Errors::default()
        };
        assert_eq!(found.errors, expected);
        assert_eq!(found.requests, 5);
    }

    #[test]
    fn nobody_there_is_said() {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = gone.local_addr().unwrap();
        drop(gone);
        let connect = Burst::connect(&format!("http://{address}/"), b"", 3, PATIENCE);
        let Err(BenchError::Failed(text)) = connect else {
            panic!("nobody is there")
        };
        assert!(text.contains(&address.to_string()), "{text}");
    }
}
