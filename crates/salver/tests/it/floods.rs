//! Clients of HTTP/2 that mean harm: the server's memory stays bounded, others are served
//! meanwhile, and what leads nowhere is ended.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::Running;
use salver_conformance::http2::{Frame, FrameSocket, bomb, code, flag, kind, literal, setting};
use salver_conformance::{Endpoint, Protocol};
use salver_test::status_kib;
use tempfile::TempDir;

/// By how much the server's resident memory may grow under any flood, in KiB. What these floods
/// ask it to keep, all together, is from 50 MiB to many GiB.
const BOUND: u64 = 16 * 1024;
/// Bytes of the large file.
const LARGE: usize = 8 << 20;
/// Another client waits no longer than this for a small file. Nothing here is about speed.
const OTHERS_WAIT: Duration = Duration::from_secs(20);
/// Frames of one kind that no honest client sends one after the other.
const MANY: u32 = 100_000;
/// Frames in one write.
const BATCH: u32 = 500;

/// How a flood ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
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
    fn is_end(self) -> bool {
        matches!(self, Self::Goaway(code) if code != code::NO_ERROR) || self == Self::Closed
    }
}

/// A server, what it kept in memory before, and its port.
struct Target {
    server: Running,
    endpoint: Endpoint,
    before: u64,
    _site: TempDir,
}

impl Target {
    fn start() -> Self {
        let site = crate::common::site(&[("small.txt", "small"), ("sub/index.html", "index")]);
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

    fn open(&self, settings: &[(u16, u32)]) -> Flood {
        let socket = FrameSocket::start(&self.endpoint, settings).unwrap();
        let read = Duration::from_millis(1);
        socket.set_patience(read, Duration::from_secs(2)).unwrap();
        Flood { socket, seen: None }
    }
}

/// Resident memory in KiB.
fn resident(pid: u32) -> u64 {
    status_kib(pid, "VmRSS")
}

/// One connection of the attacker.
struct Flood {
    socket: FrameSocket,
    seen: Option<Ending>,
}

impl Flood {
    /// Sends frames and looks whether the server has had enough; `true` if it has.
    fn send(&mut self, frames: &[Frame]) -> bool {
        if self.seen.is_some() {
            return true;
        }
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

    /// Reads what is there; `true` if the connection is at its end.
    fn look(&mut self) -> bool {
        while self.seen.is_none() {
            match self.socket.read() {
                Ok(Some(frame)) if frame.kind == kind::GOAWAY => {
                    self.seen = frame.number(4).map(Ending::Goaway);
                }
                Ok(Some(_)) => {}
                Err(error) if error.contains("nothing came") => return false,
                Ok(None) | Err(_) => self.seen = Some(Ending::Closed),
            }
        }
        true
    }

    /// The same without reading first: what the server says piles up.
    fn send_blindly(&mut self, frames: &[Frame]) -> bool {
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
    fn wait_for_heads(&mut self, count: usize) {
        let patience = Duration::from_secs(10);
        self.socket.set_patience(patience, patience).unwrap();
        let mut heads = 0;
        while heads < count {
            let frame = self.socket.read().unwrap().unwrap();
            assert_ne!(frame.kind, kind::GOAWAY, "{frame:?}");
            heads += usize::from(frame.kind == kind::HEADERS);
        }
    }

    /// How it has ended so far. A PING that comes back shows a connection that goes on.
    fn ending(&mut self) -> Ending {
        if let Some(seen) = self.seen {
            return seen;
        }
        let patience = Duration::from_secs(10);
        self.socket.set_patience(patience, patience).unwrap();
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
                Ok(Some(_)) => {}
                Err(error) if error.contains("nothing came") => return Ending::Stalled,
                Ok(None) | Err(_) => return Ending::Closed,
            }
        }
    }

