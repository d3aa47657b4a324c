//! Trees of many files.

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
