use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use salver_assets::Symlinks;
use salver_assets::source::conformance::{FILES, check, check_apart, check_changes};
use salver_assets::source::{FileVersion, VersionedName};

use super::*;
use crate::files::digest::BlobDigest;
use crate::writer::Writer;
use crate::writer::deploy::DeployOptions;

const WAIT: Patience = Patience::MayWait;

/// A directory that is deployed, and the store that it goes to.
struct Site(tempfile::TempDir);

impl Site {
    fn new() -> Self {
        let site = Site(tempfile::tempdir().unwrap());
        fs::create_dir(site.directory()).unwrap();
        site
    }

    fn directory(&self) -> PathBuf {
        self.0.path().join("site")
    }

    fn store(&self) -> Store {
        Store::open_or_create(&self.0.path().join("store")).unwrap()
    }

    fn put(&self, path: &str, content: Option<&[u8]>) {
        let path = self.directory().join(path);
        match content {
            Some(content) => {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
            None => fs::remove_file(path).unwrap(),
        }
    }

    fn deploy(&self) -> String {
        let options = DeployOptions {
            coding_threads: None,
            symlinks: Symlinks::Beneath,
            dotfiles: false,
            who: "test".to_owned(),
            now: std::time::UNIX_EPOCH,
        };
        let mut writer = Writer::lock(&self.store(), "deploy").unwrap();
        let deployed = writer.deploy(&self.directory(), &options, &mut |_| true);
        deployed.unwrap().id.to_string()
    }

    fn source(&self) -> StoreSource {
        StoreSource::open(self.store().path(), Duration::ZERO).unwrap()
    }

    /// The path of the blob of this content.
    fn blob(&self, content: &[u8]) -> PathBuf {
        self.store()
            .layout()
            .unwrap()
            .blob(&BlobDigest::of(content))
    }
}

fn read(source: &StoreSource, path: &str) -> Result<Vec<u8>, io::ErrorKind> {
    read_of(source, path)
}

fn read_of(source: &dyn Source, path: &str) -> Result<Vec<u8>, io::ErrorKind> {
    let view = source.view(WAIT).map_err(|error| error.kind())?;
    let opened = view
        .open(path.as_bytes(), WAIT)
        .map_err(|error| error.kind())?;
    let mut bytes = vec![0; 100];
    let count = opened.reader.read_at(&mut bytes, 0, WAIT);
    bytes.truncate(count.map_err(|error| error.kind())?);
    Ok(bytes)
}

#[test]
fn holds_to_what_every_source_must() {
    let [one, other] = [(); 2].map(|()| {
        let site = Site::new();
        FILES
            .iter()
            .for_each(|(path, content)| site.put(path, Some(content)));
        site.deploy();
        (site.source(), site)
    });
    check(&one.0).unwrap();
    check_apart(&one.0, &other.0).unwrap();
    check_changes(&one.0, |path, content| {
        one.1.put(path, content);
        one.1.deploy();
    })
    .unwrap();
}

#[test]
fn a_chunk_of_yesterday_is_found_and_nothing_else_of_it() {
    let site = Site::new();
    let old: [(&str, &[u8]); 8] = [
        ("index.html", b"old"),
        ("gone.html", b"old"),
        ("page-3f9a1c2b.html", b"old"),
        ("app.3f9a1c2b.js", b"old"),
        ("app.3f9a1c2b.js.gz", b"no gzip"),
        ("assets/index-DiwrgTda.js", b"old"),
        ("assets/index-Bx3f9_aP.css", b"old"),
        ("plain.js", b"old"),
    ];
    old.iter()
        .for_each(|(path, content)| site.put(path, Some(content)));
    let first = site.deploy();
    let source = site.source();
    old.iter().for_each(|(path, _)| site.put(path, None));
    site.put("index.html", Some(b"new"));
    site.put("app.9c2b1f3a.js", Some(b"new"));
    site.deploy();
    let check = |path: &str, expected: Result<&[u8], io::ErrorKind>| {
        let found = read(&source, path);
        assert_eq!(
            found.as_deref(),
            expected.as_ref().map(|bytes| *bytes),
            "{path}"
        );
    };
    check("index.html", Ok(b"new"));
    check("app.9c2b1f3a.js", Ok(b"new"));
    check("app.3f9a1c2b.js", Ok(b"old"));
    check("app.3f9a1c2b.js.gz", Ok(b"no gzip"));
    // What leaves a doubt is settled by what stood beside it.
    check("assets/index-DiwrgTda.js", Ok(b"old"));
    for path in ["gone.html", "page-3f9a1c2b.html", "plain.js"] {
        check(path, Err(io::ErrorKind::NotFound));
    }
    let view = source.view(WAIT).unwrap();
    assert_eq!(
        view.list(b"").unwrap(),
        [&b"app.9c2b1f3a.js"[..], b"index.html"]
    );
    assert!(view.known(b"app.3f9a1c2b.js").is_some());
    // The newest release that has it counts.
    site.put("app.3f9a1c2b.js", Some(b"newer"));
    site.deploy();
    site.put("app.3f9a1c2b.js", None);
    site.deploy();
    check("app.3f9a1c2b.js", Ok(b"newer"));
    // Of a rollback that which was current is kept.
    let mut writer = Writer::lock(&site.store(), "rollback").unwrap();
    let first = site.store().find(&first).unwrap();
    writer
        .rollback(Some(&first), "test", std::time::UNIX_EPOCH)
        .unwrap();
    check("index.html", Ok(b"old"));
    check("app.9c2b1f3a.js", Ok(b"new"));
}

#[test]
fn what_was_pruned_is_gone_for_those_who_saw_it_too() {
    let site = Site::new();
    site.put("app.3f9a1c2b.js", Some(b"old"));
    site.deploy();
    site.put("app.3f9a1c2b.js", None);
    site.put("app.9c2b1f3a.js", Some(b"new"));
    site.deploy();
    let source = site.source();
    let before = source.view(WAIT).unwrap();
    assert!(before.open(b"app.3f9a1c2b.js", WAIT).is_ok());
    let mut writer = Writer::lock(&site.store(), "prune").unwrap();
    let later = std::time::UNIX_EPOCH + Duration::from_secs(1000);
    let pruned = writer.prune(1, Duration::ZERO, "test", later).unwrap();
    assert_eq!(
        (pruned.releases.len(), pruned.blobs, pruned.bytes),
        (1, 1, 3)
    );
    let error = before.open(b"app.3f9a1c2b.js", WAIT).unwrap_err();
    assert_eq!(
        error.kind(),
        io::ErrorKind::NotFound,
        "who asks looks again"
    );
    assert_eq!(
        read(&source, "app.3f9a1c2b.js"),
        Err(io::ErrorKind::NotFound)
    );
    assert_eq!(read(&source, "app.9c2b1f3a.js").as_deref(), Ok(&b"new"[..]));
}

#[test]
fn damage_is_an_error_and_no_absence() {
    let site = Site::new();
    site.put("a.txt", Some(b"alpha"));
    site.deploy();
    let source = site.source();
    let blob = site.blob(b"alpha");
    fs::remove_file(&blob).unwrap();
    assert_eq!(read(&source, "a.txt"), Err(io::ErrorKind::InvalidData));
    fs::write(&blob, b"alphabet").unwrap();
    assert_eq!(read(&source, "a.txt"), Err(io::ErrorKind::InvalidData));
    fs::remove_file(&blob).unwrap();
    fs::create_dir(&blob).unwrap();
    assert_eq!(read(&source, "a.txt"), Err(io::ErrorKind::InvalidData));
    fs::write(site.store().path().join("current"), "nonsense").unwrap();
    assert_eq!(read(&source, "a.txt"), Err(io::ErrorKind::InvalidData));
}

#[test]
fn a_store_without_a_release_is_a_tree_that_is_not_there() {
    let site = Site::new();
    let source = site.source();
    assert_eq!(read(&source, "a.txt"), Err(io::ErrorKind::NotFound));
    site.put("a.txt", Some(b"alpha"));
    site.deploy();
    assert_eq!(read(&source, "a.txt").as_deref(), Ok(&b"alpha"[..]));
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "every look and read may wait")]
fn who_must_not_wait_is_not_kept_by_a_manifest() {
    let site = Site::new();
    site.put("a.txt", Some(b"alpha"));
    site.deploy();
    let source = site.source();
    let kind = |view: io::Result<Arc<dyn View>>| view.err().map(|error| error.kind());
    let patience = Patience::MustNotWait;
    assert_eq!(kind(source.view(patience)), Some(io::ErrorKind::WouldBlock));
    source.view(WAIT).unwrap();
    assert_eq!(kind(source.view(patience)), None);
    site.put("a.txt", Some(b"beta"));
    site.deploy();
    assert_eq!(kind(source.view(patience)), Some(io::ErrorKind::WouldBlock));
}

