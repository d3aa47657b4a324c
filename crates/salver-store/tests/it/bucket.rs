//! A store in a bucket, as whoever changes it sees it: the same as in a directory, and nobody has a lock.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use salver_store::{Action, Deployed, Error, NewPreview, PreviewName, ReleaseId, Store, Writer};

use crate::memory_bucket::{Fault, MemoryBucket};
use crate::site::Site;

impl Site {
    /// Deploys to a bucket.
    pub(crate) fn deploy_to(&self, bucket: &MemoryBucket) -> Result<Deployed, Error> {
        let store = Store::open_or_create_bucket(bucket.shared())?;
        let mut writer = Writer::lock(&store, "deploy")?;
        writer.deploy(&self.directory(), &self.options(), &mut |_| true)
    }
}

fn store(bucket: &MemoryBucket) -> Store {
    Store::open_bucket(bucket.shared()).unwrap()
}

fn rollback(
    site: &Site,
    bucket: &MemoryBucket,
    id: Option<&ReleaseId>,
) -> Result<ReleaseId, Error> {
    Writer::lock(&store(bucket), "rollback")?.rollback(id, "jo", site.time())
}

/// The files of a directory, but for the lock.
fn files(root: &Path, directory: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(root, &path, found),
            false => {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap();
                if name != "lock" {
                    found.insert(name.to_owned(), fs::read(&path).unwrap());
                }
            }
        }
    }
}

/// A bucket is sound: what is current is whole, and the journal tells what has happened to it.
fn check_sound(bucket: &MemoryBucket) {
    let store = store(bucket);
    let found = store.fsck(&mut |_| true).unwrap();
    assert!(found.is_sound(), "{found:?}");
    // Whoever changes it next says what was interrupted; then each line that is left has been seen.
    let current = store.current().unwrap();
    let journal = store.journal().unwrap();
    let is_interrupted = |change| {
        let mut entries = journal.iter();
        entries.any(|entry| entry.change == change && entry.action == Action::Interrupted)
    };
    let mut switches = journal.iter().filter(|entry| {
        matches!(entry.action, Action::Deploy | Action::Rollback) && !is_interrupted(entry.change)
    });
    assert_eq!(
        switches.next_back().map(|entry| entry.release.clone()),
        current,
        "{journal:?}"
    );
}

/// The files of a store in a directory, which are the objects of one in a bucket, too: there a bundle may follow what `current`
/// says.
fn same_files(site: &Site, bucket: &MemoryBucket) -> BTreeMap<String, Vec<u8>> {
    let (mut expected, mut objects) = (BTreeMap::new(), bucket.objects());
    files(&site.path(), &site.path(), &mut expected);
    let [lines, current] = [&mut expected, &mut objects].map(|of| of.remove("current"));
    assert!(current.unwrap().starts_with(&lines.unwrap()));
    assert_eq!(objects, expected);
    expected
}

#[test]
fn it_is_the_same_as_in_a_directory() {
    let mut site = Site::new(&[
        ("index.html", "one"),
        ("app.3f9a1c2b.js", "code"),
        ("a/b", "twin"),
        ("c", "twin"),
    ]);
    let bucket = MemoryBucket::default();
    let check = |site: &Site| drop(same_files(site, &bucket));
    let (one, other) = (site.deploy(), site.deploy_to(&bucket).unwrap());
    assert_eq!(one, other);
    check(&site);
    // The same again is nothing.
    site.now += 60;
    let again = site.deploy_to(&bucket).unwrap();
    assert!(again.is_unchanged);
    assert_eq!((again.sent, again.kept.0), ((0, 0), 3));
    check(&site);
    site.put("index.html", "two");
    assert_eq!(site.deploy(), site.deploy_to(&bucket).unwrap());
    check(&site);
    site.now += 60;
    assert_eq!(
        site.rollback(None).unwrap(),
        rollback(&site, &bucket, None).unwrap()
    );
    check(&site);
    site.now += 60;
    site.put("next.html", "next");
    let preview = NewPreview {
        name: PreviewName::parse("next").unwrap(),
        expires_after: Duration::from_secs(100),
    };
    for store in [site.store(), store(&bucket)] {
        let mut writer = Writer::lock(&store, "deploy").unwrap();
        let options = site.options();
        writer
            .deploy_preview(&site.directory(), &preview, &options, &mut |_| true)
            .unwrap();
    }
    check(&site);
    let stores = [site.store(), store(&bucket)];
    let [one, other] = stores.each_ref().map(|store| {
        let (releases, previews) = (store.releases().unwrap(), store.previews().unwrap());
        let first = store.find(releases[0].id.as_str()).unwrap();
        let diff = store.diff(&first, &store.find("next").unwrap()).unwrap();
        (
            releases,
            previews,
            store.journal().unwrap(),
            store.blob_bytes().unwrap(),
            diff,
        )
    });
    assert_eq!(one, other);
    // What was put lately stays in a bucket: it may be of a deploy under way.
    site.now += 100_000;
    bucket.age(Duration::from_secs(90_000));
    let [one, other] = stores.map(|store| {
        let mut writer = Writer::lock(&store, "prune").unwrap();
        writer.prune(1, Duration::ZERO, "jo", site.time()).unwrap()
    });
    assert_eq!(one, other);
    assert_eq!(
        (one.releases.len(), one.previews.len(), one.blobs),
        (1, 1, 1)
    );
    check(&site);
    check_sound(&bucket);
}

