//! A load on servers that do what they are told to, over real sockets.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::time::Duration;

use salver_bench::error::BenchError;
use salver_bench::load::{Load, run};
use salver_bench::model::{Measured, Schedule, Verified};
use salver_bench::workload::Workload;
use salver_test::Refusing;

/// What a request gets, by its head and its number on its connection; `None` ends the connection.
type Answering = fn(&str, usize) -> Option<Vec<u8>>;

/// A server on a port of its own. It ends with the process.
fn server(answer: Answering) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || serve(stream.unwrap(), answer));
        }
    });
    address
}

fn serve(mut stream: TcpStream, answer: Answering) {
    stream.set_nodelay(true).unwrap();
    let mut input = Vec::new();
    let mut number = 0;
    let mut buffer = [0; 4096];
    loop {
        while let Some(end) = input.windows(4).position(|four| four == b"\r\n\r\n") {
            let head: Vec<u8> = input.drain(..end + 4).collect();
            let Some(bytes) = answer(std::str::from_utf8(&head).unwrap(), number) else {
                return;
            };
            if stream.write_all(&bytes).is_err() {
                return;
            }
            number += 1;
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(read) => input.extend_from_slice(&buffer[..read]),
        }
    }
}

fn ok(content: &str) -> Vec<u8> {
    let length = content.len();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{content}").into()
}

fn load(workload: Workload) -> Load {
    Load {
        connections: 4,
        warm_up: Duration::from_millis(50),
        duration: Duration::from_millis(300),
        timeout: Duration::from_secs(5),
        ..Load::new(workload)
    }
}

fn urls(address: SocketAddr) -> Workload {
    Workload::of_urls(&[format!("http://{address}/")]).unwrap()
}

fn measure(load: &Load) -> Measured {
    run(load, &mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn right_answers_are_counted() {
    let found = measure(&load(urls(server(|_, _| Some(ok("hello"))))));
    assert_eq!(found.errors.total(), 0, "{found:?}");
    assert!(found.requests > 0);
    assert_eq!(found.raw.count, found.requests);
    assert_eq!(found.content_bytes, found.requests * 5);
    assert_eq!(found.head_bytes, found.requests * 38);
    assert_eq!(found.statuses, [(200, found.requests)].into());
    let codings = [("identity".to_owned(), found.requests)];
    assert_eq!(found.codings, codings.into());
    assert!(found.seconds >= 0.3 && found.corrected.is_none());
    assert_eq!(found.verified, Verified::Framing);
}

#[test]
fn a_rate_is_kept_and_each_request_is_accounted_for() {
    let mut load = load(urls(server(|_, _| Some(ok("hello")))));
    load.schedule = Schedule::Rate { per_second: 1000.0 };
    load.threads = 2;
    let found = measure(&load);
    assert_eq!(found.requests + found.errors.total(), 300, "{found:?}");
    assert_eq!(found.corrected.unwrap().count, found.requests);
    load.schedule = Schedule::Burst { every_ms: 50 };
    let found = measure(&load);
    // From 50 ms to 350 ms: six bursts of four.
    assert_eq!(found.requests + found.errors.total(), 24);
}

#[test]
fn files_are_compared_and_each_wrong_answer_is_counted() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a"), "alpha").unwrap();
    std::fs::write(root.path().join("b"), "beta!").unwrap();
    let check = |answer: Answering, wrong: fn(&Measured) -> u64| {
        let base = format!("http://{}/", server(answer));
        let found = measure(&load(Workload::of_directory(&base, root.path()).unwrap()));
        assert_eq!(found.verified, Verified::Content);
        assert_eq!(found.errors.total(), wrong(&found), "{found:?}");
        found
    };
    let right: Answering = |head, _| match head.starts_with("GET /a") {
        true => Some(ok("alpha")),
        false => Some(ok("beta!")),
    };
    assert!(check(right, |_| 0).requests > 0);
    // The file b is never right.
    let found = check(|_, _| Some(ok("alpha")), |found| found.errors.content);
    assert!(found.errors.content > 0 && found.requests > 0);
    let found = check(
        |_, _| Some(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".to_vec()),
        |found| found.errors.status,
    );
    assert_eq!(found.requests, 0);
    assert_eq!(found.statuses, [(500, found.errors.status)].into());
    // Right at first, and other bytes of the same length later.
    let fickle: Answering = |head, number| match (number, head.starts_with("GET /a")) {
        (10.., _) => Some(ok("omega")),
        (_, true) => Some(ok("alpha")),
        (_, false) => Some(ok("beta!")),
    };
    let found = check(fickle, |found| found.errors.content);
    assert!(found.errors.content > 0);
}

#[test]
fn what_breaks_is_counted_by_how() {
    let check = |answer: Answering, broken: fn(&Measured) -> u64| {
        let mut load = load(urls(server(answer)));
        // Longer than a busy machine makes any answer that comes.
        load.timeout = Duration::from_secs(2);
        let found = measure(&load);
        assert!(broken(&found) > 0, "{found:?}");
        assert_eq!(found.errors.total(), broken(&found), "{found:?}");
        assert!(!found.is_sound());
    };
    check(
        |_, number| (number < 2).then(|| ok("fine")),
        |found| found.errors.closed,
    );
    check(
        |_, number| match number {
            0 => Some(ok("fine")),
            1 => Some(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour".to_vec()),
            _ => None,
        },
        |found| found.errors.timeout,
    );
    check(
        |_, number| match number {
            0 => Some(ok("fine")),
            _ => Some(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nfour".to_vec()),
        },
        |found| found.errors.malformed,
    );
}

#[test]
fn an_answer_that_is_cut_off_is_short() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut buffer = [0; 4096];
            if stream.read(&mut buffer).unwrap_or_default() > 0 {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour");
            }
        }
    });
    let found = measure(&load(urls(address)));
    assert!(found.errors.short > 0, "{found:?}");
    assert_eq!(found.requests, 0);
    assert_eq!(found.errors.total(), found.errors.short, "{found:?}");
}

