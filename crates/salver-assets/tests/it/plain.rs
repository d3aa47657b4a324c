//! A mount of which nothing is kept, beside one of the same files that is cached.

use std::time::Duration;

use crate::common::{Site, Tree, block_on, directory, request, seen};
use salver_assets::{Config, Method, Mount, Step};

/// Longer than what is read, and than what is kept in memory: sent from a handle.
const LONG: usize = 200_000;

fn site(tree: &Tree) -> Site {
    let files = directory(&tree.path(""));
    Site::new(Config {
        mounts: vec![
            Mount::tree("/", files.clone()).without_cache(),
            Mount::tree("/cached", files.clone()),
            Mount::tree("/cached/plain", files.clone()).without_cache(),
            Mount::file("/one", files, "short").without_cache(),
        ],
        revalidate: Duration::from_secs(1),
        // What was written a moment ago is sent from handles all the same.
        settle_time: Duration::ZERO,
        ..Config::default()
    })
}

fn tree() -> Tree {
    let tree = Tree::new();
    tree.write("short", "short, as it was");
    tree.write("long", vec![b'1'; LONG]);
    tree.write("index.html", "an index");
    tree
}

/// Entries and open files.
fn kept(site: &Site) -> (u64, u64) {
    let statistics = site.engine.statistics();
    (statistics.entries, statistics.open_files)
}

const PLAIN: [&str; 8] = [
    "/short",
    "/long",
    "/",
    "/nothing",
    "/cached/plain/short",
    "/cached/plain/long",
    "/cached/plain",
    "/one",
];

#[test]
fn a_plain_mount_keeps_nothing_and_loads_each_time() {
    let tree = tree();
    let site = site(&tree);
    for round in 1..=3 {
        for path in PLAIN {
            let loads = site.engine.statistics().loads;
            let answer = site.get(path, &[]);
            // The prefix of a mount is known to be a directory without a look.
            let expected = u64::from(answer.status != 308);
            let loaded = site.engine.statistics().loads - loads;
            assert_eq!(loaded, expected, "{path} in round {round}");
        }
    }
    assert_eq!(kept(&site), (0, 0));
    assert_eq!(site.engine.statistics().hits, 0);
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "no file is kept open")]
fn the_cached_mount_beside_it_keeps_and_is_not_borrowed_from() {
    let tree = tree();
    let site = site(&tree);
    for path in ["/cached/short", "/cached/long"] {
        site.get(path, &[]);
    }
    assert_eq!(kept(&site), (2, 1));
    let loads = site.engine.statistics().loads;
    for path in ["/cached/short", "/cached/long", "/cached/short"] {
        assert_eq!(site.get(path, &[]).status, 200, "{path}");
    }
    assert_eq!(site.engine.statistics().loads, loads);
    // The same file, whose handle the other mount has open, is opened again.
    let request = request(Method::Get, "/long", &[]);
    let of_cached = request_file(&site, "/cached/long");
    let Step::Load(load, pending) = site.begin(&request) else {
        panic!("it has to be loaded")
    };
    site.perform(load);
    let step = site.engine.resume(&request, block_on(pending), site.now());
    let Step::Respond(plan) = step else {
        panic!("one load is enough")
    };
    let salver_assets::Content::File(file) = &plan.content else {
        panic!("{plan:?}")
    };
    assert!(!std::sync::Arc::ptr_eq(file.file().unwrap(), &of_cached));
    assert_eq!(kept(&site), (2, 1));
}

fn request_file(site: &Site, path: &str) -> std::sync::Arc<std::fs::File> {
    match site.plan(&request(Method::Get, path, &[])).content {
        salver_assets::Content::File(file) => file.file().unwrap().clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_plain_mount_sees_a_change_at_once_and_tags_as_the_other_does() {
    let tree = tree();
    let site = site(&tree);
    for (path, length) in [("short", 16), ("long", LONG)] {
        let (plain, cached) = (format!("/{path}"), format!("/cached/{path}"));
        for byte in [b'2', b'3'] {
            let before = site.get(&cached, &[]);
            let new = vec![byte; length];
            tree.replace(path, &new);
            let answer = site.get(&plain, &[]);
            assert!(answer.body == new, "{path}");
            // What the other has in memory is not due for a look yet.
            if path == "short" {
                assert!(site.get(&cached, &[]) == before, "{path}");
            }
            site.advance(Duration::from_secs(2));
            let late = site.get(&cached, &[]);
            assert!(late == answer, "{path}: both send the same");
        }
        tree.remove(path);
        assert_eq!(site.get(&plain, &[]).status, 404, "{path}");
    }
}

#[test]
fn requests_at_one_moment_share_a_load_and_the_next_one_does_not() {
    let tree = tree();
    let site = site(&tree);
    for path in ["/short", "/long", "/one"] {
        let request = request(Method::Get, path, &[]);
        for _ in 0..2 {
            let before = site.engine.statistics();
            let Step::Load(load, first) = site.begin(&request) else {
                panic!("{path} has to be loaded")
            };
            let mut all: Vec<_> = (1..100)
                .map(|_| match site.begin(&request) {
                    Step::Wait(pending) => pending,
                    _ => panic!("{path} is being loaded"),
                })
                .collect();
            all.push(first);
            site.perform(load);
            for pending in all {
                let step = site.engine.resume(&request, block_on(pending), site.now());
                let Step::Respond(plan) = step else {
                    panic!("{path}: one load is enough")
                };
                assert_eq!(seen(&plan).status, 200);
            }
            let after = site.engine.statistics();
            assert_eq!(after.loads - before.loads, 1, "{path}");
            assert_eq!(after.coalesced - before.coalesced, 99, "{path}");
        }
    }
}

#[test]
fn nothing_of_a_plain_mount_is_loaded_ahead() {
    let tree = tree();
    // What `/cached` has of its own at `/cached/plain` is hidden by the mount there.
    tree.write("plain/hidden", "hidden");
    let site = site(&tree);
    let prewarmed = site.engine.prewarm();
    assert_eq!(prewarmed.files, 3, "short, long and the index, cached");
    assert_eq!(kept(&site).0, 3);
}
