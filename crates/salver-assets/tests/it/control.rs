//! What programs tell a running engine: let go, load ahead, leave the cache alone.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{Site, Tree, block_on, coded, config_of, directory, memory, request, seen};
use salver_assets::{
    Config, Conventions, Engine, Load, MemorySource, Method, Mount, Patience, Pending, Request,
    RequestPath, Source, Step, View,
};

const HOUR: Duration = Duration::from_secs(3600);

fn path(path: &str) -> RequestPath<'_> {
    RequestPath::parse(path.as_bytes()).unwrap()
}

/// Looks at the disk only when told to.
fn site(source: &Arc<MemorySource>) -> Site {
    Site::new(patient(Mount::tree("/", source.clone())))
}

fn patient(mount: Mount) -> Config {
    Config {
        revalidate: HOUR,
        ..config_of(mount)
    }
}

fn load_of(step: Step) -> (Load, Pending) {
    match step {
        Step::Load(load, pending) => (load, pending),
        Step::Wait(_) | Step::NeedDetails | Step::NeedAccess(_) => {
            panic!("somebody else is loading")
        }
        Step::Respond(plan) => panic!("{plan:?}"),
    }
}

fn body(site: &Site, request: &Request<'_>, pending: Pending) -> Vec<u8> {
    let step = site.engine.resume(request, block_on(pending), site.now());
    seen(&site.follow(request, step)).body
}

/// By each way of letting go of `/a`.
fn each_way(check: impl Fn(&dyn Fn(&Engine) -> usize)) {
    check(&|engine| engine.invalidate(&path("/a")));
    check(&|engine| engine.invalidate_prefix(&path("/")));
    check(&|engine| engine.clear());
}

#[test]
fn what_is_let_go_of_while_it_is_loaded_is_not_kept() {
    for coalesce in [true, false] {
        each_way(|let_go| {
            let source = memory(&[("a", b"old"), ("b", b"b")]);
            let site = Site::new(Config {
                coalesce,
                ..patient(Mount::tree("/", source.clone()))
            });
            let request = request(Method::Get, "/a", &[]);
            let (load, pending) = load_of(site.begin(&request));
            // It has read the file, and not yet said so, when that is replaced.
            let outcome = load.perform(Patience::MayWait, site.now().instant);
            source.insert("a", "new", 1);
            let_go(&site.engine);
            // Whoever comes now does not join it.
            let (second, after) = load_of(site.begin(&request));
            site.engine
                .finish(load, outcome.unwrap_or_else(|_| panic!()));
            assert_eq!(site.engine.statistics().entries, 0);
            assert_eq!(body(&site, &request, pending), b"old", "asked before");
            site.perform(second);
            assert_eq!(body(&site, &request, after), b"new");
            assert_eq!(site.get("/a", &[]).body, b"new");
        });
    }
}

#[test]
fn a_look_that_is_under_way_does_not_put_back_what_was_let_go_of() {
    each_way(|let_go| {
        let source = memory(&[("a", b"1")]);
        let site = site(&source);
        site.get("/a", &[]);
        site.advance(2 * HOUR);
        source.insert("a", "2", 1);
        let request = request(Method::Get, "/a", &[]);
        let (load, _) = load_of(site.begin(&request));
        let outcome = load.perform(Patience::MayWait, site.now().instant);
        source.insert("a", "3", 2);
        let_go(&site.engine);
        site.engine
            .finish(load, outcome.unwrap_or_else(|_| panic!()));
        assert_eq!(site.get("/a", &[]).body, b"3");
    });
}

#[test]
fn a_handle_that_is_being_opened_is_not_kept() {
    each_way(|let_go| {
        let tree = Tree::new();
        tree.write("a", vec![b'1'; 100_000]);
        let site = Site::new(Config {
            settle_time: Duration::ZERO,
            ..patient(Mount::tree("/", directory(&tree.path(""))))
        });
        // So that only the content is missing, whose load goes by another name.
        site.head("/a", &[]);
        let request = request(Method::Get, "/a", &[]);
        let (load, _) = load_of(site.begin(&request));
        let outcome = load.perform(Patience::MayWait, site.now().instant);
        tree.replace("a", vec![b'2'; 100_000]);
        let_go(&site.engine);
        site.engine
            .finish(load, outcome.unwrap_or_else(|_| panic!()));
        assert_eq!(site.engine.statistics().open_files, 0);
        assert!(site.get("/a", &[]).body == vec![b'2'; 100_000]);
    });
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "no file is kept open")]
fn open_files_are_closed_with_what_is_let_go_of() {
    each_way(|let_go| {
        let tree = Tree::new();
        tree.write("a", vec![b'1'; 100_000]);
        let site = Site::new(Config {
            settle_time: Duration::ZERO,
            ..patient(Mount::tree("/", directory(&tree.path(""))))
        });
        site.get("/a", &[]);
        let held = || {
            let statistics = site.engine.statistics();
            (statistics.entries, statistics.open_files)
        };
        assert_eq!(held(), (1, 1));
        let_go(&site.engine);
        assert_eq!(held(), (0, 0));
    });
}

