//! Codings that are made while `salver serve` runs, over HTTP/1.1 and HTTP/2, as curl decodes them; and what is kept of
//! them in a directory.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use salver_test::cannot_be_shown;

use crate::common::curl::VERSIONS;
use crate::common::{PATIENCE, Running, check_one_line, run, site};

/// Text of this number that gets smaller.
fn text(number: usize, lines: usize) -> String {
    (0..lines)
        .map(|line| format!("{number} is the number of line {line} of the text\n"))
        .collect()
}

/// A server with what it prints at its end.
fn serve(root: &Path, args: &[&str]) -> Running {
    Running::start_with(root, &[&["--statistics"], args].concat(), |command| {
        command
            .env_remove(crate::common::NO_COMPRESS)
            .stdout(Stdio::piped());
    })
}

/// Ends the server; gives what it has counted.
fn counted(mut server: Running) -> serde_json::Value {
    let mut out = server.stdout();
    server.signal(Signal::TERM);
    let (status, said) = server.wait();
    assert_eq!(status.code(), Some(0), "{said}");
    let mut line = String::new();
    out.read_to_string(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

/// The coding of an answer and its content as curl decodes it; `None` if nobody answers.
fn try_ask(server: &Running, version: &str, path: &str, accept: &str) -> Option<(String, String)> {
    let url = format!("http://{}{path}", server.addr);
    let accept = format!("Accept-Encoding: {accept}");
    let mut command = Command::new("curl");
    command.args([
        "--silent",
        "--show-error",
        "--max-time",
        "30",
        "--noproxy",
        "*",
    ]);
    // It decodes what it is sent; the field is what the test says.
    let output = command
        .args([
            version,
            "--compressed",
            "-H",
            &accept,
            "--write-out",
            "\n%header{content-encoding}",
        ])
        .arg(url)
        .output()
        .expect("curl is needed: `make deps`");
    if !output.status.success() {
        return None;
    }
    let text = String::from_utf8(output.stdout).unwrap();
    let (content, coding) = text.rsplit_once('\n').unwrap();
    Some((coding.to_owned(), content.to_owned()))
}

fn ask(server: &Running, version: &str, path: &str, accept: &str) -> (String, String) {
    try_ask(server, version, path, accept).expect("an answer")
}

/// Asks until the answer has this coding. Whatever comes meanwhile decodes to `content`.
fn until(server: &Running, version: &str, path: &str, accept: &str, content: &str, expected: &str) {
    let end = Instant::now() + PATIENCE;
    loop {
        let (coding, got) = ask(server, version, path, accept);
        assert!(got == content, "{path} in {coding:?}");
        if coding == expected {
            return;
        }
        assert!(Instant::now() < end, "{path} never came in {expected}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn kept(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn files_come_coded_after_a_while_and_switched_off_never() {
    let content = text(1, 500);
    let root = site(&[
        ("a.js", &content),
        ("b.css", &content),
        ("c.html", &content),
    ]);
    let server = serve(root.path(), &[]);
    for (version, path) in VERSIONS.into_iter().zip(["/a.js", "/c.html"]) {
        for (accept, expected) in [
            ("br", "br"),
            ("zstd", "zstd"),
            ("gzip;q=1.0, identity; q=0.5, *;q=0", "gzip"),
            ("x-gzip", "gzip"),
            ("br, gzip;q=0.9, *;q=0.1", "br"),
        ] {
            until(&server, version, path, accept, &content, expected);
        }
        // The shortest of them, whichever that is.
        for accept in ["gzip, deflate, br, zstd", "*"] {
            let (coding, got) = ask(&server, version, path, accept);
            assert!(!coding.is_empty() && got == content, "{accept:?}");
        }
        for accept in [
            "",
            "identity",
            "deflate",
            "*;q=0, identity",
            "br;q=0",
            "gzip;q=2, ,;;,",
        ] {
            let (coding, got) = ask(&server, version, path, accept);
            assert_eq!((&*coding, got == content), ("", true), "{accept:?}");
        }
    }
    // Each was made once, and both files have one content.
    assert_eq!(counted(server)["codings_made"], 3);
    let server = serve(root.path(), &["--no-compress"]);
    for _ in 0..3 {
        let (_, head, got) = server.get("/a.js", "Accept-Encoding: br, gzip\r\n");
        assert!(got == content.as_bytes() && !head.to_ascii_lowercase().contains("vary:"));
    }
    let counts = counted(server);
    assert_eq!(
        (&counts["codings_made"], &counts["codings_waiting"]),
        (&0.into(), &0.into())
    );
}

#[test]
fn a_restart_takes_what_is_kept_and_makes_what_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("codings");
    let contents: Vec<String> = (0..6).map(|number| text(number, 300)).collect();
    let names: Vec<String> = (0..6).map(|number| format!("{number}.js")).collect();
    let files = names
        .iter()
        .zip(&contents)
        .map(|(name, content)| (&**name, &**content));
    let root = site(&files.collect::<Vec<_>>());
    let flags = ["--cache-dir", directory.to_str().unwrap()];
    let all = |server: &Running, version: &str| {
        for (name, content) in names.iter().zip(&contents) {
            until(
                server,
                version,
                &format!("/{name}"),
                "gzip",
                content,
                "gzip",
            );
        }
    };
    let server = serve(root.path(), &flags);
    all(&server, VERSIONS[0]);
    assert_eq!(counted(server)["codings_made"], 6);
    let files = kept(&directory);
    assert_eq!(files.len(), 6);
    fs::write(&files[0], b"damaged").unwrap();
    let bytes = fs::read(&files[1]).unwrap();
    fs::write(&files[1], &bytes[..bytes.len() / 2]).unwrap();
    // Two servers at once.
    let servers = [serve(root.path(), &flags), serve(root.path(), &flags)];
    all(&servers[0], VERSIONS[1]);
    all(&servers[1], VERSIONS[0]);
    let [first, second] = servers.map(counted);
    assert_eq!(
        (&first["codings_made"], &first["codings_taken"]),
        (&2.into(), &4.into())
    );
    assert_eq!(
        (&second["codings_made"], &second["codings_taken"]),
        (&0.into(), &6.into())
    );
}

#[test]
fn killed_while_it_writes_it_leaves_nothing_that_is_believed() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("codings");
    let contents: Vec<String> = (0..200).map(|number| text(number, 40)).collect();
    let names: Vec<String> = (0..200).map(|number| format!("{number}.txt")).collect();
    let files = names
        .iter()
        .zip(&contents)
        .map(|(name, content)| (&**name, &**content));
    let root = site(&files.collect::<Vec<_>>());
    let flags = [
        "--cache-dir",
        directory.to_str().unwrap(),
        "--compress-cpu",
        "100",
    ];
    for round in 0..5 {
        let server = serve(root.path(), &flags);
        for name in &names {
            ask_over_http1(&server, &format!("/{name}"));
        }
        // Some are written by now, and one may be under way.
        let end = Instant::now() + PATIENCE;
        while kept(&directory).len() < 10 + round * 20 {
            assert!(Instant::now() < end, "nothing is kept");
            std::thread::sleep(Duration::from_millis(1));
        }
        server.signal(Signal::KILL);
        server.wait();
    }
    let server = serve(root.path(), &flags);
    for (name, content) in names.iter().zip(&contents).step_by(10) {
        until(
            &server,
            VERSIONS[0],
            &format!("/{name}"),
            "gzip",
            content,
            "gzip",
        );
    }
    let counts = counted(server);
    assert!(counts["codings_taken"].as_u64().unwrap() > 0, "{counts}");
}

#[test]
fn a_reload_makes_nothing_again() {
    let content = text(4, 300);
    let folder = site(&[("root/a.js", &content)]);
    let at = |name: &str| folder.path().join(name);
    let toml = |more: &str| {
        format!(
            "root = {:?}\nport = 0\nstatistics = true\n{more}",
            at("root")
        )
    };
    fs::write(at("salver.toml"), toml("")).unwrap();
    let mut command = crate::common::salver();
    command
        .args(["serve", "-c"])
        .arg(at("salver.toml"))
        .stdout(Stdio::piped());
    let mut server = Running::spawn(command);
    let line = server.wait_for_line("://");
    server.addr = crate::common::addr_in(&line);
    until(&server, VERSIONS[0], "/a.js", "br", &content, "br");
    fs::write(at("salver.toml"), toml("dotfiles = true\n")).unwrap();
    server.signal(Signal::HUP);
    server.wait_for_line("reloaded: with another dotfiles");
    until(&server, VERSIONS[0], "/a.js", "br", &content, "br");
    // Counted since the reload.
    assert_eq!(counted(server)["codings_made"], 0);
}

/// Asks on a connection of its own, without a program.
fn ask_over_http1(server: &Running, path: &str) {
    let (status, ..) = server.get(path, "Accept-Encoding: gzip\r\n");
    assert_eq!(status, 200);
}

#[test]
fn a_full_disk_is_said_once_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("codings");
    fs::create_dir(&directory).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"])
        .arg(&directory)
        .output();
    if !mounted.is_ok_and(|mounted| mounted.status.success()) {
        return cannot_be_shown("a full disk", "this takes root, who may mount one");
    }
    let contents: Vec<String> = (0..12).map(|number| text(number * 1000, 900)).collect();
    let names: Vec<String> = (0..12).map(|number| format!("{number}.js")).collect();
    let files = names
        .iter()
        .zip(&contents)
        .map(|(name, content)| (&**name, &**content));
    let root = site(&files.collect::<Vec<_>>());
    let mut server = serve(root.path(), &["--cache-dir", directory.to_str().unwrap()]);
    for (name, content) in names.iter().zip(&contents) {
        until(
            &server,
            VERSIONS[0],
            &format!("/{name}"),
            "gzip",
            content,
            "gzip",
        );
    }
    let mut out = server.stdout();
    server.signal(Signal::TERM);
    let (status, said) = server.wait();
    let unmounted = Command::new("umount").arg(&directory).status().unwrap();
    assert!(unmounted.success());
    assert_eq!(status.code(), Some(0), "{said}");
    let lines = said.lines().filter(|line| line.contains("cannot be kept"));
    assert_eq!(lines.count(), 1, "{said}");
    let mut line = String::new();
    out.read_to_string(&mut line).unwrap();
    assert!(line.contains("\"codings_made\":12"), "{line}");
}

#[test]
fn a_directory_that_is_served_keeps_nothing() {
    let root = site(&[("a.js", "1")]);
    let inside = root.path().join("cache");
    let (root_path, inside_path) = (root.path().to_str().unwrap(), inside.to_str().unwrap());
    let arguments = |command| [command, root_path, "--cache-dir", inside_path];
    let part = "which is served: give one outside of it";
    check_one_line(&arguments("serve"), 2, &["--cache-dir", part]);
    let (code, _, said) = run(&arguments("check"));
    assert!(code != 0 && said.contains(part), "{said}");
    assert!(!inside.exists());
    // One that cannot be made is said, and the files are served.
    let file = root.path().join("a.js");
    let beside = file.join("cache");
    let other = site(&[("b.js", &text(1, 100))]);
    let server = serve(other.path(), &["--cache-dir", beside.to_str().unwrap()]);
    until(&server, VERSIONS[0], "/b.js", "br", &text(1, 100), "br");
    server.signal(Signal::TERM);
    let (_, said) = server.wait();
    assert!(said.contains("nothing is kept there"), "{said}");
}

#[test]
fn a_site_says_for_itself_whether_it_is_coded() {
    let content = text(3, 200);
    let folder = site(&[("one/a.js", &content), ("two/a.js", &content)]);
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let toml = format!(
        "[[site]]\nhosts = [\"one.test\"]\nroot = {:?}\ncompress = false\n\n[[site]]\nhosts = [\"two.test\"]\nroot = {:?}\n",
        path("one"),
        path("two")
    );
    fs::write(folder.path().join("salver.toml"), toml).unwrap();
    let mut command = crate::common::salver();
    command.args(["serve", "--port", "0", "-c", &path("salver.toml")]);
    let mut server = Running::spawn(command);
    let line = server.wait_for_line("://");
    server.addr = crate::common::addr_in(&line);
    let vary = |host: &str| {
        let url = format!("http://{}/a.js", server.addr);
        let host = format!("Host: {host}");
        let answer = crate::common::curl::curl(&["-H", &host, &url]);
        answer.field("vary")
    };
    assert_eq!(
        (&*vary("one.test"), &*vary("two.test")),
        ("", "Accept-Encoding")
    );
}

#[test]
fn a_type_that_is_none_is_refused() {
    let root = site(&[("a.js", "x")]);
    let path = root.path().to_str().unwrap();
    for flag in ["--compress-include-type", "--compress-exclude-type"] {
        let parts = [flag, "\"png\" is no media type", "type/*"];
        check_one_line(&["serve", path, flag, "png"], 2, &parts);
    }
}
