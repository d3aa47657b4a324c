//! Who reads: one client at a steady rate, and others as fast as they can.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::common::client::{Client, get};
use crate::common::{PATIENCE, until};
use salver_system_tests::{SMALL_LENGTH, SlowDisk, bytes_at, content};

/// Asks for one file at a steady rate, whether or not earlier answers have come: each on a
/// connection that waits for nothing else. What is measured begins when the request should have
/// left, so that no delay is left out.
pub(crate) struct Steady {
    address: SocketAddr,
    request: String,
    /// What each answer is but for its date, and how long.
    expected: Vec<u8>,
    length: usize,
    connections: Vec<Connection>,
}

struct Connection {
    stream: TcpStream,
    /// When the request should have left that is on its way.
    since: Option<Instant>,
    received: Vec<u8>,
}

/// More requests on their way than that wait at the client.
const CONNECTIONS: usize = 512;

impl Steady {
    /// `path` must give `content` from now on.
    pub(crate) fn new(address: SocketAddr, path: &str, content: &[u8]) -> Self {
        let answer = Client::new(address).get(path);
        assert_eq!(answer.status, 200, "{}", answer.head);
        assert!(answer.content == content);
        Steady {
            address,
            request: get(path),
            length: answer.head.len() + answer.content.len(),
            expected: answer.content,
            connections: Vec::new(),
        }
    }

    /// Asks every `interval` for `duration`; how long each answer took, the quickest first.
    pub(crate) fn measure(&mut self, interval: Duration, duration: Duration) -> Vec<Duration> {
        // What is measured is the server, so timers are exact: see `come_first`, too.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let mut samples = Vec::new();
        let mut next = Instant::now();
        let end = next + duration;
        loop {
            let mut all_in_use = false;
            while next <= Instant::now() && next < end && !all_in_use {
                if self.ask(next) {
                    next += interval;
                } else {
                    all_in_use = true;
                }
            }
            let on_its_way = self.connections.iter().any(|one| one.since.is_some());
            if next >= end && !on_its_way {
                break;
            }
            let patience = if next < end && !all_in_use {
                next.saturating_duration_since(Instant::now())
            } else {
                PATIENCE
            };
            self.receive(patience, &mut samples);
        }
        samples.sort_unstable();
        samples
    }

    /// Whether there is a connection for it.
    fn ask(&mut self, since: Instant) -> bool {
        let idle = self.connections.iter().position(|one| one.since.is_none());
        let number = idle.unwrap_or(self.connections.len());
        if number == CONNECTIONS {
            return false;
        }
        if idle.is_none() {
            let stream = TcpStream::connect(self.address).unwrap();
            stream.set_nodelay(true).unwrap();
            stream.set_nonblocking(true).unwrap();
            self.connections.push(Connection {
                stream,
                since: None,
                received: Vec::new(),
            });
        }
        let connection = &mut self.connections[number];
        let sent = connection.stream.write(self.request.as_bytes()).unwrap();
        assert_eq!(sent, self.request.len());
        connection.since = Some(since);
        true
    }

    fn receive(&mut self, patience: Duration, samples: &mut Vec<Duration>) {
        let mut waiting: Vec<_> = self.connections.iter_mut().collect();
        waiting.retain(|one| one.since.is_some());
        let mut polled: Vec<_> = waiting
            .iter()
            .map(|one| {
                PollFd::from_borrowed_fd(std::os::fd::AsFd::as_fd(&one.stream), PollFlags::IN)
            })
            .collect();
        let count = poll(&mut polled, Some(&Timespec::try_from(patience).unwrap())).unwrap();
        assert!(count > 0 || patience < PATIENCE, "no answer");
        let ready: Vec<_> = polled.iter().map(|one| !one.revents().is_empty()).collect();
        drop(polled);
        let ready = waiting.into_iter().zip(ready).filter(|(_, ready)| *ready);
        for (connection, _) in ready {
            let mut buffer = [0; 4096];
            match connection.stream.read(&mut buffer) {
                Ok(count) => {
                    assert!(count > 0, "the connection was closed");
                    connection.received.extend_from_slice(&buffer[..count]);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => panic!("{error}"),
            }
            if connection.received.len() >= self.length {
                samples.extend(connection.since.take().map(|since| since.elapsed()));
                assert_eq!(connection.received.len(), self.length);
                assert!(connection.received.starts_with(b"HTTP/1.1 200"));
                assert!(connection.received.ends_with(&self.expected));
                connection.received.clear();
            }
        }
    }
}

/// Has all others of its core wait whenever this thread has something to do, those that it starts included. What they do
/// within the kernel is done before all the same: they do little at a time. Where that is not allowed the figures are
/// worse, not better.
///
/// Called before there is a slow disk: a process that is started closes the files of this one, and waits for the disk.
pub(crate) fn come_first() {
    let thread = rustix::thread::gettid().to_string();
    let arguments = ["--fifo", "--reset-on-fork", "--pid", "1", &thread];
    let _ = std::process::Command::new("chrt").args(arguments).output();
}

/// What the others read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cold {
    /// Large files from their first byte to their last.
    Streams,
    /// One small file after the other.
    SmallFiles,
}

