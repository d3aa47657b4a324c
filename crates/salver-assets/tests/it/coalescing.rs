//! One load however many ask; what it gives is for all, and nobody depends on who asked first.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use crate::common::{Site, block_on, config_of, directory, memory, poll_once, request, seen};
use salver_assets::source::{Metadata, Opened};
use salver_assets::{
    Config, Load, MemorySource, Method, Mount, Patience, Pending, Request, Source, Step, View,
};

const ASKING: usize = 25_000;

fn load_of(step: Step) -> (Load, Pending) {
    match step {
        Step::Load(load, pending) => (load, pending),
        Step::Wait(_) | Step::NeedDetails | Step::NeedAccess(_) => {
            panic!("somebody else is loading")
        }
        Step::Respond(plan) => panic!("{plan:?}"),
    }
}

fn wait_of(step: Step) -> Pending {
    match step {
        Step::Wait(pending) => pending,
        Step::Load(..) | Step::NeedDetails | Step::NeedAccess(_) => panic!("a second load"),
        Step::Respond(plan) => panic!("{plan:?}"),
    }
}

fn plan_of(site: &Site, request: &Request<'_>, pending: Pending) -> (u16, Vec<u8>) {
    let arrived = block_on(pending);
    let step = site.engine.resume(request, arrived, site.now());
    let answer = seen(&site.follow(request, step));
    (answer.status, answer.body)
}

/// A source that fails while it is told to.
#[derive(Debug)]
struct Breaks {
    source: Arc<MemorySource>,
    broken: Arc<AtomicBool>,
}

struct BreaksView(Arc<dyn View>, Arc<AtomicBool>);

impl Source for Breaks {
    fn view(&self, patience: Patience) -> io::Result<Arc<dyn View>> {
        let view = self.source.view(patience)?;
        Ok(Arc::new(BreaksView(view, Arc::clone(&self.broken))))
    }
}

impl View for BreaksView {
    fn stat(&self, path: &[u8], patience: Patience) -> io::Result<Metadata> {
        if self.1.load(Ordering::SeqCst) {
            return Err(io::Error::other("the disk is on fire"));
        }
        self.0.stat(path, patience)
    }

    fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened> {
        self.0.open(path, patience)
    }

    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.0.list(path)
    }
}

fn breaking_site() -> (Site, Arc<AtomicBool>) {
    let broken = Arc::new(AtomicBool::new(true));
    let source = Breaks {
        source: memory(&[("a", b"alpha")]),
        broken: Arc::clone(&broken),
    };
    let site = Site::new(config_of(Mount::tree("/", Arc::new(source))));
    (site, broken)
}

#[test]
fn one_load_for_25_000() {
    let tree = crate::common::Tree::new();
    let content = vec![7; 100_000];
    tree.write("cold", &content);
    let site = Site::new(config_of(Mount::tree("/", directory(&tree.path("")))));
    let request = request(Method::Get, "/cold", &[]);
    let (load, first) = load_of(site.begin(&request));
    let mut waiting: Vec<Pending> = (1..ASKING).map(|_| wait_of(site.begin(&request))).collect();
    waiting.push(first);
    assert!(
        waiting
            .iter_mut()
            .all(|pending| poll_once(pending).is_pending())
    );
    site.perform(load);
    let mut where_the_bytes_are = None;
    for pending in waiting {
        let arrived = block_on(pending);
        let Step::Respond(plan) = site.engine.resume(&request, arrived, site.now()) else {
            panic!("one load is enough")
        };
        let salver_assets::Content::Memory(bytes) = &plan.content else {
            panic!("{plan:?}")
        };
        assert_eq!(bytes.len(), content.len());
        let first = *where_the_bytes_are.get_or_insert(bytes.as_ptr());
        assert_eq!(first, bytes.as_ptr(), "all share one copy");
    }
    let statistics = site.engine.statistics();
    assert_eq!((statistics.loads, statistics.coalesced), (1, 24_999));
    assert_eq!((statistics.misses, statistics.hits), (25_000, 0));
    assert_eq!(statistics.bytes_loaded, 100_000);
}

