//! The access log over sockets: a line for each request, when its answer has ended, over every version of HTTP.

mod proxies;

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use salver_access_log::{Destination, Format, LogWriter, Settings as LogSettings};
use salver_assets::Config;
use salver_server::{AccessLog, Settings};
use serde_json::Value;

use crate::common::client::{Client, get, request};
use crate::common::stuck::{Stuck, occupy};
use crate::common::{PATIENCE, Running, Site, bind_to, pattern, settings, trusting, until};
use crate::program::over::Over;
use crate::quic::{Served, endpoint, narrow, raw, run, within};

const LARGE: usize = 8 * 1024 * 1024;

/// A log in a file.
struct Log {
    folder: tempfile::TempDir,
    writer: LogWriter,
    log: AccessLog,
}

impl Log {
    fn new(format: Format) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let destination = Destination::File(folder.path().join("access.log"));
        let writer = LogWriter::start(|_| {}).unwrap();
        let settings = LogSettings {
            format,
            ..LogSettings::new(destination)
        };
        let log = writer.open(&settings).unwrap();
        Log {
            folder,
            writer,
            log,
        }
    }

    /// The settings of a server that writes to it.
    fn settings(&self) -> Settings {
        Settings {
            access_log: Some(self.log.clone()),
            ..settings()
        }
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("access.log")).unwrap()
    }

    /// The lines, once there are so many.
    fn lines(&self, count: usize) -> Vec<String> {
        until("lines are written", || self.text().lines().count() >= count);
        let lines: Vec<String> = self.text().lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), count, "{lines:?}");
        lines
    }

    /// The lines of JSON, once there are so many.
    fn entries(&self, count: usize) -> Vec<Value> {
        let lines = self.lines(count);
        lines
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

fn site() -> Site {
    Site::with(&[("a.txt", b"alpha"), ("large", &pattern(LARGE, 1))])
}

/// Files are sent from the disk, not kept.
fn uncached() -> Config {
    Config {
        cache_max_file: 1000,
        ..trusting()
    }
}

fn of<'a>(entry: &'a Value, path: &str) -> &'a Value {
    entry
        .pointer(&format!("/{}", path.replace('.', "/")))
        .unwrap_or(&Value::Null)
}

