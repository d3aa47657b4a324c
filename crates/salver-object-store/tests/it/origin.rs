//! An origin that is asked by HTTP, over sockets: the client that all buckets are asked by, against a server that does
//! what it is told.

use std::collections::HashMap;
use std::io::{BufReader, ErrorKind, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use salver_assets::source::Kind;
use salver_assets::{Patience, Source as _, View};
use salver_object_store::{ObjectStoreSource, Settings};
use salver_test::{Refusing, request_head};

/// How many of the next requests get this instead of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instead {
    Silence,
    Cut,
    Status(u16),
    /// An answer that says to be whole, and is not.
    Truncated,
    /// An answer that announces more than there is, and ends.
    Lengthened,
    /// A 404 whose page is no UTF-8.
    LatinPage,
    /// A 404 whose page never ends.
    EndlessPage,
}

/// A server of files in memory, with entity tags, ranges, and redirects from directories.
#[derive(Debug)]
struct Origin {
    files: Mutex<HashMap<String, Vec<u8>>>,
    instead: Mutex<(usize, Option<Instead>)>,
    requests: AtomicUsize,
    connections: AtomicUsize,
    port: u16,
    /// Entity tags are weak.
    is_weak: AtomicBool,
    /// `Range` is not looked at.
    knows_no_ranges: AtomicBool,
}

