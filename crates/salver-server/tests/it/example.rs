//! The example as people run it, over sockets.

use std::fs;
use std::net::TcpListener;

use salver_test::program::{Answer, Program, example, refuses};
use tempfile::TempDir;

fn site() -> TempDir {
    let site = TempDir::new().unwrap();
    for directory in ["private", "releases"] {
        fs::create_dir(site.path().join(directory)).unwrap();
    }
    for (name, content) in [
        ("index.html", "<h1>Hello</h1>"),
        ("private/report.txt", "a secret"),
        ("releases/2.0.txt", "two"),
    ] {
        fs::write(site.path().join(name), content).unwrap();
    }
    site
}

#[track_caller]
fn is(answer: &Answer, status: u16, text: &str) {
    assert_eq!((answer.status, answer.text()), (status, text));
}

#[test]
fn files_a_guard_and_a_handler() {
    let site = site();
    let program = Program::start(&example("program"), &[site.path().as_ref(), "0".as_ref()]);
    is(&program.get("/", &[]), 200, "<h1>Hello</h1>");
    is(&program.get("/api/hello", &[]), 200, "hello\n");
    assert_eq!(program.get("/none", &[]).status, 404);

    let latest = program.get("/latest", &[]);
    is(&latest, 200, "two");
    let said = latest.field("content-disposition");
    assert_eq!(said, "attachment; filename=\"latest.txt\"");

    let right = ("Authorization", "Bearer open sesame");
    for path in [
        "/private/report.txt",
        "/private/none",
        "/x/../private/report.txt",
    ] {
        is(&program.get(path, &[]), 401, "who are you?\n");
    }
    let report = program.get("/private/report.txt", &[right]);
    is(&report, 200, "a secret");
    let part = [
        right,
        ("Range", "bytes=2-"),
        ("If-Range", report.field("etag")),
    ];
    is(&program.get("/private/report.txt", &part), 206, "secret");
    program.interrupt();
}

#[test]
fn wrong_arguments_are_said_in_one_line() {
    let site = site();
    let site = site.path().to_str().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().port().to_string();
    let program = example("program");
    refuses(&program, &[], 2, "DIR [PORT]");
    refuses(&program, &[site, "many"], 2, "no port");
    refuses(&program, &["/does/not/exist", "0"], 2, "/does/not/exist");
    refuses(&program, &[site, &taken], 1, &taken);
}
