//! Engines beside each other: one cache, and nothing of one in the answers of another.

use std::sync::Arc;

use salver_assets::rules::{Action, RuleSet};
use salver_assets::{Config, Method, Mount, Request, RequestPath, Step};

use crate::common::{Site, config_of, memory};

/// A site with this content at `/a`, and the one of another beside it.
fn pair() -> [Site; 2] {
    let first = Site::of(&[("a", b"first"), ("only", b"one")]);
    let config = config_of(Mount::tree("/", memory(&[("a", b"other")])));
    let other = first.beside(config);
    [first, other]
}

fn is_cached(site: &Site, path: &str) -> bool {
    match site.begin(&Request::get(path.as_bytes())) {
        Step::Respond(_) => true,
        Step::Load(load, _) => {
            site.perform(load);
            false
        }
        _ => panic!("{path}"),
    }
}

#[test]
fn each_answers_with_its_own() {
    let [first, other] = pair();
    for _ in 0..3 {
        assert_eq!(first.get("/a", &[]).text(), "first");
        assert_eq!(other.get("/a", &[]).text(), "other");
        assert_eq!(first.get("/only", &[]).text(), "one");
        assert_eq!(other.get("/only", &[]).status, 404);
    }
    assert_ne!(
        first.get("/a", &[]).field("ETag"),
        other.get("/a", &[]).field("ETag")
    );
    let tag = first.get("/a", &[]).field("ETag").to_owned();
    assert_eq!(other.get("/a", &[("If-None-Match", &tag)]).status, 200);
}

#[test]
fn what_one_lets_go_of_the_other_keeps() {
    let [first, other] = pair();
    let fill = || {
        for site in [&first, &other] {
            site.get("/a", &[]);
        }
    };
    let path = RequestPath::parse(b"/a").unwrap();
    let root = RequestPath::parse(b"/").unwrap();
    let ways: [&dyn Fn(&Site) -> usize; 3] = [
        &|site| site.engine.clear(),
        &|site| site.engine.invalidate(&path),
        &|site| site.engine.invalidate_prefix(&root),
    ];
    for way in ways {
        for [one, kept] in [[&first, &other], [&other, &first]] {
            fill();
            assert_eq!(way(one), 1);
            assert!(is_cached(kept, "/a") && !is_cached(one, "/a"));
        }
    }
}

#[test]
fn one_budget_is_all_that_they_have() {
    const KIB: usize = 1024;
    let names: Vec<String> = (0..200).map(|number| format!("{number}")).collect();
    let content = vec![b'x'; 4 * KIB];
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &*content)).collect();
    let config = || Config {
        cache_size: 256 * KIB,
        ..config_of(Mount::tree("/", memory(&files)))
    };
    let first = Site::new(config());
    // What it says of its own budget counts for nothing.
    let others: Vec<Site> = (0..3)
        .map(|_| {
            first.beside(Config {
                cache_size: usize::MAX,
                ..config()
            })
        })
        .collect();
    for name in &names {
        for site in others.iter().chain([&first]) {
            assert_eq!(site.get(&format!("/{name}"), &[]).body.len(), 4 * KIB);
            assert!(first.engine.statistics().bytes <= 256 * 1024);
        }
    }
    let statistics = first.engine.statistics();
    assert_eq!(statistics, others[0].engine.statistics());
    assert!(
        statistics.evictions > 0 && statistics.misses == 800,
        "{statistics:?}"
    );
    assert_eq!(first.engine.mount_count(), 4);
}

#[test]
fn their_mounts_are_told_apart_and_a_pause_is_for_all() {
    let [first, other] = pair();
    let mount_of = |site: &Site| match site.begin(&Request::get(b"/new")) {
        Step::Load(load, pending) => {
            assert_eq!(load.mount(), pending.mount());
            let mount = load.mount();
            site.perform(load);
            mount
        }
        _ => panic!("nothing is cached yet"),
    };
    assert_eq!((mount_of(&first), mount_of(&other)), (0, 1));
    other.engine.pause_cache();
    assert!(first.engine.is_paused() && !is_cached(&first, "/new"));
}

#[test]
fn one_that_keeps_nothing_reads_what_it_sends_all_the_same() {
    let first = Site::of(&[("a", b"first")]);
    let other = first.beside(Config {
        cache: false,
        ..config_of(Mount::tree("/", memory(&[("a", b"other")])))
    });
    first.get("/a", &[]);
    for _ in 0..2 {
        assert!(!is_cached(&other, "/a"));
        assert_eq!(other.get("/a", &[]).text(), "other");
    }
    assert!(is_cached(&first, "/a"));
}

#[test]
fn a_refused_request_has_a_page_whatever_its_method() {
    let rules = [salver_assets::rules::Rule {
        actions: [400, 404, 405, 501]
            .map(|status| Action::ErrorPage(status, format!("/{status}")))
            .into(),
        ..Default::default()
    }];
    let files: [(&str, &[u8]); 5] = [
        ("400", b"bad"),
        ("404", b"lost"),
        ("405", b"no"),
        ("501", b"what"),
        (".git", b"secret"),
    ];
    let mount = Mount::tree("/", memory(&files));
    let mount = mount.with_rules(Arc::new(RuleSet::compile(&rules).unwrap()));
    let site = Site::new(config_of(mount));
    for _ in 0..3 {
        for (method, path, status, content) in [
            (Method::Post, "/a", 405, "no"),
            (Method::Delete, "/", 405, "no"),
            (Method::Other, "/a", 501, "what"),
            (Method::Put, "/%zz", 405, "no"),
            (Method::Get, "/%zz", 400, "bad"),
            (Method::Head, "/%zz", 400, ""),
            (Method::Get, "/.git", 404, "lost"),
            (Method::Get, "/a%2Fb", 404, "lost"),
        ] {
            let request = Request {
                method,
                ..Request::get(path.as_bytes())
            };
            let answer = site.ask(&request);
            assert_eq!(
                (answer.status, &*answer.text()),
                (status, content),
                "{path}"
            );
            let allow = if status == 405 {
                "GET, HEAD, OPTIONS"
            } else {
                ""
            };
            let found = answer
                .fields
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case("allow"));
            assert_eq!(found.map_or("", |(_, value)| value), allow, "{path}");
        }
    }
}