impl Origin {
    fn start(files: &[(&str, &[u8])]) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let files = files
            .iter()
            .map(|(path, content)| ((*path).to_owned(), content.to_vec()));
        let origin = Arc::new(Origin {
            files: Mutex::new(files.collect()),
            instead: Mutex::default(),
            requests: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            port: listener.local_addr().unwrap().port(),
            is_weak: AtomicBool::new(false),
            knows_no_ranges: AtomicBool::new(false),
        });
        let server = Arc::clone(&origin);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let server = Arc::clone(&server);
                server.connections.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || server.serve(&stream.unwrap()));
            }
        });
        origin
    }

    fn next(&self, count: usize, instead: Instead) {
        *self.instead.lock().unwrap() = (count, Some(instead));
    }

    fn source(&self, timeout: Duration) -> ObjectStoreSource {
        self.reused(timeout, Duration::ZERO)
    }

    /// A source that tells again what it was told so long ago at most.
    fn reused(&self, timeout: Duration, revalidate: Duration) -> ObjectStoreSource {
        let settings = Settings {
            revalidate,
            timeout,
            ..Settings::default()
        };
        let url = format!("http://127.0.0.1:{}/files", self.port);
        ObjectStoreSource::open(&url, settings).unwrap()
    }

    fn serve(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        while let Some(head) = request_head(&mut reader) {
            self.requests.fetch_add(1, Ordering::SeqCst);
            let instead = {
                let mut instead = self.instead.lock().unwrap();
                let is_due = instead.0 > 0;
                instead.0 = instead.0.saturating_sub(1);
                instead.1.filter(|_| is_due)
            };
            let answer = match instead {
                Some(Instead::Silence) => {
                    std::thread::sleep(Duration::from_secs(60));
                    return;
                }
                Some(Instead::Status(status)) => {
                    format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n").into_bytes()
                }
                Some(Instead::Truncated) => {
                    let answer = String::from_utf8(self.answer(&head)).unwrap();
                    let answer = answer.replace("Content-Length: 7", "Content-Length: 3");
                    answer.replace("content", "con").into_bytes()
                }
                Some(Instead::Lengthened) => {
                    let answer = String::from_utf8(self.answer(&head)).unwrap();
                    let answer = answer.replace("Content-Length: 7", "Content-Length: 17");
                    let mut stream = stream;
                    let _ = stream.write_all(answer.as_bytes());
                    return;
                }
                Some(Instead::LatinPage) => {
                    b"HTTP/1.1 404 X\r\nContent-Length: 2\r\n\r\n\xe9\xe8".to_vec()
                }
                Some(Instead::EndlessPage) => {
                    let mut stream = stream;
                    let _ = stream.write_all(b"HTTP/1.1 404 X\r\n\r\n");
                    while stream.write_all(&[b'x'; 8192]).is_ok() {}
                    return;
                }
                Some(Instead::Cut) => {
                    let answer = self.answer(&head);
                    let half = answer.len() - 2;
                    let mut stream = stream;
                    let _ = stream.write_all(&answer[..half]);
                    return;
                }
                None => self.answer(&head),
            };
            let mut stream = stream;
            if stream.write_all(&answer).is_err() {
                return;
            }
        }
    }

    fn answer(&self, head: &[String]) -> Vec<u8> {
        let mut parts = head[0].split(' ');
        let (method, path) = (parts.next().unwrap(), parts.next().unwrap());
        let field = |name: &str| {
            head.iter().find_map(|line| {
                let (known, value) = line.split_once(": ")?;
                known.eq_ignore_ascii_case(name).then(|| value.to_owned())
            })
        };
        let files = self.files.lock().unwrap();
        let Some(content) = files.get(path) else {
            let directory = format!("{path}/");
            let status = match files.keys().any(|known| known.starts_with(&directory)) {
                true => format!("301 X\r\nLocation: {directory}"),
                false => "404 X".to_owned(),
            };
            return format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").into_bytes();
        };
        let sum: usize = content.iter().map(|byte| usize::from(*byte)).sum();
        let weak = match self.is_weak.load(Ordering::SeqCst) {
            true => "W/",
            false => "",
        };
        let tag = format!("{weak}\"{}-{sum}\"", content.len());
        if field("If-None-Match").as_ref() == Some(&tag) {
            return format!("HTTP/1.1 304 X\r\nETag: {tag}\r\n\r\n").into_bytes();
        }
        if field("If-Match").is_some_and(|wanted| wanted != tag) {
            return b"HTTP/1.1 412 X\r\nContent-Length: 0\r\n\r\n".to_vec();
        }
        let range = field("Range").filter(|_| !self.knows_no_ranges.load(Ordering::SeqCst));
        if range.is_some() && content.is_empty() {
            return b"HTTP/1.1 416 X\r\nContent-Length: 0\r\n\r\n".to_vec();
        }
        let range = range.map(|range| {
            let (start, end) = range
                .strip_prefix("bytes=")
                .unwrap()
                .split_once('-')
                .unwrap();
            let end: usize = end.parse().unwrap();
            start.parse().unwrap()..content.len().min(end + 1)
        });
        if range.as_ref().is_some_and(|range| range.is_empty()) {
            return b"HTTP/1.1 416 X\r\nContent-Length: 0\r\n\r\n".to_vec();
        }
        let status = match &range {
            Some(range) => format!(
                "206 X\r\nContent-Range: bytes {}-{}/{}",
                range.start,
                range.end - 1,
                content.len()
            ),
            None => "200 X".to_owned(),
        };
        let body = &content[range.unwrap_or(0..content.len())];
        let head = format!(
            "HTTP/1.1 {status}\r\nETag: {tag}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        match method {
            "HEAD" => head.into_bytes(),
            _ => [head.as_bytes(), body].concat(),
        }
    }
}

const PATIENT: Duration = Duration::from_secs(30);

fn view(origin: &Origin, timeout: Duration) -> Arc<dyn View> {
    origin.source(timeout).view(Patience::MayWait).unwrap()
}

fn read(view: &dyn View, path: &[u8], from: u64, length: usize) -> std::io::Result<Vec<u8>> {
    let opened = view.open(path, Patience::MayWait)?;
    let mut buffer = vec![0; length];
    let count = opened
        .reader
        .read_at(&mut buffer, from, Patience::MayWait)?;
    buffer.truncate(count);
    Ok(buffer)
}

