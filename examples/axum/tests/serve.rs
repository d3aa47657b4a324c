//! The program as people run it, asked by curl over HTTP/1.1 and HTTP/2.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use salver_test::program::{Program, refuses};
use salver_test::status_kib;
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_axum-app");

/// How curl is asked to speak each version.
const VERSIONS: [&str; 2] = ["--http1.1", "--http2-prior-knowledge"];

fn start(site: &Path) -> Program {
    Program::start(Path::new(PROGRAM), &[site.as_ref(), "0".as_ref()])
}

/// curl, which fails where an answer is no success, speaking a version.
fn curl(version: &str) -> Command {
    let mut curl = Command::new("curl");
    curl.args([
        "--silent",
        "--show-error",
        "--fail",
        "--max-time",
        "300",
        version,
    ]);
    curl
}

/// What curl prints.
fn said(curl: &mut Command) -> String {
    let output = curl.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// curl listening; ended with the test.
struct Listener(Child, BufReader<std::process::ChildStdout>);

impl Listener {
    fn new(version: &str, url: &str) -> Self {
        let mut curl = curl(version);
        let mut child = curl
            .args(["--no-buffer", url])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Listener(child, lines)
    }

    /// The next line that says something.
    fn line(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(
                self.1.read_line(&mut line).unwrap() > 0,
                "the events have ended"
            );
            if !line.trim().is_empty() {
                return line.trim_end().to_owned();
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn json_events_and_files_side_by_side() {
    let site = tempfile::tempdir().unwrap();
    let long: Vec<u8> = (0..3_000_000_u32).map(|n| n.to_le_bytes()[1]).collect();
    std::fs::write(site.path().join("index.html"), "<h1>Hello</h1>").unwrap();
    std::fs::write(site.path().join("long.bin"), &long).unwrap();
    std::fs::create_dir(site.path().join("api")).unwrap();
    std::fs::write(site.path().join("api/secret"), "not a route").unwrap();
    let program = start(site.path());
    let at = |path: &str| format!("http://{}{path}", program.address());
    for version in VERSIONS {
        let hello = parsed(&said(curl(version).arg(at("/api/hello/you"))));
        assert_eq!(hello["hello"], "you");
        assert!(
            hello["from"].as_str().unwrap().starts_with("127.0.0.1:"),
            "{hello}"
        );
        let mut listener = Listener::new(version, &at("/api/events"));
        assert_eq!(listener.line(), ": begun");
        for bytes in [0, 5, 300_000] {
            let sent = site.path().join("sent");
            std::fs::write(&sent, vec![b'x'; bytes]).unwrap();
            let answer = said(
                curl(version)
                    .arg("--upload-file")
                    .arg(&sent)
                    .arg(at("/api/uploads/a")),
            );
            let upload = json!({ "name": "a", "bytes": bytes });
            assert_eq!(parsed(&answer), upload);
            // It is told before anything else happens.
            assert_eq!(listener.line(), "event: upload");
            let told = listener.line();
            assert_eq!(parsed(told.strip_prefix("data: ").unwrap()), upload);
        }
        // Files by the engine: conditions, ranges, and none of them where the application is.
        assert_eq!(said(curl(version).arg(at("/"))), "<h1>Hello</h1>");
        let page = program.get("/", &[]);
        let same = format!("If-None-Match: {}", page.field("etag"));
        let code = ["--output", "/dev/null", "--write-out", "%{http_code}"];
        assert_eq!(
            said(
                curl(version)
                    .args(code)
                    .args(["--header", &same])
                    .arg(at("/"))
            ),
            "304"
        );
        let part = site.path().join("part");
        let range = ["--range", "2000000-2000009", "--output"];
        said(curl(version).args(range).arg(&part).arg(at("/long.bin")));
        assert_eq!(std::fs::read(&part).unwrap(), &long[2_000_000..2_000_010]);
        let whole = site.path().join("whole");
        said(
            curl(version)
                .arg("--output")
                .arg(&whole)
                .arg(at("/long.bin")),
        );
        assert!(std::fs::read(&whole).unwrap() == long);
    }
    assert_eq!(program.get("/api/secret", &[]).status, 404);
    assert_eq!(program.ask("POST", "/api/hello/you", &[]).status, 405);
    program.interrupt();
}

#[test]
fn an_upload_of_a_gibibyte_needs_little_memory() {
    let site = tempfile::tempdir().unwrap();
    let large = site.path().join("large");
    let length = 1u64 << 30;
    // It takes no room on the disk.
    File::create(&large).unwrap().set_len(length).unwrap();
    let program = start(site.path());
    for version in VERSIONS {
        let to = format!("http://{}/api/uploads/large", program.address());
        let answer = said(curl(version).arg("--upload-file").arg(&large).arg(to));
        assert_eq!(parsed(&answer), json!({ "name": "large", "bytes": length }));
    }
    let most = status_kib(program.id(), "VmHWM");
    assert!(most < 64 * 1024, "{most} KiB");
    program.interrupt();
}

/// A client of the chat, over HTTP/1.1.
struct Talker(BufReader<TcpStream>);

impl Talker {
    fn new(address: &str) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let offer = "GET /api/chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                     Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        stream.write_all(offer.as_bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(stream.read_line(&mut head).unwrap() > 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        // RFC 6455 section 1.3 has this example.
        assert!(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
        let mut talker = Talker(stream);
        // It is pinged once it is told what others say.
        assert_eq!(talker.frame(), (0x89, vec![]));
        talker
    }

    /// Says a text, masked by zeros.
    fn say(&mut self, text: &str) {
        let length = 0x80 | u8::try_from(text.len()).unwrap();
        let frame = [&[0x81, length, 0, 0, 0, 0], text.as_bytes()].concat();
        self.0.get_mut().write_all(&frame).unwrap();
    }

    /// The next frame: its first byte, and what is in it.
    fn frame(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 2];
        self.0.read_exact(&mut head).unwrap();
        let mut content = vec![0; usize::from(head[1])];
        self.0.read_exact(&mut content).unwrap();
        (head[0], content)
    }
}

#[test]
fn what_one_says_in_the_chat_all_are_told() {
    let site = tempfile::tempdir().unwrap();
    let program = start(site.path());
    let mut all: Vec<_> = (0..3).map(|_| Talker::new(program.address())).collect();
    for speaker in 0..3 {
        all[speaker].say(&format!("I am {speaker}"));
        for talker in &mut all {
            let said = format!("I am {speaker}").into_bytes();
            assert_eq!(talker.frame(), (0x81, said));
        }
    }
    drop(all);
    program.interrupt();
}

#[test]
fn wrong_arguments_are_said_in_one_line() {
    let program = Path::new(PROGRAM);
    refuses(program, &[], 2, "DIR [PORT]");
    refuses(program, &["/", "many"], 2, "no port");
    refuses(program, &["/does/not/exist", "0"], 1, "/does/not/exist");
}
