//! Tests of a directory's result, without Cargo around it.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use salver_assets::{ContentCoding, Symlinks};

use crate::tree::epoch;
use crate::{Error, Summary, Tree};
use salver_coding::{Effort, encode};

/// A directory, and where the build writes.
struct Site {
    temp: tempfile::TempDir,
}

impl Site {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let site = Site { temp };
        fs::create_dir(site.root()).unwrap();
        for (path, content) in files {
            site.put(path, content);
        }
        site
    }

    fn root(&self) -> PathBuf {
        self.temp.path().join("site")
    }

    fn out(&self) -> PathBuf {
        self.temp.path().join("out")
    }

    fn put(&self, path: &str, content: &[u8]) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(at)
            .unwrap();
    }

    fn tree(&self) -> Tree {
        Tree::new(self.root())
    }

    fn build(&self, tree: &Tree) -> (Summary, Vec<String>) {
        tree.write(&self.out(), None).unwrap()
    }

    /// The Rust that was written.
    fn text(&self) -> String {
        fs::read_to_string(self.out().join("site.rs")).unwrap()
    }

    /// The paths of the program's files.
    fn paths(&self) -> Vec<String> {
        let text = self.text();
        let paths = text.lines().filter_map(|line| line.split_once("path: \""));
        paths
            .map(|(_, rest)| rest.split('"').next().unwrap().to_owned())
            .collect()
    }
}

fn text(length: usize) -> Vec<u8> {
    let words = ["tray ", "file ", "served ", "salver\n"];
    let numbers = (0..).map(|n: usize| words[(n * n + n / 7) % 4]);
    numbers.flat_map(str::bytes).take(length).collect()
}

fn noise(length: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn siblings_are_made_where_they_are_worth_it() {
    let (js, photo) = (text(20_000), noise(20_000));
    let site = Site::new(&[
        ("index.html", &text(500)),
        ("a/app.js", &js),
        ("a/photo.png", &photo),
        ("tiny.txt", b"tiny"),
        ("empty", b""),
        ("archive.gz", &js),
    ]);
    let (summary, warnings) = site.build(&site.tree());
    let expected = [
        "a/app.js",
        "a/app.js.br",
        "a/app.js.gz",
        "a/app.js.zst",
        "a/photo.png",
        "archive.gz",
        "empty",
        "index.html",
        "index.html.br",
        "index.html.gz",
        "index.html.zst",
        "tiny.txt",
    ];
    assert_eq!(site.paths(), expected);
    assert_eq!((summary.files, warnings), (12, vec![]));
    // The two short ones are tried, too.
    assert_eq!(summary.compressed, 12);
    site.build(&site.tree().codings([ContentCoding::Gzip]));
    assert_eq!(site.paths().len(), 8);
    site.build(&site.tree().codings([]));
    assert_eq!(site.paths().len(), 6);
}

#[test]
fn what_has_not_changed_is_not_compressed_again() {
    let site = Site::new(&[("a.js", &text(9000)), ("b.js", &text(8000))]);
    assert_eq!(site.build(&site.tree()).0.compressed, 6);
    let first = site.text();
    assert_eq!(site.build(&site.tree()).0.compressed, 0);
    assert_eq!(site.text(), first);
    // Another name, the same bytes.
    site.put("c.js", &text(9000));
    assert_eq!(site.build(&site.tree()).0.compressed, 0);
    site.put("a.js", &text(9001));
    assert_eq!(site.build(&site.tree()).0.compressed, 3);
    // A build that was killed in the midst of writing, say.
    let stored = fs::read_dir(site.out().join("site")).unwrap();
    for entry in stored {
        let path = entry.unwrap().path();
        if path.extension().is_some() {
            let bytes = fs::read(&path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }
    }
    assert_eq!(site.build(&site.tree()).0.compressed, 9, "three contents");
    fs::remove_file(site.root().join("a.js")).unwrap();
    fs::remove_file(site.root().join("c.js")).unwrap();
    site.build(&site.tree());
    let stored = fs::read_dir(site.out().join("site")).unwrap().count();
    assert_eq!(stored, 4, "one file and its siblings: the rest has gone");
}

#[test]
fn the_same_files_make_the_same_program() {
    let files = [("b.js", &*text(9000)), ("a/z", b"z"), ("a-b", b"x")];
    let (one, other) = (Site::new(&files), Site::new(&files));
    one.build(&one.tree());
    other.build(&other.tree());
    assert_eq!(one.text(), other.text());
    assert!(one.text().contains("modified_unix_seconds: 1000000000,"));
    let place = one.temp.path().to_str().unwrap().to_owned();
    assert!(!one.text().contains(&place), "nothing of the machine");
    one.tree().write(&one.out(), Some(5)).unwrap();
    assert_eq!(one.text(), other.text().replace(": 1000000000,", ": 5,"));
    assert_eq!(
        one.paths(),
        ["a-b", "a/z", "b.js", "b.js.br", "b.js.gz", "b.js.zst"]
    );
}

#[test]
fn siblings_that_are_there_are_taken_if_they_fit() {
    let js = text(9000);
    let gz = {
        use std::io::Write;
        let fast = flate2::Compression::fast();
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), fast);
        encoder.write_all(&js).unwrap();
        encoder.finish().unwrap()
    };
    let stale = encode(&text(8999), ContentCoding::Brotli, Effort::Best, &|| true).unwrap();
    let site = Site::new(&[("a.js", &js), ("a.js.gz", &gz), ("a.js.br", &stale)]);
    let (summary, warnings) = site.build(&site.tree());
    assert_eq!(summary.compressed, 2, "Brotli and Zstandard");
    assert_eq!(site.paths(), ["a.js", "a.js.br", "a.js.gz", "a.js.zst"]);
    let stored: Vec<Vec<u8>> = fs::read_dir(site.out().join("site"))
        .unwrap()
        .map(|entry| fs::read(entry.unwrap().path()).unwrap())
        .collect();
    assert!(stored.contains(&gz) && !stored.contains(&stale));
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].contains("a.js.br\": passed over, it does not decode"),
        "{warnings:?}"
    );
}

