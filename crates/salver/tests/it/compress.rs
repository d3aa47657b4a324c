//! `salver compress` in a process of its own, judged by the programs of others: brotli, gzip and zstd.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::common::{PATIENCE, check_one_line, run, salver};

/// The programs that decode what others code, with what makes each write to standard output.
const DECODERS: [(&str, &[&str]); 3] = [
    ("br", &["brotli", "-d", "-c"]),
    ("gz", &["gzip", "-d", "-c"]),
    ("zst", &["zstd", "-d", "-c", "-q"]),
];

/// Lines that are not all the same.
fn text(lines: u32) -> String {
    let line = |n: u32| format!("line {n} says {}\n", n.wrapping_mul(2_654_435_761));
    (0..lines).map(line).collect()
}

/// A site of pages, styles and scripts.
fn site() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("assets")).unwrap();
    for (name, lines) in [
        ("index.html", 100),
        ("assets/app.js", 3000),
        ("assets/app.css", 400),
    ] {
        fs::write(root.path().join(name), text(lines)).unwrap();
    }
    fs::write(root.path().join("assets/app.js.map"), text(200)).unwrap();
    root
}

fn names(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for folder in ["", "assets"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let name = path
                    .strip_prefix(root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned();
                found.insert(name, fs::read(path).unwrap());
            }
        }
    }
    found
}

fn compress(root: &Path, flags: &[&str]) -> (i32, String, String) {
    let mut arguments = vec!["compress", root.to_str().unwrap()];
    arguments.extend(flags);
    run(&arguments)
}

#[test]
fn other_programs_decode_all_that_is_made() {
    let root = site();
    let (code, out, said) = compress(root.path(), &[]);
    assert_eq!((code, &*said), (0, ""), "{out}");
    assert!(
        out.ends_with("4 files, 4 with siblings: 12 siblings written, 0 were right\n"),
        "{out}"
    );
    for original in [
        "index.html",
        "assets/app.js",
        "assets/app.css",
        "assets/app.js.map",
    ] {
        let expected = fs::read(root.path().join(original)).unwrap();
        for (extension, program) in DECODERS {
            let coded =
                fs::File::open(root.path().join(format!("{original}.{extension}"))).unwrap();
            assert!(coded.metadata().unwrap().len() < expected.len() as u64);
            let decoded = Command::new(program[0])
                .args(&program[1..])
                .stdin(coded)
                .output();
            let decoded =
                decoded.unwrap_or_else(|error| panic!("{}: {error}: install it", program[0]));
            assert!(
                decoded.status.success(),
                "{original}.{extension}: {decoded:?}"
            );
            assert!(decoded.stdout == expected, "{original}.{extension}");
        }
    }
}

#[test]
fn the_same_files_make_the_same_siblings() {
    let (one, other) = (site(), site());
    assert_eq!(
        compress(one.path(), &["--threads", "1", "-q"]),
        (0, String::new(), String::new())
    );
    assert_eq!(compress(other.path(), &["--threads", "8", "-q"]).0, 0);
    let made = names(one.path());
    assert_eq!(made.len(), 16);
    assert!(made == names(other.path()));
    // And a second run changes none of them.
    let times = |root: &Path| -> Vec<_> {
        let files = made
            .keys()
            .map(|name| fs::metadata(root.join(name)).unwrap());
        files.map(|file| (file.ino(), file.ctime_nsec())).collect()
    };
    let before = times(one.path());
    let (code, out, _) = compress(one.path(), &[]);
    assert_eq!(code, 0);
    assert!(
        out.ends_with(": 0 siblings written, 12 were right\n"),
        "{out}"
    );
    assert_eq!(times(one.path()), before);
}

