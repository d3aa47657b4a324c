//! A server under attack, the connection of the attacker, and the client beside it.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use salver_conformance::http2::{Frame, FrameSocket, code, kind, literal};
use salver_conformance::{Endpoint, Protocol};
use salver_test::status_kib;
use tempfile::TempDir;

use crate::common::{self, Running};

/// By how much the server's resident memory may grow under any flood, in KiB. What these floods
/// ask it to keep, all together, is from 50 MiB to many GiB.
pub(crate) const BOUND: u64 = 16 * 1024;
/// Bytes of the large file.
pub(crate) const LARGE: usize = 8 << 20;
/// Another client waits no longer than this for a small file. Nothing here is about speed.
pub(crate) const OTHERS_WAIT: Duration = Duration::from_secs(20);
/// For what is there already, and for a server that is not expected to take more.
const A_MOMENT: Duration = Duration::from_millis(1);
const SOON: Duration = Duration::from_secs(2);
/// For a server that goes on: longer than a busy machine keeps it from that.
const LONG: Duration = Duration::from_secs(30);
/// Frames of one kind that no honest client sends one after the other.
pub(crate) const MANY: u32 = 100_000;
/// Frames in one write.
pub(crate) const BATCH: u32 = 500;

/// How a flood ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// GOAWAY with this code.
    Goaway(u32),
    /// The connection was closed, and what was said before was lost on the way.
    Closed,
    /// The server takes no more before we read.
    Stalled,
    /// The connection is as it was.
    Alive,
}

impl Ending {
    /// The server has put an end to it.
    pub(crate) fn is_end(self) -> bool {
        matches!(self, Self::Goaway(code) if code != code::NO_ERROR) || self == Self::Closed
    }
}

/// A server, what it kept in memory before, and its port.
pub(crate) struct Target {
    pub(crate) server: Running,
    endpoint: Endpoint,
    before: u64,
    _site: TempDir,
}

impl Target {
    pub(crate) fn start() -> Self {
        let site = common::site(&[("small.txt", "small"), ("sub/index.html", "index")]);
        std::fs::write(site.path().join("large.bin"), vec![b'l'; LARGE]).unwrap();
        let server = Running::start(site.path(), &["--workers", "2"]);
        // What the server keeps for everybody is no part of a flood.
        for path in ["/small.txt", "/large.bin", "/sub/"] {
            assert_eq!(server.get(path, "").0, 200);
        }
        let endpoint = Endpoint::bare(server.addr, Protocol::Http2Cleartext).unwrap();
        let before = resident(server.pid());
        Self {
            server,
            endpoint,
            before,
            _site: site,
        }
    }

    pub(crate) fn open(&self, settings: &[(u16, u32)]) -> Flood {
        let socket = FrameSocket::start(&self.endpoint, settings).unwrap();
        socket.set_patience(A_MOMENT, SOON).unwrap();
        Flood {
            socket,
            seen: None,
            served: 0,
            refused: 0,
        }
    }
}

/// Resident memory in KiB.
pub(crate) fn resident(pid: u32) -> u64 {
    status_kib(pid, "VmRSS")
}

/// One connection of the attacker.
pub(crate) struct Flood {
    pub(crate) socket: FrameSocket,
    seen: Option<Ending>,
    /// Answers with status 200.
    pub(crate) served: usize,
    /// All others, and streams that were reset.
    pub(crate) refused: usize,
}

/// The first byte of a section whose first field is `:status: 200` (RFC 7541 appendix A).
const STATUS_200: u8 = 0x88;

