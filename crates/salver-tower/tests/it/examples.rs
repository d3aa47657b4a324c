//! The examples as people run them, over sockets.

use std::fs;
use std::net::TcpListener;

use salver_test::program::{Answer, Program, example, refuses};
use tempfile::TempDir;

const REPORT: &str = "a very good year";

fn site() -> TempDir {
    let site = TempDir::new().unwrap();
    fs::create_dir(site.path().join("reports")).unwrap();
    for (name, content) in [
        ("index.html", "<h1>Hello</h1>"),
        ("app.js", "run()"),
        ("terms.txt", "be kind"),
        ("reports/2026.txt", REPORT),
    ] {
        fs::write(site.path().join(name), content).unwrap();
    }
    site
}

/// Runs an example on a site, and ends it in order.
fn with(name: &str, check: impl FnOnce(&Program)) {
    let site = site();
    let program = Program::start(&example(name), &[site.path().as_ref(), "0".as_ref()]);
    check(&program);
    program.interrupt();
}

#[track_caller]
fn is(answer: &Answer, status: u16, text: &str) {
    assert_eq!((answer.status, answer.text()), (status, text));
}

#[test]
fn api() {
    with("api", |program| {
        is(&program.get("/api/health", &[]), 200, "well\n");
        let page = program.get("/", &[]);
        is(&page, 200, "<h1>Hello</h1>");
        is(&program.get("/static/", &[]), 200, "<h1>Hello</h1>");
        is(&program.get("/static/app.js", &[]), 200, "run()");
        assert_eq!(program.get("/api/none", &[]).status, 404);
        let same = program.get("/static/", &[("If-None-Match", page.field("etag"))]);
        is(&same, 304, "");
    });
}

#[test]
fn spa() {
    with("spa", |program| {
        let page = program.get("/settings/profile", &[]);
        is(&page, 200, "<h1>Hello</h1>");
        assert_eq!(page.field("content-type"), "text/html; charset=utf-8");
        assert_eq!(program.get("/missing.js", &[]).status, 404);
        is(&program.get("/api/items", &[]), 200, r#"["tray","salver"]"#);
        is(&program.get("/api/none", &[]), 404, "no such call\n");
    });
}

#[test]
fn file() {
    with("file", |program| {
        let report = program.get("/report/2026", &[]);
        is(&report, 200, REPORT);
        assert_eq!(report.field("content-disposition"), "attachment");
        assert_eq!(report.field("content-type"), "text/plain; charset=utf-8");
        let part = program.get("/report/2026", &[("Range", "bytes=-4")]);
        is(&part, 206, "year");
        let head = program.ask("HEAD", "/report/2026", &[]);
        is(&head, 200, "");
        assert_eq!(head.field("content-length"), REPORT.len().to_string());
        let none = program.get("/report/1999", &[]);
        assert_eq!((none.status, none.field("content-disposition")), (404, ""));
        is(&program.get("/terms", &[]), 200, "be kind");
        is(&program.get("/length/2026", &[]), 200, "16 bytes\n");
        is(&program.get("/length/1999", &[]), 404, "nothing of 1999\n");
    });
}

#[test]
fn private() {
    with("private", |program| {
        let path = "/download/reports/2026.txt";
        is(&program.get(path, &[]), 401, "");
        let wrong = [("Authorization", "Bearer open barley")];
        is(&program.get(path, &wrong), 401, "");
        let right = ("Authorization", "Bearer open sesame");
        let whole = program.get(path, &[right]);
        is(&whole, 200, REPORT);
        assert_eq!(whole.field("cache-control"), "private, no-cache");
        let if_range = ("If-Range", whole.field("etag"));
        let part = program.get(path, &[right, ("Range", "bytes=0-5"), if_range]);
        is(&part, 206, "a very");
        for outside in ["/download/../Cargo.toml", "/download/%2e%2e/Cargo.toml"] {
            let status = program.get(outside, &[right]).status;
            assert!(matches!(status, 400 | 404), "{outside}: {status}");
        }
    });
}

#[test]
fn wrong_arguments_are_said_in_one_line() {
    let site = site();
    let site = site.path().to_str().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().port().to_string();
    for name in [
        "api",
        "spa",
        "file",
        "private",
        "moved_app",
        "moved_docs",
        "moved_downloads",
    ] {
        let example = example(name);
        refuses(&example, &[], 2, "DIR [PORT]");
        refuses(&example, &[site, "1", "more"], 2, "DIR [PORT]");
        refuses(&example, &[site, "many"], 2, "no port");
        refuses(&example, &["/does/not/exist", "0"], 2, "/does/not/exist");
        refuses(&example, &[site, &taken], 1, &taken);
    }
}
