//! What `salver serve` has for who works on a site: a browser that opens, pages that load again, other origins, and a
//! log of each request.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, Running, site, stop};
use crate::listing::{VERSIONS, curl};

const EVENTS: &str = "/.salver/live-reload";

/// The events that a page is told in one answer: their identifier, and the paths that have changed if it says so.
fn event(stream: &str) -> (String, Option<serde_json::Value>) {
    let line = |name: &str| stream.lines().find_map(|line| line.strip_prefix(name));
    let id = line("id: ").unwrap_or_default().to_owned();
    let is_change = stream.lines().any(|line| line == "event: change");
    let data = is_change.then(|| serde_json::from_str(line("data: ").unwrap()).unwrap());
    (id, data)
}

#[test]
fn pages_have_the_script_and_hear_of_changes() {
    let page = "<!doctype html><title>t</title>";
    let root = site(&[("index.html", page), ("style.css", "a{}"), ("app.js", "1")]);
    let server = Running::start(root.path(), &["--live-reload"]);
    for version in VERSIONS {
        let (head, html) = curl(version, server.addr, "/", &[]);
        let element = "<script src=\"/.salver/live-reload.js\" async></script>";
        assert!(html.starts_with(page) && html.contains(element), "{html}");
        assert!(
            head.contains(&format!("content-length: {}", html.len())),
            "{head}"
        );
        let tag = head.lines().find_map(|line| line.strip_prefix("etag: "));
        let condition = format!("If-None-Match: {}", tag.unwrap());
        let (head, _) = curl(version, server.addr, "/", &["--header", &condition]);
        assert!(head.contains(" 304"), "{head}");
        let (_, part) = curl(version, server.addr, "/", &["--range", "0-14"]);
        assert_eq!(part, "<!doctype html>");
        assert_eq!(curl(version, server.addr, "/app.js", &[]).1, "1");
        let (head, script) = curl(version, server.addr, "/.salver/live-reload.js", &[]);
        assert!(
            head.contains("text/javascript") && script.contains("EventSource"),
            "{head}"
        );
        let (head, stream) = curl(version, server.addr, EVENTS, &[]);
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        let (id, change) = event(&stream);
        assert!(!id.is_empty() && change.is_none(), "{stream}");
        // Held back until there is something to tell.
        let style = root.path().join("style.css");
        let known = format!("Last-Event-ID: {id}");
        let (id, change) = std::thread::scope(|scope| {
            let (address, known) = (server.addr, &known);
            let wait = move || curl(version, address, EVENTS, &["--header", known]).1;
            let waiting = scope.spawn(wait);
            fs::write(style, format!("a{{}} /* {version} */")).unwrap();
            event(&waiting.join().unwrap())
        });
        assert_eq!(change.unwrap()["paths"], serde_json::json!(["/style.css"]));
        let (_, css) = curl(version, server.addr, "/style.css", &[]);
        assert!(
            css.contains(version),
            "each request looks at the disk: {css}"
        );
        // A page of another run knows nothing, and one that is older than the change has missed it.
        let other = curl(
            version,
            server.addr,
            EVENTS,
            &["--header", "Last-Event-ID: x"],
        )
        .1;
        assert_eq!(event(&other).1.unwrap()["paths"], serde_json::json!([]));
        let older = curl(version, server.addr, &format!("{EVENTS}?age=60000"), &[]).1;
        assert!(event(&older).1.is_some(), "{older}");
        assert!(!id.is_empty());
    }
    stop(server);
}

#[test]
fn a_page_that_waits_does_not_hold_up_the_end() {
    let root = site(&[("index.html", "x")]);
    let server = Running::start(
        root.path(),
        &["--live-reload", "--drain", "60s", "--answer-timeout", "60s"],
    );
    let (id, _) = event(&curl(VERSIONS[0], server.addr, EVENTS, &[]).1);
    let mut stream = server.connect();
    let request =
        |path: &str| format!("GET {path} HTTP/1.1\r\nHost: a\r\nLast-Event-ID: {id}\r\n\r\n");
    // In one piece: who has answered the first has the second.
    write!(stream, "{}{}", request("/none"), request(EVENTS)).unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 404");
    let begun = Instant::now();
    server.signal(rustix::process::Signal::TERM);
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(
        rest.contains("text/event-stream") && rest.contains("retry: 100"),
        "{rest}"
    );
    let (status, said) = server.wait();
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(18), "{said}");
}

