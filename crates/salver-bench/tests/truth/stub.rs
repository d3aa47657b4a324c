//! A server of which everything is known: how long each answer took, and what was wrong with it.
//!
//! Each connection has a thread of its own, so that none waits for another unless it is meant to.
//! The delays that are asked for are goals; the stub writes down what it really did, so that a test
//! compares with the truth also where the machine is busy.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// When answers leave.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Delay {
    /// At once.
    None,
    /// So long after the request.
    Constant(Duration),
    /// `usual` after the request; each tenth, by number, `rare` after it.
    Bimodal { usual: Duration, rare: Duration },
    /// At once, but for stalls: in every period of `every` since the first request, none leaves for
    /// `stall` from 40 % of the period on.
    Stalls { every: Duration, stall: Duration },
    /// One after another, each taking so long: the server's rate has a limit.
    OneByOne(Duration),
}

/// What is wrong with a faulty answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection ends instead of the answer.
    Dropped,
    /// 900 bytes where 1,000 were promised; then the connection ends.
    Short,
    /// 1,100 bytes where 1,000 were promised; then the connection ends.
    Long,
    /// 500, complete.
    Failure,
    /// No HTTP.
    Garbage,
    /// A head that never ends properly: two lengths that differ.
    TwoLengths,
    /// Nothing at all for ten minutes, or until the client leaves.
    Silence,
}

/// One request, and what became of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    /// When its head was complete here.
    pub(crate) arrived: Instant,
    /// The moment before the first byte of the answer left.
    pub(crate) answered: Instant,
    /// What was wrong with the answer.
    pub(crate) fault: Option<Fault>,
}

/// The content of a right answer.
pub(crate) const CONTENT: [u8; 1000] = [b'x'; 1000];

/// A running stub; it ends with this value.
pub(crate) struct Stub {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

struct Shared {
    delay: Delay,
    /// Every so many requests, by number, one is answered in this way.
    fault: Option<(usize, Fault)>,
    ending: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Requests so far.
    arrived: usize,
    /// When the first came.
    began: Option<Instant>,
    /// Until when the only server of [`Delay::OneByOne`] is busy.
    busy_until: Option<Instant>,
    served: Vec<Served>,
    /// Those that are open, by the number of the connection.
    connections: BTreeMap<usize, TcpStream>,
    threads: Vec<JoinHandle<()>>,
}

impl Stub {
    pub(crate) fn start(delay: Delay) -> Stub {
        Stub::with_fault(delay, None)
    }

    /// Each `every`-th request is answered with the fault.
    pub(crate) fn faulty(every: usize, fault: Fault) -> Stub {
        Stub::with_fault(Delay::None, Some((every, fault)))
    }