#[test]
fn each_request_has_a_line_over_every_version() {
    let (site, log) = (site(), Log::new(Format::Json));
    let server = Served::with(&site, log.settings(), trusting());
    let address = server.running.address;
    let over = [
        ("1.1", Over::Http1(address)),
        ("2", Over::Http2(address)),
        ("3", Over::Http3(&server)),
    ];
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let more = [
        ("User-Agent", "tester/1"),
        ("Referer", "http://b.test/"),
        ("traceparent", trace),
    ];
    let mut count = 0;
    run(async {
        for (version, over) in over {
            let exchanges = [
                ("GET", "/a.txt?q=1", 200, 5),
                ("HEAD", "/a.txt", 200, 0),
                ("GET", "/no", 404, 14),
                ("POST", "/a.txt", 405, 23),
            ];
            for (method, path, status, size) in exchanges {
                let answer = over.ask(method, path, &more, b"").await;
                assert_eq!(
                    (answer.0, answer.2.len()),
                    (status, size),
                    "{method} {path}"
                );
                count += 1;
                let entry = log.entries(count).pop().unwrap();
                let check = |name: &str, expected: Value| {
                    assert_eq!(*of(&entry, name), expected, "{version} {name}: {entry}");
                };
                check("network.protocol.version", version.into());
                check("http.request.method", method.into());
                let (path, query) = path.split_once('?').unwrap_or((path, ""));
                check("url.path", path.into());
                let has_query = !query.is_empty();
                check("url.query", has_query.then_some(query).into());
                check("http.response.status_code", status.into());
                check("http.response.body.size", size.into());
                check("user_agent.original", "tester/1".into());
                check("http.request.header.referer", "http://b.test/".into());
                check("trace_id", "4bf92f3577b34da6a3ce929d0e0e4736".into());
                check("client.address", "127.0.0.1".into());
                assert!(of(&entry, "server.address").is_string(), "{entry}");
                assert!(of(&entry, "http.server.request.duration").is_number());
            }
        }
    });
    // Each has an identifier of its own.
    let mut ids: Vec<String> = log
        .entries(count)
        .iter()
        .map(|entry| of(entry, "http.request.id").to_string())
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn pipelined_requests_have_a_line_each() {
    let (site, log) = (site(), Log::new(Format::Json));
    let server = Running::over(site.root(), log.settings(), trusting());
    let mut client = Client::new(server.address);
    client.send([get("/a.txt"), get("/no"), get("/large"), get("/a.txt")].concat());
    for expected in [200, 404, 200, 200] {
        assert_eq!(client.answer().status, expected);
    }
    let sizes: Vec<_> = log
        .entries(4)
        .iter()
        .map(|entry| of(entry, "http.response.body.size").as_u64().unwrap())
        .collect();
    assert_eq!(sizes, [5, 14, LARGE as u64, 5]);
}

#[test]
fn the_state_of_the_cache_is_in_the_log_and_by_a_switch_in_the_answer() {
    for switch in [true, false] {
        let (site, log) = (site(), Log::new(Format::Json));
        let settings = Settings {
            cache_status: switch,
            ..log.settings()
        };
        // Far beyond the time that the test takes.
        let config = Config {
            revalidate: PATIENCE * 10,
            ..trusting()
        };
        let server = Served::with(&site, settings, config);
        let address = server.running.address;
        let over = [
            Over::Http1(address),
            Over::Http1(address),
            Over::Http1(address),
            Over::Http2(address),
            Over::Http3(&server),
        ];
        run(async {
            for (number, over) in over.iter().enumerate() {
                let (_, fields, _) = over.ask("GET", "/a.txt", &[], b"").await;
                let said = fields
                    .get("cache-status")
                    .map(|value| value.to_str().unwrap());
                let (field, state) = match number {
                    0 => ("salver; fwd=uri-miss", "miss"),
                    _ => ("salver; hit", "hit"),
                };
                assert_eq!(said, switch.then_some(field), "{number}");
                let entry = log.entries(number + 1).pop().unwrap();
                assert_eq!(of(&entry, "salver.cache"), state, "{number}");
            }
        });
    }
}

#[test]
fn a_comparison_with_the_disk_is_told_from_a_load() {
    let (site, log) = (site(), Log::new(Format::Json));
    let config = Config {
        revalidate: Duration::ZERO,
        ..trusting()
    };
    let server = Running::over(site.root(), log.settings(), config.clone());
    let check = |address, count: usize, expected: &str| {
        assert_eq!(Client::new(address).get("/a.txt").status, 200);
        let entry = log.entries(count).pop().unwrap();
        assert_eq!(of(&entry, "salver.cache"), expected, "{count}");
    };
    check(server.address, 1, "miss");
    check(server.address, 2, "revalidated");
    site.write("a.txt", b"longer");
    check(server.address, 3, "expired");
    check(server.address, 4, "revalidated");
    let config = Config {
        cache: false,
        ..config
    };
    let server = Running::over(site.root(), log.settings(), config);
    check(server.address, 5, "bypass");
    check(server.address, 6, "bypass");
}

#[test]
fn what_is_refused_has_a_line_with_what_could_be_read() {
    let (site, log) = (site(), Log::new(Format::Common));
    let server = Running::over(site.root(), log.settings(), trusting());
    let mut count = 0;
    let mut check = |input: &[u8], status: u16, expected: &str| {
        let mut client = Client::new(server.address);
        client.send(input);
        assert_eq!(client.head().status, status);
        count += 1;
        let line = log.lines(count).pop().unwrap();
        assert!(
            line.starts_with("127.0.0.1 - - [") && line.contains(expected),
            "{line}"
        );
    };
    check(b"GET /a HTTP/1.1\r\n\r\n", 400, "\"GET /a HTTP/1.1\" 400 ");
    check(
        b"\x01\x02\"\x1b[2J\n\r\n",
        400,
        "\"\\x01\\x02\\x22\\x1B[2J - HTTP/1.1\" 400 ",
    );
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(20_000));
    check(long.as_bytes(), 414, "aaa... HTTP/1.1\" 414 ");
}

#[test]
fn who_has_no_seat_has_a_line() {
    let (site, log) = (site(), Log::new(Format::Common));
    let settings = Settings {
        max_connections_per_client: Some(1),
        ..log.settings()
    };
    let server = Running::over(site.root(), settings, trusting());
    let mut first = Client::new(server.address);
    assert_eq!(first.get("/a.txt").status, 200);
    assert_eq!(Client::new(server.address).head().status, 503);
    let lines = log.lines(2);
    assert!(lines[1].contains(" \"-\" 503 "), "{}", lines[1]);
}

#[test]
fn answers_that_are_cut_short_have_the_bytes_that_left() {
    for config in [uncached(), trusting()] {
        let (site, log) = (site(), Log::new(Format::Json));
        let config = Config {
            cache_max_file: config.cache_max_file.max(1000),
            ..config
        };
        let server = Served::with(&site, log.settings(), config);
        let check = |count: usize, version: &str| {
            let entry = log.entries(count).pop().unwrap();
            assert_eq!(of(&entry, "network.protocol.version"), version, "{entry}");
            assert_eq!(of(&entry, "http.response.status_code"), 200, "{entry}");
            let size = of(&entry, "http.response.body.size").as_u64().unwrap();
            assert!(size > 0 && size < LARGE as u64, "{entry}");
        };
        let mut client = Client::narrow(server.running.address);
        client.send(get("/large"));
        client.head();
        drop(client);
        check(1, "1.1");
        run(async {
            let stream = tokio::net::TcpStream::connect(server.running.address).await;
            let (mut requests, connection) = h2::client::handshake(stream.unwrap()).await.unwrap();
            let driver = tokio::spawn(connection);
            let asked = http::Request::get("http://a/large").body(()).unwrap();
            let (answer, _) = requests.send_request(asked, true).unwrap();
            // A window of it has left, and no more is granted.
            let answer = within(answer).await.unwrap();
            drop((answer, requests));
            within(driver).await.unwrap().unwrap();
        });
        check(2, "2");
        run(async {
            let quic = server.quic(&endpoint(), narrow()).await.unwrap();
            let (_send, mut receive) = raw::send(&quic, &raw::get("/large", &[])).await;
            let mut some = [0; 1024];
            receive.read_exact(&mut some).await.unwrap();
            receive.stop(raw::code(raw::H3_REQUEST_CANCELLED)).unwrap();
            within(async {
                while log.text().lines().count() < 3 {
                    tokio::task::yield_now().await;
                }
            })
            .await;
        });
        check(3, "3");
    }
}