#[test]
fn without_the_flag_there_is_no_script_and_no_event() {
    let root = site(&[("index.html", "page")]);
    let server = Running::start(root.path(), &[]);
    for version in VERSIONS {
        assert_eq!(curl(version, server.addr, "/", &[]).1, "page");
        assert!(curl(version, server.addr, EVENTS, &[]).0.contains(" 404"));
    }
    stop(server);
}

#[test]
fn pages_of_other_origins_may_read_with_cors() {
    let root = site(&[("data.json", "{}")]);
    let origin = ["--header", "Origin: https://other.example"];
    let server = Running::start(root.path(), &["--cors"]);
    for version in VERSIONS {
        let (head, _) = curl(version, server.addr, "/data.json", &origin);
        assert!(head.contains("access-control-allow-origin: *"), "{head}");
        let mut preflight = vec!["--request", "OPTIONS"];
        preflight.extend(origin);
        preflight.extend(["--header", "Access-Control-Request-Method: GET"]);
        preflight.extend(["--header", "Access-Control-Request-Headers: x-own"]);
        let (head, _) = curl(version, server.addr, "/data.json", &preflight);
        assert!(head.contains(" 204"), "{head}");
        assert!(
            head.contains("access-control-allow-methods: get, head"),
            "{head}"
        );
        assert!(head.contains("access-control-allow-headers: *"), "{head}");
    }
    stop(server);
    let server = Running::start(root.path(), &[]);
    let (head, _) = curl(VERSIONS[0], server.addr, "/data.json", &origin);
    assert!(!head.contains("access-control"), "{head}");
    stop(server);
}

/// A program called `xdg-open` that writes what it is given to a file, in a folder for `PATH`.
fn opener(folder: &Path, ends_with: i32) {
    let text = format!(
        "#!/bin/sh\nprintf %s \"$1\" > {0}/new && mv {0}/new {0}/opened\nexit {ends_with}\n",
        folder.to_str().unwrap()
    );
    let path = folder.join("xdg-open");
    fs::write(&path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_browser_is_opened_and_nothing_fails_if_it_is_not() {
    let root = site(&[("index.html", "page")]);
    let folder = tempfile::tempdir().unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.path().to_str().unwrap());
    let serve = |path: &str| {
        Running::start_with(root.path(), &["--open"], |command| {
            command.env("PATH", path);
        })
    };
    opener(folder.path(), 0);
    let server = serve(&path);
    let end = Instant::now() + PATIENCE;
    let opened = folder.path().join("opened");
    while !opened.exists() {
        assert!(Instant::now() < end, "nothing is opened");
        std::thread::sleep(Duration::from_millis(5));
    }
    let url = fs::read_to_string(opened).unwrap();
    assert_eq!(url, format!("http://{}/", server.addr));
    stop(server);
    opener(folder.path(), 3);
    let mut server = serve(&path);
    server.wait_for_line("--open: xdg-open failed: exit status: 3");
    assert_eq!(server.get("/", "").2, b"page");
    stop(server);
    let mut server = serve("/nowhere");
    server.wait_for_line("--open: xdg-open cannot be started");
    stop(server);
}

#[test]
fn each_request_and_each_refusal_is_said_with_v() {
    let root = site(&[("index.html", "page")]);
    symlink("/etc/hostname", root.path().join("out")).unwrap();
    let mut server = Running::start(root.path(), &["-v", "--revalidate", "0s"]);
    for version in VERSIONS {
        let http = if version == "--http1.1" {
            "HTTP/1.1"
        } else {
            "HTTP/2"
        };
        curl(version, server.addr, "/", &[]);
        server.wait_for_line(&format!("\"GET / {http}"));
        for _ in 0..8 {
            curl(version, server.addr, "/out?x", &[]);
        }
    }
    let said = stop(server);
    let count = |part: &str| said.lines().filter(|line| line.contains(part)).count();
    assert_eq!(count("\"GET /out?x HTTP/"), 16, "{said}");
    // More than the four that a log without it has.
    assert!(
        count("\"out\": answering as if it were not there") > 4,
        "{said}"
    );
    assert!(!said.contains("such lines a minute"), "{said}");
}