impl Flood {
    /// Sends frames and looks whether the server has had enough; `true` if it has.
    pub(crate) fn send(&mut self, frames: &[Frame]) -> bool {
        if self.seen.is_some() {
            return true;
        }
        self.socket.set_patience(A_MOMENT, LONG).unwrap();
        match self.socket.send_frames(frames) {
            Ok(()) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                self.seen = Some(Ending::Stalled);
                return true;
            }
            Err(_) => {}
        }
        self.look()
    }

    fn note(&mut self, frame: &Frame) {
        match frame.kind {
            kind::HEADERS if frame.payload.first() == Some(&STATUS_200) => self.served += 1,
            kind::HEADERS | kind::RST_STREAM => self.refused += 1,
            _ => {}
        }
    }

    /// Reads what is there; `true` if the connection is at its end.
    pub(crate) fn look(&mut self) -> bool {
        while self.seen.is_none() {
            match self.socket.read() {
                Ok(Some(frame)) if frame.kind == kind::GOAWAY => {
                    self.seen = frame.number(4).map(Ending::Goaway);
                }
                Ok(Some(frame)) => self.note(&frame),
                Err(error) if error.contains("nothing came") => return false,
                Ok(None) | Err(_) => self.seen = Some(Ending::Closed),
            }
        }
        true
    }

    /// The same without reading first: what the server says piles up.
    pub(crate) fn send_blindly(&mut self, frames: &[Frame]) -> bool {
        self.socket.set_patience(A_MOMENT, SOON).unwrap();
        match self.socket.send_frames(frames) {
            Ok(()) => false,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                self.seen = Some(Ending::Stalled);
                true
            }
            Err(_) => true,
        }
    }

    /// Reads until so many answers have begun.
    pub(crate) fn wait_for_heads(&mut self, count: usize) {
        self.socket.set_patience(LONG, LONG).unwrap();
        let mut heads = 0;
        while heads < count {
            let frame = self.socket.read().unwrap().unwrap();
            assert_ne!(frame.kind, kind::GOAWAY, "{frame:?}");
            heads += usize::from(frame.kind == kind::HEADERS);
        }
    }

    /// How it has ended so far. A PING that comes back shows a connection that goes on.
    pub(crate) fn ending(&mut self) -> Ending {
        if let Some(seen) = self.seen {
            return seen;
        }
        self.socket.set_patience(LONG, LONG).unwrap();
        let ping = Frame::new(kind::PING, 0, 0, *b"alive??\0");
        let _ = self.socket.send_frames(std::slice::from_ref(&ping));
        loop {
            match self.socket.read() {
                Ok(Some(frame)) if frame.kind == kind::GOAWAY => {
                    return frame.number(4).map_or(Ending::Closed, Ending::Goaway);
                }
                Ok(Some(frame)) if frame.kind == kind::PING && frame.payload == ping.payload => {
                    return Ending::Alive;
                }
                Ok(Some(frame)) => self.note(&frame),
                Err(error) if error.contains("nothing came") => return Ending::Stalled,
                Ok(None) | Err(_) => return Ending::Closed,
            }
        }
    }

    /// Sends frames made from a number, until enough is enough.
    pub(crate) fn repeat(&mut self, make: impl Fn(u32) -> Vec<Frame>) -> Ending {
        for start in (0..MANY).step_by(BATCH as usize) {
            let frames: Vec<_> = (start..start + BATCH).flat_map(&make).collect();
            if self.send(&frames) {
                break;
            }
        }
        self.ending()
    }
}

/// The stream of the n-th request.
pub(crate) fn stream(index: u32) -> u32 {
    2 * index + 1
}

pub(crate) fn fields(path: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    [
        (":method", "GET"),
        (":scheme", "http"),
        (":authority", "salver.test"),
        (":path", path),
    ]
    .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
    .to_vec()
}

pub(crate) fn get(index: u32, path: &str) -> Frame {
    Frame::headers(stream(index), literal(&fields(path)), true)
}

/// A request that is not at its end.
pub(crate) fn open_get(index: u32, path: &str) -> Frame {
    Frame::headers(stream(index), literal(&fields(path)), false)
}

/// Says that the attack is over when this is dropped.
pub(crate) struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs an attack beside another client; judges memory and what the other has seen, and gives
/// what the attack gives.
pub(crate) fn under<T>(name: &str, attack: impl FnOnce(&Target) -> T) -> T {
    let target = Target::start();
    let over = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        let (addr, pid) = (target.server.addr, target.server.pid());
        let over = &over;
        let bystander = scope.spawn(move || {
            let (mut count, mut longest, mut most) = (0, Duration::ZERO, 0);
            // At least once, however short the attack.
            while count == 0 || !over.load(Ordering::Relaxed) {
                let start = Instant::now();
                let (status, _, content) = common::get(addr, "/small.txt", "");
                assert_eq!((status, content.as_slice()), (200, &b"small"[..]));
                longest = longest.max(start.elapsed());
                most = most.max(resident(pid));
                count += 1;
            }
            (count, longest, most)
        });
        // The other client stops even if the attack fails.
        let ends = Ends(over);
        let outcome = attack(&target);
        most_of(name, &target, resident(target.server.pid()));
        drop(ends);
        let (count, longest, most) = bystander.join().unwrap();
        println!("{name}: {count} answers to another client, the slowest in {longest:?}");
        assert!(longest < OTHERS_WAIT, "{name}: another waited {longest:?}");
        most_of(name, &target, most);
        outcome
    });
    // The server is none the worse for it.
    assert_eq!(target.server.get("/sub/", "").0, 200);
    outcome
}

pub(crate) fn most_of(name: &str, target: &Target, resident: u64) {
    let grown = resident.saturating_sub(target.before);
    println!("{name}: {} KiB before, {grown} KiB more", target.before);
    assert!(grown < BOUND, "{name}: {grown} KiB more than before");
}

/// A flood of one connection that the server must end.
pub(crate) fn ends(name: &str, make: impl Fn(u32) -> Vec<Frame>) {
    let ending = under(name, |target| target.open(&[]).repeat(make));
    println!("{name}: {ending:?}");
    assert!(ending.is_end(), "{name}: {ending:?}");
}