#[test]
fn files_directories_and_nothing() {
    let long: Vec<u8> = (0..9_000_000_u32)
        .map(|at| u8::try_from(at % 251).unwrap())
        .collect();
    let origin = Origin::start(&[
        ("/files/a%20b.txt", b"spaced"),
        ("/files/docs/index.html", b"index"),
        ("/files/bare/x.txt", b"x"),
        ("/files/long", &long),
        ("/secret", b"beside"),
    ]);
    let view = view(&origin, PATIENT);
    let kind = |path: &[u8]| view.stat(path, Patience::MayWait).map(|found| found.kind);
    assert_eq!(read(&*view, b"a b.txt", 0, 9).unwrap(), b"spaced");
    assert_eq!(kind(b"docs").unwrap(), Kind::Directory);
    assert_eq!(kind(b"docs/index.html").unwrap(), Kind::File);
    // It has no index, and there is no list.
    assert_eq!(kind(b"bare").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(kind(b"nothing").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(kind(b"../secret").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(
        kind(b"%2e%2e/secret").unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(view.list(b"").unwrap_err().kind(), ErrorKind::Unsupported);
    let far = 8_500_000_usize;
    let bytes = read(&*view, b"long", u64::try_from(far).unwrap(), 1000).unwrap();
    assert!(!bytes.is_empty() && bytes == long[far..far + bytes.len()]);
}

#[test]
fn connections_are_used_again() {
    let origin = Origin::start(&[("/files/a", b"a")]);
    let source = origin.source(PATIENT);
    for _ in 0..20 {
        let view = source.view(Patience::MayWait).unwrap();
        assert_eq!(read(&*view, b"a", 0, 9).unwrap(), b"a");
    }
    assert!(origin.requests.load(Ordering::SeqCst) >= 20);
    assert!(origin.connections.load(Ordering::SeqCst) <= 3);
}

#[test]
fn a_fault_for_a_moment_is_tried_again() {
    for instead in [Instead::Status(503), Instead::Status(429), Instead::Cut] {
        let origin = Origin::start(&[("/files/a", b"content")]);
        let view = view(&origin, PATIENT);
        origin.next(1, instead);
        assert_eq!(read(&*view, b"a", 0, 9).unwrap(), b"content", "{instead:?}");
    }
}

#[test]
fn a_fault_that_stays_is_an_error_in_time() {
    let check = |instead: Instead, expected: &[ErrorKind]| {
        let origin = Origin::start(&[("/files/a", b"content")]);
        let view = view(&origin, Duration::from_millis(600));
        origin.next(usize::MAX, instead);
        let begun = Instant::now();
        let error = read(&*view, b"a", 0, 9).unwrap_err();
        assert!(expected.contains(&error.kind()), "{instead:?}: {error}");
        assert!(begun.elapsed() < PATIENT, "{instead:?}");
        // A first attempt and two more.
        let requests = origin.requests.load(Ordering::SeqCst);
        assert!((1..=3).contains(&requests), "{instead:?}: {requests}");
    };
    let unavailable = [ErrorKind::NotConnected, ErrorKind::TimedOut];
    check(Instead::Silence, &unavailable);
    check(Instead::Status(500), &unavailable);
    check(Instead::Status(403), &[ErrorKind::PermissionDenied]);
    check(Instead::Status(400), &[ErrorKind::Other]);
}

#[test]
fn nobody_there_is_an_error_in_time() {
    let nobody = Refusing::new();
    let settings = Settings {
        timeout: Duration::from_secs(2),
        ..Settings::default()
    };
    let source = ObjectStoreSource::open(&format!("http://{}/", nobody.address), settings).unwrap();
    let view = source.view(Patience::MayWait).unwrap();
    let error = view.stat(b"a", Patience::MayWait).unwrap_err();
    let unavailable = [ErrorKind::NotConnected, ErrorKind::TimedOut];
    assert!(unavailable.contains(&error.kind()), "{error}");
}

#[test]
fn a_page_of_a_404_is_nothing_to_read() {
    for instead in [Instead::LatinPage, Instead::EndlessPage] {
        let origin = Origin::start(&[("/files/a", b"content")]);
        let view = view(&origin, PATIENT);
        // The file, and whether it is a directory.
        origin.next(2, instead);
        let error = view.stat(b"b", Patience::MayWait).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{instead:?}: {error}");
        assert_eq!(read(&*view, b"a", 0, 9).unwrap(), b"content", "{instead:?}");
    }
}

#[test]
fn parts_are_put_together_under_strong_tags_only() {
    let long = vec![b'l'; 5 * 1024 * 1024];
    let origin = Origin::start(&[("/files/a", b"content"), ("/files/long", &long)]);
    origin.is_weak.store(true, Ordering::SeqCst);
    let view = view(&origin, PATIENT);
    assert_eq!(read(&*view, b"a", 0, 9).unwrap(), b"content");
    let error = read(&*view, b"long", 0, 9).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
    // The client would have the rest come under the same tag, which says less than it seems.
    let view = origin.source(PATIENT).view(Patience::MayWait).unwrap();
    origin.next(1, Instead::Cut);
    let error = read(&*view, b"a", 0, 9).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotConnected, "{error}");
}

#[test]
fn an_origin_need_know_no_ranges_for_what_is_short() {
    let files: [(&str, &[u8]); 3] = [
        ("/files/empty", b""),
        ("/files/a", b"content"),
        ("/files/b", b"more"),
    ];
    let origin = Origin::start(&files);
    let source = origin.source(PATIENT);
    let check = |path: &[u8], expected: &[u8], requests: usize| {
        let view = source.view(Patience::MayWait).unwrap();
        assert_eq!(read(&*view, path, 0, 9).unwrap(), expected);
        assert_eq!(origin.requests.swap(0, Ordering::SeqCst), requests);
    };
    // There is no part of nothing.
    check(b"empty", b"", 2);
    check(b"empty", b"", 1);
    origin.knows_no_ranges.store(true, Ordering::SeqCst);
    check(b"a", b"content", 2);
    check(b"a", b"content", 1);
    check(b"b", b"more", 1);
}

#[test]
fn an_answer_of_another_length_than_it_says_is_no_version() {
    let origin = Origin::start(&[("/files/a", b"content")]);
    let view = view(&origin, PATIENT);
    for instead in [Instead::Truncated, Instead::Lengthened] {
        origin.next(usize::MAX, instead);
        let error = read(&*view, b"a", 0, 9).unwrap_err();
        assert_eq!(
            error.kind(),
            ErrorKind::ConnectionAborted,
            "{instead:?}: {error}"
        );
    }
    origin.next(0, Instead::Truncated);
    assert_eq!(read(&*view, b"a", 0, 9).unwrap(), b"content");
}

/// A thread that is an event loop, and ends once `work` has.
fn event_loop<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> std::thread::JoinHandle<T> {
    std::thread::spawn(|| {
        salver_os::become_event_loop();
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap().block_on(work)
    })
}

#[test]
fn a_look_goes_on_on_the_loop_that_asks_and_begins_anew_if_that_ends() {
    let origin = Origin::start(&[("/files/a", b"content")]);
    let source = origin.reused(PATIENT, Duration::from_secs(60));
    origin.next(1, Instead::Silence);
    let (of_loop, view) = (
        Arc::clone(&origin),
        source.view(Patience::MustNotWait).unwrap(),
    );
    let first = Arc::clone(&view);
    let (tell, told) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || {
        let view = source.view(Patience::MayWait).unwrap();
        told.recv().unwrap();
        read(&*view, b"a", 0, 9).unwrap()
    });
    let ends = event_loop(async move {
        assert!(would_block(&*first));
        while of_loop.requests.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        // Most likely that thread waits for this look when the loop ends.
        tell.send(()).unwrap();
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
    });
    ends.join().unwrap();
    let stays = event_loop(async move {
        // What it waited for has ended without a result, which is no answer.
        view.awaited().unwrap().await;
        while would_block(&*view) {
            match view.awaited() {
                Some(awaited) => awaited.await,
                None => tokio::task::yield_now().await,
            }
        }
        view.stat(b"a", Patience::MustNotWait).unwrap()
    });
    assert_eq!(stays.join().unwrap().identity.length, 7);
    assert_eq!(waiting.join().unwrap(), b"content");
    // One was silent, and the other for both.
    assert_eq!(origin.requests.load(Ordering::SeqCst), 2);
}

/// True if a look at `a` would wait.
fn would_block(view: &dyn View) -> bool {
    let found = view.stat(b"a", Patience::MustNotWait);
    found.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}
