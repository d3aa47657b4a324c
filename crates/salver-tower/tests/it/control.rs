//! What programs tell the cache, and what they hear of it.

use std::time::Duration;

use crate::common::Gate;
use salver_tower::{Assets, Event, Events, LoadError, MissedEvents, ResourceKind};

fn gated(files: &[(&str, &[u8])]) -> (std::sync::Arc<Gate>, Assets) {
    let gate = Gate::new(files);
    let assets = Assets::from_source(gate.clone()).revalidate(Duration::from_secs(3600));
    let assets = assets.build().unwrap();
    (gate, assets)
}

/// What was told until now.
fn heard(events: &mut Events) -> Vec<String> {
    std::iter::from_fn(|| events.try_next())
        .map(|event| match event.unwrap() {
            Event::Loaded { path, kind } => {
                assert_eq!(kind == ResourceKind::Nothing, path.contains("none"));
                format!("loaded {path}")
            }
            Event::Invalidated { path, entries } => format!("invalidated {path} {entries}"),
            Event::InvalidatedPrefix { prefix, .. } => format!("invalidated {prefix}*"),
            Event::Cleared { entries } => format!("cleared {entries}"),
            Event::Failed { path, error, cause } => {
                assert_eq!(error, LoadError::Failed(std::io::ErrorKind::Other.into()));
                format!("failed {path}: {}", cause.unwrap())
            }
            Event::Paused => "paused".to_owned(),
            Event::Resumed => "resumed".to_owned(),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[tokio::test]
async fn all_who_listen_hear_what_the_cache_does() {
    let (gate, assets) = gated(&[("a b", b"a"), ("d/index.html", b"d")]);
    assets.read("a b").await.unwrap();
    let (mut first, mut second) = (assets.events(), assets.events());
    assert!(first.try_next().is_none(), "nobody has listened yet");
    assets.read("d/").await.unwrap();
    assets.read("d/").await.unwrap();
    let _ = assets.read("none").await;
    assets.invalidate("/d/index.html");
    assets.invalidate("../x");
    assets.invalidate_prefix("a ");
    assets.pause();
    assets.resume();
    assets.clear();
    gate.fail(true);
    let _ = assets.read("a b").await;
    let expected = [
        "loaded /d/",
        "loaded /none",
        "invalidated /d/index.html 1",
        "invalidated /a *",
        "paused",
        "resumed",
        "cleared 1",
        "failed /a b: the disk is on fire",
    ];
    assert_eq!(heard(&mut first), expected);
    assert_eq!(heard(&mut second), expected);
    drop(first);
    assets.clear();
    assert_eq!(heard(&mut second), ["cleared 0"]);
    let waits = tokio::spawn(async move { second.next().await.is_none() });
    drop(assets);
    assert!(waits.await.unwrap(), "all are gone");
}

#[tokio::test]
async fn who_is_slow_misses_the_oldest_and_holds_up_nobody() {
    let (_gate, assets) = gated(&[]);
    let mut events = assets.events();
    for _ in 0..1500 {
        assets.clear();
    }
    assets.pause();
    let Some(Err(missed)) = events.next().await else {
        panic!("it is told first")
    };
    let mut rest = heard(&mut events);
    assert_eq!(rest.pop().unwrap(), "paused");
    let told = u64::try_from(rest.len()).unwrap();
    assert_eq!(
        missed,
        MissedEvents {
            events: 1500 - told
        }
    );
    assert_eq!(told, 1023);
    assert!(events.try_next().is_none());
}

#[tokio::test]
async fn paused_each_read_is_of_the_disk() {
    let (gate, assets) = gated(&[("a", b"1")]);
    let read = async || assets.read("a").await.unwrap();
    assert_eq!(read().await, "1");
    assets.clone().pause();
    assert!(assets.is_paused());
    gate.insert("a", b"2");
    assert_eq!(read().await, "2");
    gate.insert("a", b"3");
    assert_eq!(read().await, "3");
    assert_eq!(assets.prewarm().await.unwrap().files, 0);
    assert_eq!(assets.statistics().hits, 0);
    assets.resume();
    assert_eq!(read().await, "1", "what it held, within the hour");
    assets.invalidate("a");
    assert_eq!(read().await, "3");
}

#[tokio::test]
async fn names_reach_the_cache_however_they_are_written() {
    let (gate, assets) = gated(&[("a b%/c", b"1"), ("other", b"1")]);
    let ways: [&dyn Fn(); 6] = [
        &|| assets.invalidate("a b%/c"),
        &|| assets.invalidate("/a b%//./c"),
        &|| assets.invalidate_prefix("a b%/"),
        &|| assets.invalidate_prefix("/a b"),
        &|| assets.invalidate_prefix(""),
        &|| assets.clear(),
    ];
    for (number, let_go) in (1u8..).zip(ways) {
        assert_eq!(assets.prewarm_prefix("a b%").await.unwrap().files, 1);
        gate.insert("a b%/c", &[number]);
        assert_ne!(assets.read("a b%/c").await.unwrap(), vec![number]);
        let_go();
        assert_eq!(assets.read("a b%/c").await.unwrap(), vec![number]);
        assets.clear();
    }
    assert_eq!(assets.prewarm_prefix("../a").await.unwrap().files, 0);
}