#[test]
fn a_mix_is_asked_for_in_its_shares() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a"), "alpha").unwrap();
    let address = server(|head, _| {
        if head.contains("If-None-Match: \"tag\"") {
            return Some(b"HTTP/1.1 304 Not Modified\r\nETag: \"tag\"\r\n\r\n".to_vec());
        }
        if let Some(range) = head.split("Range: bytes=").nth(1) {
            let content = match range.split("\r\n").next().unwrap() {
                "0-4" | "-1024" => "alpha",
                "2-4" => "pha",
                other => panic!("{other}"),
            };
            let length = content.len();
            let first = 5 - length;
            let text = format!(
                "HTTP/1.1 206 P\r\nContent-Range: bytes {first}-4/5\r\n\
                 Content-Length: {length}\r\n\r\n{content}"
            );
            return Some(text.into());
        }
        assert!(head.contains("Accept-Encoding: br\r\n") || !head.contains("Accept-Encoding"));
        Some(b"HTTP/1.1 200 OK\r\nETag: \"tag\"\r\nContent-Length: 5\r\n\r\nalpha".to_vec())
    });
    let base = format!("http://{address}/");
    let mut workload = Workload::of_directory(&base, root.path()).unwrap();
    workload.mix.ranges = 0.3;
    workload.mix.conditional = 0.2;
    workload.mix.accept_encoding = vec!["br".to_owned(), String::new()];
    let mut load = load(workload);
    // So many, however fast the machine is.
    load.schedule = Schedule::Rate { per_second: 1e4 };
    let found = measure(&load);
    assert_eq!(found.errors.total(), 0, "{found:?}");
    assert_eq!(found.requests, 3000);
    let count = |status: u16| found.statuses.get(&status).copied().unwrap_or_default();
    assert!((780..1020).contains(&count(206)), "{found:?}");
    assert!((500..700).contains(&count(304)), "{found:?}");
}

