//! A bucket behind the engine: how often it is asked, and what is answered while it cannot be.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use salver_assets::{Config, Content, Engine, EngineReply, Mount, Patience, Request, Source as _};
use salver_object_store::Settings;

use crate::site::{LONGEST_PAUSE, REVALIDATE, Site, body, field, of, with_stale_answers};
use crate::store::{Asked, Fault, FaultStore, block_on, settings};

#[test]
fn many_who_ask_at_once_are_one_request() {
    let site = Site::new(&[("app.js", b"let a = 1;\n")]);
    site.store
        .fail(Some(Fault::IsSlow(Duration::from_millis(20))));
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let plan = site.get("/app.js");
                    assert_eq!((plan.status, body(&plan)), (200, b"let a = 1;\n".to_vec()));
                }
            });
        }
    });
    let asked = site.store.asked();
    assert_eq!(of(&asked, "app.js").len(), 1, "{asked:?}");
    for coding in ["br", "zst", "gz"] {
        let asked = of(&asked, &format!("app.js.{coding}"));
        assert_eq!(asked.len(), 1, "{coding}");
    }
    assert!(asked.iter().all(|asked| asked.what == "GET"), "{asked:?}");
}

#[test]
fn what_somebody_is_about_to_wait_for_is_asked_for_at_once_and_once() {
    let store = FaultStore::default();
    store.put("a.txt", Some(b"a"));
    let source = store.source(Settings {
        revalidate: Duration::from_mins(1),
        ..settings()
    });
    let look = |patience| source.view(patience).unwrap().stat(b"a.txt", patience);
    for _ in 0..2 {
        // It may have come before the second.
        let told = look(Patience::MustNotWait).map_err(|error| error.kind());
        assert!(matches!(told, Ok(_) | Err(ErrorKind::WouldBlock)));
    }
    let begun = Instant::now();
    let mut asked = Vec::new();
    while asked.is_empty() {
        assert!(begun.elapsed() < Duration::from_mins(1));
        asked = store.asked();
        std::thread::yield_now();
    }
    assert_eq!(look(Patience::MayWait).unwrap().identity.length, 1);
    asked.extend(store.asked());
    assert_eq!(asked.len(), 1, "{asked:?}");
}

#[test]
fn what_is_looked_for_is_awaited_without_a_thread() {
    let store = FaultStore::default();
    store.put("a.txt", Some(b"a"));
    let source = store.source(with_stale_answers());
    let check = |path: &[u8], expected: Result<u64, ErrorKind>| {
        let view = source.view(Patience::MustNotWait).unwrap();
        let stat = || view.stat(path, Patience::MustNotWait);
        assert_eq!(stat().unwrap_err().kind(), ErrorKind::WouldBlock);
        block_on(view.awaited().unwrap());
        let told = stat().map(|metadata| metadata.identity.length);
        assert_eq!(told.map_err(|error| error.kind()), expected);
        assert!(view.awaited().is_none());
        let asked = store.asked();
        assert_eq!(asked.iter().filter(|asked| asked.what == "GET").count(), 1);
        // Its content came with it.
        let opened = view.open(path, Patience::MustNotWait);
        assert_eq!(opened.is_ok(), expected.is_ok());
    };
    check(b"a.txt", Ok(1));
    check(b"b.txt", Err(ErrorKind::NotFound));
    store.fail(Some(Fault::Fails));
    check(b"c.txt", Err(ErrorKind::NotConnected));
}

#[test]
fn a_load_whose_answer_is_awaited_needs_no_thread() {
    let mut site = Site::with(&[("a.txt", b"a")], with_stale_answers());
    let source = site.store.source(with_stale_answers());
    let config = Config {
        mounts: vec![Mount::tree("/", Arc::new(source))],
        precompressed: Vec::new(),
        ..Config::default()
    };
    site.engine = Engine::new(config).unwrap();
    let request = Request::get(b"/a.txt");
    let mut loads = Vec::new();
    let reply = site
        .engine
        .ask(&request, site.now, |load| loads.push(Box::new(load)));
    let (EngineReply::Pending(pending), Some(load)) = (reply, loads.pop()) else {
        panic!("it cannot be known yet");
    };
    block_on(load.awaited().unwrap());
    assert!(load.awaited().is_none());
    assert!(load.run_at_once(site.now.instant).is_ok());
    let clock = || site.now;
    let reply = block_on(site.engine.wait(&request, pending, clock, |_| panic!()));
    let EngineReply::Ready(plan) = reply else {
        panic!("it is known")
    };
    assert_eq!((plan.status, body(&plan)), (200, b"a".to_vec()));
    assert_eq!(site.store.asked().len(), 1);
}

