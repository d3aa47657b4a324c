//! A driver for tests: performs loads where it stands, by a clock that the test turns.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses its own part"
)]

pub mod fixture;

use std::fs::FileTimes;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant, SystemTime};

use salver_assets::{
    Config, Content, DirectorySource, Engine, FileContent, HttpDate, Load, LoadReady, MemorySource,
    Method, Mount, Now, Patience, Pending, Piece, Request, RequestFields, ResponsePlan,
    SecureContext, Step, Symlinks,
};

/// What the clock shows first, for dates: 2001-09-09T01:46:40Z.
pub const START: i64 = 1_000_000_000;

/// An engine and a clock.
pub struct Site {
    pub engine: Engine,
    clock: Mutex<Now>,
}

/// What a client would see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub fields: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    /// The value of a field; empty if there is none.
    pub fn field(&self, name: &str) -> &str {
        let field = self.fields.iter().find(|(n, _)| *n == name);
        field.map_or("", |(_, value)| value)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Site {
    pub fn new(config: Config) -> Self {
        let engine = Engine::new(config).unwrap();
        let instant = Instant::now();
        let date = HttpDate::from_unix_seconds(START);
        Site {
            engine,
            clock: Mutex::new(Now { instant, date }),
        }
    }

    /// Another site, with the cache of this one and its clock.
    pub fn beside(&self, config: Config) -> Self {
        Site {
            engine: self.engine.beside(config).unwrap(),
            clock: Mutex::new(self.now()),
        }
    }

    /// Another site, which begins with what this one has made, with its clock.
    pub fn in_place_of(&self, config: Config) -> Self {
        Site {
            engine: self.engine.in_place_of(config).unwrap(),
            clock: Mutex::new(self.now()),
        }
    }

    /// A site of files in memory, all modified in 1970.
    pub fn of(files: &[(&str, &[u8])]) -> Self {
        Site::new(config_of(Mount::tree("/", memory(files))))
    }

    pub fn now(&self) -> Now {
        *self.clock.lock().unwrap()
    }

    /// Turns the clock.
    pub fn advance(&self, by: Duration) {
        self.clock.lock().unwrap().instant += by;
    }

    pub fn begin(&self, request: &Request<'_>) -> Step {
        self.engine.begin(request, self.now())
    }

    /// Performs a load as a thread would.
    pub fn perform(&self, load: Load) {
        let outcome = load.perform(Patience::MayWait, self.now().instant);
        let outcome = outcome.unwrap_or_else(|_| panic!("it may wait"));
        self.engine.finish(load, outcome);
    }

    /// All steps to the plan, which is checked.
    pub fn plan(&self, request: &Request<'_>) -> ResponsePlan {
        let step = self.begin(request);
        self.follow(request, step)
    }

    /// All further steps.
    pub fn follow(&self, request: &Request<'_>, mut step: Step) -> ResponsePlan {
        loop {
            let pending = match step {
                Step::Respond(plan) => {
                    check_plan(request, &plan);
                    return plan;
                }
                Step::Load(load, pending) => {
                    self.perform(load);
                    pending
                }
                Step::Wait(pending) => pending,
                Step::NeedDetails | Step::NeedAccess(_) => panic!("the rules ask for details"),
            };
            step = self.engine.resume(request, block_on(pending), self.now());
        }
    }

    pub fn ask(&self, request: &Request<'_>) -> Answer {
        seen(&self.plan(request))
    }

    /// GET with fields given by name.
    pub fn get(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.ask(&request(Method::Get, path, fields))
    }

    pub fn head(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.ask(&request(Method::Head, path, fields))
    }
}

pub fn config_of(mount: Mount) -> Config {
    Config {
        mounts: vec![mount],
        ..Config::default()
    }
}

pub fn memory(files: &[(&str, &[u8])]) -> Arc<MemorySource> {
    let source = MemorySource::new();
    for (path, content) in files {
        source.insert(path, content.to_vec(), 0);
    }
    Arc::new(source)
}

/// A real directory, whose root is resolved anew for every look.
pub fn directory(path: &Path) -> Arc<DirectorySource> {
    let source = DirectorySource::open(path, Symlinks::Beneath, Duration::ZERO);
    Arc::new(source.unwrap())
}

pub fn request<'a>(method: Method, target: &'a str, fields: &[(&str, &str)]) -> Request<'a> {
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query.as_bytes().into())),
        None => (target, None),
    };
    let mut known = RequestFields::default();
    for (name, value) in fields {
        let slot = match *name {
            "Accept-Encoding" => &mut known.accept_encoding,
            "If-Match" => &mut known.if_match,
            "If-None-Match" => &mut known.if_none_match,
            "If-Modified-Since" => &mut known.if_modified_since,
            "If-Unmodified-Since" => &mut known.if_unmodified_since,
            "If-Range" => &mut known.if_range,
            "Range" => &mut known.range,
            "Available-Dictionary" => &mut known.available_dictionary,
            other => {
                let is_known = known.origin.add(other.as_bytes(), value.as_bytes());
                assert!(is_known, "the engine does not read {other}");
                continue;
            }
        };
        *slot = Some(value.as_bytes().to_vec().into());
    }
    Request {
        method,
        path: path.as_bytes().into(),
        query,
        fields: known,
        details: None,
        secure_context: SecureContext::Secure,
    }
}

