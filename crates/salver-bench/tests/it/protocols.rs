//! A load over HTTP/1.1 with TLS, HTTP/2 and HTTP/3: what holds for HTTP/1.1 holds for all, against
//! servers of which everything is known.

#[path = "../protocols/server.rs"]
mod server;

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use salver_bench::error::BenchError;
use salver_bench::load::{Load, run};
use salver_bench::model::{Certificate, Errors, Measured, Schedule, Verified};
use salver_bench::transport::{Http, Transport, Trust};
use salver_bench::workload::Workload;

use server::{CONTENT, Reply, Server, Speaks};

const ALL: [Speaks; 4] = [
    Speaks::OneSecurely,
    Speaks::Two,
    Speaks::TwoSecurely,
    Speaks::Three,
];

fn http(speaks: Speaks) -> Http {
    match speaks {
        Speaks::OneSecurely => Http::One,
        Speaks::Two | Speaks::TwoSecurely => Http::Two,
        Speaks::Three => Http::Three,
    }
}

/// Four connections, as many streams as there may be, trusting the server's certificate.
fn load(server: &Server, speaks: Speaks, streams: usize) -> Load {
    let mut workload = Workload::of_urls(&[server.url()]).unwrap();
    let http = http(speaks);
    workload.transport = Transport {
        http,
        trust: Trust::File(server.certificate()),
        streams: if http == Http::One { 1 } else { streams },
    };
    Load {
        connections: 4,
        warm_up: Duration::ZERO,
        duration: Duration::from_millis(500),
        timeout: Duration::from_secs(20),
        ..Load::new(workload)
    }
}