#[test]
fn a_file_is_let_go_of_in_all_its_roles() {
    let text = b"let a = 1; ".repeat(100);
    let (old, new) = (coded(&text, "br"), coded(&text, "gz"));
    const CODED: &[(&str, &str)] = &[("Accept-Encoding", "br, gzip")];
    let check = |change: &dyn Fn(&MemorySource), named: &str, asked: &str, seen: &[u8]| {
        let source = memory(&[
            ("index.html", b"home"),
            ("blog/index.html", b"blog"),
            ("a b.js", &text),
            ("c.js", &text),
            ("c.js.br", &old),
        ]);
        let site = site(&source);
        let before = site.get(asked, CODED).body;
        change(&source);
        assert_eq!(site.get(asked, CODED).body, before, "{asked}: nobody looks");
        site.engine.invalidate(&path(named));
        assert_eq!(site.get(asked, CODED).body, seen, "{asked} after {named}");
    };
    let write = |name: &'static str, content: &'static [u8]| {
        move |source: &MemorySource| source.insert(name, content, 1)
    };
    let index = write("blog/index.html", b"news");
    check(&index, "/blog/index.html", "/blog/index.html", b"news");
    check(&index, "/blog/index.html", "/blog/", b"news");
    check(&index, "/blog/", "/blog/", b"news");
    check(&index, "/blog", "/blog/index.html", b"news");
    check(&write("index.html", b"new"), "/index.html", "/", b"new");
    check(&write("index.html", b"new"), "/", "/", b"new");
    check(&write("a b.js", b"b"), "/a%20b.js", "/a%20b.js", b"b");
    check(&write("a b.js", b"b"), "/.//a%20b.js", "/a%20b.js", b"b");
    // A directory appears where nothing was.
    let moved = b"308 Permanent Redirect\n";
    check(&write("x/y", b""), "/x", "/x", moved);
    check(&write("x/index.html", b""), "/x/index.html", "/x", moved);
    check(&write("none.txt", b"now"), "/none.txt", "/none.txt", b"now");
    // A sibling appears, changes, goes.
    let sibling = |source: &MemorySource| {
        source.insert("c.js.gz", new.clone(), 1);
        source.remove("c.js.br");
    };
    check(&sibling, "/c.js.gz", "/c.js", &new);
    check(&sibling, "/c.js", "/c.js", &new);
    let gone = |source: &MemorySource| source.remove("c.js.br");
    check(&gone, "/c.js.br", "/c.js", &text);
    check(&gone, "/c.js.br", "/c.js.br", b"404 Not Found\n");
}

#[test]
fn a_prefix_lets_go_of_what_is_beneath_and_of_nothing_else() {
    let source = memory(&[("b/x", b"1"), ("b/c/y", b"1"), ("bc", b"1"), ("d", b"1")]);
    let site = site(&source);
    const ALL: [&str; 6] = ["/b/x", "/b/c/y", "/b", "/b/none", "/bc", "/d"];
    let kept = |prefix: &str| {
        for asked in ALL {
            site.get(asked, &[]);
        }
        site.engine.invalidate_prefix(&path(prefix));
        site.engine.statistics().entries
    };
    assert_eq!(kept("/b/"), 2, "bc and d");
    assert_eq!(kept("/b"), 1, "d");
    assert_eq!(kept("/b/c"), 5);
    assert_eq!(kept("/none"), 6);
    assert_eq!(kept("/"), 0);
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "no file is kept open")]
fn paused_nothing_is_kept_or_used_and_loads_are_shared() {
    let tree = Tree::new();
    tree.write("short", "1");
    tree.write("long", vec![b'1'; 100_000]);
    let site = Site::new(Config {
        settle_time: Duration::ZERO,
        ..patient(Mount::tree("/", directory(&tree.path(""))))
    });
    for name in ["/short", "/long"] {
        site.get(name, &[]);
    }
    let held = || {
        let statistics = site.engine.statistics();
        (statistics.entries, statistics.open_files)
    };
    assert_eq!(held(), (2, 1));
    site.engine.pause_cache();
    assert!(site.engine.is_paused());
    tree.write("short", "2");
    tree.write("new", "new");
    for round in 1..=3 {
        let before = site.engine.statistics();
        assert_eq!(site.get("/short", &[]).text(), "2");
        assert_eq!(site.get("/new", &[]).text(), "new");
        assert_eq!(site.get("/long", &[]).body.len(), 100_000);
        let after = site.engine.statistics();
        assert_eq!(after.loads - before.loads, 3, "round {round}");
        assert_eq!(after.hits, before.hits);
    }
    assert_eq!(held(), (2, 1), "kept, and nothing besides");
    let request = request(Method::Get, "/new", &[]);
    let (load, first) = load_of(site.begin(&request));
    let Step::Wait(second) = site.begin(&request) else {
        panic!("one load is enough")
    };
    site.perform(load);
    assert_eq!(body(&site, &request, first), b"new");
    assert_eq!(body(&site, &request, second), b"new");
    assert_eq!(site.engine.prewarm().files, 0);
    // What it held is as old as it is, and no older.
    site.engine.resume_cache();
    assert!(!site.engine.is_paused());
    assert_eq!(site.get("/short", &[]).text(), "1");
    site.advance(HOUR);
    assert_eq!(site.get("/short", &[]).text(), "2");
    // Letting go works all the same.
    site.engine.pause_cache();
    site.engine.clear();
    assert_eq!(held(), (0, 0));
}