#[test]
fn times_and_rights_are_those_of_the_file() {
    let root = site();
    let original = root.path().join("index.html");
    fs::set_permissions(&original, fs::Permissions::from_mode(0o604)).unwrap();
    let time = std::time::UNIX_EPOCH + Duration::new(1_234_567_890, 123_456_000);
    fs::File::options()
        .write(true)
        .open(&original)
        .unwrap()
        .set_modified(time)
        .unwrap();
    assert_eq!(compress(root.path(), &[]).0, 0);
    for (extension, _) in DECODERS {
        let metadata = fs::metadata(root.path().join(format!("index.html.{extension}"))).unwrap();
        assert_eq!(metadata.modified().unwrap(), time, "{extension}");
        assert_eq!(metadata.permissions().mode() & 0o7777, 0o604, "{extension}");
    }
}

#[test]
fn a_check_names_what_is_wrong_and_writes_nothing() {
    let root = site();
    let before = names(root.path());
    let (code, out, said) = compress(root.path(), &["--check"]);
    assert_eq!(code, 1);
    assert!(
        out.contains("missing: assets/app.js.br: it would save bytes\n"),
        "{out}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.contains("12 siblings are missing, 0 stale, 0 useless"),
        "{said}"
    );
    assert!(names(root.path()) == before);
    assert_eq!(compress(root.path(), &["-q"]).0, 0);
    assert_eq!(
        compress(root.path(), &["--check", "-q"]),
        (0, String::new(), String::new())
    );
    fs::write(root.path().join("index.html"), text(101)).unwrap();
    fs::remove_file(root.path().join("assets/app.css")).unwrap();
    let (code, out, _) = compress(root.path(), &["--check", "-q"]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!((code, lines.len()), (1, 6), "{out}");
    let has = |part: &str| assert!(out.contains(part), "{part}: {out}");
    has("stale: index.html.br: it does not decode to its file");
    has("useless: assets/app.css.gz: its file is gone: remove it");
}

#[test]
fn json_says_what_was_saved() {
    let root = site();
    let (code, out, said) = compress(root.path(), &["--json"]);
    assert_eq!((code, &*said, out.lines().count()), (0, "", 1));
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&json["version"], &json["written"]),
        (&1.into(), &12.into())
    );
    let made = names(root.path());
    let bytes: usize = made
        .iter()
        .filter(|(name, _)| name.ends_with(".br"))
        .map(|(_, bytes)| bytes.len())
        .sum();
    assert_eq!(json["all"]["codings"]["br"]["bytes"], bytes);
    assert_eq!(json["types"]["text/javascript"]["files"], 1);
}

#[test]
fn what_cannot_be_meant_is_one_line() {
    let root = site();
    let path = root.path().to_str().unwrap();
    let file = root.path().join("index.html");
    check_one_line(&["compress", "/no/such"], 2, &["does not exist"]);
    check_one_line(
        &["compress", file.to_str().unwrap()],
        2,
        &["is no directory"],
    );
    check_one_line(
        &["compress", path, "--codings", "lzma"],
        2,
        &["\"lzma\"", "br,zstd,gzip"],
    );
    check_one_line(
        &["compress", path, "--codings", "none"],
        2,
        &["no coding is left"],
    );
    check_one_line(
        &["compress", path, "--include-type", "js"],
        2,
        &["text/html"],
    );
    check_one_line(&["compress", path, "--check", "--watch"], 2, &["--watch"]);
    check_one_line(&["compress", path, "--threads", "0"], 2, &["1 to 1024"]);
}