#[test]
fn who_goes_before_there_is_an_answer_has_499() {
    let (source, log) = (Arc::new(Stuck::with_cold(1)), Log::new(Format::Json));
    let gate = Arc::clone(&source.gate);
    let server = Running::start(bind_to(source, log.settings(), trusting()));
    drop(occupy(server.address, &gate, 0));
    let entry = log.entries(1).pop().unwrap();
    assert_eq!(of(&entry, "http.response.status_code"), 499);
    assert_eq!(of(&entry, "http.response.body.size"), 0);
    assert_eq!(of(&entry, "url.path"), "/cold0");
    gate.open();
}

#[test]
fn a_reader_that_takes_nothing_holds_up_nobody() {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    // Opened so that opening does not wait for who writes.
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
    let reader = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(&path);
    let mut reader: File = reader.unwrap();
    let (said, notices) = std::sync::mpsc::channel();
    let writer = LogWriter::start(move |notice| {
        let _ = said.send(notice.to_string());
    });
    let writer = writer.unwrap();
    let settings_of_log = LogSettings {
        queue_bytes: 0,
        ..LogSettings::new(Destination::File(path))
    };
    let log = writer.open(&settings_of_log).unwrap();
    let settings = Settings {
        access_log: Some(log.clone()),
        ..settings()
    };
    let server = Running::over(site.root(), settings, trusting());
    let agent = format!("User-Agent: {}\r\n", "a".repeat(500));
    let mut client = Client::new(server.address);
    let mut asked = 0;
    while log.statistics().dropped == 0 {
        client.send(request("GET", "/a.txt", &agent));
        assert_eq!(client.answer().status, 200);
        asked += 1;
        assert!(asked < 100_000, "nothing is dropped");
    }
    let notice = notices.recv().unwrap();
    assert!(notice.contains("were dropped"), "{notice}");
    drop((client, server));
    // What was not dropped comes when it is read.
    let mut read = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    until("all lines are read", || {
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            read.extend_from_slice(&buffer[..count]);
        }
        let statistics = log.statistics();
        let lines = read.iter().filter(|byte| **byte == b'\n').count() as u64;
        lines == statistics.lines && statistics.lines + statistics.dropped == asked
    });
}

#[test]
fn a_file_that_is_renamed_is_opened_anew() {
    let (site, log) = (site(), Log::new(Format::Common));
    let server = Running::over(site.root(), log.settings(), trusting());
    let mut client = Client::new(server.address);
    client.get("/a.txt");
    log.lines(1);
    let old = log.folder.path().join("access.log.1");
    std::fs::rename(log.folder.path().join("access.log"), &old).unwrap();
    log.writer.reopen();
    until("the file is there", || {
        log.folder.path().join("access.log").exists()
    });
    client.get("/a.txt?after");
    assert!(log.lines(1)[0].contains("GET /a.txt?after "));
    let before = std::fs::read_to_string(old).unwrap();
    assert_eq!(before.lines().count(), 1);
}

#[test]
fn hostile_names_forge_nothing() {
    for format in [Format::Combined, Format::Extended, Format::Json] {
        let (site, log) = (site(), Log::new(format));
        let server = Running::over(site.root(), log.settings(), trusting());
        let names = [
            "/%0d%0a127.0.0.1",
            "/\"",
            "/<script>",
            "/\u{202e}gpj.exe",
            "/\\x",
            &format!("/{}", "%ff".repeat(255)),
        ];
        for name in names {
            let mut client = Client::new(server.address);
            let mut head = format!("GET {name} HTTP/1.1\r\nHost: a\r\n").into_bytes();
            head.extend_from_slice(b"Referer: \" 200 1 \"\r\nUser-Agent: a\"\\\xff\xfe\tb\r\n\r\n");
            client.0.get_mut().write_all(&head).unwrap();
            client.head();
        }
        let lines = log.lines(names.len());
        assert!(
            log.text()
                .bytes()
                .all(|byte| byte == b'\n' || (32..127).contains(&byte))
        );
        for line in lines {
            match format {
                Format::Json => {
                    let entry: Value = serde_json::from_str(&line).unwrap();
                    assert_eq!(of(&entry, "client.address"), "127.0.0.1");
                }
                _ => assert_eq!(line.matches('"').count(), 6, "{line}"),
            }
        }
    }
}
