//! What changes on disk is not noticed before `revalidate` has passed, and is at the first request
//! after it, by one look.

use std::time::Duration;

use crate::common::{Answer, Site, Tree, coded, config_of, directory, request, seen};
use salver_assets::{Config, Method, Mount, Step};

const REVALIDATE: Duration = Duration::from_secs(1);
const ALMOST: Duration = Duration::from_millis(999);

/// What a client that takes Brotli sees, in short.
fn short(answer: &Answer) -> String {
    match (answer.status, answer.field("Content-Encoding")) {
        (200, "") => answer.text(),
        (200, coding) => format!("{coding}: {}", answer.body.len()),
        (status, _) => status.to_string(),
    }
}

/// Asks for `path` before and after `change` of a tree that `make` has made.
fn check(path: &str, make: impl Fn(&Tree), before: &str, change: impl Fn(&Tree), after: &str) {
    // In memory, and from an open handle: too long to be kept.
    for cache_max_file in [1024 * 1024, 0] {
        let tree = Tree::new();
        make(&tree);
        let root = match tree.path("current").exists() {
            true => tree.path("current"),
            false => tree.path(""),
        };
        let site = Site::new(Config {
            revalidate: REVALIDATE,
            cache_max_file,
            ..config_of(Mount::tree("/", directory(&root)))
        });
        let request = request(Method::Get, path, &[("Accept-Encoding", "br")]);
        let head = crate::common::request(Method::Head, path, &[("Accept-Encoding", "br")]);
        let what = format!("{path} kept up to {cache_max_file}: {before:?} to {after:?}");
        let now = || short(&site.ask(&request));
        let head_now = || {
            let answer = site.ask(&head);
            (answer.status, answer.fields)
        };

        assert_eq!(now(), before, "{what}: at first");
        let old_head = head_now();
        change(&tree);
        site.advance(ALMOST);
        assert_eq!(head_now(), old_head, "{what}: too early");
        if cache_max_file > 0 {
            assert_eq!(now(), before, "{what}: too early");
        }

        site.advance(REVALIDATE - ALMOST);
        let loads = site.engine.statistics().loads;
        let Step::Load(load, pending) = site.begin(&request) else {
            panic!("{what}: the first one looks")
        };
        // One looks, the others wait for what it sees: the old answer is as old as it may be.
        let Step::Wait(other) = site.begin(&head) else {
            panic!("{what}: the others wait")
        };
        site.perform(load);
        let step = site
            .engine
            .resume(&request, crate::common::block_on(pending), site.now());
        let answer = seen(&site.follow(&request, step));
        assert_eq!(short(&answer), after, "{what}: at the first request");
        let step = site
            .engine
            .resume(&head, crate::common::block_on(other), site.now());
        let waited = seen(&site.follow(&head, step));
        assert_eq!(
            (waited.status, &waited.fields),
            (answer.status, &answer.fields)
        );
        assert_eq!(head_now(), (answer.status, answer.fields), "{what}: then");
        if cache_max_file > 0 {
            assert_eq!(now(), after, "{what}: then");
            let looks = site.engine.statistics().loads - loads;
            assert_eq!(looks, 1, "{what}");
        }
    }
}

const TEXT: &str = "one one one one one one one one one one one one one one one one one one";
const OTHER: &str = "two two two two two two two two two two two two two two two two two two";

fn br(content: &str) -> (Vec<u8>, String) {
    let coded = coded(content.as_bytes(), "br");
    let seen = format!("br: {}", coded.len());
    (coded, seen)
}

#[test]
fn files() {
    let one = |tree: &Tree| tree.write("a", "one");
    check("/a", one, "one", |tree| tree.replace("a", "two"), "two");
    check("/a", one, "one", |tree| tree.replace("a", "other"), "other");
    check("/a", one, "one", |tree| tree.write("a", "two"), "two");
    check(
        "/a",
        one,
        "one",
        |tree| tree.write_fresh("a", "longer"),
        "longer",
    );
    check("/a", one, "one", |tree| tree.write("a", "o"), "o");
    check("/a", one, "one", |tree| tree.write("a", ""), "");
    check("/a", one, "one", |tree| tree.remove("a"), "404");
    check("/a", |_| {}, "404", one, "one");
    check(
        "/a/b",
        |_| {},
        "404",
        |tree| tree.write("a/b", "one"),
        "one",
    );
    let old = |tree: &Tree| {
        tree.write("a", "one");
        tree.modified("a", std::time::UNIX_EPOCH + Duration::from_secs(1));
    };
    let same_length_and_time = |tree: &Tree| {
        tree.write("a", "two");
        tree.modified("a", std::time::UNIX_EPOCH + Duration::from_secs(1));
    };
    check("/a", old, "one", same_length_and_time, "two");
    let replaced_with_the_same_time = |tree: &Tree| {
        tree.write("b", "two");
        tree.modified("b", std::time::UNIX_EPOCH + Duration::from_secs(1));
        std::fs::rename(tree.path("b"), tree.path("a")).unwrap();
    };
    check("/a", old, "one", replaced_with_the_same_time, "two");
}

