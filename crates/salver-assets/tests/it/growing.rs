//! Files that change while they are read or sent: what only grows is sent as long as it was, and what is
//! rewritten is never sent as if it were one version.

use std::fs::{File, FileTimes};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crate::common::{Site, Tree, config_of, directory, request};
use salver_assets::{Config, Content, FileContent, Method, Mount, Patience, ResponsePlan};

const LENGTH: usize = 300_000;

/// Beyond this a file is not hashed.
const HASHED: u64 = 1_000_000;

fn site(tree: &Tree, settle_time: Duration) -> Site {
    Site::new(Config {
        cache_max_file: 0,
        sendfile_from: 0,
        hash_up_to: HASHED,
        settle_time,
        ..config_of(Mount::tree("/", directory(&tree.path(""))))
    })
}

fn plan(site: &Site, path: &str) -> ResponsePlan {
    site.plan(&request(Method::Get, path, &[]))
}

fn field(plan: &ResponsePlan, name: &str) -> String {
    let (_, value) = plan.fields().find(|(n, _)| *n == name).unwrap();
    String::from_utf8(value.to_vec()).unwrap()
}

fn file(plan: &ResponsePlan) -> &FileContent {
    match &plan.content {
        Content::File(file) => file,
        other => panic!("{other:?}"),
    }
}

/// Takes the content window by window as a driver does; `between` comes after so many of them. `None` if the
/// answer is cut, which the client sees; what it has by then are bytes of `version` all the same, if its tag is strong.
fn take(
    file: &FileContent,
    version: Option<&[u8]>,
    windows: usize,
    between: impl FnOnce(),
) -> Option<Vec<u8>> {
    assert!(file.is_unchanged(Patience::MustNotWait).unwrap());
    let mut body = Vec::new();
    let mut between = Some(between);
    let mut start = file.range.start;
    for count in 0.. {
        if count == windows {
            between.take().into_iter().for_each(|between| between());
        }
        if start >= file.range.end {
            break;
        }
        let window = start..file.range.end.min(start + 100_000);
        let bytes = match file.read_resident(&window).ok()? {
            Some(bytes) => bytes,
            None => file.read(&window).ok()?,
        };
        body.extend_from_slice(&bytes);
        assert!(version.is_none_or(|version| version.starts_with(&body)));
        start = window.end;
    }
    Some(body)
}

fn content(length: usize, seed: u8) -> Vec<u8> {
    (0..length)
        .map(|at| u8::try_from(at % 251).unwrap() ^ seed)
        .collect()
}

fn put_back(path: &Path, modified: SystemTime) {
    let file = File::options().append(true).open(path).unwrap();
    file.set_times(FileTimes::new().set_modified(modified))
        .unwrap();
}

/// What becomes of an answer whose file `change` changes before its first byte or in the midst of it: of a file
/// that is hashed, of one that is not and rests, and of one that is not and is young.
fn check(what: &str, change: impl Fn(&Path), expected: [bool; 3]) {
    for windows in [0, 1] {
        check_after(windows, what, &change, expected);
    }
}

fn check_after(windows: usize, what: &str, change: &impl Fn(&Path), expected: [bool; 3]) {
    let kinds = [
        (LENGTH, Duration::ZERO),
        (LENGTH + 1_000_000, Duration::ZERO),
        (LENGTH + 1_000_000, Duration::from_secs(10)),
    ];
    for ((length, restless), whole) in kinds.into_iter().zip(expected) {
        let tree = Tree::new();
        let before = content(length, 0);
        tree.write("f", &before);
        let site = site(&tree, restless);
        let plan = plan(&site, "/f");
        assert_eq!(field(&plan, "Content-Length"), length.to_string());
        let weak = field(&plan, "ETag").starts_with("W/");
        assert_eq!(weak, !restless.is_zero(), "{what}, {length}");
        let version = Some(&*before).filter(|_| !weak);
        let got = take(file(&plan), version, windows, || change(&tree.path("f")));
        let expected = whole.then_some(before);
        assert!(
            got == expected,
            "{what}, {length}, weak: {weak}, after {windows} windows: {}",
            got.is_some()
        );
    }
}

#[test]
fn what_is_rewritten_under_an_answer_ends_it() {
    let rewrite = |path: &Path, length: usize| {
        let file = File::options().write(true).open(path).unwrap();
        salver_test::overwrite(&file, &content(length, 0xa5));
    };
    let length = |path: &Path| usize::try_from(path.metadata().unwrap().len()).unwrap();
    check("in place", |path| rewrite(path, length(path)), [false; 3]);
    // As `cp -p` and `rsync --inplace -t` do with builds of one fixed date.
    check(
        "in place, with the time put back",
        |path| {
            let modified = path.metadata().unwrap().modified().unwrap();
            rewrite(path, length(path));
            put_back(path, modified);
        },
        [false; 3],
    );
    check(
        "by a longer version, as `cp` does",
        |path| {
            let longer = content(length(path) + 100_000, 0xa5);
            std::fs::write(path, longer).unwrap();
        },
        [false; 3],
    );
    check(
        "by a longer version whose end is that of before",
        |path| {
            let mut longer = content(length(path) + 100_000, 0);
            longer[5] ^= 1;
            std::fs::write(path, longer).unwrap();
        },
        [false; 3],
    );
    check(
        "by a shorter one",
        |path| {
            let file = File::options().write(true).open(path).unwrap();
            file.set_len(200_000).unwrap();
        },
        [false; 3],
    );
}

