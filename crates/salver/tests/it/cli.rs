//! The built program, as a person meets it.

mod engine_flags;

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use crate::common::{Running, run, salver, site, stop};
use tempfile::TempDir;

#[test]
fn what_cannot_be_meant_is_one_line_and_exit_code_2() {
    let root = site(&[("file.txt", "x")]);
    let root = root.path().to_str().unwrap();
    let file = &format!("{root}/file.txt");
    let check = |arguments: &[&str], parts: &[&str]| {
        let (code, out, said) = run(&[&["serve"], arguments].concat());
        assert_eq!((code, &*out), (2, ""), "{arguments:?}: {said}");
        assert!(said.starts_with("salver: "), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
        for part in parts {
            assert!(said.contains(part), "{arguments:?}: {said}");
        }
    };
    check(&["--prot", "80"], &["--prot", "--port"]);
    check(&["--xyzzy"], &["--xyzzy", "salver serve --help"]);
    check(&["--port", "65536"], &["--port", "65535"]);
    check(&["--port", "-1"], &["-1", "negative"]);
    check(&["--revalidate", "-1s"], &["-1", "negative"]);
    check(&["--port", "abc"], &["--port", "0 to 65535"]);
    check(&["--port", ""], &["--port"]);
    check(&["--port"], &["--port", "value is required"]);
    check(&["--host", ""], &["--host", "127.0.0.1"]);
    check(&["--host", "no such name"], &["no such name", "127.0.0.1"]);
    check(&["--host", "127.0.0.1:80"], &["127.0.0.1:80", "give"]);
    check(&["--workers", "0"], &["--workers", "1 to 1024"]);
    check(&["--workers", "many"], &["--workers"]);
    check(&["--max-connections", "0"], &["--max-connections"]);
    check(
        &["--max-connections", "99999999999999999999"],
        &["--max-connections"],
    );
    for limit in [
        "--idle-timeout",
        "--header-timeout",
        "--send-timeout",
        "--answer-timeout",
        "--bucket-timeout",
    ] {
        check(&[limit, "0s"], &[limit, "no time"]);
        check(&[limit, "10"], &[limit, "10sec"]);
        check(&[limit, "1000years"], &[limit, "365d"]);
    }
    check(
        &["--max-connections-per-client", "0"],
        &["--max-connections-per-client"],
    );
    check(
        &["--connection-memory", "1KiB"],
        &["--connection-memory", "1MiB"],
    );
    check(&["--min-rate", "slow"], &["--min-rate"]);
    check(&["--revalidate", "soon"], &["--revalidate"]);
    check(&["--drain", "10"], &["--drain", "10sec"]);
    check(&["--sendfile-from", "soon"], &["--sendfile-from", "64MiB"]);
    check(&["--open-files", "many"], &["--open-files"]);
    check(&["--cache-size", "lots"], &["--cache-size", "64MiB"]);
    check(&["--cache-size", "9EiB"], &["--cache-size", "1PiB"]);
    check(&["--cache-size", "0"], &["--cache-size", "--no-cache"]);
    check(&["--cache-size", "1"], &["--cache-size", "64KiB"]);
    check(&["--precompressed", "brotli"], &["brotli", "br,zstd,gzip"]);
    check(&["--symlinks", "all"], &["none, beneath, any"]);
    check(&["--compat", "vercel"], &["netlify, cloudflare, none"]);
    check(&["--clean-urls", "on"], &["auto, off"]);
    check(&["--trailing-slash", "no"], &["auto, always, never"]);
    check(&["--index", "a/b"], &["--index", "index.html"]);
    check(&["--spa=../x"], &["--spa", "beneath the root"]);
    check(&["--mount", root], &["--mount", "PREFIX=DIR"]);
    check(
        &["--mount", &format!("static={root}")],
        &["--mount", "slash"],
    );
    check(&["--mount", "/static="], &["--mount", "PREFIX=DIR"]);
    check(
        &["--mount", "/static=/nowhere/at/all"],
        &["--mount /static=/nowhere", "does not exist"],
    );
    check(
        &["--mount-plain", "/static=/nowhere/at/all"],
        &["--mount-plain /static=/nowhere", "does not exist"],
    );
    check(
        &[root, "--spa", "app.html"],
        &["--spa=app.html", "no directory"],
    );
    check(
        &["--tls-self-signed", "--hsts", "300"],
        &["--hsts=300", "no directory"],
    );
    check(
        &[root, "--mount", &format!("/a/../..={root}")],
        &["/a/../..", "/static"],
    );
    check(&[root, "--mount", &format!("/={root}")], &["mounted twice"]);
    check(&["--mount-plain", root], &["--mount-plain", "PREFIX=DIR"]);
    let both = format!("/a={root}");
    check(
        &[root, "--mount", &both, "--mount-plain", &both],
        &["/a", "mounted twice"],
    );
    check(
        &[root, "--mount", &format!("/={file}")],
        &["a file is mounted"],
    );
    check(&["/nowhere/at/all"], &["/nowhere/at/all", "does not exist"]);
    check(&["/nowhere\nat all"], &["does not exist"]);
    check(&[""], &["PATH"]);
    check(
        &[file],
        &["file.txt", "is a file", "--mount /file.txt=FILE"],
    );
    check(&[&format!("{file}/x")], &["does not exist"]);
    check(&["/dev/null"], &["neither a directory nor a file"]);
    check(&[root, root], &["unexpected argument"]);
}

#[test]
fn nothing_to_do_shows_what_there_is() {
    let (code, out, said) = run(&[""; 0]);
    assert_eq!((code, &*said), (0, ""));
    for part in ["serve", "bench", "--help", "`salver DIR`"] {
        assert!(out.contains(part), "{out}");
    }
    let (code, out, said) = run(&["--version"]);
    assert_eq!((code, &*said), (0, ""));
    assert_eq!(out, format!("salver {}\n", env!("CARGO_PKG_VERSION")));
    let (code, _, said) = run(&["sreve"]);
    assert_eq!(code, 2);
    assert!(
        said.contains("`salver serve`") && said.lines().count() == 1,
        "{said}"
    );
}

#[test]
fn a_taken_port_is_said_and_no_other_is_taken() {
    let root = site(&[("index.html", "x")]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let root = root.path().to_str().unwrap();
    let (code, out, said) = run(&["serve", root, "--port", &port]);
    assert_eq!((code, &*out), (1, ""), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.starts_with("salver: ") && said.contains(&port),
        "{said}"
    );
}

#[test]
fn a_port_that_another_salver_has_is_taken_too() {
    let root = site(&[("index.html", "x")]);
    let first = Running::start(root.path(), &[]);
    let port = first.addr.port().to_string();
    let (code, _, said) = run(&["serve", root.path().to_str().unwrap(), "--port", &port]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains(&port), "{said}");
    stop(first);
}

#[test]
fn serves_the_directory_and_says_so() {
    let root = site(&[("index.html", "<h1>hello"), ("a/b.css", "p{}")]);
    let server = Running::start(root.path(), &["--workers", "2"]);
    let (status, head, content) = server.get("/", "");
    assert_eq!((status, &*content), (200, &b"<h1>hello"[..]), "{head}");
    assert!(head.contains("text/html"), "{head}");
    assert_eq!(server.get("/a/b.css", "").2, b"p{}");
    assert_eq!(server.get("/nothing", "").0, 404);
    let addr = server.addr;
    let said = stop(server);
    let expected = [
        format!("Salver {}\n", env!("CARGO_PKG_VERSION")),
        format!("http://{addr}/\n"),
        format!("/ from {:?} (index: index.html)", root.path()),
        "256 MiB".to_owned(),
        "stopping".to_owned(),
    ];
    for part in &expected {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    assert!(!said.contains("note"), "{said}");
}

#[test]
fn the_default_directory_is_the_current_one() {
    let root = site(&[("index.html", "here")]);
    let mut command = salver();
    command.current_dir(root.path()).args(["serve", "-p", "0"]);
    let mut server = Running::spawn(command);
    server.wait_for_line("http://");
    let line = server.wait_for_line("serving");
    assert!(line.contains(&format!("{:?}", root.path())), "{line}");
    stop(server);
}

#[test]
fn a_directory_is_served_without_a_word_more() {
    let root = site(&[("dist/index.html", "short")]);
    let check = |arguments: &[&str]| {
        let mut command = salver();
        command.current_dir(root.path()).args(arguments);
        let mut server = Running::spawn(command);
        server.addr = crate::common::addr_in(&server.wait_for_line("http://"));
        assert_eq!(server.get("/", "").2, b"short", "{arguments:?}");
        stop(server);
    };
    check(&["dist", "-p", "0"]);
    check(&["-p", "0", "./dist"]);
    let mut command = salver();
    let output = command
        .current_dir(root.path())
        .arg("dits")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.contains("\"dits\"") && said.contains("`salver DIR`"),
        "{said}"
    );
}

#[test]
fn a_built_site_is_served_by_its_own_files_and_their_faults_are_said() {
    let root = site(&[
        ("_headers", "/*\n  X-A: 1\n  ETag: \"mine\"\n"),
        ("_redirects", "/old/* /new/:splat 301\n"),
        ("404.html", "lost"),
        ("new/x", "here"),
    ]);
    let mut server = Running::start(root.path(), &[]);
    let (status, head, content) = server.get("/new/x", "");
    assert_eq!((status, &*content), (200, &b"here"[..]));
    assert!(head.contains("\r\nx-a: 1\r\n"), "{head}");
    assert!(head.contains("\r\nX-Content-Type-Options: nosniff\r\n"));
    let line = server.wait_for_line("/_headers");
    assert!(line.contains("line 3") && line.contains("etag"), "{line}");
    let (status, head, _) = server.get("/old/x", "");
    assert_eq!(status, 301);
    assert!(head.contains("\r\nLocation: /new/x\r\n"), "{head}");
    let (status, _, content) = server.get("/_headers", "");
    assert_eq!((status, &*content), (404, &b"lost"[..]));
    stop(server);
}

#[test]
fn a_mount_beside_the_current_directory_is_noted() {
    let root = site(&[("index.html", "here"), ("static/x", "x")]);
    let note = "/ shows the current directory";
    for (path, expected) in [(None, true), (root.path().to_str(), false)] {
        let mut command = salver();
        command
            .current_dir(root.path())
            .args(["serve", "-q", "-p", "0"]);
        let mount = format!("--mount=/static={}/static", root.path().display());
        command.args(path).arg(mount);
        let mut server = Running::spawn(command);
        server.wait_for_line("/static/ is answered 404");
        let said = stop(server);
        assert_eq!(said.contains(note), expected, "{said}");
    }
}

#[test]
fn the_environment_is_obeyed_and_the_command_line_wins() {
    let root = site(&[
        ("home.htm", "home"),
        (".secret", "dot"),
        ("index.html", "index"),
    ]);
    let check = |env: &[(&str, &str)], args: &[&str], index: &str, secret: u16, said: &str| {
        let server = Running::start_with(root.path(), args, |command| {
            command.envs(env.iter().copied());
        });
        assert_eq!(server.get("/", "").2, index.as_bytes(), "{env:?} {args:?}");
        assert_eq!(server.get("/.secret", "").0, secret, "{env:?} {args:?}");
        let all = stop(server);
        assert!(all.contains(said), "{env:?} {args:?}: {all}");
    };
    check(&[], &[], "index", 404, "256 MiB");
    check(
        &[("SALVER_INDEX", "none,home.htm")],
        &[],
        "home",
        404,
        "index: home.htm",
    );
    check(
        &[("SALVER_INDEX", "home.htm")],
        &["--index", "index.html"],
        "index",
        404,
        "",
    );
    check(&[("SALVER_DOTFILES", "true")], &[], "index", 200, "");
    check(&[("SALVER_DOTFILES", "1")], &[], "index", 200, "");
    check(&[("SALVER_DOTFILES", "0")], &[], "index", 404, "");
    check(
        &[("SALVER_DOTFILES", "0")],
        &["--dotfiles"],
        "index",
        200,
        "",
    );
    check(
        &[("SALVER_DOTFILES", "1")],
        &["--no-dotfiles"],
        "index",
        404,
        "",
    );
    check(
        &[("SALVER_NO_CACHE", "1")],
        &[],
        "index",
        404,
        "off: every request",
    );
    check(
        &[("SALVER_NO_CACHE", "1")],
        &["--cache"],
        "index",
        404,
        "256 MiB",
    );
    check(&[("SALVER_CACHE_SIZE", "8MiB")], &[], "index", 404, "8 MiB");
    check(
        &[("SALVER_PREWARM", "1")],
        &[],
        "index",
        404,
        "prewarm 2 files",
    );
    check(
        &[("SALVER_SPA", "1")],
        &[],
        "index",
        404,
        "unknown paths: index.html",
    );
}

#[test]
fn directories_and_single_files_are_mounted() {
    let root = site(&[("index.html", "root"), ("robots.txt", "root's")]);
    let other = site(&[
        ("pic.svg", "<svg/>"),
        ("one.txt", "just one"),
        ("two.txt", "not this"),
    ]);
    let elsewhere = site(&[("target.txt", "through a link")]);
    symlink(
        elsewhere.path().join("target.txt"),
        other.path().join("link.txt"),
    )
    .unwrap();
    let other_path = other.path().display();
    let server = Running::start(
        root.path(),
        &[
            "--mount",
            &format!("/img={other_path}"),
            "--mount",
            &format!("/robots.txt={other_path}/one.txt"),
            &format!("--mount=/deep/link={other_path}/link.txt"),
        ],
    );
    let check = |target: &str, status: u16, content: &str| {
        let (found, _, bytes) = server.get(target, "");
        assert_eq!(found, status, "{target}");
        if status == 200 {
            assert_eq!(bytes, content.as_bytes(), "{target}");
        }
    };
    check("/", 200, "root");
    check("/img/pic.svg", 200, "<svg/>");
    check("/robots.txt", 200, "just one");
    check("/deep/link", 200, "through a link");
    check("/img/link.txt", 404, "");
    check("/two.txt", 404, "");
    check("/deep/two.txt", 404, "");
    check("/img", 308, "");
    let said = stop(server);
    assert!(said.contains("/img/ from"), "{said}");
    assert!(said.contains("/robots.txt from"), "{said}");
    assert!(said.contains("/img/ is answered 404"), "{said}");
}

/// What `--statistics` has printed.
fn counted(root: &TempDir, args: &[&str], ask: impl FnOnce(&Running)) -> serde_json::Value {
    let mut server = Running::start_with(root.path(), args, |command| {
        command.stdout(Stdio::piped());
    });
    let mut out = server.stdout();
    ask(&server);
    stop(server);
    let mut text = String::new();
    out.read_to_string(&mut text).unwrap();
    assert_eq!(text.lines().count(), usize::from(!text.is_empty()));
    serde_json::from_str(&text).unwrap_or_default()
}

#[test]
fn a_plain_mount_is_read_for_each_request_and_the_counters_say_so() {
    let root = site(&[("a.txt", "one")]);
    let path = root.path().display();
    let plain = format!("/plain={path}");
    let file = format!("/one={path}/a.txt");
    let args = [
        "--mount-plain",
        &plain,
        "--mount-plain",
        &file,
        "--revalidate",
        "1h",
        "--statistics",
    ];
    let counters = counted(&root, &args, |server| {
        let ask = |target: &str, content: &str| {
            assert_eq!(server.get(target, "").2, content.as_bytes(), "{target}");
        };
        for _ in 0..3 {
            ask("/a.txt", "one");
        }
        for content in ["two", "six", "ten"] {
            fs::write(root.path().join("new"), content).unwrap();
            fs::rename(root.path().join("new"), root.path().join("a.txt")).unwrap();
            ask("/plain/a.txt", content);
            ask("/one", content);
            ask("/a.txt", "one");
        }
    });
    assert_eq!(counters["loads"], 7, "{counters}");
    assert_eq!(counters["hits"], 5, "{counters}");
    assert_eq!(counters["entries"], 1, "{counters}");
    let said = stop(Running::start(root.path(), &["--mount-plain", &plain]));
    assert!(
        said.contains(&format!("/plain/ from \"{path}\" (read for each request)")),
        "{said}"
    );
}

#[test]
fn nothing_is_printed_unless_it_is_asked_for() {
    let root = site(&[("a.txt", "one")]);
    let counters = counted(&root, &[], |server| {
        assert_eq!(server.get("/a.txt", "").0, 200);
    });
    assert!(counters.is_null(), "{counters}");
}

#[test]
fn a_name_is_resolved_and_every_address_of_it_served() {
    let root = site(&[("index.html", "x")]);
    let server = Running::start(root.path(), &["--host", "[127.0.0.1]"]);
    assert_eq!(server.get("/", "").0, 200);
    let server = Running::start(root.path(), &["-H", "0.0.0.0"]);
    assert!(server.addr.ip().is_loopback());
    assert_eq!(server.get("/", "").0, 200);
    assert!(stop(server).contains("other machines reach it too"));
}