    fn with_fault(delay: Delay, fault: Option<(usize, Fault)>) -> Stub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            delay,
            fault,
            ending: AtomicBool::new(false),
            state: Mutex::default(),
        });
        let acceptor = {
            let shared = Arc::clone(&shared);
            spawn(move || accept(&listener, &shared))
        };
        Stub {
            address,
            shared,
            acceptor: Some(acceptor),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Ends it, and gives what it did, in the order in which the requests came.
    pub(crate) fn end(mut self) -> Vec<Served> {
        self.stop();
        let mut served = std::mem::take(&mut self.shared.state().served);
        served.sort_by_key(|one| one.arrived);
        served
    }

    fn stop(&mut self) {
        let Some(acceptor) = self.acceptor.take() else {
            return;
        };
        self.shared.ending.store(true, Ordering::SeqCst);
        // One more connection lets the acceptor see it.
        let _ = TcpStream::connect(self.address);
        acceptor.join().unwrap();
        let (connections, threads) = {
            let mut state = self.shared.state();
            (
                std::mem::take(&mut state.connections),
                std::mem::take(&mut state.threads),
            )
        };
        for connection in connections.values() {
            let _ = connection.shutdown(Shutdown::Both);
        }
        for thread in threads {
            thread.join().unwrap();
        }
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Counts a request that arrived now: when its answer is to leave, and what is wrong with it.
    fn admit(&self, now: Instant) -> (Instant, Option<Fault>) {
        let mut state = self.state();
        state.arrived += 1;
        let number = state.arrived;
        let fault = self
            .fault
            .and_then(|(every, fault)| number.is_multiple_of(every).then_some(fault));
        let began = *state.began.get_or_insert(now);
        let leaves = match self.delay {
            Delay::None => now,
            Delay::Constant(delay) => now + delay,
            Delay::Bimodal { usual, rare } => {
                now + if number.is_multiple_of(10) {
                    rare
                } else {
                    usual
                }
            }
            Delay::Stalls { every, stall } => now + stalled(now - began, every, stall),
            Delay::OneByOne(takes) => {
                let begins = state.busy_until.map_or(now, |until| until.max(now));
                *state.busy_until.insert(begins + takes)
            }
        };
        (leaves, fault)
    }
}

/// How long a request that arrives `since` the beginning waits for the end of a stall.
fn stalled(since: Duration, every: Duration, stall: Duration) -> Duration {
    let within = Duration::from_secs_f64(since.as_secs_f64() % every.as_secs_f64());
    let begins = every * 2 / 5;
    if within < begins {
        return Duration::ZERO;
    }
    (begins + stall).saturating_sub(within)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for (number, stream) in listener.incoming().enumerate() {
        if shared.ending.load(Ordering::SeqCst) {
            return;
        }
        let stream = stream.unwrap();
        let _ = stream.set_nodelay(true);
        // It is there before the thread can take it away.
        let other = stream.try_clone().unwrap();
        shared.state().connections.insert(number, other);
        let thread = {
            let shared = Arc::clone(shared);
            spawn(move || {
                exact_waits();
                // An error is a client that left.
                let _ = serve(stream, &shared);
                shared.state().connections.remove(&number);
            })
        };
        shared.state().threads.push(thread);
    }
}

/// Lets this thread's sleeps end when they should, and not up to 50 us later.
pub(crate) fn exact_waits() {
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1)).unwrap();
}

/// One connection, until either side ends it.
fn serve(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut received = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = received.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            let mut buffer = [0; 4096];
            let length = stream.read(&mut buffer)?;
            if length == 0 {
                return Ok(());
            }
            received.extend_from_slice(&buffer[..length]);
        };
        received.drain(..end);
        let arrived = Instant::now();
        let (leaves, fault) = shared.admit(arrived);
        let bytes = answer(fault);
        // Until the moment, whatever wakes it before.
        while let Some(rest) = leaves
            .checked_duration_since(Instant::now())
            .filter(|rest| !rest.is_zero())
        {
            sleep(rest);
        }
        // Nothing but the call between the moment that is noted and the bytes.
        let answered = Instant::now();
        let written = stream.write_all(&bytes);
        shared.state().served.push(Served {
            arrived,
            answered,
            fault,
        });
        written?;
        match fault {
            None | Some(Fault::Failure) => {}
            Some(Fault::Silence) => {
                stream.set_read_timeout(Some(Duration::from_secs(600)))?;
                let _ = stream.read(&mut [0]);
                return stream.shutdown(Shutdown::Both);
            }
            Some(_) => return stream.shutdown(Shutdown::Both),
        }
    }
}

/// The bytes of an answer.
fn answer(fault: Option<Fault>) -> Vec<u8> {
    let with = |status: &str, length: usize| {
        let mut bytes = format!("HTTP/1.1 {status}\r\nContent-Length: 1000\r\n\r\n").into_bytes();
        bytes.resize(bytes.len() + length, b'x');
        bytes
    };
    match fault {
        None => with("200 OK", CONTENT.len()),
        Some(Fault::Failure) => with("500 Internal Server Error", CONTENT.len()),
        Some(Fault::Short) => with("200 OK", 900),
        Some(Fault::Long) => with("200 OK", 1100),
        Some(Fault::Dropped | Fault::Silence) => Vec::new(),
        Some(Fault::Garbage) => b"\x16\x03\x01 no HTTP at all\r\n\r\n".to_vec(),
        Some(Fault::TwoLengths) => {
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc".to_vec()
        }
    }
}