#[test]
fn what_does_not_touch_the_content_does_not_end_an_answer() {
    let other = |path: &Path| path.with_extension("other");
    check(
        "removed",
        |path| std::fs::remove_file(path).unwrap(),
        [true; 3],
    );
    check(
        "replaced",
        |path| {
            std::fs::write(other(path), "new").unwrap();
            std::fs::rename(other(path), path).unwrap();
        },
        [true; 3],
    );
    check(
        "linked, as backups do",
        |path| std::fs::hard_link(path, other(path)).unwrap(),
        [true; 3],
    );
    #[cfg(unix)]
    check(
        "given another mode",
        |path| {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o640);
            std::fs::set_permissions(path, mode).unwrap();
        },
        [true; 3],
    );
    // That could as well have been written by somebody who put the rest back: it has to be proved.
    check(
        "touched",
        |path| put_back(path, SystemTime::now()),
        [true, false, false],
    );
}

#[test]
fn what_is_appended_to_is_sent_as_long_as_it_was() {
    // The tag of the second is strong and of times alone: nothing can be proved of it.
    check(
        "appended",
        |path| {
            let mut log = File::options().append(true).open(path).unwrap();
            log.write_all(b"one more line\n").unwrap();
        },
        [true, false, true],
    );
}

/// Appends to the file at `path`, a line each millisecond, until dropped.
struct Log {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Log {
    fn new(path: &Path, keeps_open: bool) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, path) = (Arc::clone(&stop), path.to_owned());
        let there = path.clone();
        let thread = std::thread::spawn(move || {
            let open = || {
                File::options()
                    .append(true)
                    .create(true)
                    .open(&path)
                    .unwrap()
            };
            let mut log = open();
            for number in 0_u64.. {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                if !keeps_open {
                    log = open();
                }
                // In one write: a line in pieces could be met half written.
                (&log)
                    .write_all(format!("{number:015}\n").as_bytes())
                    .unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        while there.metadata().map_or(0, |metadata| metadata.len()) == 0 {
            std::thread::yield_now();
        }
        Log {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn lines(from: usize, to: usize) -> String {
    let line = |number| format!("{number:015}\n");
    (from..to).map(line).collect()
}

/// A log that has a line each millisecond is answered, in memory or from an open file, again and again, and
/// what comes is what stood in it.
#[test]
fn a_log_is_answered_at_any_moment() {
    for keeps_open in [true, false] {
        for cache_max_file in [1024 * 1024, 0] {
            let tree = Tree::new();
            let log = Log::new(&tree.path("log"), keeps_open);
            let site = Site::new(Config {
                cache_max_file,
                sendfile_from: 0,
                ..config_of(Mount::tree("/", directory(&tree.path(""))))
            });
            let mut before = 0;
            let mut tag = String::new();
            let begin = Instant::now();
            for round in 0..5 {
                let plan = plan(&site, "/log");
                assert_eq!(plan.status, 200, "{round}");
                let body = match &plan.content {
                    Content::Memory(bytes) => bytes.to_vec(),
                    Content::Empty => Vec::new(),
                    Content::File(file) => {
                        let pause = || std::thread::sleep(Duration::from_millis(5));
                        let mut body = Vec::new();
                        for at in file.range.clone().step_by(100) {
                            let window = at..file.range.end.min(at + 100);
                            body.extend_from_slice(&file.read(&window).unwrap());
                        }
                        pause();
                        body
                    }
                    other => panic!("{other:?}"),
                };
                let text = String::from_utf8(body).unwrap();
                assert_eq!(text, lines(0, text.len() / 16), "{round}");
                assert_eq!(field(&plan, "Content-Length"), text.len().to_string());
                assert!(text.len() > before, "{round}: it went on");
                assert_ne!(field(&plan, "ETag"), tag, "{round}");
                before = text.len();
                tag = field(&plan, "ETag");
                // More than the look took by the clock on the wall.
                site.advance(Duration::from_secs(60));
                // At least a line more.
                let length =
                    || usize::try_from(tree.path("log").metadata().unwrap().len()).unwrap();
                while length() <= before {
                    std::thread::yield_now();
                }
            }
            println!(
                "keeps open: {keeps_open}, in memory up to {cache_max_file}: five answers in {:?}",
                begin.elapsed()
            );
            drop(log);
            site.advance(Duration::from_secs(60));
            let whole = std::fs::read(tree.path("log")).unwrap();
            assert_eq!(site.get("/log", &[]).body, whole);
        }
    }
}

/// A long file that is not hashed and has changed a moment ago has no strong tag; once it rests, it has, under
/// an equal identity.
#[test]
fn what_may_still_change_has_no_strong_tag() {
    let tree = Tree::new();
    tree.write("f", content(LENGTH + 1_000_000, 0));
    let tag = |site: &Site| field(&plan(site, "/f"), "ETag");
    let restless = site(&tree, Duration::from_millis(300));
    let weak = tag(&restless);
    assert!(weak.starts_with("W/"), "{weak}");
    let head = restless.head("/f", &[]);
    assert_eq!(head.field("ETag"), weak, "of HEAD too");
    let begin = Instant::now();
    let strong = loop {
        restless.advance(Duration::from_secs(1));
        let tag = tag(&restless);
        if !tag.starts_with("W/") {
            break tag;
        }
        assert!(begin.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(weak, format!("W/{strong}"));
    // Part of what has a weak tag is not combined with another part.
    let part = |tag: &str| {
        let fields = [("Range", "bytes=0-9"), ("If-Range", tag)];
        restless.get("/f", &fields).status
    };
    assert_eq!((part(&weak), part(&strong)), (200, 206));
}
