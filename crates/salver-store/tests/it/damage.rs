//! Damage that a check finds, and that a deploy heals.

use std::fs;
use std::path::Path;

use salver_store::{BlobDigest, Damage, Error};

use crate::site::Site;

/// Puts other content in the place of a blob.
fn replace(path: &Path, content: Option<&str>) {
    fs::remove_file(path).unwrap();
    if let Some(content) = content {
        fs::write(path, content).unwrap();
    }
}

#[test]
fn each_damaged_blob_is_named_with_all_that_it_is_of() {
    let mut site = Site::new(&[("a.txt", "alpha"), ("twin.txt", "alpha"), ("b.txt", "beta")]);
    let first = site.deploy().id;
    site.now += 60;
    site.put("b.txt", "gamma");
    let second = site.deploy().id;
    let blob = |content: &str| {
        let digest = BlobDigest::of(content.as_bytes()).to_string();
        site.path()
            .join("blobs")
            .join(&digest[..2])
            .join(&digest[2..])
    };
    let check = |content: &str, expected: Damage, files: &[(&str, &str)]| {
        let found = site.fsck();
        assert!(!found.is_sound() && found.faults.is_empty());
        assert_eq!(found.damaged.len(), 1, "{found:?}");
        assert_eq!(found.damaged[0].blob, BlobDigest::of(content.as_bytes()));
        assert_eq!(found.damaged[0].damage, expected);
        let of = found.damaged[0].files.iter();
        let of: Vec<_> = of
            .map(|(id, path)| (id.as_str(), path.escape_ascii().to_string()))
            .collect();
        let of: Vec<_> = of.iter().map(|(id, path)| (*id, &**path)).collect();
        assert_eq!(of, files);
    };
    let all = [
        (first.as_str(), "a.txt"),
        (first.as_str(), "twin.txt"),
        (second.as_str(), "a.txt"),
        (second.as_str(), "twin.txt"),
    ];
    let alpha = blob("alpha");
    replace(&alpha, Some("alpxa"));
    check("alpha", Damage::Content, &all);
    replace(&alpha, Some("alph"));
    check("alpha", Damage::Length(4, 5), &all);
    replace(&alpha, None);
    check("alpha", Damage::Missing, &all);
    // Of a release that is not current, too.
    assert_eq!(site.deploy().repaired, 0, "what is missing is sent");
    assert!(site.fsck().is_sound());
    replace(&blob("beta"), None);
    check("beta", Damage::Missing, &[(first.as_str(), "b.txt")]);
    let error = site.rollback(None).unwrap_err();
    assert!(matches!(error, Error::Damaged(_)), "{error}");
    assert_eq!(site.store().current().unwrap(), Some(second));
}

#[test]
fn a_deploy_heals_what_it_needs() {
    let site = Site::new(&[("a.txt", "alpha"), ("b.txt", "beta")]);
    site.deploy();
    for blob in site.blobs() {
        let length = fs::metadata(&blob).unwrap().len();
        replace(&blob, Some(&"x".repeat(usize::try_from(length).unwrap())));
    }
    assert_eq!(site.fsck().damaged.len(), 2);
    let deployed = site.deploy();
    assert_eq!((deployed.repaired, deployed.sent.0), (2, 2));
    assert!(deployed.is_unchanged && site.fsck().is_sound());
}

#[test]
fn damaged_files_of_the_store_are_named() {
    let mut site = Site::new(&[("a.txt", "alpha")]);
    let first = site.deploy().id;
    site.now += 60;
    site.put("a.txt", "beta");
    let second = site.deploy().id;
    let fault = |part: &str| {
        let found = site.fsck();
        assert!(
            found.faults.len() == 1 && found.faults[0].contains(part),
            "{found:?}"
        );
    };
    let manifest = site.path().join("manifests").join(second.as_str());
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, &text[..text.len() - 5]).unwrap();
    fault("it ends here");
    assert!(site.rollback(Some(&second)).is_err());
    fs::remove_file(&manifest).unwrap();
    fault("has no manifest");
    fs::write(&manifest, &text).unwrap();
    let other = fs::read_to_string(site.path().join("manifests").join(first.as_str())).unwrap();
    fs::write(&manifest, other).unwrap();
    fault("it is of another release");
    fs::write(&manifest, &text).unwrap();
    let current = site.path().join("current");
    let whole = fs::read(&current).unwrap();
    for damaged in [&b"nothing"[..], &whole[..whole.len() - 5]] {
        fs::write(&current, damaged).unwrap();
        fault("names no release");
    }
    fs::remove_file(&current).unwrap();
    fault("no release is current");
    // Both can be put right, and nothing has gone meanwhile.
    assert_eq!(site.rollback(Some(&second)).unwrap(), second);
    fs::write(&current, "nothing").unwrap();
    assert_eq!(site.rollback(Some(&first)).unwrap(), first);
    assert_eq!(site.store().ids().unwrap(), [first, second]);
    assert!(site.fsck().is_sound());
}
