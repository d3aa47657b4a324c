//! The tier on a disk: what it keeps across an end without a goodbye, and what becomes of damage.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use salver_assets::{Content, RequestPath};
use salver_object_store::{DiskTier, Settings};

use crate::site::{LONGEST_PAUSE, Site, at_once, body, until, with_stale_answers};
use crate::store::{Asked, Fault, FaultStore};

const MIB: usize = 1024 * 1024;

/// More than all that tests put there.
const ENOUGH: u64 = 64 * 1024 * 1024;

/// A node of a store with a tier in a folder, that another node may have left.
fn node(store: &FaultStore, folder: &Path, most: u64) -> (Site, Arc<DiskTier>) {
    let tier = Arc::new(DiskTier::new(folder.to_owned(), most));
    let settings = Settings {
        tier: Some(Arc::clone(&tier)),
        ..with_stale_answers()
    };
    (Site::of(store.clone(), settings), tier)
}

/// Waits until the folder is this tier's: until whoever had it has let go of it.
fn take(tier: &DiskTier) {
    let begun = Instant::now();
    while !tier.settle() {
        assert!(begun.elapsed() < Duration::from_mins(1));
        std::thread::yield_now();
    }
}

/// Files of every kind: short ones, an empty one, an index, and one that comes in slices.
fn files() -> Vec<(String, Vec<u8>)> {
    let short = (0..50).map(|n| (format!("p{n}.html"), format!("page {n}").into_bytes()));
    let mut files: Vec<_> = short.collect();
    let long = (0..3 * MIB + 5).map(|at| u8::try_from((at ^ (at >> 10)) & 0xff).unwrap());
    files.push(("long.bin".to_owned(), long.collect()));
    files.push(("empty.txt".to_owned(), Vec::new()));
    files.push(("docs/index.html".to_owned(), b"index".to_vec()));
    files
}

fn store() -> FaultStore {
    let store = FaultStore::default();
    for (path, content) in files() {
        store.put(&path, Some(&content));
    }
    store
}

/// The content of a file, whether it is in memory or comes in pieces.
fn get(site: &Site, path: &str) -> (u16, Vec<u8>) {
    let plan = site.get(path);
    let Content::File(file) = &plan.content else {
        return (plan.status, body(&plan));
    };
    let mut content = Vec::new();
    let mut at = file.range.start;
    while at < file.range.end {
        let end = file.range.end.min(at + 256 * 1024);
        content.extend_from_slice(&file.read(&(at..end)).unwrap());
        at = end;
    }
    (plan.status, content)
}

/// Asks for everything, and compares it.
fn check_all(site: &Site) {
    for (path, content) in files() {
        let (status, got) = get(site, &format!("/{path}"));
        assert!(status == 200 && got == content, "{path}: {status}");
    }
    assert_eq!(site.get("/docs").status, 308);
    assert_eq!(site.get("/nothing.html").status, 404);
}

/// The files of a folder, those of folders in it included.
fn kept(folder: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(folder).unwrap().flatten();
    let folders = folders.filter(|entry| entry.path().is_dir());
    let files = folders.flat_map(|entry| fs::read_dir(entry.path()).unwrap().flatten());
    files.map(|entry| entry.path()).collect()
}

#[test]
fn a_node_that_begins_again_serves_what_it_had_without_the_store() {
    let (store, folder) = (store(), tempfile::tempdir().unwrap());
    let (first, tier) = node(&store, folder.path(), ENOUGH);
    check_all(&first);
    assert!(tier.settle());
    drop((first, tier));
    store.fail(Some(Fault::Fails));
    let (second, tier) = node(&store, folder.path(), ENOUGH);
    take(&tier);
    check_all(&second);
    assert_eq!(second.get("/never-asked-for.html").status, 503);
}

