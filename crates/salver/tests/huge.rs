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

mod tree {
    use super::*;
    use rustix::fs::inotify;

    /// Bytes in each file.
    const LENGTH: usize = 100;

    /// Files in a directory, and directories in one.
    const FAN: usize = 100;

    fn path(number: usize) -> String {
        let (directory, file) = (number / FAN, number % FAN);
        format!(
            "{:02}/{:02}/{file:02}.txt",
            directory / FAN,
            directory % FAN
        )
    }

    fn content(number: usize) -> [u8; LENGTH] {
        let mut bytes = [b'.'; LENGTH];
        let text = format!("file {number}\n");
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        bytes
    }

    /// A tree of so many files.
    fn tree(files: usize) -> TempDir {
        let root = directory();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let root = root.path();
                scope.spawn(move || {
                    for directory in (thread..files.div_ceil(FAN)).step_by(threads) {
                        let first = directory * FAN;
                        let place = root.join(path(first));
                        fs::create_dir_all(place.parent().unwrap()).unwrap();
                        for number in first..files.min(first + FAN) {
                            let file = File::create(root.join(path(number))).unwrap();
                            file.write_all_at(&content(number), 0).unwrap();
                            settle(&file);
                        }
                    }
                });
            }
        });
        root
    }

    /// A connection on which requests are sent many at a time.
    struct Client {
        stream: TcpStream,
        /// All answers are equally long.
        answer: usize,
        buffer: Vec<u8>,
    }

    /// Requests under way on one connection.
    const BATCH: usize = 32;

    impl Client {
        fn new(server: &Running) -> Self {
            let mut stream = server.connect();
            stream.set_nodelay(true).unwrap();
            stream.write_all(request(0).as_bytes()).unwrap();
            let mut buffer = vec![0; 4096];
            let mut answer = 0;
            while !buffer[..answer].ends_with(&content(0)) {
                let count = stream.read(&mut buffer[answer..]).unwrap();
                assert!(count > 0, "closed");
                answer += count;
            }
            Client {
                stream,
                answer,
                buffer,
            }
        }

        /// Asks for files and checks what comes.
        fn fetch(&mut self, numbers: impl Iterator<Item = usize>) {
            let mut numbers = numbers.peekable();
            while numbers.peek().is_some() {
                let batch: Vec<_> = numbers.by_ref().take(BATCH).collect();
                let requests: String = batch.iter().copied().map(request).collect();
                self.stream.write_all(requests.as_bytes()).unwrap();
                self.buffer.resize(batch.len() * self.answer, 0);
                self.stream.read_exact(&mut self.buffer).unwrap();
                for (number, answer) in batch.iter().zip(self.buffer.chunks(self.answer)) {
                    assert!(answer.starts_with(b"HTTP/1.1 200 "), "{number}");
                    assert!(answer.ends_with(&content(*number)), "{number}");
                }
            }
        }
    }

    fn request(number: usize) -> String {
        format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", path(number))
    }

    const CONNECTIONS: usize = 4;

    /// Each file once.
    fn crawl(server: &Running, files: usize) {
        std::thread::scope(|scope| {
            for first in 0..CONNECTIONS {
                let mut client = Client::new(server);
                scope.spawn(move || client.fetch((first..files).step_by(CONNECTIONS)));
            }
        });
    }

    /// As people ask: the file at rank R about 1/R as often as the first.
    fn zipf(server: &Running, files: usize, requests: usize) {
        std::thread::scope(|scope| {
            for seed in 1..=CONNECTIONS {
                let mut client = Client::new(server);
                let mut state = u64::try_from(seed)
                    .unwrap()
                    .wrapping_mul(0x9E37_79B9_7F4A_7C15);
                scope.spawn(move || {
                    client.fetch((0..requests / CONNECTIONS).map(|_| {
                        state ^= state << 13;
                        state ^= state >> 7;
                        state ^= state << 17;
                        // Each power of two is as likely as another, and within it each rank.
                        let octave = (state >> 32) % u64::from(files.ilog2() + 1);
                        let rank = (1 << octave) + (state & u64::from(u32::MAX)) % (1 << octave);
                        let rank = usize::try_from(rank).unwrap();
                        // Not those that were asked for first, or last, or beside each other.
                        rank * 7_919 % files
                    }));
                });
            }
        });
    }

    /// Until the port is open; nobody has asked for anything yet.
    fn start(root: &Path, cache: &str) -> (Running, Duration) {
        let begin = Instant::now();
        let server = Running::start(root, &["--workers", "2", "--cache-size", cache]);
        drop(server.connect());
        (server, begin.elapsed())
    }

    fn start_up(root: &Path, cache: &str) -> Duration {
        let mut times: Vec<_> = (0..5).map(|_| start(root, cache).1).collect();
        times.sort_unstable();
        times[2]
    }

    /// Resident memory after a crawl through all files and a load that prefers some, in KiB.
    /// Resident memory in KiB, and threads.
    fn held_after(root: &Path, files: usize, requests: usize, cache: &str) -> (u64, u64) {
        let (server, _) = start(root, cache);
        let begin = Instant::now();
        crawl(&server, files);
        let crawled = (status_kib(server.pid(), "VmRSS"), begin.elapsed());
        zipf(&server, files, requests);
        let resident = status_kib(server.pid(), "VmRSS");
        let threads = status_kib(server.pid(), "Threads");
        say(&format!(
            "{files} files: {} KiB resident after the crawl (which took {:.1?}), {resident} KiB \
             after {requests} further requests ({} KiB of it not from files), {} KiB at most; \
             {threads} threads",
            crawled.0,
            crawled.1,
            status_kib(server.pid(), "RssAnon"),
            status_kib(server.pid(), "VmHWM")
        ));
        (resident, threads)
    }

    /// What the allocator may keep back for each thread that has loaded and let go of files, for the
    /// next of the same size. No tree moves it, but beside a small budget it shows.
    const THREAD_KIB: u64 = 1024;

    fn check(files: usize, requests: usize, cache: &str, cache_kib: u64, thread_kib: u64) {
        let small = tree(1000);
        let large = tree(files);
        judge("start-up", || {
            let (quick, slow) = (start_up(small.path(), cache), start_up(large.path(), cache));
            say(&format!(
                "start-up over 1000 files {quick:.1?}, over {files} files {slow:.1?}"
            ));
            // The walk of a tree of a million files takes seconds.
            let is_quick = (slow < quick * 2 + Duration::from_millis(500)).then_some(());
            is_quick.ok_or_else(|| format!("{quick:?} {slow:?}"))
        });
        let (few, _) = held_after(small.path(), 1000, requests, cache);
        let (many, threads) = held_after(large.path(), files, requests, cache);
        let may = few + cache_kib + threads * thread_kib;
        say(&format!(
            "{files} files in {many} KiB; 1000 files, the budget and {thread_kib} KiB for each of \
             {threads} threads: {may} KiB"
        ));
        assert!(many <= may, "{many} KiB of {may} KiB");
    }

    #[test]
    fn memory_follows_the_budget_and_not_the_tree() {
        check(30_000, 30_000, "8MiB", 8 * 1024, THREAD_KIB);
    }

    #[test]
    #[ignore = "makes a tree of 1,000,000 files: make huge"]
    fn a_million_files() {
        check(1_000_000, 1_000_000, "64MiB", 64 * 1024, 0);
    }

    /// Whether a directory of the tree is read while a server starts.
    fn walks(root: &Path, args: &[&str]) -> bool {
        let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        for directory in ["", "00", "00/00", "01", "01/07"] {
            let flags = inotify::WatchFlags::ACCESS | inotify::WatchFlags::ONLYDIR;
            inotify::add_watch(&watch, root.join(directory), flags).unwrap();
        }
        let server = Running::start(root, args);
        drop(server.connect());
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(watch, &mut buffer);
        while let Ok(event) = events.next() {
            if event.events().contains(inotify::ReadFlags::ISDIR) {
                return true;
            }
        }
        false
    }

    #[test]
    fn starting_reads_no_directory() {
        let root = tree(20_000);
        assert!(!walks(root.path(), &[]));
        // This would be seen if it happened.
        assert!(walks(root.path(), &["--prewarm"]));
    }
}