/// Clients that read what nobody has read before, as fast as they can, until this is dropped.
pub(crate) struct ColdReaders {
    common: Arc<Common>,
    threads: Vec<JoinHandle<()>>,
}

struct Common {
    disk: Arc<SlowDisk>,
    address: SocketAddr,
    prefix: &'static str,
    cold: Cold,
    content: Vec<u8>,
    ends: AtomicBool,
    bytes: AtomicU64,
    readers: AtomicU64,
}

/// The next file that nobody has read: of all tests of this program.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The kind of such a file, its number and its length.
pub(crate) fn next(disk: &SlowDisk, cold: Cold) -> (&'static str, u64, u64) {
    let (large, small) = disk.cold(NEXT.fetch_add(1, Ordering::Relaxed));
    match cold {
        Cold::Streams => ("large", large, disk.large_length()),
        Cold::SmallFiles => ("small", small, SMALL_LENGTH),
    }
}

impl ColdReaders {
    /// Starts so many; returns when each of them has received content.
    pub(crate) fn start(
        count: usize,
        disk: &Arc<SlowDisk>,
        address: SocketAddr,
        prefix: &'static str,
        cold: Cold,
    ) -> Self {
        let common = Arc::new(Common {
            disk: Arc::clone(disk),
            address,
            prefix,
            cold,
            content: content(),
            ends: AtomicBool::new(false),
            bytes: AtomicU64::new(0),
            readers: AtomicU64::new(0),
        });
        let threads = (0..count)
            .map(|_| {
                let common = Arc::clone(&common);
                std::thread::spawn(move || common.read())
            })
            .collect();
        let readers = ColdReaders { common, threads };
        let all = u64::try_from(count).unwrap();
        until("every reader has received something", || {
            readers.common.readers.load(Ordering::Relaxed) >= all
        });
        readers
    }

    /// Bytes of content that they have received.
    pub(crate) fn bytes(&self) -> u64 {
        self.common.bytes.load(Ordering::Relaxed)
    }

    /// Ends them; nobody has failed.
    pub(crate) fn end(mut self) {
        self.common.ends.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}

impl Drop for ColdReaders {
    fn drop(&mut self) {
        self.common.ends.store(true, Ordering::Relaxed);
    }
}

impl Common {
    fn read(&self) {
        let mut client = Client::new(self.address);
        // No more at a time than others may well wait for: see `come_first`.
        let mut buffer = vec![0; 16 * 1024];
        let mut first = true;
        while !self.ends.load(Ordering::Relaxed) {
            let (kind, number, length) = next(&self.disk, self.cold);
            client.send(get(&format!("{}/{kind}-{number}", self.prefix)));
            let head = client.head();
            assert_eq!(head.status, 200, "{}", head.head);
            assert_eq!(u64::try_from(head.length()).unwrap(), length);
            let mut at = 0;
            while at < length && !self.ends.load(Ordering::Relaxed) {
                let most = usize::try_from(length - at).unwrap().min(buffer.len());
                let count = client.0.read(&mut buffer[..most]).unwrap();
                assert!(count > 0, "{kind}-{number} ends after {at} bytes");
                let expected = bytes_at(&self.content, number, at);
                assert!(buffer[..count] == expected[..count], "{kind}-{number} {at}");
                at += u64::try_from(count).unwrap();
                self.bytes
                    .fetch_add(u64::try_from(count).unwrap(), Ordering::Relaxed);
                if std::mem::take(&mut first) {
                    self.readers.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
}