#[test]
fn what_is_cached_is_compared_and_not_sent_again() {
    let mut site = Site::new(&[("a.txt", b"one")]);
    let first = site.get("/a.txt");
    assert_eq!(body(&first), b"one");
    let _ = site.store.asked();
    site.pass(REVALIDATE * 2);
    assert_eq!(field(&site.get("/a.txt"), "ETag"), field(&first, "ETag"));
    let asked = site.store.asked();
    assert!(of(&asked, "a.txt").iter().all(|asked| asked.is_conditional));
    assert_eq!(of(&asked, "a.txt").len(), 1);
    // And one for each coding.
    assert_eq!(asked.len(), 4, "{asked:?}");
    site.store.put("a.txt", Some(b"two"));
    site.pass(REVALIDATE * 2);
    let second = site.get("/a.txt");
    assert_eq!(body(&second), b"two");
    assert_ne!(field(&second, "ETag"), field(&first, "ETag"));
    // The content came with the look.
    assert_eq!(of(&site.store.asked(), "a.txt").len(), 1);
    site.store.put("a.txt", None);
    site.pass(REVALIDATE * 2);
    assert_eq!(site.get("/a.txt").status, 404);
}

#[test]
fn directories_and_indexes_cost_no_listing_of_what_they_hold() {
    let files: Vec<String> = (0..3000).map(|n| format!("docs/p{n}.html")).collect();
    let mut all: Vec<(&str, &[u8])> = files.iter().map(|path| (&**path, &b"p"[..])).collect();
    all.push(("docs/index.html", b"index"));
    let site = Site::new(&all);
    assert_eq!(body(&site.get("/docs/")), b"index");
    let asked = site.store.asked();
    assert_eq!(of(&asked, "docs/index.html").len(), 1);
    let lists = |asked: &[Asked]| asked.iter().filter(|asked| asked.what == "LIST").count();
    assert_eq!(lists(&asked), 0, "{asked:?}");
    let plan = site.get("/docs");
    assert_eq!(plan.status, 308);
    assert_eq!(field(&plan, "Location").as_deref(), Some("/docs/"));
    let asked = site.store.asked();
    assert_eq!((asked.len(), lists(&asked)), (2, 1), "{asked:?}");
    assert_eq!(site.get("/docs/nothing").status, 404);
    let asked = site.store.asked();
    assert_eq!((asked.len(), lists(&asked)), (2, 1), "{asked:?}");
}

#[test]
fn a_bucket_that_hangs_is_503_and_what_is_held_is_sent() {
    let mut site = Site::new(&[("a.txt", b"one"), ("b.txt", b"two")]);
    assert_eq!(site.get("/a.txt").status, 200);
    // As many as open the circuit: what is held asks no more once it fails.
    let refused = [Fault::HasExpired; 3];
    for fault in [Fault::Hangs, Fault::Fails].into_iter().chain(refused) {
        site.store.fail(Some(fault));
        site.pass(REVALIDATE * 2);
        let plan = site.get("/b.txt");
        assert_eq!(plan.status, 503, "{fault:?}");
        assert_eq!(field(&plan, "Retry-After").as_deref(), Some("1"));
        let plan = site.get("/a.txt");
        assert_eq!((plan.status, body(&plan)), (200, b"one".to_vec()));
    }
    site.store.fail(None);
    // It is asked again when a moment is over.
    assert_eq!(site.get("/b.txt").status, 503);
    site.pass(LONGEST_PAUSE);
    assert_eq!(body(&site.get("/b.txt")), b"two");
}

#[test]
fn a_long_object_is_sent_by_ranges_and_tagged_alike_on_every_node() {
    const LENGTH: usize = 20 * 1024 * 1024;
    let mut content = vec![0_u8; LENGTH];
    for (at, byte) in content.iter_mut().enumerate() {
        *byte = u8::try_from((at ^ (at >> 9)) & 0xff).unwrap();
    }
    let site = Site::new(&[("long.bin", &content)]);
    let plan = site.get("/long.bin");
    assert_eq!(plan.status, 200);
    let tag = field(&plan, "ETag").unwrap();
    let Content::File(file) = &plan.content else {
        panic!("{plan:?}")
    };
    assert!(file.file().is_none());
    let mut at = 0;
    while at < file.range.end {
        let end = file.range.end.min(at + 256 * 1024);
        let range = usize::try_from(at).unwrap()..usize::try_from(end).unwrap();
        assert!(file.read(&(at..end)).unwrap() == content[range], "{at}");
        at = end;
    }
    let other = site.another_node();
    assert_eq!(field(&other.get("/long.bin"), "ETag").as_ref(), Some(&tag));
    // Of the same length, and perhaps of the same second.
    content[0] ^= 1;
    site.store.put("long.bin", Some(&content));
    let gone = file.read(&(0..1)).map(drop);
    assert!(gone.is_ok() || gone.unwrap_err().kind() == std::io::ErrorKind::InvalidData);
    let third = site.another_node();
    assert_ne!(field(&third.get("/long.bin"), "ETag"), Some(tag));
}
