//! The program as people run it, over a socket.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use salver_tower::Assets;

const SCRIPT: &[u8] = include_bytes!("../site/app.js");

/// The program, which ends with the test.
struct Program {
    process: Child,
    address: String,
}

impl Program {
    /// In a directory that has no site.
    fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_embedded"))
            .arg("0")
            .current_dir("/")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .trim()
            .strip_prefix("http://")
            .expect("an address")
            .to_owned();
        Program { process, address }
    }

    fn get(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let mut request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        for (name, value) in fields {
            request += &format!("{name}: {value}\r\n");
        }
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream
            .write_all(format!("{request}\r\n").as_bytes())
            .unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .expect("a head");
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let status = status.and_then(|status| status.parse().ok());
        let status = status.expect("a status");
        let fields = lines.map(|line| line.split_once(": ").unwrap());
        Answer {
            status,
            fields: fields
                .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
                .collect(),
            content: bytes[end + 4..].to_vec(),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

struct Answer {
    status: u16,
    fields: BTreeMap<String, String>,
    content: Vec<u8>,
}

impl Answer {
    fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
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
    let program = Program::start();
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
}

#[test]
fn each_coding_is_sent_to_who_accepts_it() {
    let program = Program::start();
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
    let program = Program::start();
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
    let program = Program::start();
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
fn a_port_that_is_none_is_said_in_one_line() {
    let output = Command::new(env!("CARGO_BIN_EXE_embedded"))
        .arg("no-port")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.contains("no-port") && said.contains("give another"),
        "{said}"
    );
}