fn measure(load: &Load) -> Measured {
    run(load, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// The same load, of a directory with one file of this content.
fn with_file(mut load: Load, root: &Path, server: &Server, content: &[u8]) -> Load {
    std::fs::write(root.join("file"), content).unwrap();
    let transport = load.workload.transport.clone();
    load.workload = Workload::of_directory(&server.url(), root).unwrap();
    load.workload.transport = transport;
    load
}

#[test]
fn right_answers_are_counted_and_the_transport_is_in_the_result() {
    for speaks in ALL {
        let server = Server::start(speaks, |_| Reply::Right);
        let root = tempfile::tempdir().unwrap();
        let load = with_file(load(&server, speaks, 3), root.path(), &server, &CONTENT);
        let found = measure(&load);
        // Two of them were made before the run.
        let served = server.end().len() as u64 - 2;
        assert_eq!(found.errors, Errors::default(), "{speaks:?}");
        assert_eq!(found.requests, served, "{speaks:?}");
        assert!(found.requests > 12);
        assert_eq!(found.raw.count, found.requests);
        assert_eq!(found.content_bytes, found.requests * 1000);
        assert!(found.head_bytes >= found.requests * "content-length1000".len() as u64);
        assert_eq!(found.statuses, [(200, found.requests)].into());
        assert_eq!(found.verified, Verified::Content);
        assert_eq!(found.http, http(speaks));
        assert_eq!((found.reconnects, found.asked_again), (0, 0));
        let streams = if speaks == Speaks::OneSecurely { 1 } else { 3 };
        assert_eq!((found.connections, found.streams), (4, streams));
        match (speaks, &found.tls) {
            (Speaks::Two, tls) => assert_eq!(*tls, None),
            (_, Some(tls)) => {
                assert_eq!(tls.version, "TLSv1.3");
                assert_eq!(tls.certificate, Certificate::Verified);
                let cipher = tls.cipher.as_deref();
                assert_eq!(cipher.is_none(), speaks == Speaks::Three);
                assert!(cipher.is_none_or(|name| name.starts_with("TLS13_AES")));
            }
            (_, None) => panic!("{speaks:?} is encrypted"),
        }
    }
}

#[test]
fn all_streams_of_a_connection_are_used_at_once() {
    const DELAY: Duration = Duration::from_millis(700);
    for speaks in [Speaks::Two, Speaks::TwoSecurely, Speaks::Three] {
        let server = Server::start(speaks, |_| Reply::Late(DELAY));
        let mut load = load(&server, speaks, 5);
        load.connections = 1;
        load.schedule = Schedule::Burst { every_ms: 1000 };
        load.duration = Duration::from_secs(2);
        let found = measure(&load);
        // Two bursts of five.
        assert_eq!((found.requests, found.errors.total()), (10, 0));
        let served = server.end();
        for burst in served.chunks(5) {
            // The last has come before the first is answered.
            assert!(burst[4].arrived < burst[0].answered, "{served:?}");
        }
    }
}

#[test]
fn a_rate_is_kept_and_each_request_is_accounted_for() {
    for speaks in ALL {
        let server = Server::start(speaks, |_| Reply::Right);
        let mut load = load(&server, speaks, 3);
        load.schedule = Schedule::Rate { per_second: 1000.0 };
        load.warm_up = Duration::from_millis(100);
        load.threads = 2;
        let found = measure(&load);
        assert_eq!(
            (found.requests, found.errors.total()),
            (500, 0),
            "{speaks:?}"
        );
        assert_eq!(found.corrected.unwrap().count, 500);
        assert_eq!(server.end().len(), 600);
    }
}

/// Each tenth request goes wrong in this way: it is reported so often, and nothing else is.
fn check_fault(fault: Reply, replying: fn(usize) -> Reply, expected: fn(Speaks, u64) -> Errors) {
    for speaks in ALL {
        let server = Server::start(speaks, replying);
        let root = tempfile::tempdir().unwrap();
        let mut load = with_file(load(&server, speaks, 1), root.path(), &server, &CONTENT);
        // Longer than any answer that comes, and shorter than those that do not.
        load.timeout = Duration::from_secs(2);
        let found = measure(&load);
        let served = server.end();
        let faults = served.iter().filter(|one| one.reply == fault).count() as u64;
        assert!(
            faults > 0,
            "{speaks:?}: {} requests are too few",
            served.len()
        );
        assert_eq!(found.errors, expected(speaks, faults), "{speaks:?}");
        assert_eq!(
            found.requests,
            served.len() as u64 - 2 - faults,
            "{speaks:?}"
        );
        assert!(!found.is_sound());
    }
}

macro_rules! each_tenth {
    ($reply:expr) => {
        |number| match number % 10 {
            0 => $reply,
            _ => Reply::Right,
        }
    };
}

#[test]
fn answers_of_another_status_are_counted_exactly() {
    check_fault(Reply::Failure, each_tenth!(Reply::Failure), |_, faults| {
        Errors {
            status: faults,
            ..Errors::default()
        }
    });
}

#[test]
fn answers_of_other_content_are_counted_exactly() {
    check_fault(Reply::Wrong, each_tenth!(Reply::Wrong), |_, faults| {
        Errors {
            content: faults,
            ..Errors::default()
        }
    });
}

#[test]
fn answers_shorter_than_promised_are_counted_exactly() {
    check_fault(
        Reply::Short,
        each_tenth!(Reply::Short),
        |speaks, faults| match speaks {
            Speaks::OneSecurely => Errors {
                short: faults,
                ..Errors::default()
            },
            // The stream ends in order: the lengths contradict each other.
            _ => Errors {
                malformed: faults,
                ..Errors::default()
            },
        },
    );
}

#[test]
fn answers_longer_than_promised_are_counted_exactly() {
    check_fault(Reply::Long, each_tenth!(Reply::Long), |_, faults| Errors {
        malformed: faults,
        ..Errors::default()
    });
}

#[test]
fn streams_that_are_reset_are_counted_exactly() {
    check_fault(Reply::Reset, each_tenth!(Reply::Reset), |_, faults| {
        Errors {
            closed: faults,
            ..Errors::default()
        }
    });
    check_fault(
        Reply::ResetWithin,
        each_tenth!(Reply::ResetWithin),
        |_, faults| Errors {
            short: faults,
            ..Errors::default()
        },
    );
}

#[test]
fn connections_that_end_are_counted_exactly_and_opened_again() {
    check_fault(Reply::Closed, each_tenth!(Reply::Closed), |_, faults| {
        Errors {
            closed: faults,
            ..Errors::default()
        }
    });
}

#[test]
fn answers_that_never_come_are_counted_exactly() {
    check_fault(Reply::Silence, each_tenth!(Reply::Silence), |_, faults| {
        Errors {
            timeout: faults,
            ..Errors::default()
        }
    });
}

#[test]
fn a_server_that_leaves_in_order_is_no_failure() {
    for speaks in ALL {
        let server = Server::start(speaks, |number| match number % 20 {
            0 => Reply::Leaves,
            _ => Reply::Right,
        });
        let found = measure(&load(&server, speaks, 3));
        let served = server.end();
        assert_eq!(found.errors, Errors::default(), "{speaks:?}");
        assert_eq!(found.requests, served.len() as u64, "{speaks:?}");
        let left = served
            .iter()
            .filter(|one| one.reply == Reply::Leaves)
            .count() as u64;
        // Not for the last of them, perhaps; and two may say so on one connection.
        assert!((1..=left).contains(&found.reconnects), "{left}: {found:?}");
    }
}

#[test]
fn a_certificate_that_nobody_trusts_is_said_in_a_line() {
    for speaks in [Speaks::OneSecurely, Speaks::TwoSecurely, Speaks::Three] {
        let server = Server::start(speaks, |_| Reply::Right);
        let mut load = load(&server, speaks, 1);
        load.workload.transport.trust = Trust::System;
        let check = |load: &Load| {
            let Err(BenchError::Failed(text)) = run(load, &mut |_| ControlFlow::Continue(()))
            else {
                panic!("{speaks:?} is trusted");
            };
            assert_eq!(text.lines().count(), 1, "{text}");
            assert!(text.contains("certificate is not trusted"), "{text}");
            assert!(text.contains("--insecure"), "{text}");
        };
        check(&load);
        // Before the run as well as at its beginning.
        let root = tempfile::tempdir().unwrap();
        check(&with_file(load.clone(), root.path(), &server, &CONTENT));
        load.workload.transport.trust = Trust::Any;
        let found = measure(&load);
        assert_eq!(found.errors.total(), 0);
        assert_eq!(found.tls.unwrap().certificate, Certificate::Any);
    }
}

#[test]
fn a_certificate_of_another_host_is_not_trusted_by_its_file() {
    for speaks in [Speaks::OneSecurely, Speaks::TwoSecurely, Speaks::Three] {
        let server = Server::named(speaks, |_| Reply::Right, &["elsewhere.example"]);
        let load = load(&server, speaks, 1);
        let error = run(&load, &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(error.to_string().contains("is not trusted"), "{error}");
    }
}

#[test]
fn a_server_of_another_version_is_said() {
    let check = |speaks, http, expected: &str| {
        let server = Server::start(speaks, |_| Reply::Right);
        let mut load = load(&server, speaks, 1);
        load.workload.transport.http = http;
        load.timeout = Duration::from_secs(3);
        let error = run(&load, &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(
        Speaks::OneSecurely,
        Http::Two,
        "does not speak this version",
    );
    check(
        Speaks::TwoSecurely,
        Http::One,
        "does not speak this version",
    );
    check(Speaks::TwoSecurely, Http::Three, "cannot be asked");
}

#[test]
fn what_cannot_be_meant_is_misuse() {
    let server = Server::start(Speaks::Two, |_| Reply::Right);
    let check = |change: fn(&mut Transport), expected: &str| {
        let mut load = load(&server, Speaks::Two, 1);
        change(&mut load.workload.transport);
        let Err(BenchError::Misused(text)) = run(&load, &mut |_| ControlFlow::Continue(())) else {
            panic!("{expected} is meant");
        };
        assert!(text.contains(expected), "{text}");
    };
    check(|transport| transport.http = Http::Three, "always encrypted");
    check(|transport| transport.streams = 0, "0 requests at once");
    check(
        |transport| (transport.http, transport.streams) = (Http::One, 2),
        "one request at a time",
    );
    check(|transport| transport.streams = 1_000_000, "requests");
}

#[test]
fn a_file_without_certificates_is_said() {
    let server = Server::start(Speaks::TwoSecurely, |_| Reply::Right);
    let check = |file: &Path, is_misuse: bool| {
        let mut load = load(&server, Speaks::TwoSecurely, 1);
        load.workload.transport.trust = Trust::File(file.to_owned());
        let error = run(&load, &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert_eq!(
            matches!(error, BenchError::Misused(_)),
            is_misuse,
            "{error}"
        );
        assert!(
            error.to_string().contains(file.to_str().unwrap()),
            "{error}"
        );
    };
    let empty = tempfile::NamedTempFile::new().unwrap();
    check(empty.path(), true);
    check(Path::new("/nowhere/ca.pem"), false);
}

#[test]
fn content_is_sent_however_much_it_is() {
    for speaks in ALL {
        // More than a connection takes before the server makes room (RFC 9113 section 6.9.2).
        for length in [1, 300_000] {
            let server = Server::start(speaks, |_| Reply::Right);
            let mut load = load(&server, speaks, 2);
            load.workload.mix.method = "POST".to_owned();
            load.workload.mix.body = vec![b'b'; length];
            let found = measure(&load);
            assert_eq!(found.errors, Errors::default(), "{speaks:?}");
            let served = server.end();
            assert!(found.requests > 0 && found.requests == served.len() as u64);
            assert!(served.iter().all(|one| one.content == length), "{speaks:?}");
        }
    }
}

#[test]
fn a_server_that_speaks_another_version_is_said_in_a_line() {
    let check = |speaks: Speaks, http: Http, expected: &str| {
        let server = Server::start(speaks, |_| Reply::Right);
        let mut load = load(&server, speaks, 1);
        load.workload.transport.http = http;
        load.timeout = Duration::from_secs(5);
        let error = run(&load, &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(error.to_string().contains(expected), "{speaks:?}: {error}");
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    };
    check(Speaks::Two, Http::One, "does not speak HTTP/1.1");
    check(Speaks::TwoSecurely, Http::One, "does not speak");
    check(Speaks::OneSecurely, Http::Two, "does not speak");
    // And one that answers anything by HTTP/1.1.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let text = b"HTTP/1.1 400 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = std::io::Write::write_all(&mut stream.unwrap(), text);
        }
    });
    let mut workload = Workload::of_urls(&[url]).unwrap();
    workload.transport.http = Http::Two;
    let error = run(&Load::new(workload), &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(
        error.to_string().contains("does not speak HTTP/2"),
        "{error}"
    );
}

#[test]
fn no_more_streams_are_opened_than_the_server_allows() {
    // It takes two at once, and refuses whatever is more.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().unwrap();
        runtime.block_on(async move {
            listener.set_nonblocking(true).unwrap();
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let serving = async {
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    tokio::spawn(async move {
                        let mut builder = h2::server::Builder::new();
                        builder.max_concurrent_streams(2);
                        let handshake = builder.handshake::<_, bytes::Bytes>(stream);
                        let Ok(mut connection) = handshake.await else {
                            return;
                        };
                        while let Some(Ok((_, mut respond))) = connection.accept().await {
                            tokio::spawn(async move {
                                tokio::time::sleep(Duration::from_millis(20)).await;
                                let _ = respond.send_response(http::Response::new(()), true);
                            });
                        }
                    });
                }
            };
            tokio::select! {
                () = serving => {}
                _ = ended => {}
            }
        });
    });
    let mut workload = Workload::of_urls(&[url]).unwrap();
    workload.transport = Transport {
        http: Http::Two,
        streams: 32,
        ..Transport::default()
    };
    let load = Load {
        connections: 1,
        warm_up: Duration::ZERO,
        duration: Duration::from_millis(300),
        ..Load::new(workload)
    };
    let found = measure(&load);
    assert_eq!(found.errors, Errors::default(), "{found:?}");
    assert!(found.requests > 2, "{found:?}");
    assert_eq!(found.reconnects, 0, "{found:?}");
    let _ = end.send(());
    thread.join().unwrap();
}
