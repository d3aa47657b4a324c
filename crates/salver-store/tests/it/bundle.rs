//! What follows the name of the current release in a bucket: the manifest, and what is new and short.

use std::fs;
use std::time::Duration;

use salver_assets::Source as _;
use salver_store::{Store, StoreSource, Writer};

use crate::memory_bucket::MemoryBucket;
use crate::site::Site;
use crate::watch::{WAIT, read, read_of, source};

#[test]
fn what_comes_with_the_pointer_is_checked() {
    let site = Site::new(&[("a.txt", "alpha")]);
    let bucket = MemoryBucket::default();
    site.deploy_to(&bucket).unwrap();
    let pointer = bucket.objects().remove("current").unwrap();
    let pointer = String::from_utf8(pointer).unwrap();
    site.put("a.txt", "omega");
    site.deploy_to(&bucket).unwrap();
    let other = bucket.objects().remove("current").unwrap();
    let other = String::from_utf8(other).unwrap();
    let at = |text: &str| text.find("salver-manifest").unwrap();
    let with = |manifest: &str| format!("{}{manifest}", &pointer[..at(&pointer)]);
    let store = Store::open_bucket(bucket.shared()).unwrap();
    let check = |text: String, is_taken: bool| {
        bucket.spoil("current", Some(text.as_bytes()));
        bucket.asked();
        let expected = match text.starts_with(with("").as_str()) {
            true => b"alpha",
            false => b"omega",
        };
        assert_eq!(read(&source(&bucket), "a.txt"), Ok(expected.to_vec()));
        let asked = bucket.asked();
        let has_asked = |what: &str| asked.iter().any(|asked| asked.starts_with(what));
        let id = text.lines().nth(1).unwrap().replace("release ", "");
        let asked_for = [&*format!("GET manifests/{id}"), "GET blobs/"].map(has_asked);
        assert_eq!(asked_for, [!is_taken; 2], "{text} {asked:?}");
        let is_sound = store.fsck(&mut |_| true).unwrap().is_sound();
        assert_eq!(is_sound, is_taken || text == with(""), "{text}");
    };
    check(pointer.clone(), true);
    check(other.clone(), true);
    check(with(""), false);
    // That of another release; one that was cut off or changed; what is none.
    check(with(&other[at(&other)..]), false);
    check(pointer[..pointer.len() - 1].to_owned(), false);
    check(pointer.replace("text/plain", "text/html"), false);
    check(pointer.replace("alpha", "omega"), false);
    check(with("other text\n"), false);
}

#[test]
fn what_was_new_lately_is_not_asked_for_after_a_rollback() {
    let mut site = Site::new(&[("a.txt", "0"), ("same.txt", "same")]);
    let bucket = MemoryBucket::default();
    let source = source(&bucket);
    let mut ids = Vec::new();
    for number in 0..10 {
        site.put("a.txt", number.to_string());
        ids.push(site.deploy_to(&bucket).unwrap().id);
        source.view(WAIT).unwrap();
        site.now += 60;
    }
    let asked_for = |number: usize| {
        let store = Store::open_bucket(bucket.shared()).unwrap();
        let mut writer = Writer::lock(&store, "rollback").unwrap();
        let id = ids.get(number);
        writer.rollback(id, "jo", site.time()).unwrap();
        let view = source.view(WAIT).unwrap();
        bucket.asked();
        assert_eq!(read_of(&*view, "a.txt"), Ok(number.to_string().into()));
        bucket.asked().len()
    };
    let lately: usize = (2..9).rev().map(&asked_for).sum();
    assert_eq!((lately, asked_for(1)), (0, 1));
}

#[test]
fn a_copy_in_a_directory_is_a_store() {
    let mut site = Site::new(&[("index.html", "one")]);
    let bucket = MemoryBucket::default();
    site.deploy_to(&bucket).unwrap();
    let copy = |site: &Site| {
        for (name, content) in bucket.objects() {
            let path = site.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    };
    copy(&site);
    let source = StoreSource::open(&site.path(), Duration::ZERO).unwrap();
    let check = |expected: &str| {
        assert_eq!(read(&source, "index.html"), Ok(expected.into()));
    };
    check("one");
    assert!(site.fsck().is_sound());
    site.now += 60;
    site.put("index.html", "two");
    site.deploy_to(&bucket).unwrap();
    copy(&site);
    check("two");
    // It takes deploys, too.
    fs::create_dir(site.path().join("new")).unwrap();
    site.now += 60;
    site.put("index.html", "three");
    site.deploy();
    check("three");
}
