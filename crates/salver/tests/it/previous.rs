//! `--keep-previous`: nobody gets a 404 for yesterday's chunk where a directory is replaced.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Instant;

use rustix::process::Signal;

use crate::common::curl::{Answer, VERSIONS, curl};
use crate::common::{PATIENCE, Running, check_one_line, site, stop};

const CHUNK: &str = "assets/app.3f9a1c2b.js";

const FILES: [(&str, &str); 5] = [
    ("index.html", "one"),
    ("old.html", "old"),
    ("plain.js", "plain"),
    ("page.3f9a1c2b.html", "page"),
    (CHUNK, "old code"),
];

fn get(server: &Running, version: &str, path: &str, more: &[&str]) -> Answer {
    let url = format!("http://{}/{path}", server.addr);
    curl(&[&[version, &*url], more].concat())
}

/// Waits until a path has this status.
fn until(server: &Running, path: &str, status: u16) {
    let since = Instant::now();
    loop {
        let answer = get(server, VERSIONS[0], path, &[]);
        if answer.status == status {
            return;
        }
        assert!(since.elapsed() < PATIENCE, "{path}: {answer:?}");
        std::thread::yield_now();
    }
}

/// The chunk is answered as it was, and nothing else of before is.
fn check_kept(server: &Running, before: &Answer) {
    for version in VERSIONS {
        // Twice, the second time from the cache.
        for _ in 0..2 {
            let after = get(server, version, CHUNK, &[]);
            assert_eq!(
                (after.status, &*after.content),
                (200, "old code"),
                "{version}"
            );
            for field in ["etag", "cache-control", "last-modified", "content-type"] {
                assert_eq!(after.field(field), before.field(field), "{version} {field}");
            }
        }
        let tag = format!("If-None-Match: {}", before.field("etag"));
        assert_eq!(get(server, version, CHUNK, &["--header", &tag]).status, 304);
        let part = get(server, version, CHUNK, &["--range", "4-7"]);
        assert_eq!((part.status, &*part.content), (206, "code"));
        for path in ["old.html", "plain.js", "page.3f9a1c2b.html", "assets/"] {
            assert_eq!(
                get(server, version, path, &[]).status,
                404,
                "{version} {path}"
            );
        }
    }
}

/// Writes the site of the next day in place of what is there.
fn replace(root: &Path) {
    fs::remove_dir_all(root).unwrap();
    fs::create_dir(root).unwrap();
    fs::write(root.join("index.html"), "two").unwrap();
}

#[test]
fn an_emptied_directory_is_answered_for_yesterdays_pages() {
    for in_directory in [false, true] {
        let (folder, kept) = (site(&[]), site(&[]));
        let root = folder.path().join("dist");
        let write = || {
            for (path, content) in FILES {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
        };
        write();
        let kept = kept.path().join("cache");
        let mut flags = vec!["--keep-previous", "1h", "--revalidate", "100ms"];
        if in_directory && cfg!(feature = "compress") {
            flags.extend(["--cache-dir", kept.to_str().unwrap(), "--sandbox", "on"]);
        }
        let mut server = Running::start(&root, &flags);
        server.wait_for_line("files that are kept: 1");
        let before = get(&server, VERSIONS[0], CHUNK, &[]);
        assert!(
            before.field("cache-control").contains("immutable"),
            "{before:?}"
        );
        replace(&root);
        until(&server, "old.html", 404);
        until(&server, "page.3f9a1c2b.html", 404);
        until(&server, "plain.js", 404);
        check_kept(&server, &before);
        server.wait_for_line("gone: 1");
        check_kept(&server, &before);
        if in_directory && cfg!(feature = "compress") {
            // Another process has it, too.
            stop(server);
            server = Running::start(&root, &flags);
            until(&server, CHUNK, 200);
            check_kept(&server, &before);
        }
        // What is there again is what counts.
        write();
        fs::write(root.join(CHUNK), "other code").unwrap();
        let since = Instant::now();
        while get(&server, VERSIONS[0], CHUNK, &[]).content != "other code" {
            assert!(since.elapsed() < PATIENCE);
        }
        stop(server);
    }
}

#[test]
fn a_switched_link_and_a_reload_lose_nothing() {
    let folder = site(&[
        ("two/index.html", "two"),
        ("mounted/m.9c2b1f3a.css", "a {}"),
    ]);
    for (path, content) in FILES {
        let path = folder.path().join("one").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    symlink("one", folder.path().join("current")).unwrap();
    let write = |more: &str| {
        let text = format!(
            "{more}[cache]\nrevalidate = '100ms'\nkeep-previous = '1h'\n[[site]]\nroot = 'current'\n\
             [[site.mount]]\nprefix = '/m'\npath = 'mounted'\n"
        );
        fs::write(folder.path().join("salver.toml"), text).unwrap();
    };
    write("");
    let mut server = Running::by_file(folder.path(), &[]);
    for _ in 0..2 {
        server.wait_for_line("files that are kept: 1");
    }
    let before = get(&server, VERSIONS[0], CHUNK, &[]);
    symlink("two", folder.path().join("next")).unwrap();
    fs::rename(folder.path().join("next"), folder.path().join("current")).unwrap();
    fs::remove_dir_all(folder.path().join("one")).unwrap();
    fs::remove_file(folder.path().join("mounted/m.9c2b1f3a.css")).unwrap();
    until(&server, "old.html", 404);
    until(&server, "page.3f9a1c2b.html", 404);
    until(&server, "plain.js", 404);
    check_kept(&server, &before);
    assert_eq!(
        get(&server, VERSIONS[0], "m/m.9c2b1f3a.css", &[]).content,
        "a {}"
    );
    // With other settings of its site, and then with others of the server alone.
    for more in [
        "dotfiles = true\n",
        "dotfiles = true\ndrain = '3s'\n",
        "dotfiles = false\n",
    ] {
        write(more);
        server.signal(Signal::HUP);
        server.wait_for_line("reloaded: with another");
        check_kept(&server, &before);
    }
    stop(server);
}

#[test]
fn nothing_is_kept_unless_that_is_asked_for() {
    let folder = site(&FILES);
    let server = Running::start(folder.path(), &["--revalidate", "0s"]);
    assert_eq!(get(&server, VERSIONS[0], CHUNK, &[]).status, 200);
    fs::remove_file(folder.path().join(CHUNK)).unwrap();
    until(&server, CHUNK, 404);
    stop(server);
    // For a while, if that is what is asked for.
    fs::write(folder.path().join(CHUNK), "old code").unwrap();
    let flags = ["--revalidate", "0s", "--keep-previous", "1s"];
    let mut server = Running::start(folder.path(), &flags);
    server.wait_for_line("files that are kept: 1");
    fs::remove_file(folder.path().join(CHUNK)).unwrap();
    until(&server, CHUNK, 404);
    stop(server);
    let root = folder.path().to_str().unwrap();
    check_one_line(
        &["serve", root, "--keep-previous", "0s"],
        2,
        &["--keep-previous"],
    );
    check_one_line(
        &["serve", root, "--keep-previous", "7"],
        2,
        &["--keep-previous"],
    );
    let small = ["--keep-previous", "1h", "--keep-previous-size", "3B"];
    fs::write(folder.path().join(CHUNK), "old code").unwrap();
    let mut server = Running::start(folder.path(), &small);
    server.wait_for_line("not all that a deploy removes is kept");
    stop(server);
}
