//! What a prune removes, and what it keeps.

use std::fs;
use std::time::Duration;

use salver_store::{Action, Pruned, ReleaseId, Writer};

use crate::site::Site;

const DAY: u64 = 86_400;

/// Five releases, one a day, each with a file of its own and one that all have.
fn five() -> (Site, Vec<ReleaseId>) {
    let mut site = Site::new(&[("common.txt", "common")]);
    let mut ids = Vec::new();
    for day in 1..=5 {
        site.now += DAY;
        site.put("own.txt", format!("day {day}"));
        ids.push(site.deploy().id);
    }
    (site, ids)
}

fn prune(site: &Site, keep: usize, days: u64) -> Pruned {
    let mut writer = Writer::lock(&site.store(), "prune").unwrap();
    let time = Duration::from_secs(days * DAY);
    writer.prune(keep, time, "jo", site.time()).unwrap()
}

#[test]
fn the_newest_stay_and_what_was_current_lately() {
    let (mut site, ids) = five();
    assert_eq!(prune(&site, 5, 0), Pruned::default());
    assert_eq!(prune(&site, 1, 30), Pruned::default());
    // A day ago the fourth was current, two days ago the third.
    site.now += DAY / 2;
    let pruned = prune(&site, 1, 2);
    assert_eq!(pruned.releases, ids[..2]);
    assert_eq!((pruned.blobs, pruned.bytes), (2, 10));
    assert_eq!(site.store().ids().unwrap(), ids[2..]);
    assert!(site.fsck().is_sound());
    let pruned = prune(&site, 1, 0);
    assert_eq!(pruned.releases, ids[2..4]);
    assert_eq!(site.blobs().len(), 2);
    let last = site.store().journal().unwrap().pop().unwrap();
    assert_eq!((last.action, &last.release), (Action::Prune, &ids[3]));
}

#[test]
fn the_current_release_stays_however_old() {
    let (mut site, ids) = five();
    site.rollback(Some(&ids[0])).unwrap();
    site.now += 30 * DAY;
    let pruned = prune(&site, 1, 0);
    assert_eq!(pruned.releases, ids[1..4]);
    assert_eq!(
        site.store().ids().unwrap(),
        [ids[0].clone(), ids[4].clone()]
    );
    // What a rollback replaced was current until then.
    let pruned = prune(&site, 0, 60);
    assert_eq!(pruned.releases, []);
    let pruned = prune(&site, 0, 0);
    assert_eq!(pruned.releases, ids[4..]);
    assert!(site.fsck().is_sound());
}

#[test]
fn blobs_that_no_release_names_go_and_other_files_stay() {
    let (site, ids) = five();
    let blob = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let directory = site.path().join("blobs").join(&blob[..2]);
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join(&blob[2..]), "test").unwrap();
    fs::write(directory.join("notes.txt"), "mine").unwrap();
    fs::write(site.path().join("new/17"), "half").unwrap();
    assert_eq!(site.fsck().unnamed, 2);
    let pruned = prune(&site, 9, 0);
    assert_eq!(
        (pruned.releases.len(), pruned.blobs, pruned.bytes),
        (0, 1, 4)
    );
    assert!(directory.join("notes.txt").exists());
    assert!(!site.path().join("new/17").exists());
    assert_eq!(site.store().ids().unwrap(), ids);
}

#[test]
fn nothing_goes_while_nobody_knows_what_is_needed() {
    let (site, ids) = five();
    fs::write(site.path().join("manifests").join(ids[3].as_str()), "x").unwrap();
    let before = site.blobs();
    let mut writer = Writer::lock(&site.store(), "prune").unwrap();
    let error = writer
        .prune(2, Duration::ZERO, "jo", site.time())
        .unwrap_err();
    assert!(error.to_string().contains(ids[3].as_str()), "{error}");
    assert_eq!(site.blobs(), before);
    assert_eq!(site.store().ids().unwrap(), ids);
}
