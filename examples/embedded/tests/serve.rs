//! The program as people run it, over a socket.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

use std::io::Read;
use std::net::TcpListener;
use std::path::Path;

use salver_test::program::{Program, refuses};
use salver_tower::Assets;

const SCRIPT: &[u8] = include_bytes!("../site/app.js");

const PROGRAM: &str = env!("CARGO_BIN_EXE_embedded");

/// In a directory that has no site.
fn start() -> Program {
    Program::start(Path::new(PROGRAM), &["0".as_ref()])
}

fn decode(content: &[u8], coding: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    match coding {
        "br" => drop(
            brotli::Decompressor::new(content, 4096)
                .read_to_end(&mut bytes)
                .unwrap(),
        ),
        "zstd" => bytes = zstd::decode_all(content).unwrap(),
        "gzip" => drop(
            flate2::read::GzDecoder::new(content)
                .read_to_end(&mut bytes)
                .unwrap(),
        ),
        _ => bytes = content.to_vec(),
    }
    bytes
}

#[test]
fn the_site_is_in_the_program() {
    let program = start();
    let page = program.get("/", &[]);
    assert_eq!(
        (page.status, page.field("content-type")),
        (200, "text/html; charset=utf-8")
    );
    assert_eq!(page.content, include_bytes!("../site/index.html"));
    assert_eq!(program.get("/api/health", &[]).content, b"well\n");
    for path in ["/none.js", "/site/app.js", "/../Cargo.toml", "/.git/config"] {
        assert!(matches!(program.get(path, &[]).status, 400 | 404), "{path}");
    }
    program.interrupt();
}

/// The program asks for its site in an async function, which the compiler splits into several.
#[test]
fn each_file_is_in_the_program_once() {
    let program = std::fs::read(PROGRAM).unwrap();
    let begins = program.windows(4).enumerate();
    let begins = begins.filter(|(_, bytes)| *bytes == &SCRIPT[..4]);
    let copies = begins.filter(|(at, _)| program[*at..].starts_with(SCRIPT));
    assert_eq!(copies.count(), 1);
}

#[test]
fn each_coding_is_sent_to_who_accepts_it() {
    let program = start();
    let mut tags = Vec::new();
    for coding in ["br", "zstd", "gzip", ""] {
        let answer = program.get("/app.js", &[("Accept-Encoding", coding)]);
        assert_eq!(
            (answer.status, answer.field("content-encoding")),
            (200, coding)
        );
        assert_eq!(answer.field("vary"), "Accept-Encoding");
        assert_eq!(decode(&answer.content, coding), SCRIPT);
        assert_eq!(answer.content.len() < SCRIPT.len(), !coding.is_empty());
        tags.push(answer.field("etag").to_owned());
    }
    tags.sort();
    tags.dedup();
    assert_eq!(tags.len(), 4, "each has its own entity tag");
    let best = program.get("/app.js", &[("Accept-Encoding", "gzip, deflate, br, zstd")]);
    assert_eq!(best.field("content-encoding"), "br");
}

#[test]
fn conditions_and_ranges_are_as_ever() {
    let program = start();
    let whole = program.get("/app.js", &[]);
    let tag = whole.field("etag");
    let same = program.get("/app.js", &[("If-None-Match", tag)]);
    assert_eq!((same.status, &*same.content), (304, &b""[..]));
    let since = program.get(
        "/app.js",
        &[("If-Modified-Since", whole.field("last-modified"))],
    );
    assert_eq!(since.status, 304);
    let part = program.get("/app.js", &[("Range", "bytes=3-6"), ("If-Range", tag)]);
    assert_eq!((part.status, &*part.content), (206, &SCRIPT[3..7]));
    let beyond = program.get("/app.js", &[("Range", "bytes=100000-")]);
    assert_eq!(beyond.status, 416);
}

#[tokio::test]
async fn entity_tags_are_those_of_the_site_on_disk() {
    let program = start();
    let disk = Assets::new(concat!(env!("CARGO_MANIFEST_DIR"), "/site")).unwrap();
    for path in ["index.html", "app.js", "style.css"] {
        let (method, fields) = (http::Method::GET, http::HeaderMap::new());
        let from_disk = disk.file(path, &method, &fields).await;
        let tag = from_disk.headers()["etag"].to_str().unwrap();
        assert_eq!(
            program.get(&format!("/{path}"), &[]).field("etag"),
            tag,
            "{path}"
        );
    }
}

#[test]
fn wrong_arguments_are_said_in_one_line() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().port().to_string();
    let program = Path::new(PROGRAM);
    refuses(program, &["no-port"], 2, "no-port");
    refuses(program, &["1", "2"], 2, "[PORT]");
    refuses(program, &[&taken], 1, &taken);
}
