//! Flags that reach the engine.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Instant;

use crate::common::{PATIENCE, Running, site};

#[test]
fn flags_reach_the_engine() {
    let root = site(&[
        ("index.html", "app"),
        ("a.js", "let a = 1;"),
        ("a.js.gz", "no gzip"),
        ("sub/in.txt", "in"),
        ("about.html", "about"),
        ("_redirects", "/a/* /a.js 301\n"),
    ]);
    symlink("a.js", root.path().join("inner.js")).unwrap();
    symlink("/etc/passwd", root.path().join("outer")).unwrap();
    let check = |args: &[&str], target: &str, status: u16| {
        let server = Running::start(root.path(), args);
        assert_eq!(server.get(target, "").0, status, "{args:?} {target}");
    };
    check(&[], "/inner.js", 200);
    check(&[], "/outer", 404);
    check(&["--symlinks", "none"], "/inner.js", 404);
    check(&["--symlinks", "any"], "/outer", 200);
    check(&[], "/some/view", 404);
    check(&[], "/_redirects", 404);
    check(&["--compat", "none"], "/_redirects", 200);
    check(&[], "/a", 301);
    check(&["--compat", "cloudflare"], "/a", 404);
    check(&["--compat", "none"], "/a/b", 404);
    check(&[], "/about", 404);
    check(&["--clean-urls", "auto"], "/about", 200);
    check(&["--clean-urls", "auto"], "/about.html", 308);
    let always = ["--clean-urls", "auto", "--trailing-slash", "always"];
    check(&always, "/about", 308);
    check(&always, "/about/", 200);
    check(&["--spa"], "/some/view", 200);
    check(&["--spa"], "/missing.js", 404);
    check(&["--spa=sub/in.txt"], "/some/view", 200);
    check(&["--precompressed", "none"], "/a.js", 200);
    check(&["--no-cache"], "/a.js", 200);
    check(&["--no-coalesce"], "/a.js", 200);
    check(&["--revalidate", "0s", "--workers", "1"], "/a.js", 200);
}

/// How many handles of files whose name ends so the server has.
fn open_files(server: &Running, name: &str) -> usize {
    let handles = fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap();
    handles
        // One may be closed meanwhile.
        .filter_map(|handle| fs::read_link(handle.ok()?.path()).ok())
        .filter(|file| file.ends_with(name))
        .count()
}

#[test]
#[cfg(target_os = "linux")]
fn flags_decide_which_files_stay_open() {
    let root = site(&[("index.html", "app")]);
    let large = fs::File::create(root.path().join("large.bin")).unwrap();
    large.set_len(2 * 1024 * 1024).unwrap();
    let check = |args: &[&str], expected: usize| {
        let server = Running::start(root.path(), args);
        for _ in 0..3 {
            assert_eq!(server.get("/large.bin", "").0, 200, "{args:?}");
        }
        // A file that does not stay open is closed after its answer has arrived.
        let began = Instant::now();
        while open_files(&server, "large.bin") != expected {
            assert!(began.elapsed() < PATIENCE, "{args:?}: not {expected}");
            std::thread::yield_now();
        }
    };
    check(&[], 1);
    check(&["--open-files", "0"], 0);
    check(&["--sendfile-from", "4MiB"], 0);
    check(&["--cache-max-file", "4MiB"], 0);
    check(&["--no-cache"], 0);
}