#[test]
fn the_second_of_two_deploys_is_told_and_has_changed_nothing() {
    let mut site = Site::new(&[("a.txt", "alpha")]);
    let bucket = MemoryBucket::default();
    site.deploy_to(&bucket).unwrap();
    site.now += 60;
    let store = store(&bucket);
    let mut slow = Writer::lock(&store, "deploy").unwrap();
    site.put("a.txt", "quick");
    let quick = site.deploy_to(&bucket).unwrap().id;
    site.put("a.txt", "slow");
    let before = bucket.objects();
    let error = slow.deploy(&site.directory(), &site.options(), &mut |_| true);
    let error = error.unwrap_err();
    assert!(matches!(error, Error::Overtaken(_)), "{error}");
    assert!(error.to_string().contains(quick.as_str()), "{error}");
    assert_eq!(store.current().unwrap(), Some(quick.clone()));
    let blobs = |key: &&String| key.starts_with("blobs/");
    let after = bucket.objects();
    let of_store = |objects: &BTreeMap<String, Vec<u8>>| {
        let keys = objects.keys().filter(|key| !blobs(key)).cloned();
        keys.collect::<Vec<_>>()
    };
    assert_eq!(of_store(&before), of_store(&after));
    check_sound(&bucket);
    // Who wants to take the place of whatever is there may.
    let mut slow = Writer::lock(&store, "deploy").unwrap().forcing();
    site.now += 60;
    site.put("a.txt", "quicker");
    site.deploy_to(&bucket).unwrap();
    site.put("a.txt", "slow");
    let forced = slow.deploy(&site.directory(), &site.options(), &mut |_| true);
    assert_eq!(store.current().unwrap(), Some(forced.unwrap().id));
    check_sound(&bucket);
    // A rollback that somebody else was quicker than is none, either.
    let mut slow = Writer::lock(&store, "rollback").unwrap();
    rollback(&site, &bucket, Some(&quick)).unwrap();
    let error = slow.rollback(None, "jo", site.time()).unwrap_err();
    assert!(matches!(error, Error::Overtaken(_)), "{error}");
    check_sound(&bucket);
}

/// What somebody does between two requests of a deploy.
fn deploys_between(
    first: &[(&str, &str)],
    between: impl Fn(&Site, &MemoryBucket) -> Result<ReleaseId, Error> + Send + Copy + 'static,
) {
    let (mut lost, mut was_lost) = (0, 0);
    for after in 0.. {
        let mut site = Site::new(&[("a.txt", "alpha")]);
        let bucket = MemoryBucket::default();
        for (path, content) in first {
            site.put(path, content);
            site.deploy_to(&bucket).unwrap();
            site.now += 60;
        }
        let mut other = Site::new(&[("a.txt", "other"), ("b.txt", "beta")]);
        other.now = site.now;
        let (at, result) = (
            bucket.clone(),
            std::sync::Arc::new(std::sync::Mutex::new(None)),
        );
        let told = std::sync::Arc::clone(&result);
        bucket.interrupt(after, move || {
            *told.lock().unwrap() = Some(between(&other, &at));
        });
        site.put("a.txt", "mine");
        let mine = site.deploy_to(&bucket).map(|deployed| deployed.id);
        if bucket.was_not_interrupted() {
            break;
        }
        let other = result.lock().unwrap().take().unwrap();
        let current = store(&bucket).current().unwrap();
        for ended in [&mine, &other] {
            match ended {
                Ok(_) | Err(Error::Overtaken(_) | Error::Busy(_) | Error::Misused(_)) => {}
                Err(error) => panic!("after {after}: {error}"),
            }
        }
        match (&mine, &other) {
            // The other one was done before this one looked, or began once this one had ended.
            (Ok(_), Ok(_)) => {}
            (Ok(mine), Err(_)) => {
                assert_eq!(current.as_ref(), Some(mine), "after {after}");
                was_lost += 1;
            }
            (Err(_), Ok(other)) => {
                assert_eq!(current.as_ref(), Some(other), "after {after}");
                lost += 1;
            }
            (Err(mine), Err(other)) => panic!("after {after}: {mine}; {other}"),
        }
        // The next one says what was interrupted.
        site.now += 60;
        site.put("a.txt", "later");
        site.deploy_to(&bucket).unwrap();
        check_sound(&bucket);
    }
    assert!(lost > 0, "{lost} {was_lost}");
}

