//! The access log as a person switches it on: where it goes, how it is rotated, what is refused.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::common::{PATIENCE, Running, check_one_line, run, site, stop};

/// A server whose standard output can be read.
fn serve(root: &Path, flags: &[&str]) -> Running {
    Running::start_with(root, flags, |command| {
        command.stdout(Stdio::piped());
    })
}

/// The lines of a file, once there are so many.
fn lines(path: &Path, count: usize) -> Vec<String> {
    let end = Instant::now() + PATIENCE;
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.len() >= count {
            assert_eq!(lines.len(), count, "{lines:?}");
            return lines;
        }
        assert!(Instant::now() < end, "in vain: {lines:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_file_is_opened_anew_at_sigusr1() {
    let root = site(&[("dist/index.html", "page")]);
    let path = root.path().join("access.log");
    let flags = ["--log", path.to_str().unwrap(), "--statistics"];
    let mut server = serve(&root.path().join("dist"), &flags);
    server.get("/", "User-Agent: tester\r\n");
    let line = lines(&path, 1).remove(0);
    assert!(line.contains("\"GET / HTTP/1.1\" 200 4 "), "{line}");
    assert!(line.ends_with(" \"-\" \"tester\""), "{line}");
    let old = root.path().join("access.log.1");
    fs::rename(&path, &old).unwrap();
    server.signal(Signal::USR1);
    let end = Instant::now() + PATIENCE;
    while !path.exists() {
        assert!(Instant::now() < end, "it is not opened anew");
        std::thread::sleep(Duration::from_millis(5));
    }
    server.get("/no", "");
    assert!(lines(&path, 1)[0].contains("\"GET /no HTTP/1.1\" 404 "));
    lines(&old, 1);
    let out = server.stdout();
    stop(server);
    let counted = BufReader::new(out).lines().next().unwrap().unwrap();
    assert!(counted.contains("\"log_lines\":2"), "{counted}");
    assert!(counted.contains("\"log_dropped\":0"), "{counted}");
}

#[test]
fn standard_output_gets_json() {
    let root = site(&[("index.html", "page")]);
    let flags = ["--log", "-", "--log-format", "json", "--cache-status"];
    let mut server = serve(root.path(), &flags);
    let (_, head, _) = server.get("/", "");
    assert!(head.contains("Cache-Status: salver; "), "{head}");
    let line = BufReader::new(server.stdout()).lines().next();
    let entry: serde_json::Value = serde_json::from_str(&line.unwrap().unwrap()).unwrap();
    assert_eq!(entry["url"]["path"], "/");
    stop(server);
}

#[test]
fn trusted_proxies_name_the_client() {
    let root = site(&[("dist/index.html", "page")]);
    let path = root.path().join("access.log");
    let log = ["--log", path.to_str().unwrap()];
    let flags = [&log[..], &["--trusted-proxies", "10.0.0.0/8,127.0.0.0/8"]].concat();
    let server = Running::start(&root.path().join("dist"), &flags);
    server.get("/", "X-Forwarded-For: 203.0.113.7\r\n");
    assert!(lines(&path, 1)[0].starts_with("203.0.113.7 - - ["));
    stop(server);
}

#[test]
fn what_cannot_be_meant_is_refused_before_anything_is_opened() {
    let root = site(&[("dist/index.html", "page")]);
    let dist = root.path().join("dist");
    let check = |flags: &[&str], parts: &[&str]| {
        let all = [&["check", dist.to_str().unwrap()], flags].concat();
        check_one_line(&all, 2, parts);
    };
    check(&["--log", "no/access.log"], &["--log", "no directory"]);
    check(&["--log", "-", "--log-syslog", "local"], &["two logs"]);
    check(&["--log-syslog", "loghost"], &["--log-syslog loghost"]);
    check(&["--log-format", "xml"], &["common", "json"]);
    check(
        &["--trusted-proxies", "10.0.0.1/8"],
        &["--trusted-proxies 10.0.0.1/8", "10.0.0.0/8"],
    );
    check(&["--proxy-protocol"], &["--trusted-proxies"]);
    let path = root.path().join("access.log");
    let (code, _, said) = run(&[
        "check",
        dist.to_str().unwrap(),
        "--log",
        path.to_str().unwrap(),
    ]);
    assert_eq!(code, 0, "{said}");
    assert!(!path.exists(), "checking makes no file");
}