    /// Sends frames made from a number, until enough is enough.
    fn repeat(&mut self, make: impl Fn(u32) -> Vec<Frame>) -> Ending {
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
fn stream(index: u32) -> u32 {
    2 * index + 1
}

fn fields(path: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    [
        (":method", "GET"),
        (":scheme", "http"),
        (":authority", "salver.test"),
        (":path", path),
    ]
    .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
    .to_vec()
}

fn get(index: u32, path: &str) -> Frame {
    Frame::headers(stream(index), literal(&fields(path)), true)
}

/// A request that is not at its end.
fn open_get(index: u32, path: &str) -> Frame {
    Frame::headers(stream(index), literal(&fields(path)), false)
}

/// Says that the attack is over when this is dropped.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs an attack beside another client; judges memory and what the other has seen, and gives
/// what the attack gives.
fn under<T>(name: &str, attack: impl FnOnce(&Target) -> T) -> T {
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
                let (status, _, content) = crate::common::get(addr, "/small.txt", "");
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

fn most_of(name: &str, target: &Target, resident: u64) {
    let grown = resident.saturating_sub(target.before);
    println!("{name}: {} KiB before, {grown} KiB more", target.before);
    assert!(grown < BOUND, "{name}: {grown} KiB more than before");
}

/// A flood of one connection that the server must end.
fn ends(name: &str, make: impl Fn(u32) -> Vec<Frame>) {
    let ending = under(name, |target| target.open(&[]).repeat(make));
    println!("{name}: {ending:?}");
    assert!(ending.is_end(), "{name}: {ending:?}");
}

/// One that it may also bear, since it costs nothing.
fn is_borne(name: &str, make: impl Fn(u32) -> Vec<Frame>) {
    let ending = under(name, |target| target.open(&[]).repeat(make));
    println!("{name}: {ending:?}");
}

#[test]
fn rapid_reset() {
    ends("HEADERS and RST_STREAM", |index| {
        vec![
            get(index, "/large.bin"),
            Frame::reset(stream(index), code::CANCEL),
        ]
    });
}

#[test]
fn resets_that_are_provoked() {
    ends("WINDOW_UPDATE of nothing", |index| {
        vec![
            get(index, "/large.bin"),
            Frame::window_update(stream(index), 0),
        ]
    });
    ends("WINDOW_UPDATE beyond all bounds", |index| {
        vec![
            get(index, "/large.bin"),
            Frame::window_update(stream(index), 0x7fff_ffff),
        ]
    });
    ends("PRIORITY of a wrong length", |index| {
        vec![
            get(index, "/large.bin"),
            Frame::new(kind::PRIORITY, 0, stream(index), [0; 4]),
        ]
    });
    ends("DATA behind the end", |index| {
        vec![
            get(index, "/large.bin"),
            Frame::new(kind::DATA, 0, stream(index), *b"late"),
        ]
    });
    ends("malformed requests", |index| {
        let mut fields = fields("/large.bin");
        fields.push((b"X-Upper".to_vec(), b"1".to_vec()));
        vec![Frame::headers(stream(index), literal(&fields), true)]
    });
}

#[test]
fn endless_sections() {
    for (name, size) in [
        ("CONTINUATIONs of 16 KiB", 16_384),
        ("CONTINUATIONs of a byte", 1),
        ("empty CONTINUATIONs", 0),
    ] {
        ends(name, |index| {
            if index == 0 {
                vec![Frame::new(
                    kind::HEADERS,
                    flag::END_STREAM,
                    1,
                    literal(&fields("/")),
                )]
            } else {
                // A field that does not end.
                vec![Frame::new(kind::CONTINUATION, 0, 1, vec![0x40; size])]
            }
        });
    }
}

#[test]
fn empty_frames() {
    let begins = |index: u32, frame: Frame| {
        if index == 0 {
            vec![open_get(0, "/small.txt")]
        } else {
            vec![frame]
        }
    };
    ends("empty DATA", |index| {
        begins(index, Frame::new(kind::DATA, 0, 1, []))
    });
    ends("padding without DATA", |index| {
        begins(index, Frame::new(kind::DATA, flag::PADDED, 1, [3, 0, 0, 0]))
    });
    ends("empty HEADERS", |index| {
        vec![Frame::headers(stream(index), Vec::new(), true)]
    });
}

#[test]
fn frames_of_the_connection() {
    ends("PING", |_| vec![Frame::new(kind::PING, 0, 0, [1; 8])]);
    ends("SETTINGS", |index| {
        vec![Frame::settings(&[(setting::INITIAL_WINDOW_SIZE, index)])]
    });
    ends("empty SETTINGS", |_| vec![Frame::settings(&[])]);
    ends("PRIORITY", |index| {
        vec![Frame::new(
            kind::PRIORITY,
            0,
            stream(index),
            [0, 0, 0, 0, 1],
        )]
    });
    ends("PRIORITY_UPDATE", |index| {
        let mut payload = stream(index).to_be_bytes().to_vec();
        payload.extend_from_slice(b"u=1, i");
        vec![Frame::new(kind::PRIORITY_UPDATE, 0, 0, payload)]
    });
    is_borne("WINDOW_UPDATE of the connection", |_| {
        vec![Frame::window_update(0, 1)]
    });
    is_borne("frames of no known type", |_| {
        vec![Frame::new(0xbb, 0, 0, [0; 100])]
    });
}

/// What the server wants to say piles up, since nobody reads it.
#[test]
fn answers_that_nobody_reads() {
    for (name, frame) in [
        ("unread PING", Frame::new(kind::PING, 0, 0, [1; 8])),
        ("unread SETTINGS", Frame::settings(&[])),
    ] {
        let ending = under(name, |target| {
            let mut flood = target.open(&[]);
            let frames = vec![frame.clone(); 1000];
            // 1000 frames of at least nine bytes each time: far beyond what sockets hold.
            for _ in 0..2000 {
                if flood.send_blindly(&frames) {
                    break;
                }
            }
            flood.ending()
        });
        println!("{name}: {ending:?}");
        assert_ne!(ending, Ending::Alive, "{name}");
    }
    let name = "unread files";
    under(name, |target| {
        let mut floods = Vec::new();
        for _ in 0..20 {
            let mut flood = target.open(&[(setting::INITIAL_WINDOW_SIZE, 0x7fff_ffff)]);
            let mut frames = vec![Frame::window_update(0, 0x7000_0000)];
            frames.extend((0..50).map(|index| get(index, "/large.bin")));
            flood.send_blindly(&frames);
            floods.push(flood);
        }
        // Another round trip on each worker: what they were going to read, they have.
        for _ in 0..50 {
            assert_eq!(target.server.get("/small.txt", "").0, 200);
        }
        most_of(name, target, resident(target.server.pid()));
    });
}

#[test]
fn header_bombs() {
    let name = "a table's entry a million times";
    let ending = under(name, |target| {
        let mut flood = target.open(&[]);
        // 16 KiB that stand for 48 MiB, on each of 100 streams.
        flood.repeat(|index| {
            if index < 100 {
                let block = bomb(&fields("/small.txt"), 4000, 12_000);
                assert!(block.len() <= 16_384);
                vec![Frame::headers(stream(index), block, true)]
            } else {
                Vec::new()
            }
        })
    });
    println!("{name}: {ending:?}");
    let name = "a value of Huffman code";
    let ending = under(name, |target| {
        let mut flood = target.open(&[]);
        flood.repeat(|index| {
            if index >= 100 {
                return Vec::new();
            }
            let mut block = literal(&fields("/small.txt"));
            // A literal whose value is 15000 bytes of the shortest code: 24000 times "0".
            block.extend_from_slice(&[0, 1, b'a', 0xff, 0x99, 0x74]);
            block.resize(block.len() + 15_000, 0);
            vec![Frame::headers(stream(index), block, true)]
        })
    });
    println!("{name}: {ending:?}");
}

#[test]
fn a_table_of_four_gigabytes() {
    let name = "SETTINGS_HEADER_TABLE_SIZE of 4 GiB";
    let ending = under(name, |target| {
        let mut flood = target.open(&[(setting::HEADER_TABLE_SIZE, u32::MAX)]);
        let window = Frame::window_update(0, 0x7000_0000);
        flood.socket.send_frames(&[window]).unwrap();
        // Each redirect names another place, which a server might want to remember.
        for start in (0..5000).step_by(50) {
            let frames: Vec<_> = (start..start + 50)
                .map(|index| get(index, &format!("/sub?{index}{}", "q".repeat(2000))))
                .collect();
            flood.socket.send_frames(&frames).unwrap();
            flood.wait_for_heads(frames.len());
        }
        flood.ending()
    });
    println!("{name}: {ending:?}");
    // No request was wrong: such a client is served.
    assert_eq!(ending, Ending::Alive, "{name}");
}

#[test]
fn windows_that_stay_shut() {
    let name = "a window of nothing";
    under(name, |target| {
        let mut floods = Vec::new();
        for _ in 0..20 {
            let mut flood = target.open(&[(setting::INITIAL_WINDOW_SIZE, 0)]);
            let frames: Vec<_> = (0..50).map(|index| get(index, "/large.bin")).collect();
            flood.send(&frames);
            floods.push(flood);
        }
        // The heads have come, and the connections are alive: their content waits.
        for flood in &mut floods {
            assert_eq!(flood.ending(), Ending::Alive, "{name}");
        }
        most_of(name, target, resident(target.server.pid()));
    });
    let name = "a window of one byte";
    let ending = under(name, |target| {
        let mut flood = target.open(&[(setting::INITIAL_WINDOW_SIZE, 1)]);
        let frames: Vec<_> = (0..20).map(|index| get(index, "/large.bin")).collect();
        flood.send(&frames);
        for _ in 0..200 {
            let updates: Vec<_> = (0..20)
                .map(|index| Frame::window_update(stream(index), 1))
                .collect();
            if flood.send(&updates) {
                break;
            }
        }
        flood.ending()
    });
    println!("{name}: {ending:?}");
}

#[test]
fn more_streams_than_allowed() {
    let name = "streams that stay open";
    let (ending, refused) = under(name, |target| {
        let mut flood = target.open(&[]);
        let mut refused = 0;
        let frames: Vec<_> = (0..2000)
            .map(|index| open_get(index, "/large.bin"))
            .collect();
        let sent = flood.socket.send_frames(&frames);
        let patience = Duration::from_secs(10);
        flood.socket.set_patience(patience, patience).unwrap();
        let ping = Frame::new(kind::PING, 0, 0, *b"the end?");
        let pinged = flood.socket.send_frames(&[ping]);
        let ending = loop {
            match flood.socket.read() {
                Ok(Some(frame)) if frame.kind == kind::GOAWAY => {
                    break frame.number(4).map_or(Ending::Closed, Ending::Goaway);
                }
                Ok(Some(frame)) if frame.kind == kind::RST_STREAM => refused += 1,
                Ok(Some(frame)) if frame.kind == kind::PING => break Ending::Alive,
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break Ending::Closed,
            }
        };
        println!("{name}: {sent:?} {pinged:?}");
        (ending, refused)
    });
    println!("{name}: {refused} refused, {ending:?}");
    assert!(
        ending.is_end() || refused > 1000,
        "{name}: {refused} refused, {ending:?}"
    );
}