#[cfg(unix)]
#[test]
fn the_rules_of_the_server_hold() {
    let site = Site::new(&[
        (".env", b"secret"),
        (".git/config", b"secret"),
        (".well-known/security.txt", b"contact"),
        ("real/a.txt", b"a"),
    ]);
    let outside = site.temp.path().join("outside");
    fs::write(&outside, "outside").unwrap();
    symlink("real", site.root().join("link")).unwrap();
    symlink("real/a.txt", site.root().join("b.txt")).unwrap();
    symlink(&outside, site.root().join("escape")).unwrap();
    symlink("nowhere", site.root().join("dangling")).unwrap();
    let (_, warnings) = site.build(&site.tree());
    let public = [
        ".well-known/security.txt",
        "b.txt",
        "link/a.txt",
        "real/a.txt",
    ];
    assert_eq!(site.paths(), public);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    site.build(&site.tree().symlinks(Symlinks::None));
    assert_eq!(site.paths(), [public[0], public[3]]);
    fs::remove_file(site.root().join("dangling")).unwrap();
    let (_, warnings) = site.build(&site.tree().symlinks(Symlinks::Any).dotfiles());
    assert_eq!(warnings, [""; 0]);
    let all = [
        ".env",
        ".git/config",
        public[0],
        public[1],
        "escape",
        public[2],
        public[3],
    ];
    assert_eq!(site.paths(), all);
}

#[test]
fn errors_say_what_where_and_what_to_do() {
    let check = |result: Result<(Summary, Vec<String>), Error>, parts: &[&str]| {
        let error = result.unwrap_err();
        let text = error.to_string();
        assert_eq!(text, format!("{error:?}"));
        assert!(!text.contains('\n'), "{text}");
        for part in parts {
            assert!(text.contains(part), "{text:?} lacks {part:?}");
        }
    };
    let build = |site: &Site, tree: Tree| tree.write(&site.out(), None);
    let site = Site::new(&[("a", b"a")]);
    check(
        build(&site, Tree::new("no/such")),
        &["\"no/such\"", "no such directory", "build.rs"],
    );
    check(
        build(&site, Tree::new(site.root().join("a"))),
        &["no directory"],
    );
    check(
        build(&site, site.tree().name("../x")),
        &["\"../x\"", "Tree::name"],
    );
    check(build(&site, Tree::new("..")), &["Tree::name"]);
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let odd = site.root().join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
        fs::write(&odd, "x").unwrap();
        check(
            build(&site, site.tree()),
            &["caf\\xE9", "not UTF-8", "rename"],
        );
        fs::remove_file(odd).unwrap();
        symlink(".", site.root().join("circle")).unwrap();
        check(
            build(&site, site.tree()),
            &["site/circle", "leads back", "remove it"],
        );
        fs::remove_file(site.root().join("circle")).unwrap();
    }
    let file = site.out().join("file");
    fs::create_dir_all(site.out()).unwrap();
    fs::write(&file, "").unwrap();
    let place = format!("{:?}", Path::new("out").join("file").join("site"));
    check(site.tree().write(&file, None), &[place.trim_matches('"')]);
    assert!(
        epoch("yesterday")
            .unwrap_err()
            .to_string()
            .contains("\"yesterday\"")
    );
    assert_eq!(epoch("12"), Ok(12));
}

#[test]
fn an_empty_directory_is_warned_of() {
    let site = Site::new(&[]);
    let (summary, warnings) = site.build(&site.tree());
    assert_eq!((summary, warnings.len()), (Summary::default(), 1));
    let empty = "[EmbeddedFile; 0] = [\n];\nEmbeddedSource::new(&FILES)\n}\n";
    assert!(site.text().ends_with(empty));
    let given = Path::new("x").join(&*site.root().to_string_lossy());
    assert!(warnings[0].contains(&*given.file_name().unwrap().to_string_lossy()));
}

#[test]
fn what_is_read_from_disk_is_named_and_not_compressed() {
    let site = Site::new(&[("a.js", &b"a line of text\n".repeat(100))]);
    site.tree()
        .symlinks(Symlinks::None)
        .write_on_disk(&site.out())
        .unwrap();
    let text = site.text();
    let directory = format!("EmbeddedDirectory::new({:?}, Symlinks::None)", site.root());
    assert!(
        text.contains(&directory) && !text.contains("include_bytes"),
        "{text}"
    );
    assert_eq!(fs::read_dir(site.out().join("site")).unwrap().count(), 0);
    fs::remove_dir_all(site.root()).unwrap();
    let error = site.tree().write_on_disk(&site.out()).unwrap_err();
    assert!(error.to_string().contains("site"), "{error}");
}
