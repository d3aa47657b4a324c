//! What `salver serve` says to who runs it: notes at the start, and in the log what goes wrong.

use std::fs;
use std::os::unix::fs::symlink;

use crate::common::{Running, salver, site, stop};

#[test]
fn what_will_surprise_is_noted() {
    fn check(files: &[(&str, &str)], args: &[&str], notes: &[&str]) {
        let root = site(files);
        let said = stop(Running::start(root.path(), args));
        let found: Vec<_> = said
            .lines()
            .filter(|line| line.starts_with("  note"))
            .collect();
        assert_eq!(found.len(), notes.len(), "{args:?}: {said}");
        for (line, note) in found.iter().zip(notes) {
            assert!(line.contains(note), "{args:?}: {said}");
        }
    }
    let index = &[("index.html", "x")];
    check(index, &[], &[]);
    check(index, &["--spa"], &[]);
    check(&[], &[], &["/ is answered 404: no index.html"]);
    check(&[], &["--index", "a,b"], &["no a or b"]);
    check(&[("b", "")], &["--index", "a,b"], &[]);
    check(index, &["--spa=app.html"], &["app.html is not in"]);
    check(&[("app.html", "x")], &["--spa=app.html"], &[]);
    check(
        &[],
        &["--spa"],
        &["index.html is not in", "/ is answered 404"],
    );
    check(index, &["--cache-size", "256KiB"], &["files beyond 16 KiB"]);
    check(index, &["--no-cache", "--cache-size", "256KiB"], &[]);
    check(index, &["--cache-size", "1PiB"], &["more than the memory"]);
    check(
        index,
        &["--no-cache", "--prewarm"],
        &["--prewarm does nothing"],
    );
}

#[test]
fn what_strangers_and_operators_take_away_is_said_once() {
    let root = site(&[("site/index.html", "here")]);
    let site = root.path().join("site");
    symlink("/etc/passwd", site.join("outer\nlink")).unwrap();
    let mut server = Running::start(&site, &["--revalidate", "0s"]);
    for _ in 0..3 {
        assert_eq!(server.get("/outer%0Alink", "").0, 404);
        assert_eq!(server.get("/nothing", "").0, 404);
    }
    symlink("/etc", site.join("out")).unwrap();
    for name in 0..10 {
        assert_eq!(server.get(&format!("/out/{name}"), "").0, 404);
    }
    let line = server.wait_for_line("outer");
    assert!(
        line.contains("leads out of") && line.contains("outer\\nlink"),
        "{line}"
    );

    let away = root.path().join("away");
    fs::rename(&site, &away).unwrap();
    for _ in 0..3 {
        assert_eq!(server.get("/", "").0, 404);
    }
    server.wait_for_line("has gone");
    fs::rename(&away, &site).unwrap();
    assert_eq!(server.get("/", "").2, b"here");
    server.wait_for_line("is back");
    let said = stop(server);
    for part in ["outer", "has gone", "is back"] {
        assert_eq!(said.matches(part).count(), 1, "{part}: {said}");
    }
    // Who asks for many names behind one link fills no log.
    assert_eq!(said.matches("leads out of").count(), 4, "{said}");
    assert!(!said.contains("nothing"), "{said}");
}

#[test]
fn quiet_says_only_what_needs_attention() {
    let root = site(&[]);
    let mut command = salver();
    command
        .arg("serve")
        .arg(root.path())
        .args(["-q", "-p", "0"]);
    let mut server = Running::spawn(command);
    // The one thing that does: there is no index.
    server.wait_for_line("answered 404");
    let said = stop(server);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(!said.contains('\x1b'), "{said:?}");
}
