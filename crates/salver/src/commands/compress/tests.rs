//! Tests over directories, in this process.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use clap::Parser as _;
use salver_coding::decodes_to;

use super::*;

/// Words that no coding makes much longer than a third.
pub(super) fn text(length: usize) -> Vec<u8> {
    let lines = (0..)
        .flat_map(|n: u32| format!("line {} of {n}\n", n.wrapping_mul(2_654_435_761)).into_bytes());
    lines.take(length).collect()
}

struct Site {
    folder: tempfile::TempDir,
}

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    flags: CompressFlags,
}

impl Site {
    fn new(files: &[(&str, &[u8])]) -> Site {
        let folder = tempfile::tempdir().unwrap();
        let site = Site { folder };
        for (path, content) in files {
            site.put(path, content);
        }
        site
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn put(&self, path: &str, content: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 500);
        fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(time)
            .unwrap();
    }

    /// A run with these flags, as if by a new process.
    fn run(&self, flags: &[&str]) -> Summary {
        self.round(flags, &mut Known::default())
    }

    fn round(&self, flags: &[&str], known: &mut Known) -> Summary {
        let line = ["compress", self.folder.path().to_str().unwrap(), "--quiet"];
        let line = Line::try_parse_from(line.iter().chain(flags)).unwrap();
        let plan = plan(&line.flags).unwrap();
        round(&line.flags, &plan, &AtomicBool::new(false), known)
    }

    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut directories = vec![self.folder.path().to_owned()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    directories.push(path.clone());
                } else {
                    let path = path.strip_prefix(self.folder.path()).unwrap();
                    let separator = std::path::MAIN_SEPARATOR;
                    names.push(path.to_str().unwrap().replace(separator, "/"));
                }
            }
        }
        names.sort();
        names
    }
}

fn said(summary: &Summary) -> Vec<String> {
    let mut lines: Vec<_> = summary.findings.iter().map(line).collect();
    lines.sort();
    lines
}

#[test]
fn siblings_are_made_where_they_help() {
    let noise: Vec<u8> = {
        let coded =
            salver_coding::encode(&text(90_000), ContentCoding::Zstd, Effort::Quick, &|| true);
        coded.unwrap()
    };
    let site = Site::new(&[
        ("a/app.js", &text(9000)),
        ("index.html", &text(3000)),
        ("short.css", b"a{}"),
        ("empty.js", b""),
        ("photo.png", &text(9000)),
        ("noise", &noise),
        ("words", &text(9000)),
        (".hidden/a.js", &text(9000)),
        (".well-known/a.txt", &text(9000)),
        ("_headers", &text(9000)),
        ("backup.tar.gz", &text(9000)),
    ]);
    #[cfg(unix)]
    for (to, link) in [("app.js", "a/link.js"), ("/etc", "etc")] {
        symlink(to, site.path(link)).unwrap();
    }
    let before = site.names();
    let summary = site.run(&[]);
    assert_eq!(
        (summary.files, summary.all.files, summary.written()),
        (8, 4, 12)
    );
    assert_eq!(said(&summary), [""; 0]);
    let mut expected = before.clone();
    for path in ["a/app.js", "index.html", "words", ".well-known/a.txt"] {
        for coding in ContentCoding::CODED {
            let sibling = format!("{path}{}", coding.extension().unwrap());
            let original = fs::read(site.path(path)).unwrap();
            let mut coded = &*fs::read(site.path(&sibling)).unwrap();
            assert!(decodes_to(&mut coded, coding, &original), "{sibling}");
            expected.push(sibling);
        }
    }
    expected.sort();
    assert_eq!(site.names(), expected);
    // A second run finds all of it right.
    let summary = site.run(&[]);
    assert_eq!((summary.written(), summary.siblings()), (0, 12));
    assert_eq!(said(&site.run(&["--check"])), [""; 0]);
}

