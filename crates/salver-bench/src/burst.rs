//! Many connections that all ask for the same at the same moment, once.
//!
//! All are open, and have been answered once, before the moment: what is measured is neither
//! connecting nor accepting. Nothing is asked for before it that could make the server load what the
//! burst asks for.

use std::io;
use std::net::TcpStream;
use std::ops::Range;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use crate::answer::{Answer, Fed, Keep};
use crate::coding::Coding;
use crate::connection::connect;
use crate::error::BenchError;
use crate::expected::{Bytes, Content, Expected, Wrong};
use crate::latency::Latencies;
use crate::model::{ClientCost, Errors, Measured, Schedule, Verified};
use crate::poller::{Poller, Ready};
use crate::target::{self, Target};

/// Connections that are opened at a time, so that the server's queue of those which it has not
/// accepted yet does not overflow.
const STEP: usize = 128;

/// Bytes taken from a socket at a time.
const BUFFER: usize = 128 * 1024;

/// How often it is looked whether the time is up.
const TICK: Duration = Duration::from_millis(20);

/// Connections that are open and idle, ready to ask at once.
pub struct Burst {
    callers: Vec<Caller>,
    poller: Poller,
    target: Target,
    form: String,
    expected: Expected,
    timeout: Duration,
}

/// One connection.
struct Caller {
    stream: TcpStream,
    /// Bytes of the request that are sent.
    sent: usize,
    answer: Answer,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waits,
    Asks,
    /// It has failed: nothing more is asked on it.
    Ended,
}

/// What became of one round of requests.
#[derive(Default)]
struct Round {
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
        timeout: Duration,
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
        let mut burst = Burst {
            callers: Vec::with_capacity(connections),
            poller: Poller::new().map_err(failed)?,
            form: target::origin_form(&url),
            expected: Expected {
                content: Content::Coded {
                    coding: Coding::Identity,
                    bytes: Bytes::of(content),
                },
                ..Expected::status(200)
            },
            timeout,
            target: target.clone(),
        };
        let options = format!("OPTIONS * HTTP/1.1\r\nHost: {}\r\n\r\n", target.authority);
        while burst.callers.len() < connections {
            let from = burst.callers.len();
            let to = connections.min(from + STEP);
            for number in from..to {
                let caller = Caller::connect(&target, number).map_err(failed)?;
                burst.poller.add(&caller.stream, number).map_err(failed)?;
                burst.callers.push(caller);
            }
            let round = burst.ask(from..to, options.as_bytes(), None, || {});
            let errors = round.map_err(failed)?.errors;
            if errors.total() > 0 {
                return Err(BenchError::Failed(format!(
                    "{} of {} connections to {} could not be opened: {errors:?}",
                    errors.total(),
                    to - from,
                    target.authority
                )));
            }
        }
        Ok(burst)
    }

    /// Asks on all of them, calls `release` when every request is written, and waits for the last
    /// answer. Time is from there on, latencies too: a server that was held until then finds all
    /// requests at once.
    ///
    /// # Errors
    /// Failed: the system refused to wait. Requests that fail are in the result.
    pub fn fire(mut self, release: impl FnOnce()) -> Result<Measured, BenchError> {
        let (form, authority) = (&self.form, &self.target.authority);
        let request = format!("GET {form} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
        let url = format!("http://{authority}{form}");
        let expected = self.expected.clone();
        let before = thread_cpu();
        let all = 0..self.callers.len();
        let round = self.ask(all, request.as_bytes(), Some(&expected), release);
        let cpu = thread_cpu().saturating_sub(before).as_secs_f64();
        let round =
            round.map_err(|error| BenchError::Failed(format!("{url} cannot be asked: {error}")))?;
        let seconds = round.took.as_secs_f64().max(f64::MIN_POSITIVE);
        Ok(Measured {
            target: url,
            schedule: Schedule::Burst { every_ms: 0 },
            connections: self.callers.len(),
            streams: 1,
            seconds,
            requests: round.right,
            requests_per_second: float(round.right) / seconds,
            errors: round.errors,
            statuses: [(200, round.right)].into(),
            codings: [("identity".to_owned(), round.right)].into(),
            head_bytes: round.head_bytes,
            content_bytes: round.content_bytes,
            raw: round.latencies.summary(),
            corrected: Some(round.latencies.summary()),
            client: ClientCost {
                threads: 1,
                cpu_us_per_request: cpu * 1e6 / float(round.right.max(1)),
                busiest_thread: cpu / seconds,
                ..ClientCost::default()
            },
            verified: Verified::Content,
            ..Measured::default()
        })
    }

    /// One request on each of these connections, at once; all answers, or what became of them.
    fn ask(
        &mut self,
        which: Range<usize>,
        request: &[u8],
        expected: Option<&Expected>,
        release: impl FnOnce(),
    ) -> io::Result<Round> {
        let mut asking = Asking {
            request,
            expected,
            began: Instant::now(),
            waiting: which.len(),
            round: Round::default(),
        };
        let mut buffer = vec![0; BUFFER];
        for caller in self.callers.iter_mut().take(which.end).skip(which.start) {
            asking.begin(caller);
        }
        asking.began = Instant::now();
        release();
        let mut ready: Vec<Ready> = Vec::new();
        while asking.waiting > 0 && asking.began.elapsed() < self.timeout {
            self.poller.wait(TICK, &mut ready)?;
            for ready in &ready {
                let Some(caller) = self.callers.get_mut(ready.number) else {
                    continue;
                };
                if ready.writable {
                    asking.send(caller);
                }
                if ready.readable {
                    asking.receive(caller, &mut buffer);
                }
            }
        }
        for caller in &mut self.callers {
            if caller.state == State::Asks {
                asking.fail(caller, |errors| &mut errors.timeout);
            }
        }
        Ok(asking.round)
    }
}

