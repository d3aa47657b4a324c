//! Faults of a bucket: each is an error of the right kind within the time limit, and never a wrong byte.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use salver_assets::{Patience, Source as _};

use crate::store::{Fault, FaultStore, settings};

const LIMIT: Duration = Duration::from_millis(200);

/// Far longer than the limit, for machines that are busy.
const SOON: Duration = Duration::from_secs(20);

/// A store with a short and a long object.
fn store() -> FaultStore {
    let store = FaultStore::default();
    store.put("short", Some(b"content"));
    store.put("long", Some(&vec![b'l'; 3 * 1024 * 1024]));
    store
}

fn source(store: &FaultStore) -> salver_object_store::ObjectStoreSource {
    let mut settings = settings();
    settings.timeout = LIMIT;
    store.source(settings)
}

#[test]
fn each_fault_is_an_error_of_its_kind() {
    let check = |fault: Fault, expected: ErrorKind| {
        let store = store();
        let source = source(&store);
        let view = source.view(Patience::MayWait).unwrap();
        store.fail(Some(fault));
        let begun = Instant::now();
        let error = view.stat(b"short", Patience::MayWait).unwrap_err();
        assert_eq!(error.kind(), expected, "{fault:?}: {error}");
        let error = view.open(b"short", Patience::MayWait).unwrap_err();
        assert_eq!(error.kind(), expected, "{fault:?}: {error}");
        assert!(begun.elapsed() < SOON, "{fault:?}");
        store.fail(None);
        assert!(view.open(b"short", Patience::MayWait).is_ok(), "{fault:?}");
    };
    check(Fault::Hangs, ErrorKind::TimedOut);
    check(Fault::Stalls, ErrorKind::TimedOut);
    check(Fault::IsSlow(SOON * 2), ErrorKind::TimedOut);
    check(Fault::Fails, ErrorKind::NotConnected);
    check(Fault::HasExpired, ErrorKind::NotConnected);
    check(Fault::Refuses, ErrorKind::PermissionDenied);
    check(Fault::Truncates, ErrorKind::ConnectionAborted);
    check(Fault::Lengthens, ErrorKind::ConnectionAborted);
    check(Fault::IsCoded, ErrorKind::InvalidData);
    check(Fault::HasNoBucket, ErrorKind::Other);
}

#[test]
fn what_may_not_be_seen_any_more_is_let_go_of_and_all_else_is_kept() {
    let check = |fault: Fault, expected: bool| {
        let store = store();
        let source = source(&store);
        let stat = || {
            let view = source.view(Patience::MayWait).unwrap();
            view.stat(b"short", Patience::MayWait)
        };
        assert!(stat().is_ok());
        store.put("short", Some(b"another"));
        store.fail(Some(fault));
        assert!(stat().is_err(), "{fault:?}");
        store.fail(Some(Fault::Fails));
        assert_eq!(stat().is_ok(), expected, "{fault:?}");
    };
    check(Fault::Refuses, false);
    check(Fault::HasNoBucket, true);
    check(Fault::IsCoded, true);
}

#[test]
fn a_slice_is_whole_and_right_or_an_error() {
    let check = |fault: Fault, expected: ErrorKind| {
        let store = store();
        let source = source(&store);
        let view = source.view(Patience::MayWait).unwrap();
        let opened = view.open(b"long", Patience::MayWait).unwrap();
        store.fail(Some(fault));
        let mut buffer = [0; 10];
        let read = opened.reader.read_at(&mut buffer, 0, Patience::MayWait);
        assert_eq!(read.unwrap_err().kind(), expected, "{fault:?}");
        store.fail(None);
        let read = opened.reader.read_at(&mut buffer, 0, Patience::MayWait);
        assert_eq!((read.unwrap(), &buffer), (10, b"llllllllll"), "{fault:?}");
    };
    check(Fault::Hangs, ErrorKind::TimedOut);
    check(Fault::Stalls, ErrorKind::TimedOut);
    check(Fault::Fails, ErrorKind::NotConnected);
    check(Fault::Truncates, ErrorKind::ConnectionAborted);
    check(Fault::Lengthens, ErrorKind::ConnectionAborted);
    check(Fault::Replaces, ErrorKind::NotFound);
    check(Fault::IsCoded, ErrorKind::InvalidData);
}

#[test]
fn who_must_not_wait_never_does() {
    let store = store();
    let source = source(&store);
    store.fail(Some(Fault::Hangs));
    let view = source.view(Patience::MustNotWait).unwrap();
    for _ in 0..1000 {
        let error = view.stat(b"short", Patience::MustNotWait).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        let error = view.open(b"long", Patience::MustNotWait).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
    assert!(store.asked().is_empty(), "nothing was begun");
}

#[test]
fn few_requests_are_under_way_at_once() {
    let store = FaultStore::default();
    let mut settings = settings();
    settings.lookups = 3;
    let source = store.source(settings);
    store.fail(Some(Fault::IsSlow(Duration::from_millis(5))));
    let threads: Vec<_> = (0..40)
        .map(|number| {
            let view = source.view(Patience::MayWait).unwrap();
            let path = format!("f{number}").into_bytes();
            std::thread::spawn(move || {
                let error = view.stat(&path, Patience::MayWait).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::NotFound);
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    let most = store.most_under_way();
    assert!((1..=3).contains(&most), "{most}");
}

#[test]
fn a_source_that_goes_leaves_nobody_waiting() {
    let store = store();
    let source = source(&store);
    store.fail(Some(Fault::Hangs));
    let view = source.view(Patience::MayWait).unwrap();
    let waits = std::thread::spawn(move || view.stat(b"short", Patience::MayWait).unwrap_err());
    drop(source);
    assert_eq!(waits.join().unwrap().kind(), ErrorKind::TimedOut);
}
