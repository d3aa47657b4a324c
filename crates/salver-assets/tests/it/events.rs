//! What the cache tells an observer that it does.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{Site, Tree, config_of, directory, memory, request};
use salver_assets::{
    Config, Event, LoadError, Method, Mount, Observer, Outcome, Patience, RequestPath, Source,
    Step, View,
};

#[derive(Debug, Default)]
struct Notes {
    events: Mutex<Vec<String>>,
    deaf: AtomicBool,
}

impl Observer for Notes {
    fn is_listening(&self) -> bool {
        !self.deaf.load(Ordering::Relaxed)
    }

    fn observe(&self, event: Event) {
        let line = match event {
            Event::Loaded { path, kind } => format!("loaded {path} {kind:?}"),
            Event::Confirmed { path } => format!("confirmed {path}"),
            Event::Changed { path, kind } => format!("changed {path} {kind:?}"),
            Event::Failed { path, error, cause } => {
                let cause = cause.map_or_else(String::new, |cause| format!(": {}", cause.kind()));
                format!("failed {path} {error:?}{cause}")
            }
            Event::Evicted { path } => format!("evicted {path}"),
            Event::Invalidated { path, entries } => format!("invalidated {path} {entries}"),
            Event::InvalidatedPrefix { prefix, entries } => format!("beneath {prefix} {entries}"),
            Event::Cleared { entries } => format!("cleared {entries}"),
            Event::Paused => "paused".to_owned(),
            Event::Resumed => "resumed".to_owned(),
            event => panic!("{event:?}"),
        };
        self.events.lock().unwrap().push(line);
    }
}

impl Notes {
    /// What was noted since the last time.
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.events.lock().unwrap())
    }
}

fn observed(config: Config) -> (Site, Arc<Notes>) {
    let notes = Arc::new(Notes::default());
    let site = Site::new(Config {
        observer: Some(notes.clone()),
        ..config
    });
    (site, notes)
}

fn path(path: &str) -> RequestPath<'_> {
    RequestPath::parse(path.as_bytes()).unwrap()
}

#[test]
fn each_thing_that_the_cache_does() {
    let source = memory(&[("a b", b"1"), ("d/index.html", b"1"), ("e", b"1")]);
    let (site, notes) = observed(config_of(Mount::tree("/", source.clone())));
    let check = |expected: &[&str]| assert_eq!(notes.take(), expected);
    let ask = |path: &str| site.get(path, &[]);
    ask("/a%20b");
    ask("/d");
    ask("/d/");
    ask("/none");
    check(&[
        "loaded /a b File",
        "loaded /d Directory",
        "loaded /d/ File",
        "loaded /none Nothing",
    ]);
    ask("/a%20b");
    ask("/none");
    check(&[]);
    site.advance(Duration::from_secs(5));
    ask("/a%20b");
    source.insert("d/index.html", "2", 2);
    ask("/d/");
    source.insert("none", "now", 2);
    ask("/none");
    source.remove("a b");
    site.advance(Duration::from_secs(5));
    ask("/a%20b");
    check(&[
        "confirmed /a b",
        "changed /d/ File",
        "changed /none File",
        "changed /a b Nothing",
    ]);
    site.engine.invalidate(&path("/d/index.html"));
    site.engine.invalidate(&path("/z"));
    ask("/e");
    site.engine.invalidate_prefix(&path("/e"));
    site.engine.pause_cache();
    site.engine.pause_cache();
    ask("/e");
    ask("/e");
    site.engine.resume_cache();
    site.engine.resume_cache();
    site.engine.clear();
    check(&[
        // `/d` and `/d/`.
        "invalidated /d/index.html 2",
        "invalidated /z 0",
        "loaded /e File",
        "beneath /e 1",
        "paused",
        "loaded /e File",
        "loaded /e File",
        "resumed",
        "cleared 2",
    ]);
}

#[test]
fn content_that_is_read_later_is_no_change() {
    let tree = Tree::new();
    tree.write("f", "content");
    tree.write("long", vec![b'1'; 100_000]);
    let (site, notes) = observed(Config {
        settle_time: Duration::ZERO,
        hash_up_to: 0,
        ..config_of(Mount::tree("/", directory(&tree.path(""))))
    });
    site.head("/f", &[]);
    site.get("/f", &[]);
    site.get("/long", &[]);
    assert_eq!(
        notes.take(),
        ["loaded /f File", "loaded /f File", "loaded /long File"]
    );
}

/// A tree that nobody may look at.
#[derive(Debug)]
struct Locked;

impl Source for Locked {
    fn view(&self, _: Patience) -> io::Result<Arc<dyn View>> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

#[test]
fn why_a_load_failed() {
    let (site, notes) = observed(config_of(Mount::tree("/", Arc::new(Locked))));
    assert_eq!(site.get("/a", &[]).status, 403);
    assert_eq!(notes.take(), ["failed /a Forbidden: permission denied"]);

    let source = memory(&[("a", b"1")]);
    let (site, notes) = observed(config_of(Mount::tree("/", source)));
    let request = request(Method::Get, "/a", &[]);
    let Step::Load(load, _) = site.begin(&request) else {
        panic!("nothing is cached")
    };
    site.engine.finish(load, Outcome::overloaded());
    assert_eq!(
        notes.take(),
        [format!("failed /a {:?}", LoadError::Overloaded)]
    );
}

#[test]
fn what_the_budget_pushes_out() {
    let names: Vec<String> = (0..400).map(|number| format!("f{number}")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &b"x"[..])).collect();
    let (site, notes) = observed(Config {
        cache_size: 256 * 1024,
        ..config_of(Mount::tree("/", memory(&files)))
    });
    for name in &names {
        site.get(&format!("/{name}"), &[]);
    }
    let notes = notes.take();
    let evicted = notes.iter().filter(|line| line.starts_with("evicted /f"));
    let evicted = u64::try_from(evicted.count()).unwrap();
    let statistics = site.engine.statistics();
    assert!(evicted > 0);
    assert_eq!(evicted, statistics.evictions);
    assert_eq!(statistics.entries + evicted, 400);
}

#[test]
fn nobody_is_told_who_does_not_listen() {
    let (site, notes) = observed(config_of(Mount::tree("/", memory(&[("a", b"1")]))));
    notes.deaf.store(true, Ordering::Relaxed);
    site.get("/a", &[]);
    site.engine.clear();
    notes.deaf.store(false, Ordering::Relaxed);
    site.get("/a", &[]);
    assert_eq!(notes.take(), ["loaded /a File"]);
}