#[test]
fn what_cannot_be_asked_is_said_in_a_line() {
    let check = |load: &Load, expected: &str| {
        let error = run(load, &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        matches!(error, BenchError::Misused(_))
    };
    let refusing = Refusing::new();
    assert!(!check(&load(urls(refusing.address)), "cannot be asked"));
    let address = server(|_, _| Some(ok("hello")));
    let with = |change: fn(&mut Load)| {
        let mut load = load(urls(address));
        change(&mut load);
        load
    };
    assert!(check(&with(|load| load.connections = 0), "0 connections"));
    assert!(check(&with(|load| load.threads = 5), "5 threads"));
    let no_time = with(|load| load.duration = Duration::ZERO);
    assert!(check(&no_time, "no time"));
    let shares = with(|load| load.workload.mix.ranges = 1.5);
    assert!(check(&shares, "parts of 1"));
    let field = with(|load| load.workload.mix.fields = vec!["x".to_owned()]);
    assert!(check(&field, "is no field"));
    let nobody = with(|load| load.server_pids = vec![u32::MAX - 1]);
    assert!(!check(&nobody, "process"));
}

#[test]
fn a_server_that_says_nothing_is_not_a_server_without_errors() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut load = load(urls(silent.local_addr().unwrap()));
    load.timeout = Duration::from_millis(100);
    let found = measure(&load);
    assert!(found.errors.timeout >= 4, "{found:?}");
    assert_eq!(found.requests, 0);
}

#[test]
fn who_watches_may_end_it() {
    let mut load = load(urls(server(|_, _| Some(ok("hello")))));
    load.duration = Duration::from_secs(600);
    let mut told = 0;
    let found = run(&load, &mut |progress| {
        told += 1;
        assert!(!progress.warming_up && progress.requests_per_second > 0.0);
        ControlFlow::Break(())
    });
    assert_eq!(told, 1);
    let found = found.unwrap();
    assert!(found.seconds < 60.0 && found.requests > 0);
}

#[test]
fn each_request_that_was_due_is_in_the_result_once_if_the_server_dies() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // Two connections of twenty answers each, and then nobody listens.
    std::thread::spawn(move || {
        for stream in listener.incoming().take(2) {
            std::thread::spawn(move || {
                serve(stream.unwrap(), |_, number| {
                    (number < 20).then(|| ok("fine"))
                });
            });
        }
    });
    let mut load = load(urls(address));
    load.connections = 2;
    load.schedule = Schedule::Rate { per_second: 200.0 };
    load.warm_up = Duration::ZERO;
    load.duration = Duration::from_secs(1);
    load.timeout = Duration::from_millis(500);
    let found = measure(&load);
    assert_eq!(found.requests + found.errors.total(), 200, "{found:?}");
    assert!(
        found.errors.connect > 0 && found.requests <= 40,
        "{found:?}"
    );
}

/// A head that promises much, and five thousand bytes of it.
fn endless(_: &str, _: usize) -> Option<Vec<u8>> {
    let mut bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n".to_vec();
    bytes.resize(bytes.len() + 5000, b'x');
    Some(bytes)
}

#[test]
fn what_came_of_answers_that_never_end_is_counted() {
    let mut load = load(urls(server(endless)));
    load.warm_up = Duration::ZERO;
    load.timeout = Duration::from_secs(2);
    let found = measure(&load);
    assert!(found.errors.timeout > 0 && found.requests == 0, "{found:?}");
    assert_eq!(
        found.content_bytes,
        found.errors.timeout * 5000,
        "{found:?}"
    );
    // What came before it was measured is no part of that.
    load.warm_up = Duration::from_secs(2);
    load.timeout = Duration::from_secs(5);
    let found = measure(&load);
    assert_eq!(
        (found.errors.timeout, found.content_bytes),
        (4, 0),
        "{found:?}"
    );
}

#[test]
fn what_has_not_changed_and_parts_are_of_what_was_asked_for() {
    fn tagged(more: &str, status: &str, content: &str) -> Option<Vec<u8>> {
        let length = content.len();
        let text = format!("HTTP/1.1 {status}\r\n{more}Content-Length: {length}\r\n\r\n{content}");
        Some(text.into())
    }
    let check = |answer: Answering, ranges: f64, conditional: f64| {
        let mut workload = urls(server(answer));
        workload.mix.ranges = ranges;
        workload.mix.conditional = conditional;
        measure(&load(workload))
    };
    // A 304 of another tag.
    let found = check(
        |head, _| match head.contains("If-None-Match: \"a\"\r\n") {
            true => tagged("ETag: \"b\"\r\n", "304 N", ""),
            false => tagged("ETag: \"a\"\r\n", "200 OK", "alpha"),
        },
        0.0,
        1.0,
    );
    assert!(found.errors.content > 0 && found.requests == 0, "{found:?}");
    // A part of another place.
    let found = check(
        |head, _| match head.contains("Range: ") {
            true => tagged("Content-Range: bytes 1-2/5\r\n", "206 P", "ph"),
            false => tagged("", "200 OK", "alpha"),
        },
        1.0,
        0.0,
    );
    assert!(found.errors.content > 0 && found.requests == 0, "{found:?}");
    // No tag, and other content each time: the requests that were asked for cannot be made.
    let found = check(|_, _| tagged("", "200 OK", "alpha"), 0.0, 1.0);
    let text = found.invalid.join("\n");
    assert!(text.contains("1 of 1 answers had no ETag"), "{found:?}");
    let fickle: Answering = |_, number| tagged("", "200 OK", &number.to_string());
    let found = check(fickle, 1.0, 0.0);
    assert!(found.invalid.join("\n").contains("differed"), "{found:?}");
}

