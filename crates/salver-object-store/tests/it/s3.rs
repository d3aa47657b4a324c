//! The suite over a real S3 server, which `make object-store-judges` starts: it names two buckets.

use std::sync::Arc;
use std::time::Duration;

use salver_assets::source::conformance::{FILES, check, check_apart, check_changes};
use salver_assets::{Patience, Source as _};
use salver_conformance::{Need, Protocol};
use salver_object_store::{ObjectStoreSource, ReleaseBucket, Settings};

use crate::dated_store::DatedStore;
use crate::releases::check_bucket;
use crate::store::{put, settings};
use crate::table::{fixture, play};

/// The source of a bucket, beneath a prefix.
fn source(bucket: &str, prefix: &str) -> ObjectStoreSource {
    let bucket = std::env::var(bucket).unwrap();
    ObjectStoreSource::open(&format!("s3://{bucket}/{prefix}"), settings()).unwrap()
}

#[test]
#[ignore = "make object-store-judges"]
fn holds_to_what_every_source_must() {
    let [one, other] = ["SALVER_JUDGE_BUCKET", "SALVER_JUDGE_OTHER_BUCKET"].map(|bucket| {
        let source = source(bucket, "site/v1");
        for (path, content) in FILES {
            put(&**source.store(), "site/v1", path, Some(content));
        }
        put(&**source.store(), "", "site/v1-b/a.txt", Some(b"another"));
        source
    });
    check(&one).unwrap();
    check_apart(&one, &other).unwrap();
    let change = |path: &str, content: Option<&[u8]>| {
        put(&**one.store(), "site/v1", path, content);
    };
    check_changes(&one, change).unwrap();
}

#[test]
#[ignore = "make object-store-judges"]
fn a_bucket_for_releases_compares_and_puts() {
    let bucket = std::env::var("SALVER_JUDGE_BUCKET").unwrap();
    let url = format!("s3://{bucket}/releases");
    check_bucket(&ReleaseBucket::open(&url, Settings::default()).unwrap());
}

#[test]
#[ignore = "make object-store-judges"]
fn more_names_than_a_page_are_all_listed() {
    let source = source("SALVER_JUDGE_BUCKET", "pages");
    for number in 0..1100 {
        put(
            &**source.store(),
            "pages",
            &format!("many/{number}"),
            Some(b"x"),
        );
    }
    let view = source.view(Patience::MayWait).unwrap();
    assert_eq!(view.list(b"many").unwrap().len(), 1100);
    assert_eq!(view.names(b"many", 7).unwrap().len(), 7);
    for number in 0..1100 {
        put(&**source.store(), "pages", &format!("many/{number}"), None);
    }
}

#[test]
#[ignore = "make object-store-judges"]
fn an_old_version_is_read_on_where_the_bucket_keeps_it() {
    let mib = 1024 * 1024;
    let source = source("SALVER_JUDGE_VERSIONED_BUCKET", "kept");
    let [old, new] = [b"o", b"n"].map(|byte| byte.repeat(3 * mib));
    put(&**source.store(), "kept", "long", Some(&old));
    let view = source.view(Patience::MayWait).unwrap();
    let opened = view.open(b"long", Patience::MayWait).unwrap();
    let read = |at: usize| {
        let mut buffer = [0; 10];
        let at = u64::try_from(at).unwrap();
        let count = opened.reader.read_at(&mut buffer, at, Patience::MayWait);
        buffer[..count.unwrap()].to_vec()
    };
    assert_eq!(read(0), b"oooooooooo");
    put(&**source.store(), "kept", "long", Some(&new));
    assert_eq!(read(2 * mib), b"oooooooooo");
    let view = source.view(Patience::MayWait).unwrap();
    let again = view.open(b"long", Patience::MayWait).unwrap();
    let mut buffer = [0; 10];
    let count = again.reader.read_at(&mut buffer, 0, Patience::MayWait);
    assert_eq!((count.unwrap(), &buffer), (10, b"nnnnnnnnnn"));
}

#[test]
#[ignore = "make object-store-judges"]
fn answers_what_is_asked_of_a_directory_alike() {
    let directory = tempfile::tempdir().unwrap();
    let (mut fixture, files) = fixture(&directory);
    // 20 GiB, and what is no file.
    for need in [Need::Sparse, Need::Fifo, Need::Socket] {
        fixture.leave_out(need);
    }
    let store = Arc::clone(source("SALVER_JUDGE_BUCKET", "table").store());
    let store = Arc::new(DatedStore::upload(store, "table", &files));
    // Each look asks the server, many at once, and moto answers one after the other.
    let patient = Settings {
        timeout: Duration::from_secs(120),
        ..settings()
    };
    for protocol in [Protocol::Http1, Protocol::Http2Cleartext] {
        let source = ObjectStoreSource::new(store.clone(), "table", patient.clone()).unwrap();
        play(&fixture, source, protocol);
    }
}