#[test]
fn of_two_deploys_one_wins_whenever_they_meet() {
    deploys_between(&[("a.txt", "old"), ("a.txt", "new")], |other, bucket| {
        other.deploy_to(bucket).map(|deployed| deployed.id)
    });
}

#[test]
fn of_a_deploy_and_a_rollback_one_wins_whenever_they_meet() {
    deploys_between(&[("a.txt", "old"), ("a.txt", "new")], |other, bucket| {
        rollback(other, bucket, None)
    });
}

#[test]
fn of_two_first_deploys_one_wins_whenever_they_meet() {
    deploys_between(&[], |other, bucket| {
        other.deploy_to(bucket).map(|deployed| deployed.id)
    });
}

#[test]
fn ended_after_any_request_the_old_release_stays_or_the_new_one_is_whole() {
    for fault in [Fault::IsAway, Fault::LosesAnswer] {
        let mut ended = [0, 0];
        for after in 0.. {
            let mut site = Site::new(&[("a.txt", "alpha"), ("b.txt", "beta")]);
            let bucket = MemoryBucket::default();
            let first = site.deploy_to(&bucket).unwrap().id;
            site.now += 60;
            site.put("a.txt", "new");
            site.put("c.txt", "gamma");
            bucket.asked();
            bucket.fail(Some((after, fault)));
            let deployed = site.deploy_to(&bucket);
            bucket.fail(None);
            let current = store(&bucket).current().unwrap().unwrap();
            assert!(
                store(&bucket).fsck(&mut |_| true).unwrap().is_sound(),
                "{fault:?} after {after}"
            );
            match &deployed {
                Ok(deployed) => assert_eq!(current, deployed.id),
                Err(Error::Io(..)) => ended[usize::from(current != first)] += 1,
                Err(error) => panic!("{fault:?} after {after}: {error}"),
            }
            // Whoever comes next goes on, and finds nothing in its way.
            site.now += 60;
            let next = site.deploy_to(&bucket).unwrap();
            assert_eq!(store(&bucket).current().unwrap(), Some(next.id));
            check_sound(&bucket);
            if deployed.is_ok() {
                break;
            }
        }
        assert!(ended[0] > 5, "{ended:?}");
    }
}

#[test]
fn a_lost_answer_to_the_switch_is_asked_for() {
    let mut site = Site::new(&[("a.txt", "alpha")]);
    let bucket = MemoryBucket::default();
    site.deploy_to(&bucket).unwrap();
    site.now += 60;
    site.put("a.txt", "new");
    bucket.asked();
    let mut probe = Site::new(&[("a.txt", "alpha")]);
    probe.now = site.now;
    let deployed = site.deploy_to(&bucket).unwrap();
    let asked = bucket.asked();
    let switch = asked
        .iter()
        .position(|asked| asked == "PUT current")
        .unwrap();
    // The same once more, with an answer that is lost on its way and a bucket that is there.
    let bucket = MemoryBucket::default();
    probe.deploy_to(&bucket).unwrap();
    probe.put("a.txt", "new");
    probe.now = site.now;
    bucket.fail(Some((switch, Fault::LosesAnswer)));
    let lost = probe.deploy_to(&bucket);
    assert!(matches!(lost, Err(Error::Io(..))), "{lost:?}");
    bucket.fail(None);
    // It took place, and deploying it again says so.
    let again = probe.deploy_to(&bucket).unwrap();
    assert!(again.is_unchanged);
    assert_eq!(again.files, deployed.files);
    check_sound(&bucket);
}

#[test]
fn a_bucket_without_conditions_and_one_with_other_things_are_refused() {
    let site = Site::new(&[("a.txt", "alpha")]);
    let bucket = MemoryBucket::default();
    bucket.fail(Some((0, Fault::IgnoresConditions)));
    let error = site.deploy_to(&bucket).unwrap_err();
    assert!(error.to_string().contains("conditional writes"), "{error}");
    bucket.fail(None);
    assert!(bucket.objects().is_empty());
    bucket.spoil("photo.jpg", Some(b"mine"));
    let error = site.deploy_to(&bucket).unwrap_err();
    assert!(error.to_string().contains("another prefix"), "{error}");
    let error = Store::open_bucket(bucket.shared()).unwrap_err();
    assert!(error.to_string().contains("no store"), "{error}");
}