#[cfg(unix)]
#[test]
fn siblings_have_the_times_and_rights_of_their_files() {
    let site = Site::new(&[("a.js", &text(9000)), ("b.js", &text(9000))]);
    let mode = |path: &str, mode: u32| {
        fs::set_permissions(site.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("a.js", 0o640);
    mode("b.js", 0o444);
    site.run(&[]);
    for sibling in ["a.js.br", "a.js.zst", "a.js.gz", "b.js.br"] {
        let metadata = fs::metadata(site.path(sibling)).unwrap();
        let (original, _) = sibling.rsplit_once('.').unwrap();
        let original = fs::metadata(site.path(original)).unwrap();
        assert_eq!(
            metadata.modified().unwrap(),
            original.modified().unwrap(),
            "{sibling}"
        );
        assert_eq!(metadata.permissions(), original.permissions(), "{sibling}");
    }
}

#[test]
fn what_is_stale_is_made_anew_and_what_is_useless_is_named() {
    let site = Site::new(&[
        ("a.js", &text(9000)),
        ("b.js", b"short"),
        ("c.js", &text(9000)),
    ]);
    site.run(&[]);
    site.put("a.js", &text(9001));
    site.put("b.js.br", b"not brotli");
    site.put("gone.js.gz", b"whatever");
    fs::remove_file(site.path("c.js.zst")).unwrap();
    let expected = [
        "missing: c.js.zst: it would save bytes",
        "stale: a.js.br: it does not decode to its file",
        "stale: a.js.gz: it does not decode to its file",
        "stale: a.js.zst: it does not decode to its file",
        "stale: b.js.br: it does not decode to its file, of which no coding is worth it: remove it",
        "useless: gone.js.gz: its file is gone: remove it",
    ];
    assert_eq!(said(&site.run(&["--check"])), expected);
    let summary = site.run(&[]);
    assert_eq!(summary.written(), 4);
    assert_eq!(said(&summary), expected[4..]);
    assert_eq!(said(&site.run(&["--check"])), expected[4..]);
    // Of what was right nothing is made anew, unless that is asked for.
    assert_eq!(site.run(&["--anew"]).written(), 6);
}

#[test]
fn codings_types_and_lengths_are_chosen() {
    let site = Site::new(&[
        ("a.js", &text(9000)),
        ("b.png", &text(9000)),
        ("c.css", &text(9001)),
    ]);
    let summary = site.run(&[
        "--codings",
        "gzip",
        "--exclude-type",
        "text/css",
        "--include-type",
        "image/*",
    ]);
    assert_eq!(summary.written(), 2);
    assert!(site.path("b.png.gz").exists() && !site.path("a.js.br").exists());
    let summary = site.run(&["--longest", "9000"]);
    let expected =
        ["skipped: c.css: it has 9001 bytes, more than --longest: nothing is made of it"];
    assert_eq!(said(&summary), expected);
    assert_eq!(summary.written(), 2, "a.js.br and a.js.zst");
}

#[cfg(unix)]
#[test]
fn what_is_in_the_way_is_left_alone() {
    let site = Site::new(&[("a.js", &text(9000)), ("elsewhere", b"mine")]);
    symlink("elsewhere", site.path("a.js.br")).unwrap();
    fs::create_dir(site.path("a.js.gz")).unwrap();
    let summary = site.run(&[]);
    assert_eq!(summary.written(), 1);
    assert_eq!(
        said(&summary),
        [
            "skipped: a.js.br: it is a link, or no file: it is left alone",
            "skipped: a.js.gz: it is a link, or no file: it is left alone",
        ]
    );
    assert_eq!(fs::read(site.path("elsewhere")).unwrap(), b"mine");
}

#[cfg(unix)]
#[test]
fn hostile_names_are_compressed_and_said_harmlessly() {
    use std::os::unix::ffi::OsStrExt as _;

    let site = Site::new(&[]);
    let names: [&[u8]; 4] = [b"a\x1b[2J\n.js", b"\xff\xfe.js", b"--check.js", b" .js"];
    for name in names {
        fs::write(
            site.folder.path().join(std::ffi::OsStr::from_bytes(name)),
            text(9000),
        )
        .unwrap();
    }
    assert_eq!(site.run(&[]).written(), 12);
    let hostile = std::path::Path::new(std::ffi::OsStr::from_bytes(b"a\x1b[2J\n.js"));
    assert_eq!(shown(hostile), "\"a\\u{1b}[2J\\n.js\"");
    assert_eq!(shown("a/b-c.js".as_ref()), "a/b-c.js");
}

#[test]
fn leftovers_go_unless_somebody_writes_them() {
    let site = Site::new(&[
        ("a.js", b"a"),
        (".salver-compress-1", b"half"),
        ("b/.salver-compress-2", b"half"),
    ]);
    let open = fs::File::open(site.path("b/.salver-compress-2")).unwrap();
    open.lock().unwrap();
    assert_eq!(said(&site.run(&["--check"])).len(), 2);
    site.run(&[]);
    assert_eq!(site.names(), ["a.js", "b/.salver-compress-2"]);
    drop(open);
    site.run(&[]);
    assert_eq!(site.names(), ["a.js"]);
}

#[test]
fn a_round_does_what_changed_and_removes_what_this_process_made() {
    let site = Site::new(&[("a.js", &text(9000)), ("b.js", &text(9000))]);
    site.put("old.js.br", b"not ours");
    let mut known = Known::default();
    assert_eq!(site.round(&[], &mut known).written(), 6);
    fs::remove_file(site.path("a.js")).unwrap();
    site.put("b.js", &text(8000));
    let summary = site.round(&[], &mut known);
    assert_eq!((summary.written(), summary.removed), (3, 3));
    assert_eq!(
        site.names(),
        ["b.js", "b.js.br", "b.js.gz", "b.js.zst", "old.js.br"]
    );
    let results = known.results();
    assert_eq!(results.len(), 1);
    assert!(results[0].siblings.iter().all(|sibling| sibling.is_new));
}
