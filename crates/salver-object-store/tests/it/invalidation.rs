//! Invalidation of what is known, and of what is just being asked for: of the paths that are named, and of no others.

use std::time::Duration;

use salver_assets::{Patience, Source as _};
use salver_object_store::{ObjectStoreSource, Settings};

use crate::store::{Asked, Fault, FaultStore};

/// A store that takes its time, and a source that asks it once an hour.
fn slow(paths: &[&str]) -> (FaultStore, ObjectStoreSource) {
    let store = FaultStore::default();
    for path in paths {
        store.put(path, Some(b"content"));
    }
    store.fail(Some(Fault::IsSlow(Duration::from_millis(100))));
    let source = store.source(Settings {
        revalidate: Duration::from_hours(1),
        ..Settings::default()
    });
    (store, source)
}

/// What the store is asked where somebody asks twice, and `told` is told the source while the first answer is on its way.
fn asked_again(
    paths: &[&str],
    ask: impl Fn(&ObjectStoreSource) + Sync,
    told: impl Fn(&ObjectStoreSource),
) -> Vec<Asked> {
    let (store, source) = slow(paths);
    std::thread::scope(|scope| {
        let asks = scope.spawn(|| ask(&source));
        // Where it has its answer by then, it is what is known that is invalidated.
        while store.asked().is_empty() {
            std::thread::yield_now();
        }
        told(&source);
        asks.join().unwrap();
    });
    let _ = store.asked();
    ask(&source);
    store.asked()
}

#[test]
fn a_look_that_is_under_way_is_outdated_by_its_own_path_alone() {
    let stat = |source: &ObjectStoreSource| {
        let view = source.view(Patience::MayWait).unwrap();
        view.stat(b"a.txt", Patience::MayWait).unwrap();
    };
    let asked = |told: &str| {
        let told = |source: &ObjectStoreSource| source.invalidate(told.as_bytes());
        asked_again(&["a.txt", "b.txt"], stat, told).len()
    };
    assert_eq!(asked("a.txt"), 1);
    assert_eq!(asked("b.txt"), 0);
}

#[test]
fn a_listing_is_outdated_by_what_lies_beneath_it_alone() {
    let list = |source: &ObjectStoreSource| {
        let view = source.view(Patience::MayWait).unwrap();
        assert_eq!(view.names(b"d", 10).unwrap(), [b"a.txt".to_vec()]);
    };
    let asked = |told: &str| {
        let told = |source: &ObjectStoreSource| source.invalidate(told.as_bytes());
        asked_again(&["d/a.txt", "e/b.txt"], list, told).len()
    };
    assert_eq!(asked("d/new.txt"), 1);
    assert_eq!(asked("d/e/new.txt"), 1);
    assert_eq!(asked("e/new.txt"), 0);
    assert_eq!(asked("d"), 1);
    assert_eq!(asked("d0"), 0);
}