#[test]
fn one_load_from_many_threads() {
    const THREADS: usize = 50;
    let site = Site::of(&[("cold", b"content")]);
    let request = request(Method::Get, "/cold", &[]);
    let asked = Barrier::new(THREADS);
    let load = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut waiting = Vec::new();
                for _ in 0..ASKING / THREADS {
                    waiting.push(match site.begin(&request) {
                        Step::Load(one, pending) => {
                            assert!(load.lock().unwrap().replace(one).is_none());
                            pending
                        }
                        Step::Wait(pending) => pending,
                        Step::Respond(plan) => panic!("{plan:?}"),
                        Step::NeedDetails | Step::NeedAccess(_) => panic!("no rules"),
                    });
                }
                if asked.wait().is_leader() {
                    site.perform(load.lock().unwrap().take().unwrap());
                }
                for pending in waiting {
                    assert_eq!(plan_of(&site, &request, pending), (200, b"content".into()));
                }
            });
        }
    });
    let statistics = site.engine.statistics();
    assert_eq!((statistics.loads, statistics.coalesced), (1, 24_999));
}

/// Who asks just as a load ends must not begin another one.
#[test]
fn one_load_also_for_those_who_come_at_its_end() {
    const THREADS: usize = 4;
    const FILES: usize = 20_000;
    let names: Vec<String> = (0..FILES).map(|number| format!("f{number}")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &b"x"[..])).collect();
    let site = Site::of(&files);
    let together = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for name in &names {
                    together.wait();
                    let path = format!("/{name}");
                    assert_eq!(site.get(&path, &[]).body, b"x");
                }
            });
        }
    });
    let statistics = site.engine.statistics();
    assert_eq!(statistics.loads, u64::try_from(FILES).unwrap());
}

#[test]
fn without_coalescing_each_loads() {
    let source = memory(&[("a", b"alpha")]);
    let config = Config {
        coalesce: false,
        ..config_of(Mount::tree("/", source))
    };
    let site = Site::new(config);
    let request = request(Method::Get, "/a", &[]);
    let loads: Vec<_> = (0..10).map(|_| load_of(site.begin(&request))).collect();
    for (load, pending) in loads {
        site.perform(load);
        assert_eq!(plan_of(&site, &request, pending), (200, b"alpha".into()));
    }
    let statistics = site.engine.statistics();
    assert_eq!((statistics.loads, statistics.coalesced), (10, 0));
}

#[test]
fn a_failure_is_given_to_all_and_not_kept() {
    let (site, broken) = breaking_site();
    let request = request(Method::Get, "/a", &[]);
    let (load, first) = load_of(site.begin(&request));
    let mut waiting: Vec<Pending> = (0..100).map(|_| wait_of(site.begin(&request))).collect();
    waiting.push(first);
    site.perform(load);
    for pending in waiting {
        assert_eq!(plan_of(&site, &request, pending).0, 500);
    }
    assert_eq!(site.engine.statistics().loads, 1);
    assert_eq!(site.engine.statistics().entries, 0);
    broken.store(false, Ordering::SeqCst);
    assert_eq!(site.get("/a", &[]).body, b"alpha");
}

#[test]
fn a_failed_look_leaves_what_was_known_and_the_next_request_looks_again() {
    let (site, broken) = breaking_site();
    broken.store(false, Ordering::SeqCst);
    assert_eq!(site.get("/a", &[]).status, 200);
    broken.store(true, Ordering::SeqCst);
    assert_eq!(site.get("/a", &[]).status, 200, "it is fresh");
    site.advance(std::time::Duration::from_secs(5));
    let loads = site.engine.statistics().loads;
    assert_eq!(site.get("/a", &[]).status, 200, "for a while");
    assert_eq!(site.get("/a", &[]).status, 200);
    assert_eq!(site.engine.statistics().loads, loads + 2, "not confirmed");
    site.advance(std::time::Duration::from_secs(7));
    assert_eq!(site.get("/a", &[]).status, 500);
    assert_eq!(site.get("/a", &[]).status, 500);
    broken.store(false, Ordering::SeqCst);
    let loaded = site.engine.statistics().bytes_loaded;
    assert_eq!(site.get("/a", &[]).status, 200);
    assert_eq!(
        site.engine.statistics().bytes_loaded,
        loaded,
        "it had not changed"
    );
}

#[test]
fn a_waiter_that_goes_away_harms_nobody() {
    let site = Site::of(&[("a", b"alpha")]);
    let request = request(Method::Get, "/a", &[]);
    let (load, first) = load_of(site.begin(&request));
    let mut waiting: Vec<Pending> = (0..100).map(|_| wait_of(site.begin(&request))).collect();
    for pending in &mut waiting {
        assert!(poll_once(pending).is_pending());
    }
    // Every other one, before and after the load.
    let mut number = 0;
    waiting.retain(|_| {
        number += 1;
        number % 2 == 0
    });
    site.perform(load);
    waiting.truncate(30);
    waiting.push(first);
    assert_eq!(waiting.len(), 31);
    for pending in waiting {
        assert_eq!(plan_of(&site, &request, pending), (200, b"alpha".into()));
    }
}

