//! Large files stay open between requests, and no longer than that is right.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use crate::common::{Site, config_of, request, seen};
use salver_assets::source::{Metadata, Opened};
use salver_assets::{
    Config, Content, DirectorySource, EngineReply, Method, Mount, Patience, Source, Step, Symlinks,
    View,
};
use salver_test::machine::file_clock;
use salver_test::overwrite;

const SECOND: Duration = Duration::from_secs(1);

/// A directory that counts what is opened and, when told so, refuses all that must not wait: a file
/// server at the other end of a network.
#[derive(Debug)]
struct Watched {
    directory: DirectorySource,
    opens: Arc<AtomicUsize>,
    far: Arc<AtomicBool>,
}

struct WatchedView {
    view: Arc<dyn View>,
    opens: Arc<AtomicUsize>,
    far: Arc<AtomicBool>,
}

impl Source for Watched {
    fn view(&self, patience: Patience) -> io::Result<Arc<dyn View>> {
        Ok(Arc::new(WatchedView {
            view: self.directory.view(patience)?,
            opens: Arc::clone(&self.opens),
            far: Arc::clone(&self.far),
        }))
    }
}

impl WatchedView {
    fn refuse(&self, patience: Patience) -> io::Result<()> {
        if patience == Patience::MustNotWait && self.far.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(())
    }
}

impl View for WatchedView {
    fn stat(&self, path: &[u8], patience: Patience) -> io::Result<Metadata> {
        self.refuse(patience)?;
        self.view.stat(path, patience)
    }

    fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened> {
        self.refuse(patience)?;
        self.opens.fetch_add(1, Ordering::Relaxed);
        let opened = self.view.open(path, patience)?;
        Ok(Opened {
            local: !self.far.load(Ordering::Relaxed),
            ..opened
        })
    }

    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.view.list(path)
    }
}

struct Tree {
    site: Site,
    temp: tempfile::TempDir,
    opens: Arc<AtomicUsize>,
    far: Arc<AtomicBool>,
}

impl Tree {
    /// Nothing is kept in memory, and nothing is hashed, so that each open is one for sending.
    fn new(config: Config) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let (opens, far) = (Arc::default(), Arc::default());
        let source = Watched {
            directory: DirectorySource::open(temp.path(), Symlinks::Beneath, Duration::ZERO)
                .unwrap(),
            opens: Arc::clone(&opens),
            far: Arc::clone(&far),
        };
        let site = Site::new(Config {
            cache_max_file: 4,
            hash_up_to: 4,
            sendfile_from: 0,
            settle_time: Duration::ZERO,
            ..Config {
                mounts: config_of(Mount::tree("/", Arc::new(source))).mounts,
                ..config
            }
        });
        Tree {
            site,
            temp,
            opens,
            far,
        }
    }

    /// A file that has been at rest for an hour.
    fn write(&self, name: &str, content: &str) {
        let path = self.temp.path().join(name);
        fs::write(&path, content).unwrap();
        rest(&path);
    }

    fn replace(&self, name: &str, content: &str) {
        self.write("new", content);
        fs::rename(self.temp.path().join("new"), self.temp.path().join(name)).unwrap();
    }

    fn get(&self, path: &str) -> String {
        let answer = self.site.get(path, &[]);
        format!("{} {}", answer.status, answer.text())
    }

    fn opens(&self) -> usize {
        self.opens.load(Ordering::Relaxed)
    }

    fn held(&self) -> u64 {
        self.site.engine.statistics().open_files
    }
}

fn rest(path: &Path) {
    let file = fs::File::options().write(true).open(path).unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    file.set_modified(long_ago).unwrap();
}

#[test]
fn a_large_file_is_opened_once() {
    let tree = Tree::new(Config::default());
    tree.write("a", "a large file");
    for _ in 0..5 {
        assert_eq!(tree.get("/a"), "200 a large file");
    }
    assert_eq!((tree.opens(), tree.held()), (1, 1));
    tree.site.advance(SECOND);
    assert_eq!(tree.get("/a"), "200 a large file");
    assert_eq!(tree.opens(), 1, "a look confirmed it");
    let step = tree.site.begin(&request(Method::Get, "/a", &[]));
    assert!(matches!(step, Step::Respond(_)), "no load");
    let part = tree.site.get("/a", &[("Range", "bytes=2-6")]);
    assert_eq!((part.status, &*part.text()), (206, "large"));
    assert_eq!(tree.opens(), 1);
}

#[test]
fn a_replaced_or_deleted_file_is_let_go_of() {
    let tree = Tree::new(Config::default());
    tree.write("a", "the first");
    assert_eq!(tree.get("/a"), "200 the first");
    tree.replace("a", "the second");
    tree.site.advance(SECOND);
    assert_eq!(tree.get("/a"), "200 the second");
    assert_eq!((tree.opens(), tree.held()), (2, 1));
    fs::remove_file(tree.temp.path().join("a")).unwrap();
    tree.site.advance(SECOND);
    assert!(tree.get("/a").starts_with("404"));
    assert_eq!(tree.held(), 0);
}