#[test]
fn a_load_ends_after_the_pause_began_and_one_after_it_ended() {
    let source = memory(&[("a", b"1")]);
    let site = site(&source);
    let request = request(Method::Get, "/a", &[]);
    let (load, pending) = load_of(site.begin(&request));
    site.engine.pause_cache();
    site.perform(load);
    assert_eq!(body(&site, &request, pending), b"1");
    assert_eq!(site.engine.statistics().entries, 0);
    let (load, pending) = load_of(site.begin(&request));
    site.engine.resume_cache();
    site.perform(load);
    assert_eq!(body(&site, &request, pending), b"1");
    assert_eq!(site.engine.statistics().entries, 1);
}

#[test]
fn a_part_of_the_tree_is_loaded_ahead() {
    let source = memory(&[
        ("index.html", b"home"),
        ("b/index.html", b"b"),
        ("b/x", b"x"),
        ("b/c/y", b"y"),
        ("bc", b"bc"),
    ]);
    let mounts = vec![
        Mount::tree("/", source.clone()),
        Mount::tree("/m/n", source.clone()),
        Mount::file("/m/one", source, "bc"),
    ];
    for (prefix, files) in [
        ("/", 11),
        ("/b/", 3),
        ("/b", 4),
        ("/b/x", 1),
        ("/b/index.html", 1),
        ("/index.html", 1),
        ("/b/c/", 1),
        ("/m/", 6),
        ("/m/n/b", 4),
        ("/m/one", 1),
        ("/none", 0),
    ] {
        let site = Site::new(Config {
            mounts: mounts.clone(),
            ..Config::default()
        });
        let prewarmed = site.engine.prewarm_prefix(&path(prefix));
        let entries = site.engine.statistics().entries;
        assert_eq!((prewarmed.files, entries), (files, files), "{prefix}");
    }
}

#[test]
fn a_group_is_what_rules_say_it_is() {
    let rules = b"/blog/*\n  Cache-Groups: \"blog\", \"all of it\";q=1\n/news\n  Cache-Groups: \"all of it\"\n/odd\n  Cache-Groups: blog\n";
    let source = memory(&[
        ("_headers", rules),
        ("blog/one", b"old"),
        ("blog/two", b"old"),
        ("news", b"old"),
        ("odd", b"old"),
        ("other", b"old"),
    ]);
    let mount = Mount::tree("/", source.clone()).with_conventions(Conventions::default());
    let site = Site::new(patient(mount));
    let paths = ["/blog/one", "/blog/two", "/news", "/odd", "/other"];
    let texts = || paths.map(|path| site.get(path, &[]).text());
    let groups = site.get("/news", &[]);
    assert_eq!(groups.field("cache-groups"), "\"all of it\"");
    assert_eq!(texts(), ["old"; 5]);
    for path in paths {
        source.insert(path.trim_start_matches('/'), "new", 1);
    }
    assert_eq!(site.engine.invalidate_group(b"nobody's"), 0);
    assert_eq!(texts(), ["old"; 5]);
    assert_eq!(site.engine.invalidate_group(b"blog"), 2);
    assert_eq!(texts(), ["new", "new", "old", "old", "old"]);
    assert_eq!(site.engine.invalidate_group(b"all of it"), 3);
    assert_eq!(texts(), ["new", "new", "new", "old", "old"]);
}

/// A request, and all that is loaded for it.
type Ask = Box<dyn Fn() + Send>;

