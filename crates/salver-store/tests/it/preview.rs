//! Previews: releases that have a name for a time, and are no part of the site.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use salver_assets::{Patience, Source as _};
use salver_store::{
    Action, Deployed, Error, NewPreview, PreviewName, ReleaseId, StoreSource, Writer,
};

use crate::site::Site;

const DAY: u64 = 86_400;

fn name(text: &str) -> PreviewName {
    PreviewName::parse(text).unwrap()
}

fn try_preview(site: &Site, text: &str, days: u64) -> Result<Deployed, Error> {
    let preview = NewPreview {
        name: name(text),
        expires_after: Duration::from_secs(days * DAY),
    };
    let mut writer = Writer::lock(&site.store(), "deploy")?;
    writer.deploy_preview(&site.directory(), &preview, &site.options(), &mut |_| true)
}

fn preview(site: &Site, text: &str, days: u64) -> ReleaseId {
    try_preview(site, text, days).unwrap().id
}

fn prune(site: &Site, keep: usize) -> (Vec<ReleaseId>, Vec<PreviewName>) {
    let mut writer = Writer::lock(&site.store(), "prune").unwrap();
    let pruned = writer
        .prune(keep, Duration::ZERO, "jo", site.time())
        .unwrap();
    (pruned.releases, pruned.previews)
}

#[test]
fn a_preview_is_no_part_of_the_site() {
    let mut site = Site::new(&[("index.html", "site"), ("app.3f9a1c2b.js", "code")]);
    let first = site.deploy().id;
    site.now += DAY;
    site.put("index.html", "preview");
    site.put("app.9c2b1f3a.js", "code of the preview");
    let next = preview(&site, "next", 7);
    let store = site.store();
    assert_eq!(store.current().unwrap(), Some(first.clone()));
    assert_eq!(store.find("next").unwrap(), next);
    let [known] = &store.previews().unwrap()[..] else {
        panic!("{:?}", store.previews())
    };
    assert_eq!((&known.name, &known.release), (&name("next"), &next));
    assert_eq!(
        known.expires_unix_seconds,
        i64::try_from(site.now + 7 * DAY).unwrap()
    );
    let last = store.journal().unwrap().pop().unwrap();
    assert_eq!((last.action, &last.release), (Action::Preview, &next));
    assert_eq!(store.diff(&first, &next).unwrap().changes.len(), 2);
    assert!(site.fsck().is_sound());
    // The site has nothing of it, until it is made the current one.
    let source = StoreSource::open(&site.path(), Duration::ZERO).unwrap();
    let has = |path: &str| {
        let view = source.view(Patience::MayWait).unwrap();
        view.stat(path.as_bytes(), Patience::MayWait).is_ok()
    };
    assert!(has("app.3f9a1c2b.js") && !has("app.9c2b1f3a.js"));
    assert_eq!(site.rollback(Some(&next)).unwrap(), next);
    assert!(has("app.9c2b1f3a.js"));
    // The one before is the one that was current, and by then this was, too.
    assert_eq!(site.rollback(None).unwrap(), first);
    assert!(has("app.9c2b1f3a.js"));
    let kept = prune(&site, 2);
    assert_eq!(kept, (vec![], vec![]));
}

#[test]
fn what_goes_before_is_never_a_preview() {
    let mut site = Site::new(&[("index.html", "one")]);
    let one = site.deploy().id;
    for (text, is_preview) in [("preview", true), ("two", false), ("other", true)] {
        site.now += DAY;
        site.put("index.html", text);
        match is_preview {
            true => drop(preview(&site, text, 1)),
            false => drop(site.deploy()),
        }
    }
    assert_eq!(site.rollback(None).unwrap(), one);
    assert!(site.rollback(None).is_err());
}

#[test]
fn the_same_again_is_the_same_release_for_longer() {
    let mut site = Site::new(&[("index.html", "site")]);
    let current = site.deploy().id;
    // Of the current one nothing is copied, and nothing is made.
    let same = try_preview(&site, "same", 1).unwrap();
    assert_eq!(
        (same.id, same.is_unchanged, same.sent),
        (current.clone(), true, (0, 0))
    );
    site.put("index.html", "next");
    let next = preview(&site, "next", 1);
    site.now += DAY;
    let again = try_preview(&site, "next", 2).unwrap();
    assert!(again.is_unchanged && again.id == next);
    let expires = again.preview.unwrap().expires_unix_seconds;
    assert_eq!(expires, i64::try_from(site.now + 2 * DAY).unwrap());
    let store = site.store();
    assert_eq!(store.ids().unwrap(), [current, next.clone()]);
    assert_eq!(store.previews().unwrap()[0].expires_unix_seconds, expires);
    // Another content is another release by the same name.
    site.put("index.html", "another");
    let another = preview(&site, "next", 2);
    assert!(another > next && store.find("next").unwrap() == another);
    assert_eq!(prune(&site, 5), (vec![next], vec![name("same")]));
    assert!(site.fsck().is_sound());
}