#[test]
fn what_nobody_asks_for_is_closed_after_ten_seconds() {
    let tree = Tree::new(Config::default());
    tree.write("a", "a large file");
    tree.get("/a");
    tree.site.advance(9 * SECOND);
    tree.site.engine.sweep(tree.site.now().instant);
    assert_eq!(tree.held(), 1);
    tree.site.advance(2 * SECOND);
    tree.site.engine.sweep(tree.site.now().instant);
    assert_eq!(tree.held(), 0);
    assert_eq!(tree.get("/a"), "200 a large file");
}

#[test]
fn no_more_stay_open_than_may() {
    fn check(config: Config, limit: usize, expected: u64) {
        let tree = Tree::new(config);
        tree.site.engine.limit_open_files(limit);
        for number in 0..20 {
            let name = format!("f{number}");
            tree.write(&name, "a large file");
            assert_eq!(tree.get(&format!("/{name}")), "200 a large file");
        }
        assert_eq!(tree.held(), expected);
    }
    let may = |open_files| Config {
        open_files,
        ..Config::default()
    };
    check(may(1024), 1000, 20);
    check(may(1024), 5, 5);
    check(may(7), 1000, 7);
    check(may(0), 1000, 0);
    let without = Config {
        cache: false,
        ..Config::default()
    };
    check(without, 1000, 0);
}

#[test]
fn a_file_that_was_rewritten_in_place_is_seen_before_anything_is_sent() {
    let tree = Tree::new(Config::default());
    tree.write("a", "the first");
    tree.get("/a");
    tree.write("a", "the second");
    let request = request(Method::Get, "/a", &[]);
    let Step::Respond(plan) = tree.site.begin(&request) else {
        panic!("within the second nobody looks")
    };
    let Content::File(file) = &plan.content else {
        panic!("{:?}", plan.content)
    };
    assert!(!file.is_unchanged(Patience::MustNotWait).unwrap());
    tree.site.engine.close_file(file);
    let plan = tree.site.plan(&request);
    assert_eq!(seen(&plan).text(), "the second");
}

#[test]
fn far_files_are_opened_anew_each_time() {
    let tree = Tree::new(Config::default());
    tree.write("a", "a large file");
    tree.far.store(true, Ordering::Relaxed);
    for opens in 1..4 {
        assert_eq!(tree.get("/a"), "200 a large file");
        assert_eq!((tree.opens(), tree.held()), (opens, 0));
    }
}

/// What a driver does with a request whose load it may not wait for.
fn meanwhile(tree: &Tree, path: &str) -> Option<String> {
    let request = request(Method::Get, path, &[]);
    let Step::Load(load, _) = tree.site.begin(&request) else {
        panic!("it is time to look")
    };
    let now = tree.site.now();
    let would_wait = load
        .perform(Patience::MustNotWait, now.instant)
        .err()
        .unwrap();
    let plan = tree
        .site
        .engine
        .stale_while_loading(&request, &load, would_wait, now);
    tree.site.perform(load);
    plan.map(|plan| seen(&plan).text())
}

/// What a driver gives at once; `None` if the answer has to be waited for. What it hands over is performed.
fn at_once(tree: &Tree, path: &str) -> Option<String> {
    let request = request(Method::Get, path, &[]);
    let site = &tree.site;
    let mut handed_over = Vec::new();
    let asked = site
        .engine
        .ask(&request, site.now(), |load| handed_over.push(load));
    handed_over.into_iter().for_each(|load| site.perform(load));
    match asked {
        EngineReply::Ready(plan) => Some(seen(&plan).text()),
        _ => None,
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "every look and read may wait")]
fn a_look_that_would_wait_begins_early_and_is_waited_for_when_it_is_late() {
    let tree = Tree::new(Config {
        revalidate: SECOND,
        ..Config::default()
    });
    let site = &tree.site;
    tree.write("a", "tiny");
    tree.get("/a");
    tree.far.store(true, Ordering::Relaxed);
    tree.replace("a", "more");
    site.advance(SECOND);
    // Nobody who comes after `revalidate` gets the old answer, the first one included.
    assert_eq!(at_once(&tree, "/a"), None);
    assert_eq!(tree.get("/a"), "200 more");
    // It is known now that looking takes time: it is done while the answer is young.
    tree.replace("a", "once");
    site.advance(SECOND / 2 - Duration::from_millis(1));
    let loads = site.engine.statistics().loads;
    assert_eq!(at_once(&tree, "/a").as_deref(), Some("more"));
    assert_eq!(site.engine.statistics().loads, loads, "too early to look");
    site.advance(Duration::from_millis(1));
    assert_eq!(at_once(&tree, "/a").as_deref(), Some("more"), "meanwhile");
    assert_eq!(site.engine.statistics().loads, loads + 1);
    assert_eq!(at_once(&tree, "/a").as_deref(), Some("once"));
    // After a pause there is nothing young.
    tree.replace("a", "last");
    site.advance(SECOND);
    assert_eq!(at_once(&tree, "/a"), None);
    // Whoever looks at once again does so as late as may be.
    tree.far.store(false, Ordering::Relaxed);
    site.advance(SECOND);
    assert_eq!(at_once(&tree, "/a").as_deref(), Some("last"));
    let loads = site.engine.statistics().loads;
    site.advance(SECOND / 2);
    assert_eq!(at_once(&tree, "/a").as_deref(), Some("last"));
    assert_eq!(site.engine.statistics().loads, loads);
}