#[test]
fn nobody_waits_for_a_store_that_is_silent_but_the_first() {
    let (store, folder) = (store(), tempfile::tempdir().unwrap());
    let (first, tier) = node(&store, folder.path(), ENOUGH);
    check_all(&first);
    assert!(tier.settle());
    drop((first, tier));
    for fault in [Fault::Hangs, Fault::Fails] {
        store.fail(Some(fault));
        let (mut second, tier) = node(&store, folder.path(), ENOUGH);
        take(&tier);
        // So long that it would be compared first.
        second.pass(Duration::from_hours(1));
        let _ = store.asked();
        let begun = Instant::now();
        check_all(&second);
        let asked = store.asked();
        // The first, those that open the circuit, and one each time that one may have ended.
        let most = 8 + begun.elapsed().as_secs();
        let took = begun.elapsed();
        assert!(
            u64::try_from(asked.len()).unwrap() <= most,
            "{fault:?}: {} in {took:?}",
            asked.len()
        );
        drop((second, tier));
    }
}

#[test]
fn what_is_kept_for_longer_is_compared_and_not_fetched() {
    let (store, folder) = (store(), tempfile::tempdir().unwrap());
    let (first, tier) = node(&store, folder.path(), ENOUGH);
    check_all(&first);
    assert!(tier.settle());
    drop((first, tier));
    let _ = store.asked();
    let (mut second, tier) = node(&store, folder.path(), ENOUGH);
    take(&tier);
    second.pass(Duration::from_hours(1));
    check_all(&second);
    let known: HashSet<String> = files().into_iter().map(|(path, _)| path).collect();
    let asked: Vec<Asked> = store.asked();
    assert!(asked.len() >= known.len());
    let fetched: Vec<_> = asked
        .iter()
        .filter(|asked| known.contains(&asked.key) && !asked.is_conditional)
        .collect();
    assert!(fetched.is_empty(), "{fetched:?}");
    // And it is known how old that is: an hour later it would be sent, days later not.
    store.fail(Some(Fault::Fails));
    second.pass(Duration::from_hours(23));
    check_all(&second);
    second.pass(Duration::from_hours(48));
    assert_eq!(second.get("/p1.html").status, 503);
}

#[test]
fn what_has_changed_meanwhile_is_sent_once_and_then_no_more() {
    let (store, folder) = (store(), tempfile::tempdir().unwrap());
    let (first, tier) = node(&store, folder.path(), ENOUGH);
    check_all(&first);
    assert!(tier.settle());
    drop((first, tier));
    store.put("p1.html", Some(b"another"));
    store.put("p2.html", None);
    let (mut second, tier) = node(&store, folder.path(), ENOUGH);
    take(&tier);
    let _ = second.get("/p1.html");
    until(&mut second, "/p1.html", b"another");
    let _ = second.get("/p2.html");
    let begun = Instant::now();
    while at_once(&second, "/p2.html").is_none_or(|plan| plan.status != 404) {
        assert!(begun.elapsed() < Duration::from_mins(1));
        std::thread::yield_now();
        second.pass(Duration::from_millis(1));
    }
    assert!(tier.settle());
    drop((second, tier));
    store.fail(Some(Fault::Fails));
    let (mut third, tier) = node(&store, folder.path(), ENOUGH);
    take(&tier);
    // The clock of the one before was ahead.
    third.pass(Duration::from_hours(1));
    assert_eq!(get(&third, "/p1.html"), (200, b"another".to_vec()));
    assert_eq!(third.get("/p2.html").status, 404);
}

#[test]
fn damage_is_found_and_comes_from_the_store_again() {
    let (store, folder) = (store(), tempfile::tempdir().unwrap());
    let (first, tier) = node(&store, folder.path(), ENOUGH);
    check_all(&first);
    assert!(tier.settle());
    drop((first, tier));
    let beside = folder.path().join("of-somebody-else");
    fs::write(&beside, b"x").unwrap();
    for (number, path) in kept(folder.path()).into_iter().enumerate() {
        let mut bytes = fs::read(&path).unwrap();
        match number % 3 {
            0 => bytes.truncate(bytes.len() / 2),
            1 => bytes.clear(),
            _ => {
                let at = bytes.len() * 2 / 3;
                bytes[at] ^= 1;
            }
        }
        fs::write(&path, bytes).unwrap();
    }
    let (second, tier) = node(&store, folder.path(), ENOUGH);
    take(&tier);
    check_all(&second);
    assert!(tier.settle());
    drop((second, tier));
    assert!(beside.exists());
    // All of it is whole again.
    store.fail(Some(Fault::Fails));
    let (third, tier) = node(&store, folder.path(), ENOUGH);
    take(&tier);
    check_all(&third);
}