#[test]
fn a_prune_removes_what_has_expired_and_nothing_that_is_shown() {
    let mut site = Site::new(&[("index.html", "site")]);
    let first = site.deploy().id;
    site.put("index.html", "short");
    let short = preview(&site, "short", 1);
    site.put("index.html", "long");
    let long = preview(&site, "long", 30);
    site.put("index.html", "site two");
    let second = site.deploy().id;
    // Previews take no place among those that are kept.
    assert_eq!(prune(&site, 2), (vec![], vec![]));
    site.now += DAY;
    assert_eq!(prune(&site, 2), (vec![short.clone()], vec![name("short")]));
    assert_eq!(prune(&site, 1), (vec![first], vec![]));
    assert_eq!(site.store().ids().unwrap(), [long, second]);
    assert!(site.fsck().is_sound());
    assert_eq!(site.fsck().unnamed, 0);
    assert!(matches!(site.store().find("short"), Err(Error::Misused(_))));
    assert!(!site.path().join("manifests").join(short.as_str()).exists());
}

#[test]
fn what_cannot_be_meant_or_is_damaged_is_said() {
    let mut site = Site::new(&[("index.html", "site")]);
    let none = try_preview(&site, "next", 1).unwrap_err();
    assert!(
        none.to_string().contains("without --preview first"),
        "{none}"
    );
    assert_eq!(site.store().ids().unwrap(), []);
    site.deploy();
    site.put("index.html", "next");
    let next = preview(&site, "next", 1);
    let manifest = site.path().join("manifests").join(next.as_str());
    let text = fs::read(&manifest).unwrap();
    fs::remove_file(&manifest).unwrap();
    let found = site.fsck();
    assert!(
        found.faults[0].contains("the preview next has the release"),
        "{found:?}"
    );
    fs::write(&manifest, text).unwrap();
    let file = site.path().join("previews/next");
    fs::write(&file, "nonsense").unwrap();
    let found = site.fsck();
    assert!(found.faults[0].contains("names no release"), "{found:?}");
    // Nobody knows what is still needed. Whoever deploys it anew puts it right.
    let mut writer = Writer::lock(&site.store(), "prune").unwrap();
    let pruned = writer.prune(1, Duration::ZERO, "jo", site.time());
    assert!(matches!(pruned, Err(Error::Damaged(_))), "{pruned:?}");
    drop(writer);
    site.now += 1;
    preview(&site, "next", 1);
    assert!(site.fsck().is_sound());
    // A store of before there were previews has no place for them.
    fs::remove_dir_all(site.path().join("previews")).unwrap();
    assert_eq!(site.store().previews().unwrap(), []);
    assert!(site.fsck().is_sound());
    preview(&site, "next", 1);
}

#[test]
fn what_interrupts_it_leaves_no_half_of_it() {
    let site = Site::new(&[("index.html", "site")]);
    let first = site.deploy().id;
    site.put("index.html", "next");
    let next = preview(&site, "next", 1);
    // As if the power had failed before the file of the preview was there.
    let current = site.path().join("current");
    let text = fs::read_to_string(&current).unwrap();
    fs::write(&current, text.replace("change 2", "change 1")).unwrap();
    fs::remove_file(site.path().join("previews/next")).unwrap();
    drop(Writer::lock(&site.store(), "deploy").unwrap());
    assert_eq!(site.store().ids().unwrap(), std::slice::from_ref(&first));
    let last = site.store().journal().unwrap().pop().unwrap();
    assert_eq!((last.action, &last.release), (Action::Interrupted, &next));
    // Once it is there the release stays.
    let next = preview(&site, "next", 1);
    let text = fs::read_to_string(&current).unwrap();
    let change: u64 = text.trim().rsplit(' ').next().unwrap().parse().unwrap();
    let before = format!("change {}", change - 1);
    fs::write(&current, text.replace(&format!("change {change}"), &before)).unwrap();
    drop(Writer::lock(&site.store(), "deploy").unwrap());
    assert_eq!(site.store().ids().unwrap(), [first, next.clone()]);
    assert_eq!(site.store().find("next").unwrap(), next);
    assert!(site.fsck().is_sound());
}

#[test]
fn a_server_shows_it_until_it_expires() {
    let site = Site::new(&[("index.html", "site")]);
    let current = site.deploy().id;
    let source = Arc::new(StoreSource::open(&site.path(), Duration::ZERO).unwrap());
    let has = |name: &str| {
        let release = source.release(name).unwrap();
        release.view(Patience::MayWait).is_ok()
    };
    site.put("index.html", "next");
    // By the clock of the server it expired long ago, or will in years.
    let (old, new) = (preview(&site, "old", 1), {
        site.put("index.html", "newer");
        preview(&site, "new", 365_000)
    });
    assert!(!has("old") && !has(old.as_str()));
    assert!(has("new") && has(new.as_str()) && has(current.as_str()));
    assert!(!has("none"));
    // What the current one has stays under its own name.
    site.put("index.html", "site");
    preview(&site, "same", 1);
    assert!(!has("same") && has(current.as_str()));
}