/// What holds for every plan, whatever it answers.
pub fn check_plan(request: &Request<'_>, plan: &ResponsePlan) {
    let value = |name: &str| {
        let mut values = plan.fields().filter(|(n, _)| *n == name);
        let value = values.next().map(|(_, value)| value.clone());
        assert!(values.next().is_none(), "{name} twice: {plan:?}");
        value.map(|value| String::from_utf8(value.to_vec()).unwrap())
    };
    let length = content_length(&plan.content);
    let said = value("Content-Length");
    if let 204 | 304 = plan.status {
        assert_eq!((length, said), (0, None), "{plan:?}");
    } else if request.method == Method::Head {
        assert!(matches!(plan.content, Content::Empty), "{plan:?}");
        assert!(said.is_some(), "{plan:?}");
    } else {
        assert_eq!(said, Some(length.to_string()), "{plan:?}");
    }
    for (name, value) in plan.fields() {
        let printable = value.iter().all(|&b| b == b' ' || b.is_ascii_graphic());
        assert!(printable && !value.is_empty(), "{name}: {value:?}");
        assert!(!matches!(name, "Date" | "Connection" | "Server"));
    }
    if let 200 | 206 | 304 = plan.status
        && !matches!(request.method, Method::Options)
    {
        let tag = value("ETag").expect("every representation has a tag");
        let opaque = tag.strip_prefix("W/").unwrap_or(&tag);
        assert!(opaque.starts_with('"') && opaque.ends_with('"') && opaque.len() > 2);
    }
    for (status, name) in [
        (206, "Content-Range or parts"),
        (308, "Location"),
        (405, "Allow"),
        (416, "Content-Range"),
        (503, "Retry-After"),
    ] {
        let there = match name {
            "Content-Range or parts" => {
                value("Content-Range").is_some() != matches!(plan.content, Content::Parts(_))
            }
            // Rules write names small.
            name => {
                let is_it = |(known, _): (&str, _)| known.eq_ignore_ascii_case(name);
                plan.fields().any(is_it)
            }
        };
        assert!(plan.status != status || there, "{name}: {plan:?}");
    }
}