#[test]
fn versions_are_those_of_all_releases_the_newest_first() {
    let site = Site::new();
    let at = |seconds| {
        fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH + Duration::from_secs(seconds))
    };
    let put = |path: &str, content: &[u8], seconds| {
        site.put(path, Some(content));
        let file = fs::File::options()
            .append(true)
            .open(site.directory().join(path));
        file.unwrap().set_times(at(seconds)).unwrap();
    };
    put("js/app.3f9a1c2b.js", b"old", 1000);
    put("js/app.3f9a1c2b.css", b"other", 1000);
    put("js/deep/app.3f9a1c2b.js", b"elsewhere", 1000);
    put("js/app.plain.js", b"not kept", 1000);
    site.deploy();
    for path in [
        "js/app.3f9a1c2b.js",
        "js/app.plain.js",
        "js/deep/app.3f9a1c2b.js",
    ] {
        site.put(path, None);
    }
    put("js/app.8b1d90e4.js", b"newer", 2000);
    site.deploy();
    let view = site.source().view(WAIT).unwrap();
    let name = VersionedName {
        before: b"app.",
        after: b".js",
    };
    let versions = view.versions(b"js/app.8b1d90e4.js", name).unwrap();
    let version = |path: &str, content: &[u8]| FileVersion {
        path: path.as_bytes().to_vec(),
        sha256: *BlobDigest::of(content).as_bytes(),
        length: u64::try_from(content.len()).unwrap(),
    };
    let expected = [
        version("js/app.8b1d90e4.js", b"newer"),
        version("js/app.3f9a1c2b.js", b"old"),
    ];
    assert_eq!(versions, expected);
    for version in versions {
        assert!(view.open(&version.path, WAIT).is_ok());
    }
    let none = VersionedName {
        before: b"lib.",
        after: b".js",
    };
    assert_eq!(view.versions(b"js/lib.1.js", none), Some(vec![]));
}