#[test]
fn a_load_survives_its_first_asker() {
    let site = Site::of(&[("a", b"alpha")]);
    let request = request(Method::Get, "/a", &[]);
    let (load, first) = load_of(site.begin(&request));
    let other = wait_of(site.begin(&request));
    drop(first);
    site.perform(load);
    assert_eq!(plan_of(&site, &request, other), (200, b"alpha".into()));
    assert!(
        matches!(site.begin(&request), Step::Respond(_)),
        "it is kept"
    );
}

#[test]
fn a_load_that_is_dropped_fails_and_the_next_request_loads_anew() {
    let site = Site::of(&[("a", b"alpha")]);
    let request = request(Method::Get, "/a", &[]);
    let (load, first) = load_of(site.begin(&request));
    let other = wait_of(site.begin(&request));
    drop(load);
    for pending in [first, other] {
        assert_eq!(plan_of(&site, &request, pending).0, 500);
    }
    assert_eq!(site.get("/a", &[]).body, b"alpha");
    // The same while a known answer is compared with the disk.
    site.advance(std::time::Duration::from_secs(5));
    let (load, first) = load_of(site.begin(&request));
    let other = wait_of(site.begin(&request));
    drop(load);
    for pending in [first, other] {
        assert_eq!(plan_of(&site, &request, pending).0, 500);
    }
    assert_eq!(site.get("/a", &[]).body, b"alpha");
}

#[test]
fn an_overloaded_driver_is_answered_with_503_and_nothing_is_kept() {
    let site = Site::of(&[("a", b"alpha")]);
    let request = request(Method::Get, "/a", &[]);
    let (load, pending) = load_of(site.begin(&request));
    site.engine
        .finish(load, salver_assets::Outcome::overloaded());
    assert_eq!(plan_of(&site, &request, pending).0, 503);
    assert_eq!(site.get("/a", &[]).status, 200);
}

/// Clients that want different codings of one file share the look, not the content, and none may
/// be turned away because others are faster.
#[test]
fn different_codings_do_not_starve_each_other() {
    let content = b"hello, hello, hello, hello, hello, hello, hello".repeat(100);
    let (br, gz) = (
        crate::common::coded(&content, "br"),
        crate::common::coded(&content, "gz"),
    );
    let files: [(&str, &[u8]); 3] = [("a", &content), ("a.br", &br), ("a.gz", &gz)];
    for cache in [true, false] {
        let config = Config {
            cache,
            ..config_of(Mount::tree("/", memory(&files)))
        };
        let site = Site::new(config);
        let wanted = ["br", "gzip", "identity"];
        let requests =
            wanted.map(|coding| request(Method::Get, "/a", &[("Accept-Encoding", coding)]));
        let mut open: Vec<(usize, Step)> = (0..300)
            .map(|number| (number % 3, site.begin(&requests[number % 3])))
            .collect();
        let mut answered = 0;
        while !open.is_empty() {
            let (mut loads, mut waiting) = (Vec::new(), Vec::new());
            for (which, step) in open {
                match step {
                    Step::Respond(plan) => {
                        let expected: &[u8] = [&br[..], &gz, &content][which];
                        assert_eq!(plan.status, 200, "cache: {cache}");
                        assert_eq!(seen(&plan).body, expected);
                        answered += 1;
                    }
                    Step::Load(load, pending) => {
                        loads.push(load);
                        waiting.push((which, pending));
                    }
                    Step::Wait(pending) => waiting.push((which, pending)),
                    Step::NeedDetails | Step::NeedAccess(_) => panic!("no rules"),
                }
            }
            loads.into_iter().for_each(|load| site.perform(load));
            // New clients of the first coding always come before those who wait are woken.
            let new = if answered < 1500 { 50 } else { 0 };
            open = (0..new).map(|_| (0, site.begin(&requests[0]))).collect();
            open.extend(waiting.into_iter().map(|(which, pending)| {
                let arrived = block_on(pending);
                let step = site.engine.resume(&requests[which], arrived, site.now());
                (which, step)
            }));
        }
        assert!(answered >= 300);
    }
}