#[test]
fn siblings() {
    let (coded_one, seen_one) = br(TEXT);
    let (coded_two, seen_two) = br(OTHER);
    let plain = |tree: &Tree| tree.write("a.js", TEXT);
    let both = |tree: &Tree| {
        tree.write("a.js", TEXT);
        tree.write("a.js.br", &coded_one);
    };
    check(
        "/a.js",
        plain,
        TEXT,
        |t| t.write("a.js.br", &coded_one),
        &seen_one,
    );
    check(
        "/a.js",
        both,
        &seen_one,
        |tree| tree.remove("a.js.br"),
        TEXT,
    );
    // Half of a deployment: no sibling is better than a wrong one.
    check(
        "/a.js",
        both,
        &seen_one,
        |tree| tree.replace("a.js", OTHER),
        OTHER,
    );
    check(
        "/a.js",
        both,
        &seen_one,
        |t| t.replace("a.js.br", &coded_two),
        TEXT,
    );
    let whole_deployment = |tree: &Tree| {
        tree.replace("a.js", OTHER);
        tree.replace("a.js.br", &coded_two);
    };
    check("/a.js", both, &seen_one, whole_deployment, &seen_two);
    check(
        "/a.js",
        both,
        &seen_one,
        |t| t.write("a.js.br", "no Brotli"),
        TEXT,
    );
    check(
        "/a.js",
        |tree| tree.write("a.js.br", &coded_one),
        "404",
        plain,
        &seen_one,
    );
}

#[test]
fn directories() {
    let directory = |tree: &Tree| tree.write("d/other", "other");
    let index = |tree: &Tree| tree.write("d/index.html", "index");
    check("/d/", directory, "404", index, "index");
    check(
        "/d/",
        index,
        "index",
        |tree| tree.remove("d/index.html"),
        "404",
    );
    check("/d/", |_| {}, "404", index, "index");
    check(
        "/d",
        directory,
        "308",
        |tree| std::fs::remove_dir_all(tree.path("d")).unwrap(),
        "404",
    );
    let file = |tree: &Tree| tree.write("d", "file");
    let file_becomes_directory = |tree: &Tree| {
        tree.remove("d");
        tree.write("d/index.html", "index");
    };
    let directory_becomes_file = |tree: &Tree| {
        std::fs::remove_dir_all(tree.path("d")).unwrap();
        tree.write("d", "file");
    };
    check("/d", file, "file", file_becomes_directory, "308");
    check("/d", directory, "308", directory_becomes_file, "file");
    check("/d/", index, "index", directory_becomes_file, "404");
}

#[cfg(unix)]
#[test]
fn a_root_that_is_switched() {
    use std::os::unix::fs::symlink;
    let releases = |tree: &Tree| {
        tree.write("releases/1/a", "one");
        tree.write("releases/1/only-1", "1");
        tree.write("releases/2/a", "two");
        tree.write("releases/2/only-2", "2");
        symlink("releases/1", tree.path("current")).unwrap();
    };
    let switch = |tree: &Tree| {
        symlink("releases/2", tree.path("next")).unwrap();
        std::fs::rename(tree.path("next"), tree.path("current")).unwrap();
    };
    check("/a", releases, "one", switch, "two");
    check("/only-1", releases, "1", switch, "404");
    check("/only-2", releases, "404", switch, "2");
    let circle = |tree: &Tree| {
        symlink("current", tree.path("next")).unwrap();
        std::fs::rename(tree.path("next"), tree.path("current")).unwrap();
    };
    check("/a", releases, "one", circle, "404");
    let remove = |tree: &Tree| std::fs::remove_file(tree.path("current")).unwrap();
    check("/a", releases, "one", remove, "404");
}

