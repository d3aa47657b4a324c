//! Huge files and huge trees: what they cost does not follow their size.
//!
//! `make huge` does with 1,000,000 files what `cargo test` does with 30,000.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod common;
#[path = "huge/tree.rs"]
mod tree;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use common::{PATIENCE, Running};
use salver_test::machine::judge;
use salver_test::status_kib;
use tempfile::TempDir;

/// Past the capture of the test harness: figures that nobody sees prove nothing.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// On a file system that keeps what is large or many on a disk, as `/tmp` may not.
fn directory() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// So that nobody waits for a file to settle.
fn settle(file: &File) {
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    file.set_modified(long_ago).unwrap();
}

mod sparse {
    use super::*;

    const GIB: u64 = 1 << 30;
    const LENGTH: u64 = 20 * GIB;

    /// Where the file is no hole: its beginning, both sides of what 32 bits can say, signed and
    /// unsigned, somewhere beyond, and its end.
    const MARKS: [u64; 5] = [0, 2 * GIB - 9, 4 * GIB - 9, 13 * GIB + 4097, LENGTH - 18];
    const MARK: usize = 18;

    fn mark(at: u64) -> [u8; MARK] {
        let text = format!("<{at:016x}>");
        text.as_bytes().try_into().unwrap()
    }

    /// What the file has in `range`.
    fn content(range: Range<u64>) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(range.end - range.start).unwrap()];
        for at in MARKS {
            for (offset, byte) in (at..).zip(mark(at)) {
                if range.contains(&offset) {
                    bytes[usize::try_from(offset - range.start).unwrap()] = byte;
                }
            }
        }
        bytes
    }

    fn site() -> TempDir {
        let root = directory();
        let file = File::create(root.path().join("huge.bin")).unwrap();
        file.set_len(LENGTH).unwrap();
        for at in MARKS {
            file.write_all_at(&mark(at), at).unwrap();
        }
        settle(&file);
        root
    }

    /// A request on a connection of its own, and the head of its answer; nothing of its content
    /// has been read beyond.
    fn ask(server: SocketAddr, method: &str, fields: &str) -> (u16, String, TcpStream) {
        let mut stream = TcpStream::connect(server).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "{method} /huge.bin HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}\r\n"
        )
        .unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head, stream)
    }

    fn field<'a>(head: &'a str, name: &str) -> &'a str {
        let value = head.lines().find_map(|line| {
            let (field, value) = line.split_once(": ")?;
            field.eq_ignore_ascii_case(name).then_some(value)
        });
        value.unwrap_or_else(|| panic!("no {name}: {head}"))
    }

    /// One range, asked for as `asked`, is `range` of the file.
    fn check(server: SocketAddr, asked: &str, more: &str, range: Range<u64>) {
        let (status, head, mut stream) =
            ask(server, "GET", &format!("Range: bytes={asked}\r\n{more}"));
        assert_eq!(status, 206, "{asked}: {head}");
        let expected = format!("bytes {}-{}/{LENGTH}", range.start, range.end - 1);
        assert_eq!(field(&head, "content-range"), expected, "{asked}");
        let length = (range.end - range.start).to_string();
        assert_eq!(field(&head, "content-length"), length, "{asked}");
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        assert!(got == content(range), "{asked}");
    }

    fn check_all(server: SocketAddr) {
        for at in MARKS {
            let end = LENGTH.min(at + 300);
            let start = at.saturating_sub(300);
            check(server, &format!("{start}-{}", end - 1), "", start..end);
        }
        check(server, "0-0", "", 0..1);
        check(server, "-1", "", LENGTH - 1..LENGTH);
        check(server, "-1000", "", LENGTH - 1000..LENGTH);
        let start = LENGTH - 500;
        check(server, &format!("{start}-"), "", start..LENGTH);
        check(server, &format!("{start}-{}", u64::MAX), "", start..LENGTH);
    }

    #[test]
    fn every_range_of_a_file_of_20_gib_is_right() {
        let root = site();
        let server = Running::start(root.path(), &[]);
        let (status, head, mut stream) = ask(server.addr, "HEAD", "");
        assert_eq!(status, 200, "{head}");
        assert_eq!(field(&head, "content-length"), LENGTH.to_string());
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "HEAD has no content");
        check_all(server.addr);

        // If-Range (RFC 9110 section 13.1.5): what still holds gives the range, else all comes.
        let near_end = 18 * GIB..18 * GIB + 10;
        let asked = format!("{}-{}", near_end.start, near_end.end - 1);
        // As long as it may change again unseen, its tag is weak, which never holds there.
        let weak = format!(
            "Range: bytes={asked}\r\nIf-Range: {}\r\n",
            field(&head, "etag")
        );
        let is_weak = field(&head, "etag").starts_with("W/");
        let (status, ..) = ask(server.addr, "GET", &weak);
        assert_eq!(status, if is_weak { 200 } else { 206 }, "{head}");
        let end = Instant::now() + PATIENCE;
        let mut head = head;
        while field(&head, "etag").starts_with("W/") {
            assert!(Instant::now() < end, "never strong: {head}");
            std::thread::sleep(Duration::from_millis(100));
            (_, head, _) = ask(server.addr, "HEAD", "");
        }
        for validator in ["etag", "last-modified"] {
            let if_range = format!("If-Range: {}\r\n", field(&head, validator));
            check(server.addr, &asked, &if_range, near_end.clone());
        }
        let fields = format!("Range: bytes={asked}\r\nIf-Range: \"another\"\r\n");
        let (status, other, _) = ask(server.addr, "GET", &fields);
        assert_eq!(status, 200, "{other}");
        assert_eq!(field(&other, "content-length"), LENGTH.to_string());

        for beyond in [format!("{LENGTH}-"), format!("{LENGTH}-{}", LENGTH + 5)] {
            let (status, head, _) = ask(server.addr, "GET", &format!("Range: bytes={beyond}\r\n"));
            assert_eq!(status, 416, "{beyond}: {head}");
            assert_eq!(field(&head, "content-range"), format!("bytes */{LENGTH}"));
        }
    }

    #[test]
    fn parts_far_from_each_other_come_in_one_answer() {
        let root = site();
        let server = Running::start(root.path(), &[]);
        let ranges = [
            0..40,
            4 * GIB - 20..4 * GIB + 20,
            13 * GIB..13 * GIB + 8000,
            LENGTH - 33..LENGTH,
        ];
        let list = ranges
            .iter()
            .map(|range| format!("{}-{}", range.start, range.end - 1));
        let list: Vec<_> = list.collect();
        let fields = format!("Range: bytes={}\r\n", list.join(","));
        let (status, head, mut stream) = ask(server.addr, "GET", &fields);
        assert_eq!(status, 206, "{head}");
        let (_, boundary) = field(&head, "content-type")
            .split_once("boundary=")
            .unwrap();
        let mut body = Vec::new();
        stream.read_to_end(&mut body).unwrap();
        assert_eq!(field(&head, "content-length"), body.len().to_string());
        let delimiter = format!("--{}", boundary.trim_matches('"')).into_bytes();
        let mut rest = &body[..];
        for range in ranges {
            let at = find(rest, &delimiter).unwrap() + delimiter.len();
            let end = at + find(&rest[at..], b"\r\n\r\n").unwrap() + 4;
            let part = String::from_utf8(rest[at..end].to_vec()).unwrap();
            let expected = format!("bytes {}-{}/{LENGTH}", range.start, range.end - 1);
            assert_eq!(field(&part, "content-range"), expected);
            let expected = content(range);
            assert!(rest[end..].starts_with(&expected), "{part}");
            rest = &rest[end + expected.len()..];
        }
        assert_eq!(find(rest, &[&delimiter[..], b"--"].concat()), Some(2));
    }

    fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
        bytes.windows(part.len()).position(|some| some == part)
    }

    /// Memory may grow by this while a gibibyte is sent: a few windows, and the allocator's own.
    const GROWTH_KIB: u64 = 12 * 1024;

    #[test]
    fn memory_stays_flat_while_a_gibibyte_leaves() {
        let root = site();
        let server = Running::start(root.path(), &["--workers", "2"]);
        // All that is needed once is there.
        check_all(server.addr);
        let before = status_kib(server.pid(), "VmRSS");
        let ends = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (address, ends) = (server.addr, &ends);
            for _ in 0..3 {
                scope.spawn(move || {
                    while !ends.load(Ordering::Relaxed) {
                        check_all(address);
                    }
                });
            }
            // Ends when this leaves, however it does.
            let _end = SetOnDrop(ends);
            let range = 12 * GIB + 5..13 * GIB + 5 + (1 << 20);
            let asked = format!("Range: bytes={}-{}\r\n", range.start, range.end - 1);
            let (status, head, mut stream) = ask(server.addr, "GET", &asked);
            assert_eq!(status, 206, "{head}");
            let mut buffer = vec![0; 256 * 1024];
            let zeros = buffer.clone();
            let mut at = range.start;
            loop {
                let count = stream.read(&mut buffer).unwrap();
                if count == 0 {
                    break;
                }
                let next = at + u64::try_from(count).unwrap();
                let is_hole = !MARKS.iter().any(|mark| (at..next).contains(mark))
                    && !MARKS.iter().any(|mark| (at..next).contains(&(mark + 17)));
                let right = if is_hole {
                    buffer[..count] == zeros[..count]
                } else {
                    buffer[..count] == content(at..next)
                };
                assert!(right, "{at}");
                at = next;
            }
            assert_eq!(at, range.end);
        });
        let peak = status_kib(server.pid(), "VmHWM");
        say(&format!(
            "20 GiB file: {before} KiB resident before 1 GiB was sent, at most {peak} KiB meanwhile"
        ));
        assert!(peak < before + GROWTH_KIB, "{before} KiB, {peak} KiB");
    }

    struct SetOnDrop<'a>(&'a AtomicBool);

    impl Drop for SetOnDrop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
