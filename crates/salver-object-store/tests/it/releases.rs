//! A store of releases in a bucket, by the crate that talks to buckets.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use object_store::ObjectStore;
use object_store::memory::InMemory;
use salver_assets::source::conformance::{FILES, check, check_apart, check_changes};
use salver_assets::{Patience, Source as _, Symlinks};
use salver_object_store::{ReleaseBucket, Settings, object_store};
use salver_store::{Bucket, DeployOptions, Error, PutCondition, PutOutcome};
use salver_store::{ObjectChange, Store, StoreSource, Writer};

use crate::store::{Fault, FaultStore};

const WAIT: Patience = Patience::MayWait;

fn bucket(store: Arc<dyn ObjectStore>) -> Arc<dyn Bucket> {
    Arc::new(ReleaseBucket::new(store, "site/v1", Settings::default()).unwrap())
}

fn deploy(bucket: &Arc<dyn Bucket>, directory: &Path, seconds: u64) -> Result<String, Error> {
    let store = Store::open_or_create_bucket(Arc::clone(bucket))?;
    let options = DeployOptions {
        symlinks: Symlinks::Beneath,
        dotfiles: false,
        coding_threads: None,
        who: "test".to_owned(),
        now: UNIX_EPOCH + Duration::from_secs(1_764_000_000 + seconds),
    };
    let mut writer = Writer::lock(&store, "deploy")?;
    let deployed = writer.deploy(directory, &options, &mut |_| true)?;
    Ok(deployed.id.to_string())
}

/// What every bucket for a store has to do.
pub(crate) fn check_bucket(bucket: &dyn Bucket) {
    let put = |key: &str, content: &str, condition: &PutCondition| {
        bucket
            .put(key, content.as_bytes().to_vec(), condition)
            .unwrap()
    };
    let version = |outcome| match outcome {
        PutOutcome::Put(version) => version,
        PutOutcome::Refused => panic!("it was refused"),
    };
    assert!(bucket.get("a/current", 100).unwrap().is_none());
    assert!(bucket.length("a/current").unwrap().is_none());
    assert!(bucket.list("a", 10).unwrap().is_empty());
    bucket.remove("a/current").unwrap();
    let first = version(put("a/current", "one", &PutCondition::Absent));
    assert_eq!(
        put("a/current", "two", &PutCondition::Absent),
        PutOutcome::Refused
    );
    let read = bucket.get("a/current", 100).unwrap().unwrap();
    assert_eq!((&*read.content, &read.version), (&b"one"[..], &first));
    assert!(bucket.get("a/current", 2).is_err());
    assert_eq!(bucket.length("a/current").unwrap(), Some(3));
    let same = bucket.get_if_changed("a/current", 100, &first).unwrap();
    assert_eq!(same, ObjectChange::Same);
    let second = version(put("a/current", "two", &PutCondition::Same(first.clone())));
    assert_eq!(
        put("a/current", "three", &PutCondition::Same(first.clone())),
        PutOutcome::Refused
    );
    match bucket.get_if_changed("a/current", 100, &first).unwrap() {
        ObjectChange::Changed(object) => {
            assert_eq!((&*object.content, &object.version), (&b"two"[..], &second));
        }
        other => panic!("{other:?}"),
    }
    put("a/b/deep", "deep", &PutCondition::Always);
    put("a-b", "beside", &PutCondition::Always);
    let mut keys: Vec<_> = bucket
        .list("a", 10)
        .unwrap()
        .into_iter()
        .map(|listed| (listed.key, listed.length))
        .collect();
    keys.sort();
    assert_eq!(
        keys,
        [("a/b/deep".to_owned(), 4), ("a/current".to_owned(), 3)]
    );
    assert_eq!(bucket.list("", 2).unwrap().len(), 2);
    bucket.remove("a/current").unwrap();
    assert_eq!(
        put("a/current", "x", &PutCondition::Same(second.clone())),
        PutOutcome::Refused
    );
    assert_eq!(
        bucket.get_if_changed("a/current", 100, &second).unwrap(),
        ObjectChange::Gone
    );
    // Parts, all of one length but the last, and none of what is given up.
    let part = 5 * 1024 * 1024;
    let mut parts = vec![vec![2; 17], vec![1; part]];
    bucket.put_parts("long", &mut || Ok(parts.pop())).unwrap();
    assert_eq!(
        bucket.length("long").unwrap(),
        Some(u64::try_from(part).unwrap() + 17)
    );
    let (length, reader) = bucket.open("long", WAIT).unwrap();
    let mut buffer = [0; 4];
    let count = reader.read_at(&mut buffer, length - 18, WAIT).unwrap();
    assert!(count > 0 && buffer[0] == 1, "{count} {buffer:?}");
    let mut parts = vec![
        Err(std::io::ErrorKind::InvalidData.into()),
        Ok(Some(vec![1; part])),
    ];
    let given_up = bucket.put_parts("given-up", &mut || parts.pop().unwrap());
    assert_eq!(
        given_up.unwrap_err().kind(),
        std::io::ErrorKind::InvalidData
    );
    assert!(bucket.length("given-up").unwrap().is_none());
}

