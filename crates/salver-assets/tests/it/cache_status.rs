//! How the cache had an answer, with all that is known of it (RFC 9211).

use std::time::Duration;

use crate::common::{Site, block_on, config_of, memory, request};
use salver_assets::{CacheState, CacheStatus, Config, Method, Mount, ResponsePlan, Step};

const TEN_SECONDS: Duration = Duration::from_secs(10);

fn status(plan: &ResponsePlan) -> CacheStatus {
    let status = plan.cache_status.as_deref().copied();
    let status = status.expect("it was asked for");
    assert_eq!(Some(status.state), plan.cache_state);
    status
}

#[test]
fn it_tells_what_is_stored_collapsed_and_left() {
    let source = memory(&[("a", b"alpha")]);
    let site = Site::new(Config {
        cache_status: true,
        revalidate: TEN_SECONDS,
        ..config_of(Mount::tree("/", source.clone()))
    });
    let asked = request(Method::Get, "/a", &[]);
    let expected = |state, ttl, stored, collapsed| CacheStatus {
        state,
        ttl: Some(ttl),
        stored,
        collapsed,
    };
    // Two ask for what is not there: one load is for both.
    let (Step::Load(load, _first), Step::Wait(second)) = (site.begin(&asked), site.begin(&asked))
    else {
        panic!("one loads, one waits")
    };
    site.perform(load);
    let step = site.engine.resume(&asked, block_on(second), site.now());
    let Step::Respond(plan) = step else {
        panic!("it is there")
    };
    assert_eq!(status(&plan), expected(CacheState::Miss, 10, true, true));
    let check = |state, ttl, stored| {
        let plan = site.plan(&asked);
        assert_eq!(status(&plan), expected(state, ttl, stored, false));
    };
    check(CacheState::Hit, 10, false);
    site.advance(Duration::from_millis(2500));
    check(CacheState::Hit, 7, false);
    site.advance(TEN_SECONDS);
    check(CacheState::Revalidated, 10, false);
    source.insert("a", "beta", 1);
    site.advance(TEN_SECONDS);
    check(CacheState::Expired, 10, true);
    // Nor is what is not there a file.
    let missing = site.plan(&request(Method::Get, "/b", &[]));
    assert_eq!(
        status(&missing),
        expected(CacheState::Miss, 10, true, false)
    );
}

#[test]
fn nobody_who_did_not_ask_is_told() {
    let site = Site::of(&[("a", b"alpha")]);
    let plan = site.plan(&request(Method::Get, "/a", &[]));
    assert_eq!(plan.cache_state, Some(CacheState::Miss));
    assert!(plan.cache_status.is_none());
}

#[test]
fn a_cache_that_is_not_asked_keeps_nothing_fresh() {
    let mount = Mount::tree("/", memory(&[("a", b"alpha")])).without_cache();
    let site = Site::new(Config {
        cache_status: true,
        ..config_of(mount)
    });
    for _ in 0..2 {
        let plan = site.plan(&request(Method::Get, "/a", &[]));
        let bypass = CacheStatus::of_state(CacheState::Bypass);
        assert_eq!(status(&plan), bypass);
    }
}