fn content_length(content: &Content) -> u64 {
    let of_bytes = |bytes: &[u8]| u64::try_from(bytes.len()).unwrap();
    let of_file = |file: &FileContent| file.range.end - file.range.start;
    match content {
        Content::Empty => 0,
        Content::Memory(bytes) => of_bytes(bytes),
        Content::File(file) => of_file(file),
        Content::Parts(pieces) => {
            let of_piece = |piece: &Piece| match piece {
                Piece::Memory(bytes) => of_bytes(bytes),
                Piece::File(file) => of_file(file),
            };
            pieces.iter().map(of_piece).sum()
        }
    }
}

/// Carries a plan out; `None` if a file did not stay what it was, so that the connection would
/// have been closed before the end.
pub fn try_seen(plan: &ResponsePlan) -> Option<Answer> {
    let mut body = Vec::new();
    let mut whole = true;
    let mut add_file = |body: &mut Vec<u8>, file: &FileContent| {
        let start = body.len();
        let length = usize::try_from(file.range.end - file.range.start).unwrap();
        body.resize(start + length, 0);
        let bytes = file.file().unwrap();
        let read = salver_os::read_exact_at(bytes, &mut body[start..], file.range.start);
        whole &= read.is_ok() && file.is_unchanged(Patience::MayWait).unwrap();
    };
    match &plan.content {
        Content::Empty => {}
        Content::Memory(bytes) => body.extend_from_slice(bytes),
        Content::File(file) => add_file(&mut body, file),
        Content::Parts(pieces) => {
            for piece in pieces {
                match piece {
                    Piece::Memory(bytes) => body.extend_from_slice(bytes),
                    Piece::File(file) => add_file(&mut body, file),
                }
            }
        }
    }
    let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
    let fields = plan.fields();
    whole.then(|| Answer {
        status: plan.status,
        fields: fields
            .map(|(name, value)| (name.to_owned(), text(value)))
            .collect(),
        body,
    })
}

pub fn seen(plan: &ResponsePlan) -> Answer {
    try_seen(plan).expect("nobody changes the file meanwhile")
}

/// Awaits on this thread.
pub fn block_on(pending: Pending) -> LoadReady {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut pending = pin!(pending);
    loop {
        match pending.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(arrived) => return arrived,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// What a pending request has now.
pub fn poll_once(pending: &mut Pending) -> Poll<LoadReady> {
    std::pin::Pin::new(pending).poll(&mut Context::from_waker(Waker::noop()))
}

/// A directory to change under the server's feet.
pub struct Tree {
    temp: tempfile::TempDir,
}

impl Tree {
    pub fn new() -> Self {
        Tree {
            temp: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    /// Writes a file in place, making its directories. It is an hour old: nobody waits for it.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        self.write_fresh(name, content);
        self.modified_ago(name, Duration::from_secs(3600));
    }

    /// Writes a file in place.
    pub fn write_fresh(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Replaces a file by rename.
    pub fn replace(&self, name: &str, content: impl AsRef<[u8]>) {
        let other = format!("{name}.other");
        self.write(&other, content);
        std::fs::rename(self.path(&other), self.path(name)).unwrap();
    }

    pub fn remove(&self, name: &str) {
        std::fs::remove_file(self.path(name)).unwrap();
    }

    pub fn modified_ago(&self, name: &str, ago: Duration) {
        self.modified(name, SystemTime::now() - ago);
    }

    pub fn modified(&self, name: &str, at: SystemTime) {
        let file = std::fs::File::options().append(true).open(self.path(name));
        let times = FileTimes::new().set_modified(at);
        file.unwrap().set_times(times).unwrap();
    }
}

/// The content coded as a build tool would.
pub fn coded(content: &[u8], coding: &str) -> Vec<u8> {
    use std::io::Write;
    match coding {
        "br" => {
            let mut out = Vec::new();
            let mut encoder = brotli::CompressorWriter::new(&mut out, 4096, 9, 20);
            encoder.write_all(content).unwrap();
            drop(encoder);
            out
        }
        "gz" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        }
        "zst" => zstd::encode_all(content, 3).unwrap(),
        other => panic!("{other}"),
    }
}