/// A round that is under way.
struct Asking<'a> {
    request: &'a [u8],
    /// `None` if any answer will do.
    expected: Option<&'a Expected>,
    began: Instant,
    /// Connections whose answer is not there.
    waiting: usize,
    round: Round,
}

impl Asking<'_> {
    fn begin(&mut self, caller: &mut Caller) {
        let keep = self.expected.map_or(Keep::Length, Expected::keep);
        caller.answer.begin(keep);
        caller.sent = 0;
        caller.state = State::Asks;
        self.send(caller);
    }

    /// Sends what is left of the request.
    fn send(&mut self, caller: &mut Caller) {
        while caller.state == State::Asks
            && let Some(rest @ [_, ..]) = self.request.get(caller.sent..)
        {
            match send(&caller.stream, rest, SendFlags::NOSIGNAL) {
                Ok(sent) => caller.sent += sent,
                // Not connected yet, or no room: it is told when that changes.
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(Errno::CONNREFUSED) => self.fail(caller, |errors| &mut errors.connect),
                Err(_) => self.fail(caller, |errors| &mut errors.closed),
            }
        }
    }

    /// Takes what has come.
    fn receive(&mut self, caller: &mut Caller, buffer: &mut [u8]) {
        while caller.state == State::Asks {
            let received = match recv(&caller.stream, &mut *buffer, RecvFlags::empty()) {
                Ok((received, _)) => received,
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => continue,
                Err(_) => 0,
            };
            let Some(bytes @ [_, ..]) = buffer.get(..received) else {
                return match caller.answer.has_begun {
                    true => self.fail(caller, |errors| &mut errors.short),
                    false => self.fail(caller, |errors| &mut errors.closed),
                };
            };
            match caller.answer.feed(bytes) {
                Fed::More => {}
                Fed::Done(taken) if taken == received => self.complete(caller),
                Fed::Done(_) | Fed::Malformed => {
                    self.fail(caller, |errors| &mut errors.malformed);
                }
            }
        }
    }

    /// An answer is complete.
    fn complete(&mut self, caller: &mut Caller) {
        let round = &mut self.round;
        round.head_bytes += caller.answer.head_bytes;
        round.content_bytes += caller.answer.content_bytes;
        round.took = self.began.elapsed();
        let judged = self
            .expected
            .map_or(Ok(()), |expected| expected.judge(&caller.answer));
        match judged {
            Ok(()) => {
                round.right += 1;
                round.latencies.record(round.took);
                caller.state = State::Waits;
                self.waiting -= 1;
            }
            Err(Wrong::Status) => self.fail(caller, |errors| &mut errors.status),
            Err(Wrong::Content) => self.fail(caller, |errors| &mut errors.content),
        }
    }

    fn fail(&mut self, caller: &mut Caller, kind: fn(&mut Errors) -> &mut u64) {
        *kind(&mut self.round.errors) += 1;
        caller.state = State::Ended;
        self.waiting -= 1;
    }
}

impl Caller {
    fn connect(target: &Target, number: usize) -> io::Result<Caller> {
        Ok(Caller {
            stream: connect(target.address, number)?,
            sent: 0,
            answer: Answer::new(),
            state: State::Waits,
        })
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        // A port that was closed in order is not free for a minute: a few bursts would take all.
        let _ = set_socket_linger(&self.stream, Some(Duration::ZERO));
    }
}

/// Lets this process, and those that it starts from here on, have as many files open as that, or
/// else as many as they may; how many that is.
pub fn allow_files(wanted: usize) -> usize {
    let wanted = u64::try_from(wanted).unwrap_or(u64::MAX);
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    // Whoever may raises the hard limit too.
    for maximum in [limit.maximum.map(|most| most.max(wanted)), limit.maximum] {
        let current = Some(wanted.min(maximum.unwrap_or(u64::MAX)));
        let current = current.max(limit.current);
        if setrlimit(Resource::Nofile, Rlimit { current, maximum }).is_ok() {
            break;
        }
    }
    let now = getrlimit(Resource::Nofile).current.unwrap_or(most);
    usize::try_from(now.min(wanted)).unwrap_or(usize::MAX)
}

/// The CPU time of this thread.
fn thread_cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "nobody counts to 2^53 here")]
fn float(count: u64) -> f64 {
    count as f64
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
        let found = burst.fire(|| released += 1).unwrap();
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

    #[test]
    fn as_many_files_as_there_are_and_no_more_than_wanted() {
        assert_eq!(allow_files(16), 16);
        assert!(allow_files(usize::MAX) >= 16);
    }
}
