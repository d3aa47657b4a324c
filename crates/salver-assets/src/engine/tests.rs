//! Tests of the engine: what a hit costs, and which load is enough.

use super::*;
use crate::cache::key::CacheKey;
use crate::source::Patience;
use crate::sync::taken;
use crate::{MemorySource, Mount};

/// An engine that has `/a` in its cache.
fn engine(now: Now) -> Engine {
    let source = MemorySource::new();
    source.insert("a", "alpha", 0);
    let config = Config {
        mounts: vec![Mount::tree("/", Arc::new(source))],
        ..Config::default()
    };
    let engine = Engine::new(config).unwrap();
    let Step::Load(load, _) = engine.begin(&Request::get(b"/a"), now) else {
        panic!("nothing is cached yet")
    };
    let outcome = load.perform(Patience::MayWait, now.instant);
    engine.finish(load, outcome.unwrap());
    engine
}

fn now() -> Now {
    let date = HttpDate::from_unix_seconds(1_000_000_000);
    let instant = Instant::now();
    Now { instant, date }
}

#[test]
fn a_hit_takes_no_lock() {
    let now = now();
    let engine = engine(now);
    let before = taken::so_far();
    for method in [Method::Get, Method::Head] {
        let request = Request {
            method,
            ..Request::get(b"/a")
        };
        for _ in 0..100 {
            assert!(matches!(engine.begin(&request, now), Step::Respond(_)));
        }
    }
    assert_eq!(taken::so_far(), before);
    engine.clear();
    assert!(taken::so_far() > before, "the count counts");
}

#[test]
fn a_load_that_ended_after_the_cache_was_asked_is_enough() {
    let now = now();
    let engine = engine(now);
    let request = Request::get(b"/a");
    let path = RequestPath::parse(b"/a").unwrap();
    let check = |previous: Option<Previous>, needs_content: bool, enough: bool| {
        let wanted = LoadRequest {
            key: LoadKey::of_path(CacheKey::new(0, b"/a")),
            ruling: None,
            previous,
            needs_content,
            listed: None,
        };
        let progress = RequestProgress {
            key: AskedKey::Path,
            loads: 0,
            collapsed: false,
            asked: now.instant,
            known: KnownEntry::None,
        };
        let step = engine.load(&request, &path, wanted, now, progress);
        assert_eq!(matches!(step, Step::Respond(_)), enough);
    };
    let known = || {
        let shared = &engine.shared;
        let entry = shared.pool.memory.get(shared.key(b"/a")).unwrap();
        let announced = false;
        Some(Previous { entry, announced })
    };
    check(None, false, true);
    check(known(), false, true);
    check(None, true, true);
    // What is known already is not what was found wanting.
    check(known(), true, false);
}