#[test]
fn what_has_not_changed_is_looked_at_and_not_read() {
    let (coded_one, seen_one) = br(TEXT);
    let tree = Tree::new();
    tree.write("a.js", TEXT);
    tree.write("a.js.br", &coded_one);
    tree.write("d/x", "x");
    let site = Site::new(config_of(Mount::tree("/", directory(&tree.path("")))));
    let paths = [("/a.js", &*seen_one), ("/d", "308"), ("/nothing", "404")];
    let fields = [("Accept-Encoding", "br")];
    for (path, expected) in paths {
        assert_eq!(short(&site.get(path, &fields)), expected);
    }
    let first = site.engine.statistics();
    assert_eq!((first.loads, first.revalidations), (3, 0));
    for round in 1..=10 {
        site.advance(REVALIDATE);
        for (path, expected) in paths {
            for _ in 0..5 {
                assert_eq!(short(&site.get(path, &fields)), expected);
            }
        }
        let now = site.engine.statistics();
        assert_eq!(now.revalidations, 3 * round);
        assert_eq!(now.loads, 3 + 3 * round);
        assert_eq!(now.bytes_loaded, first.bytes_loaded);
        assert_eq!((now.entries, now.bytes), (first.entries, first.bytes));
    }
}

#[test]
fn a_touched_file_is_read_again_and_keeps_its_tag() {
    let tree = Tree::new();
    tree.write("a", "one");
    let site = Site::new(config_of(Mount::tree("/", directory(&tree.path("")))));
    let before = site.get("/a", &[]);
    tree.modified("a", std::time::UNIX_EPOCH + Duration::from_secs(1_000));
    site.advance(REVALIDATE);
    let after = site.get("/a", &[]);
    assert_eq!(after.field("ETag"), before.field("ETag"));
    assert_eq!(
        after.field("Last-Modified"),
        "Thu, 01 Jan 1970 00:16:40 GMT"
    );
}

#[test]
fn after_a_pause_nobody_gets_the_old_answer() {
    let tree = Tree::new();
    tree.write("a", "one");
    let site = Site::new(config_of(Mount::tree("/", directory(&tree.path("")))));
    let request = request(Method::Get, "/a", &[]);
    assert_eq!(site.ask(&request).text(), "one");
    tree.write("a", "two");
    site.advance(Duration::from_secs(3600));
    let Step::Load(load, first) = site.begin(&request) else {
        panic!("the first one looks")
    };
    let Step::Wait(second) = site.begin(&request) else {
        panic!("the others wait")
    };
    site.perform(load);
    for pending in [first, second] {
        let step = site
            .engine
            .resume(&request, crate::common::block_on(pending), site.now());
        assert_eq!(seen(&site.follow(&request, step)).text(), "two");
    }
}

#[test]
fn without_a_cache_or_without_patience_every_request_looks() {
    for (cache, revalidate) in [(false, REVALIDATE), (true, Duration::ZERO)] {
        let tree = Tree::new();
        let site = Site::new(Config {
            cache,
            revalidate,
            ..config_of(Mount::tree("/", directory(&tree.path(""))))
        });
        for content in ["one", "two", "a longer one", ""] {
            tree.write("a", content);
            assert_eq!(site.get("/a", &[]).text(), content);
        }
        tree.remove("a");
        assert_eq!(site.get("/a", &[]).status, 404);
        tree.write("a", "again");
        assert_eq!(site.get("/a", &[]).text(), "again");
    }
}

#[test]
fn clearing_lets_go_of_everything() {
    let tree = Tree::new();
    tree.write("a", "one");
    let site = Site::new(config_of(Mount::tree("/", directory(&tree.path("")))));
    assert_eq!(
        (site.get("/a", &[]).text(), site.get("/b", &[]).status),
        ("one".into(), 404)
    );
    tree.write("a", "two");
    tree.write("b", "new");
    assert_eq!(site.engine.statistics().entries, 2);
    site.engine.clear();
    let statistics = site.engine.statistics();
    assert_eq!((statistics.entries, statistics.bytes), (0, 0));
    assert_eq!(site.get("/a", &[]).text(), "two");
    assert_eq!(site.get("/b", &[]).text(), "new");
}

#[test]
fn the_fallback_is_as_fresh_as_what_it_stands_for() {
    let tree = Tree::new();
    tree.write("index.html", "application");
    let mount = Mount::tree("/", directory(&tree.path(""))).with_fallback("index.html");
    let site = Site::new(config_of(mount));
    assert_eq!(site.get("/route", &[]).text(), "application");
    tree.write("route", "a file");
    tree.write("index.html", "new application");
    assert_eq!(site.get("/route", &[]).text(), "application");
    site.advance(REVALIDATE);
    assert_eq!(site.get("/route", &[]).text(), "a file");
    assert_eq!(site.get("/other", &[]).text(), "new application");
    tree.remove("route");
    site.advance(REVALIDATE);
    assert_eq!(site.get("/route", &[]).text(), "new application");
}