#[test]
fn a_change_that_was_seen_is_waited_for() {
    let tree = Tree::new(Config::default());
    tree.write("a", "tiny");
    tree.get("/a");
    // Somebody is writing: to be read once that is over, or nothing has come for a while.
    let mut writer = fs::File::create(tree.temp.path().join("a")).unwrap();
    io::Write::write_all(&mut writer, b"more").unwrap();
    tree.site.advance(SECOND);
    assert_eq!(meanwhile(&tree, "/a"), None);
    drop(writer);
    assert_eq!(tree.get("/a"), "200 more");
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "every look and read may wait")]
fn a_writer_that_rests_is_waited_for_and_one_that_is_done_is_not() {
    // The kernel knows of siblings that are not there only once it has looked.
    let tree = Tree::new(Config {
        precompressed: Vec::new(),
        ..Config::default()
    });
    let mut writer = fs::File::create(tree.temp.path().join("a")).unwrap();
    io::Write::write_all(&mut writer, b"ha").unwrap();
    // Longer than a file has to rest where the kernel does not tell who writes.
    std::thread::sleep(Duration::from_millis(100));
    let request = request(Method::Get, "/a", &[]);
    let Step::Load(load, pending) = tree.site.begin(&request) else {
        panic!("nothing is known of it")
    };
    let now = tree.site.now();
    assert!(load.perform(Patience::MustNotWait, now.instant).is_err());
    io::Write::write_all(&mut writer, b"lf").unwrap();
    drop(writer);
    // As soon as times tell what comes next from this.
    let outcome = loop {
        if let Ok(outcome) = load.perform(Patience::MustNotWait, now.instant) {
            break outcome;
        }
        std::thread::yield_now();
    };
    tree.site.engine.finish(load, outcome);
    let step = tree
        .site
        .engine
        .resume(&request, crate::common::block_on(pending), now);
    assert_eq!(seen(&tree.site.follow(&request, step)).text(), "half");
}

/// The answers for a file of which a look has to see that it rests, while somebody writes it without a pause, and how
/// long the writer was kept from that at most, by either clock.
fn never_resting() -> ([String; 2], Duration) {
    let tree = Tree::new(Config::default());
    tree.write("a", "tiny");
    assert_eq!(tree.get("/a"), "200 tiny");
    // Nobody tells who writes, and there is no rest.
    tree.far.store(true, Ordering::Relaxed);
    let done = AtomicBool::new(false);
    let (answers, pause) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let file = fs::File::options()
                .write(true)
                .open(tree.temp.path().join("a"));
            let file = file.unwrap();
            let (mut last, mut longest) = (std::time::Instant::now(), Duration::ZERO);
            let mut ticked = file_clock();
            while !done.load(Ordering::Relaxed) {
                overwrite(&file, b"more");
                let ticks = file_clock();
                let leap = ticks.saturating_sub(ticked);
                longest = longest.max(last.elapsed()).max(leap);
                (last, ticked) = (std::time::Instant::now(), ticks);
            }
            let leap = file_clock().saturating_sub(ticked);
            longest.max(last.elapsed()).max(leap)
        });
        while fs::read(tree.temp.path().join("a")).unwrap() != b"more" {
            std::thread::yield_now();
        }
        tree.site.advance(SECOND);
        let begin = std::time::Instant::now();
        let first = tree.get("/a");
        tree.site.advance(begin.elapsed());
        let second = tree.get("/a");
        done.store(true, Ordering::Relaxed);
        ([first, second], writer.join().unwrap())
    });
    assert_eq!(tree.get("/a"), "200 more");
    (answers, pause)
}

#[test]
#[ignore = "beside others its writer pauses: make apart"]
fn what_never_rests_is_kept_no_longer_than_a_look_takes() {
    // Half of the time after which a file is taken to rest.
    const REST: Duration = Duration::from_millis(25);
    for _ in 0..20 {
        let ([first, second], pause) = never_resting();
        // The last whole version, and then nothing.
        if first == "200 tiny" && second.starts_with("503") {
            return;
        }
        assert!(pause >= REST, "{first}, {second}");
    }
    salver_test::not_judged(
        "what never rests",
        "its writer was kept from writing each time",
    );
}