/// What cannot be read or written is one line each, and the others go on. Root may do all of it: then a directory
/// stands where the file was, or is to be.
#[test]
fn what_fails_is_said_and_the_others_go_on() {
    let root = site();
    let locked = root.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::write(locked.join("a.js"), text(100)).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    let unreadable = root.path().join("secret.css");
    fs::write(&unreadable, text(100)).unwrap();
    fs::set_permissions(&unreadable, fs::Permissions::from_mode(0o000)).unwrap();
    let mut command = salver();
    if rustix::process::geteuid().is_root() {
        // A user without any of root's rights, in a directory that is open to it.
        for path in [
            root.path().to_owned(),
            root.path().join("assets"),
            locked.clone(),
        ] {
            std::os::unix::fs::chown(&path, Some(65534), Some(65534)).unwrap();
        }
        let program = root.path().join(".salver");
        fs::copy(env!("CARGO_BIN_EXE_salver"), &program).unwrap();
        command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(program);
    }
    let output = command.arg("compress").arg(root.path()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let mut lines: Vec<&str> = said.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 3, "{said}");
    assert!(
        lines[0].starts_with("failed: locked/a.js.")
            && lines[0].contains("it cannot be written: permission denied"),
        "{said}"
    );
    assert!(
        lines[1].starts_with("failed: secret.css: it cannot be read: Permission denied"),
        "{said}"
    );
    assert_eq!(lines[2], "salver: 2 of them failed, as said above");
    assert!(root.path().join("assets/app.js.br").exists());
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Waits until something is so.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Kills it at the moment when it has begun a file: nothing half stands under a name that is served, and the next run
/// removes what is left and does the rest.
#[test]
fn what_is_killed_leaves_nothing_half() {
    let root = site();
    for number in 0..20 {
        fs::write(
            root.path().join(format!("assets/{number}.js")),
            text(500 + number),
        )
        .unwrap();
    }
    let whole = {
        let other = tempfile::tempdir().unwrap();
        fs::create_dir(other.path().join("assets")).unwrap();
        for (name, content) in names(root.path()) {
            fs::write(other.path().join(name), content).unwrap();
        }
        assert_eq!(compress(other.path(), &["-q"]).0, 0);
        names(other.path())
    };
    let mut command = salver();
    command
        .arg("compress")
        .arg(root.path())
        .stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    wait_until("nothing is made", || {
        names(root.path()).keys().any(|name| name.ends_with(".gz"))
    });
    child.kill().unwrap();
    child.wait().unwrap();
    // As if it had been killed in the midst of writing, whenever it was killed.
    fs::write(root.path().join("assets/.salver-compress-x"), "half").unwrap();
    for (name, content) in names(root.path()) {
        if !name.contains(".salver-compress-") {
            assert!(whole[&name] == content, "{name} is not whole");
        }
    }
    assert_eq!(
        compress(root.path(), &["-q"]),
        (0, String::new(), String::new())
    );
    assert!(names(root.path()) == whole);
}

#[test]
fn an_end_by_a_signal_leaves_nothing_behind() {
    let root = site();
    fs::write(root.path().join("large.json"), text(60_000)).unwrap();
    let mut command = salver();
    command.arg("compress").arg(root.path());
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The last to be done is the large one: what is small comes while it takes its time.
    wait_until("nothing is made", || {
        root.path().join("large.json.gz").exists()
    });
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.is_empty() || said.starts_with("salver: interrupted"),
        "{said}"
    );
    assert!(
        names(root.path())
            .keys()
            .all(|name| !name.contains(".salver-compress-"))
    );
}

#[test]
fn a_watch_goes_on_as_files_change_and_ends_by_a_signal() {
    let root = site();
    let mut command = salver();
    command
        .args(["compress", "--watch", "--json"])
        .arg(root.path());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next =
        || -> serde_json::Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["written"], 12);
    let at = |name: &str| root.path().join(name);
    // A build in place: written anew, made new, removed.
    fs::write(at("index.html"), text(120)).unwrap();
    let round = next();
    assert_eq!(round["written"], 3, "{round}");
    fs::write(at("new.js"), text(130)).unwrap();
    let round = next();
    assert_eq!(round["written"], 3, "{round}");
    fs::remove_file(at("assets/app.css")).unwrap();
    let round = next();
    assert_eq!(round["removed"], 3, "{round}");
    assert!(!at("assets/app.css.br").exists());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let all = next();
    assert_eq!(
        (&all["written"], &all["files"]),
        (&12.into(), &4.into()),
        "{all}"
    );
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!(said, "");
    assert_eq!(compress(root.path(), &["--check", "-q"]).0, 0);
}
