//! The suite over a real S3 server, which `make object-store-judges` starts: it names two buckets.

use salver_assets::source::conformance::{FILES, check, check_apart, check_changes};
use salver_assets::{Patience, Source as _};
use salver_object_store::ObjectStoreSource;

use crate::store::{put, settings};

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