#[test]
fn one_process_uses_the_folder_and_another_goes_without_until_it_ends() {
    let (store, folder) = (store(), tempfile::tempdir().unwrap());
    let (first, one) = node(&store, folder.path(), ENOUGH);
    check_all(&first);
    assert!(one.settle());
    let (mut second, other) = node(&store, folder.path(), ENOUGH);
    check_all(&second);
    assert!(!other.settle());
    drop((first, one));
    take(&other);
    let _ = store.asked();
    second.pass(LONGEST_PAUSE);
    check_all(&second);
}

#[test]
fn it_takes_no_more_than_it_may() {
    let (store, folder) = (FaultStore::default(), tempfile::tempdir().unwrap());
    let most = 8 * MIB;
    let paths: Vec<String> = (0..40).map(|number| format!("f{number}.bin")).collect();
    for path in &paths {
        store.put(path, Some(&vec![path.as_bytes()[1]; MIB / 2]));
    }
    let (site, tier) = node(&store, folder.path(), u64::try_from(most).unwrap());
    for path in &paths {
        assert_eq!(site.get(&format!("/{path}")).status, 200);
        assert!(tier.settle());
        let taken: u64 = kept(folder.path())
            .iter()
            .map(|path| path.metadata().unwrap().len())
            .sum();
        assert!(taken <= u64::try_from(most).unwrap(), "{taken}");
    }
    drop((site, tier));
    // Those that came last are there.
    store.fail(Some(Fault::Fails));
    let (second, tier) = node(&store, folder.path(), u64::try_from(most).unwrap());
    take(&tier);
    assert_eq!(second.get("/f39.bin").status, 200);
    assert_eq!(second.get("/f0.bin").status, 503);
}

#[test]
fn what_was_purged_is_not_told_by_the_next_node_either() {
    let (store, folder) = (store(), tempfile::tempdir().unwrap());
    let (first, tier) = node(&store, folder.path(), ENOUGH);
    check_all(&first);
    assert!(tier.settle());
    let path = |path: &'static str| RequestPath::parse(path.as_bytes()).unwrap();
    first.engine.invalidate(&path("/p1.html"));
    first.engine.invalidate_prefix(&path("/docs/"));
    assert!(tier.settle());
    drop((first, tier));
    store.put("p1.html", Some(b"another"));
    store.put("docs/index.html", Some(b"another"));
    let (second, tier) = node(&store, folder.path(), ENOUGH);
    take(&tier);
    assert_eq!(get(&second, "/p1.html"), (200, b"another".to_vec()));
    assert_eq!(get(&second, "/docs/"), (200, b"another".to_vec()));
    // All else is as before.
    let _ = store.asked();
    store.fail(Some(Fault::Fails));
    assert_eq!(get(&second, "/p2.html"), (200, b"page 2".to_vec()));
}

#[test]
fn a_version_that_was_not_kept_does_not_make_an_older_one_young() {
    let (store, folder) = (store(), tempfile::tempdir().unwrap());
    let (first, one) = node(&store, folder.path(), ENOUGH);
    check_all(&first);
    assert!(one.settle());
    // As at an upgrade: what the next one has cannot be kept yet.
    let (mut second, other) = node(&store, folder.path(), ENOUGH);
    store.put("p1.html", Some(b"another"));
    assert_eq!(get(&second, "/p1.html"), (200, b"another".to_vec()));
    assert!(!other.settle());
    drop((first, one));
    take(&other);
    second.pass(Duration::from_hours(1));
    assert_eq!(get(&second, "/p1.html"), (200, b"another".to_vec()));
    assert!(other.settle());
    drop((second, other));
    store.fail(Some(Fault::Fails));
    let (mut third, tier) = node(&store, folder.path(), ENOUGH);
    take(&tier);
    // The clock of the one before was ahead.
    third.pass(Duration::from_hours(1));
    assert_eq!(get(&third, "/p1.html"), (200, b"another".to_vec()));
}