/// A source that tells what it knew until it is told that a file has changed; who asks in that very moment does so just before.
#[derive(Clone)]
struct Told {
    trees: [Arc<MemorySource>; 2],
    is_told: Arc<AtomicBool>,
    meanwhile: Arc<Mutex<Option<Ask>>>,
}

impl Told {
    fn new(old: &[(&str, &[u8])], new: &[(&str, &[u8])]) -> Self {
        Told {
            trees: [memory(old), memory(new)],
            is_told: Arc::default(),
            meanwhile: Arc::default(),
        }
    }

    /// Has somebody ask for this path whenever the source is told.
    fn ask_meanwhile(&self, site: &Site, asked: &'static str) {
        let (engine, now) = (site.engine.clone(), site.now());
        let ask = move || {
            let request = request(Method::Get, asked, &[]);
            let mut step = engine.begin(&request, now);
            while let Step::Load(load, pending) = step {
                let outcome = load.perform(Patience::MayWait, now.instant);
                engine.finish(load, outcome.unwrap_or_else(|_| panic!()));
                step = engine.resume(&request, block_on(pending), now);
            }
            assert!(matches!(step, Step::Respond(_)));
        };
        *self.meanwhile.lock().unwrap() = Some(Box::new(ask));
    }

    fn tell(&self, has_changed: bool) {
        if let Some(ask) = &*self.meanwhile.lock().unwrap() {
            ask();
        }
        self.is_told.fetch_or(has_changed, Ordering::SeqCst);
    }
}

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Told")
    }
}

impl Source for Told {
    fn view(&self, patience: Patience) -> io::Result<Arc<dyn View>> {
        let [old, new] = &self.trees;
        match self.is_told.load(Ordering::SeqCst) {
            true => new.view(patience),
            false => old.view(patience),
        }
    }

    fn invalidate(&self, path: &[u8]) {
        self.tell(path == b"a");
    }

    fn invalidate_prefix(&self, _: &[u8]) {
        self.tell(true);
    }
}

#[test]
fn what_is_asked_for_while_a_source_is_told_is_not_kept() {
    let check = |asked: &'static str, let_go: &dyn Fn(&Engine) -> usize| {
        let files = |content| {
            let rules: [(&str, &[u8]); 2] = [
                ("_headers", b"/a\n  Cache-Groups: \"any\"\n"),
                ("_redirects", b"/other /a 200\n"),
            ];
            [("a", content), rules[0], rules[1]]
        };
        let (old, new) = (files(b"old"), files(b"new"));
        let source = Told::new(&old, &new);
        let mount = Mount::tree("/", Arc::new(source.clone()));
        let site = Site::new(patient(mount.with_conventions(Conventions::default())));
        assert_eq!(site.get(asked, &[]).body, b"old");
        source.ask_meanwhile(&site, asked);
        let_go(&site.engine);
        assert_eq!(site.get(asked, &[]).body, b"new", "{asked}");
    };
    each_way(|let_go| check("/a", let_go));
    check("/a", &|engine| engine.invalidate_group(b"any"));
    // By rules what is there lies elsewhere.
    check("/other", &|engine| engine.invalidate(&path("/other")));
    check("/other", &|engine| engine.invalidate_prefix(&path("/o")));
}

#[test]
fn what_is_loaded_at_other_paths_is_shared_and_kept_unless_it_is_of_a_file_that_was_named() {
    let source = memory(&[
        ("_redirects", b"/other /a 200\n"),
        ("a", b"old"),
        ("b", b"b"),
        ("c", b"c"),
    ]);
    let mount = Mount::tree("/", source.clone()).with_conventions(Conventions::default());
    let site = Site::new(patient(mount));
    site.get("/c", &[]);
    let [at_b, at_other] = ["/b", "/other"].map(|path| request(Method::Get, path, &[]));
    let loads = [&at_b, &at_other].map(|request| {
        let (load, pending) = load_of(site.begin(request));
        let outcome = load.perform(Patience::MayWait, site.now().instant);
        (load, pending, outcome.unwrap_or_else(|_| panic!()))
    });
    source.insert("a", "new", 1);
    assert_eq!(site.engine.invalidate_all(&[path("/a"), path("/d")]), 0);
    assert!(matches!(site.begin(&at_b), Step::Wait(_)));
    for (load, _, outcome) in loads {
        site.engine.finish(load, outcome);
    }
    assert_eq!(site.engine.statistics().entries, 2, "/b and /c");
    assert_eq!(site.get("/other", &[]).body, b"new");
    source.insert("a", "newer", 2);
    source.insert("c", "newer", 2);
    let both = [path("/a"), path("/c")];
    assert_eq!(site.engine.invalidate_all(&both), 2);
    assert_eq!(site.get("/other", &[]).body, b"newer");
    assert_eq!(site.get("/c", &[]).body, b"newer");
}