#[test]
fn a_release_holds_to_what_every_source_must_whichever_is_current() {
    let [one, other] = [(); 2].map(|()| {
        let site = Site::new();
        FILES
            .iter()
            .for_each(|(path, content)| site.put(path, Some(content)));
        let id = site.deploy();
        site.put("app.3f9a1c2b.js", Some(b"newer"));
        site.put("a.txt", Some(b"other"));
        let newer = site.deploy();
        let source = Arc::new(site.source());
        let [release, newer] = [id, newer].map(|id| source.release(&id).unwrap());
        assert_eq!(read_of(&newer, "a.txt").as_deref(), Ok(&b"other"[..]));
        (release, source, site)
    });
    check(&one.0).unwrap();
    check_apart(&one.0, &other.0).unwrap();
    // What is the same in both has one identity, and what differs has not.
    let [old, new] = [&one.0 as &dyn Source, &*one.1].map(|source| source.view(WAIT).unwrap());
    let identity = |view: &Arc<dyn View>, path: &str| view.stat(path.as_bytes(), WAIT).unwrap();
    assert_eq!(identity(&old, "twin.txt"), identity(&new, "twin.txt"));
    assert_ne!(identity(&old, "a.txt"), identity(&new, "a.txt"));
    // A release has no file of another, whatever its name.
    let gone = old.stat(b"app.3f9a1c2b.js", WAIT).unwrap_err();
    assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    // One after the other, whoever was asked for before.
    one.2.put("a.txt", Some(b"third"));
    one.2.deploy();
    assert_eq!(read_of(&one.0, "a.txt").as_deref(), Ok(&b"alpha"[..]));
}

#[test]
fn what_is_no_release_is_a_tree_that_is_not_there() {
    let site = Site::new();
    let source = Arc::new(site.source());
    let name = "20200101-000000-00000000";
    let absent = source.release(name).unwrap();
    assert_eq!(read_of(&absent, "a.txt"), Err(io::ErrorKind::NotFound));
    site.put("a.txt", Some(b"alpha"));
    let id = site.deploy();
    assert_eq!(read_of(&absent, "a.txt"), Err(io::ErrorKind::NotFound));
    for wrong in [
        "",
        "..",
        "../../manifests",
        &format!("{id}x--y"),
        &id.to_uppercase().replace('0', "O"),
    ] {
        assert!(source.release(wrong).is_none(), "{wrong}");
    }
    // What was pruned is gone for those who saw it, too.
    let release = source.release(&id).unwrap();
    assert_eq!(read_of(&release, "a.txt").as_deref(), Ok(&b"alpha"[..]));
    site.put("a.txt", Some(b"beta"));
    site.deploy();
    assert_eq!(read_of(&release, "a.txt").as_deref(), Ok(&b"alpha"[..]));
    let mut writer = Writer::lock(&site.store(), "prune").unwrap();
    let later = std::time::UNIX_EPOCH + Duration::from_secs(1000);
    writer.prune(1, Duration::ZERO, "test", later).unwrap();
    assert_eq!(read_of(&release, "a.txt"), Err(io::ErrorKind::NotFound));
}
