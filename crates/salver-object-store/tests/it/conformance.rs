//! What every source must do, over stores of different make.

use std::sync::Arc;

use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::{ObjectStore, path::Path};
use salver_assets::source::conformance::{FILES, check, check_apart, check_changes};
use salver_object_store::ObjectStoreSource;

use crate::store::{FaultStore, put, settings};

/// Checks two stores, each beneath a prefix.
fn check_stores(stores: [Arc<dyn ObjectStore>; 2], prefix: &str) {
    let [one, other] = stores.clone().map(|store| {
        for (path, content) in FILES {
            put(&*store, prefix, path, Some(content));
        }
        // Beside the prefix, not beneath it.
        if !prefix.is_empty() {
            put(&*store, "", &format!("{prefix}-b/a.txt"), Some(b"another"));
        }
        ObjectStoreSource::new(store, prefix, settings()).unwrap()
    });
    check(&one).unwrap();
    check_apart(&one, &other).unwrap();
    let change = |path: &str, content: Option<&[u8]>| put(&*stores[0], prefix, path, content);
    check_changes(&one, change).unwrap();
}

#[test]
fn in_memory() {
    check_stores([(); 2].map(|()| Arc::new(InMemory::new()) as _), "");
    check_stores([(); 2].map(|()| Arc::new(InMemory::new()) as _), "site/v1");
}

#[test]
fn beneath_a_directory() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    for prefix in ["", "site"] {
        let stores = [0, 1].map(|number: usize| {
            let path = folders[number].path().join(format!("of-{prefix}"));
            std::fs::create_dir(&path).unwrap();
            Arc::new(LocalFileSystem::new_with_prefix(path).unwrap()) as _
        });
        check_stores(stores, prefix);
    }
}

#[test]
fn with_what_was_found_kept_for_a_moment() {
    let store = FaultStore::default();
    for (path, content) in FILES {
        store.put(path, Some(content));
    }
    let mut settings = settings();
    settings.revalidate = std::time::Duration::from_secs(60);
    check(&store.source(settings)).unwrap();
}

#[test]
fn a_directory_is_where_an_object_is_beneath() {
    use object_store::ObjectStoreExt as _;
    use salver_assets::source::Kind;
    use salver_assets::{Patience, Source as _};
    let store = FaultStore::default();
    store.put("d/a", Some(b"a"));
    let source = store.source(settings());
    let stat = || {
        let view = source.view(Patience::MayWait).unwrap();
        view.stat(b"d", Patience::MayWait)
    };
    assert_eq!(stat().unwrap().kind, Kind::Directory);
    crate::store::block_on(store.delete(&Path::from("d/a"))).unwrap();
    assert!(stat().is_err());
}