#[test]
fn a_bucket_compares_and_puts() {
    check_bucket(&*bucket(Arc::new(InMemory::new())));
    let whole = ReleaseBucket::new(Arc::new(InMemory::new()), "", Settings::default()).unwrap();
    check_bucket(&whole);
}

#[test]
fn a_store_in_a_bucket_holds_to_what_every_source_must() {
    let [one, other] = [(); 2].map(|()| {
        let directory = tempfile::tempdir().unwrap();
        for (path, content) in FILES {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let bucket = bucket(Arc::new(InMemory::new()));
        deploy(&bucket, directory.path(), 0).unwrap();
        let source = StoreSource::open_bucket(Arc::clone(&bucket), Duration::ZERO);
        (source, directory, bucket)
    });
    check(&one.0).unwrap();
    check_apart(&one.0, &other.0).unwrap();
    let mut seconds = 0;
    check_changes(&one.0, |path, content| {
        let file = one.1.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        match content {
            Some(content) => fs::write(file, content).unwrap(),
            None => fs::remove_file(file).unwrap(),
        }
        seconds += 1;
        deploy(&one.2, one.1.path(), seconds).unwrap();
    })
    .unwrap();
}

#[test]
fn what_is_long_is_compared_piece_by_piece() {
    let directory = tempfile::tempdir().unwrap();
    let long: Vec<u8> = (0..9_000_000_u32)
        .map(|at| u8::try_from(at % 251).unwrap())
        .collect();
    fs::write(directory.path().join("long.bin"), &long).unwrap();
    let inner = Arc::new(InMemory::new());
    let bucket = bucket(Arc::<InMemory>::clone(&inner));
    deploy(&bucket, directory.path(), 0).unwrap();
    let read_all = || {
        let source = StoreSource::open_bucket(Arc::clone(&bucket), Duration::ZERO);
        let opened = source.view(WAIT)?.open(b"long.bin", WAIT)?;
        let (mut bytes, mut buffer) = (Vec::<u8>::new(), vec![0; 100_000]);
        loop {
            let offset = u64::try_from(bytes.len()).unwrap();
            match opened.reader.read_at(&mut buffer, offset, WAIT)? {
                0 => return Ok::<_, std::io::Error>(bytes),
                count => bytes.extend(&buffer[..count]),
            }
        }
    };
    assert!(read_all().unwrap() == long);
    // Somebody else has put other bytes of the same length.
    let blob = bucket.list("blobs", 10).unwrap().remove(0).key;
    let mut wrong = long.clone();
    wrong[5_000_000] ^= 1;
    bucket.put(&blob, wrong, &PutCondition::Always).unwrap();
    bucket.forget(&blob);
    assert_eq!(
        read_all().unwrap_err().kind(),
        std::io::ErrorKind::InvalidData
    );
    let found = Store::open_bucket(Arc::clone(&bucket))
        .unwrap()
        .fsck(&mut |_| true)
        .unwrap();
    assert_eq!(found.damaged.len(), 1);
    // As it says: removed, and deployed again.
    bucket.remove(&blob).unwrap();
    deploy(&bucket, directory.path(), 1).unwrap();
    bucket.forget(&blob);
    assert!(read_all().unwrap() == long);
}

#[test]
fn faults_of_a_store_are_errors_that_say_who_must_act() {
    let store = FaultStore::default();
    let settings = Settings {
        timeout: Duration::from_millis(200),
        ..Settings::default()
    };
    let bucket = ReleaseBucket::new(Arc::new(store.clone()), "", settings).unwrap();
    let kind = |fault| {
        store.fail(Some(fault));
        bucket.get("current", 100).unwrap_err().kind()
    };
    use std::io::ErrorKind::{NotConnected, Other, PermissionDenied, TimedOut};
    assert_eq!(kind(Fault::Hangs), TimedOut);
    assert_eq!(kind(Fault::Fails), NotConnected);
    assert_eq!(kind(Fault::HasExpired), NotConnected);
    assert_eq!(kind(Fault::Refuses), PermissionDenied);
    assert_eq!(kind(Fault::HasNoBucket), Other);
    let debug = format!("{bucket:?}");
    assert!(
        debug.starts_with("ReleaseBucket(\"") && debug.len() < 100,
        "{debug}"
    );
}

#[test]
fn a_server_of_files_is_no_place_for_a_store() {
    let error = ReleaseBucket::open("https://127.0.0.1:9/site", Settings::default());
    assert!(error.unwrap_err().to_string().contains("no list"));
}