/// Answers with the method, the host and the content of the request, if it has just that.
fn said(head: &str, _: usize) -> Option<Vec<u8>> {
    let method = head.split(' ').next().unwrap();
    let hosts = head.matches("\r\nHost: ").count();
    let right = match method {
        "PUT" => head.contains("\r\nContent-Length: 0\r\n"),
        "HEAD" => !head.contains("Content-Length"),
        _ => head.contains("\r\nHost: a.example\r\n"),
    };
    let status = if right && hosts == 1 {
        "200 OK"
    } else {
        "400 No"
    };
    let content = if method == "HEAD" { "" } else { "hello" };
    Some(format!("HTTP/1.1 {status}\r\nContent-Length: 5\r\n\r\n{content}").into())
}

#[test]
fn methods_and_a_host_of_its_own_are_sent() {
    let check = |change: fn(&mut salver_bench::workload::Mix)| {
        let mut workload = urls(server(said));
        change(&mut workload.mix);
        let found = measure(&load(workload));
        assert_eq!(found.errors.total(), 0, "{found:?}");
        assert!(found.requests > 0);
        found
    };
    check(|mix| mix.fields = vec!["Host: a.example".to_owned()]);
    let put = check(|mix| mix.method = "PUT".to_owned());
    assert!(put.target.starts_with("PUT http://"), "{}", put.target);
    assert_eq!(check(|mix| mix.method = "HEAD".to_owned()).content_bytes, 0);
    let misused = |change: fn(&mut salver_bench::workload::Mix), part: &str| {
        let mut workload = urls(SocketAddr::from(([127, 0, 0, 1], 1)));
        change(&mut workload.mix);
        let error = run(&load(workload), &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(
            matches!(&error, BenchError::Misused(text) if text.contains(part)),
            "{error}"
        );
    };
    misused(
        |mix| mix.fields = vec!["Host: a".to_owned(), "host: b".to_owned()],
        "one Host",
    );
    misused(
        |mix| mix.fields = vec!["Content-Length: 1".to_owned()],
        "--body",
    );
    misused(|mix| mix.method = "GET /x".to_owned(), "no method");
    misused(
        |mix| (mix.method, mix.conditional) = ("POST".to_owned(), 0.5),
        "by GET",
    );
}

#[test]
fn who_ends_a_run_does_not_wait_for_answers_that_hang() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut load = load(urls(silent.local_addr().unwrap()));
    load.warm_up = Duration::ZERO;
    load.duration = Duration::from_secs(600);
    load.timeout = Duration::from_secs(300);
    let began = std::time::Instant::now();
    let found = run(&load, &mut |_| ControlFlow::Break(())).unwrap();
    assert!(began.elapsed() < Duration::from_secs(100));
    // What hangs is neither an answer nor an error.
    assert!(found.interrupted && found.errors.total() == 0, "{found:?}");
    load.warm_up = Duration::from_secs(600);
    let error = run(&load, &mut |_| ControlFlow::Break(())).unwrap_err();
    assert_eq!(error, BenchError::Interrupted);
    // And before it has begun.
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a"), "alpha").unwrap();
    let base = format!("http://{}/", silent.local_addr().unwrap());
    load.workload = Workload::of_directory(&base, root.path()).unwrap();
    let error = run(&load, &mut |_| ControlFlow::Break(())).unwrap_err();
    assert_eq!(error, BenchError::Interrupted);
}