#[test]
fn what_is_damaged_is_found_and_deploying_again_repairs_it() {
    let mut site = Site::new(&[("a.txt", "alpha"), ("b.txt", "beta")]);
    let bucket = MemoryBucket::default();
    site.deploy_to(&bucket).unwrap();
    let blobs: Vec<String> = bucket
        .objects()
        .into_keys()
        .filter(|key| key.starts_with("blobs/"))
        .collect();
    bucket.spoil(&blobs[0], Some(b"longer than it was"));
    bucket.spoil(&blobs[1], None);
    let found = store(&bucket).fsck(&mut |_| true).unwrap();
    assert_eq!(found.damaged.len(), 2);
    site.now += 60;
    let error = site
        .deploy_to(&bucket)
        .map(|deployed| (deployed.sent.0, deployed.repaired));
    assert_eq!(error.unwrap(), (2, 1));
    check_sound(&bucket);
    // Content of the same length is found, too.
    bucket.spoil(
        &blobs[0],
        Some(&b"omega"[..bucket.objects()[&blobs[0]].len()]),
    );
    assert_eq!(store(&bucket).fsck(&mut |_| true).unwrap().damaged.len(), 1);
}

#[test]
fn what_is_long_comes_in_parts() {
    let site = Site::new(&[("a.txt", "alpha")]);
    let long: Vec<u8> = (0..11_000_000_u32)
        .map(|at| u8::try_from(at % 251).unwrap())
        .collect();
    site.put("long.bin", &long);
    let bucket = MemoryBucket::default();
    let deployed = site.deploy_to(&bucket).unwrap();
    assert_eq!(deployed.sent.0, 2);
    let asked = bucket.asked();
    assert_eq!(
        asked
            .iter()
            .filter(|asked| asked.starts_with("PART"))
            .count(),
        3
    );
    assert!(
        bucket
            .objects()
            .into_values()
            .any(|content| content == long)
    );
    check_sound(&bucket);
}

#[test]
fn a_prune_leaves_what_a_deploy_has_just_put() {
    let mut site = Site::new(&[("a.txt", "alpha")]);
    let bucket = MemoryBucket::default();
    site.deploy_to(&bucket).unwrap();
    bucket.age(Duration::from_secs(90_000));
    site.now += 60;
    // A deploy that has put its blobs, and nothing else yet.
    site.put("a.txt", "new");
    let at = bucket.clone();
    bucket.asked();
    let pruned = site.time();
    let puts = 8;
    bucket.interrupt(puts, move || {
        let store = Store::open_bucket(at.shared()).unwrap();
        let mut writer = Writer::lock(&store, "prune").unwrap();
        writer.prune(5, Duration::ZERO, "jo", pruned).unwrap();
    });
    let deployed = site.deploy_to(&bucket);
    assert!(!bucket.was_not_interrupted());
    assert!(deployed.is_ok(), "{deployed:?}");
    check_sound(&bucket);
}

#[test]
fn a_server_takes_no_deploys_for_a_bucket() {
    let site = Site::new(&[("a.txt", "alpha")]);
    let bucket = MemoryBucket::default();
    site.deploy_to(&bucket).unwrap();
    let limits = salver_store::DeployLimits {
        file_bytes: 10,
        release_bytes: 10,
        files: 10,
    };
    let manifest = (salver_store::BlobDigest::of(b""), 0);
    let refused = salver_store::RemoteDeploy::begin(store(&bucket), manifest, limits, site.time());
    assert!(refused.unwrap_err().to_string().contains("is a bucket"));
}

#[test]
#[cfg(feature = "compress")]
fn codings_are_made_as_in_a_directory() {
    let mut site = Site::new(&[
        ("index.html", &"<p>Hello.\n".repeat(1000)),
        ("a.txt", "short"),
    ]);
    let bucket = MemoryBucket::default();
    for (sent, new) in [(2 + 3, 2 + 3), (3, 1)] {
        let options = salver_store::DeployOptions {
            coding_threads: Some(2),
            ..site.options()
        };
        let to_bucket = Store::open_or_create_bucket(bucket.shared()).unwrap();
        let [one, other] = [site.store(), to_bucket].map(|store| {
            let mut writer = Writer::lock(&store, "deploy").unwrap();
            writer
                .deploy(&site.directory(), &options, &mut |_| true)
                .unwrap()
        });
        assert_eq!(one, other);
        let expected = same_files(&site, &bucket);
        let blobs = expected.keys().filter(|key| key.starts_with("blobs/"));
        assert!(blobs.clone().count() >= sent);
        let current = bucket.objects().remove("current").unwrap();
        let comes_with_it = |key: &&String| {
            let content = &expected[*key];
            current.windows(content.len()).any(|bytes| bytes == content)
        };
        assert_eq!(blobs.filter(comes_with_it).count(), new);
        // What is known is not made again.
        site.now += 60;
        site.put("b.txt", "another");
    }
    let asked = bucket.asked();
    let notes = asked
        .iter()
        .filter(|asked| asked.starts_with("PUT codings/"));
    assert_eq!(notes.count(), 3, "{asked:?}");
    check_sound(&bucket);
}
