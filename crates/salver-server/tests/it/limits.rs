//! What a client may not take longer, and what the server may not have more of.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::common::client::{Client, get, is_served, request};
use crate::common::stuck::{Stuck, occupy};
use crate::common::{Running, Site, bind_to, settings, trusting, until};
use crate::quic::{run, within};
use salver_assets::Config;
use salver_server::Settings;
use salver_test::machine::judge;

/// Shorter than what is waited for, and longer than a busy machine keeps a client from what it does at once.
const SHORT: Duration = Duration::from_secs(1);

fn site() -> Site {
    Site::with(&[("index.html", b"hello"), ("a", b"alpha")])
}

#[test]
fn a_head_that_takes_too_long_is_answered_408() {
    let site = site();
    let settings = Settings {
        header_timeout: SHORT,
        ..settings()
    };
    let server = Running::over(site.root(), settings, Config::default());
    // The time of a head begins with the connection, if nothing came before.
    let start = Instant::now();
    let mut clients = Vec::new();
    for begun in [
        "G",
        "GET / HTTP/1.1\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: ",
    ] {
        for before in ["", &get("/a")] {
            let mut client = Client::new(server.address);
            client.send(before.to_owned() + begun);
            clients.push((client, begun, !before.is_empty()));
        }
    }
    for (mut client, begun, is_second) in clients {
        if is_second {
            assert_eq!(client.answer().content, b"alpha");
        }
        let answer = client.answer();
        assert!(start.elapsed() >= SHORT);
        assert_eq!(
            (answer.status, answer.field("connection")),
            (408, Some("close")),
            "{begun:?}"
        );
        client.ends();
    }
}

#[test]
fn half_a_head_request_is_answered_408_without_content() {
    let site = site();
    let settings = Settings {
        header_timeout: SHORT,
        ..settings()
    };
    let server = Running::over(site.root(), settings, Config::default());
    for begun in ["HEAD /", "HEAD /a HTTP/1.1\r\nHost: a\r\n"] {
        let mut client = Client::new(server.address);
        client.send(begun);
        assert_eq!(client.head().status, 408);
        client.ends();
    }
}

#[test]
fn an_idle_connection_is_closed_without_a_word() {
    let site = site();
    let settings = Settings {
        idle_timeout: SHORT,
        ..settings()
    };
    let server = Running::over(site.root(), settings, Config::default());
    let start = Instant::now();
    Client::new(server.address).ends();
    assert!(start.elapsed() >= SHORT);
    let mut client = Client::new(server.address);
    let start = Instant::now();
    assert_eq!(client.get("/a").content, b"alpha");
    client.ends();
    assert!(start.elapsed() >= SHORT);
}

#[test]
fn a_body_that_takes_too_long_is_answered_408() {
    let site = site();
    let settings = Settings {
        idle_timeout: SHORT,
        ..settings()
    };
    let server = Running::over(site.root(), settings, Config::default());
    let mut client = Client::new(server.address);
    client.send(request("GET", "/a", "Content-Length: 10\r\n") + "12345");
    assert_eq!(client.answer().status, 408);
    client.ends();
    // No answer to HEAD has content (RFC 9110 section 9.3.2).
    let mut client = Client::new(server.address);
    client.send(request("HEAD", "/a", "Content-Length: 10\r\n") + "12345");
    assert_eq!(client.head().status, 408);
    client.ends();
}

#[test]
fn a_reader_that_stalls_is_dropped() {
    let site = site();
    let length = 64 * 1024 * 1024;
    site.write("file", b"");
    let file = std::fs::File::options()
        .write(true)
        .open(site.path("file"))
        .unwrap();
    file.set_len(length).unwrap();
    site.settle("file");
    site.write("kept", &vec![1; 1024 * 1024]);
    let settings = Settings {
        send_timeout: SHORT,
        max_connections: 1,
        ..settings()
    };
    let server = Running::over(site.root(), settings, Config::default());
    // From a handle, and from memory.
    let whole = usize::try_from(length).unwrap();
    for (sent, whole) in [(get("/file"), whole), (get("/kept").repeat(64), whole)] {
        let mut stalled = Client::narrow(server.address);
        stalled.send(sent);
        assert_eq!(stalled.head().status, 200);
        until("its place is free", || is_served(server.address, "/a"));
        assert!(stalled.rest().0.len() < whole);
    }
}

#[test]
fn a_reader_that_is_only_slow_is_not() {
    // Far more than the sockets' queues hold, so that they stay too full for the server to add
    // anything for longer than its patience: that the client takes something shows in the kernel's
    // queue alone.
    let site = site();
    let length = 16 * 1024 * 1024;
    site.write("file", &vec![7; length]);
    site.settle("file");
    let patience = Duration::from_millis(300);
    let settings = Settings {
        send_timeout: patience,
        ..settings()
    };
    let server = Running::over(site.root(), settings, trusting());
    site.write("kept", &vec![7; 1024 * 1024]);
    // A client that is kept from reading for so long is not slow, but stalled.
    let read_slowly = |target: &str| {
        let times = if target == "/file" { 1 } else { 16 };
        let mut slow = Client::narrow(server.address);
        slow.send(get(target).repeat(times));
        let (mut piece, mut received) = ([0; 4096], 0);
        let began = Instant::now();
        while received < length {
            match slow.0.read(&mut piece) {
                Ok(count) if count > 0 => received += count,
                ended => return Err(format!("{target} ended after {received}: {ended:?}")),
            }
            if began.elapsed() < patience * 8 {
                std::thread::sleep(patience / 8);
            }
        }
        Ok(())
    };
    for target in ["/file", "/kept"] {
        judge(target, || read_slowly(target));
    }
}

#[test]
fn the_connection_beyond_is_refused_and_others_are_served_on() {
    let source = Stuck::with_cold(3);
    let gate = Arc::clone(&source.gate);
    let settings = Settings {
        max_connections: 3,
        ..settings()
    };
    let server = Running::start(bind_to(Arc::new(source), settings, Config::default()));
    let occupied = |number| occupy(server.address, &gate, number);
    let mut clients: Vec<_> = (0..3).map(occupied).collect();
    for _ in 0..300 {
        let mut refused = Client::new(server.address);
        let answer = refused.answer();
        assert_eq!(answer.status, 503);
        assert_eq!(answer.field("retry-after"), Some("1"));
        assert_eq!(answer.field("connection"), Some("close"));
        refused.ends();
    }
    gate.open();
    for client in &mut clients {
        assert_eq!(client.answer().content, b"cold");
    }
    drop(clients.pop());
    until("there is room again", || is_served(server.address, "/a"));
}

#[test]
fn a_client_that_is_refused_with_its_request_on_the_way_reads_why() {
    let source = Stuck::with_cold(1);
    let gate = Arc::clone(&source.gate);
    let settings = Settings {
        max_connections: 1,
        ..settings()
    };
    let server = Running::start(bind_to(Arc::new(source), settings, Config::default()));
    let _first = occupy(server.address, &gate, 0);
    let mut refused = Client::new(server.address);
    refused.send(get("/a").repeat(500));
    assert_eq!(refused.answer().status, 503);
    refused.ends();
    gate.open();
}

/// One thread that may wait for the disk, and one place to wait for it.
fn one_place() -> Settings {
    Settings {
        loader_threads: 1,
        loader_queue: 1,
        ..settings()
    }
}

#[test]
fn while_the_disk_is_stuck_a_full_queue_is_answered_503_and_the_cache_serves_on() {
    let source = Stuck::with_cold(4);
    let gate = Arc::clone(&source.gate);
    let server = bind_to(Arc::new(source), one_place(), Config::default());
    let server = Running::start(server);
    let mut hot = Client::new(server.address);
    assert_eq!(hot.get("/a").content, b"alpha");
    // One occupies the only thread, one the only place in the queue.
    let mut first = Client::new(server.address);
    first.send(get("/cold1"));
    until("the disk is waited for", || {
        gate.waiting.load(Ordering::SeqCst) == 1
    });
    let mut second = Client::new(server.address);
    // The answer before it does not wait for it.
    second.send(get("/a") + &get("/cold2") + &get("/a"));
    assert_eq!(second.answer().content, b"alpha");
    let mut third = Client::new(server.address);
    let answer = third.get("/cold3");
    let refused = (answer.status, answer.field("retry-after"));
    assert_eq!(refused, (503, Some("1")));
    // Who asks for what is on its way already needs no place.
    let mut sharer = Client::new(server.address);
    sharer.send(get("/cold1"));
    for _ in 0..100 {
        assert_eq!(hot.get("/a").content, b"alpha");
    }
    gate.open();
    assert_eq!(first.answer().content, b"cold");
    assert_eq!(sharer.answer().content, b"cold");
    assert_eq!(second.answer().content, b"cold");
    assert_eq!(second.answer().content, b"alpha");
    assert_eq!(third.get("/cold3").content, b"cold");
}

#[test]
fn what_is_cached_is_confirmed_however_many_wait_for_what_is_not() {
    let source = Stuck::with_cold(20);
    let gate = Arc::clone(&source.gate);
    let config = Config {
        revalidate: Duration::ZERO,
        ..trusting()
    };
    let server = Running::start(bind_to(Arc::new(source), one_place(), config));
    gate.open();
    let mut known = Client::new(server.address);
    assert_eq!(known.get("/cold0").content, b"cold");
    gate.close();
    let waiting = gate.waiting.load(Ordering::SeqCst);
    // One has the only thread, one the only place.
    let mut first = occupy(server.address, &gate, waiting);
    let mut second = Client::new(server.address);
    second.send(get("/a") + &get("/cold18"));
    assert_eq!(second.answer().content, b"alpha");
    let mut third = Client::new(server.address);
    assert_eq!(third.get("/cold19").status, 503);
    known.send(get("/cold0"));
    gate.open();
    assert_eq!(known.answer().content, b"cold");
    assert_eq!(first.answer().content, b"cold");
    assert_eq!(second.answer().content, b"cold");
}

#[test]
fn streams_that_wait_for_the_disk_take_no_more_memory_than_their_connection_is_lent() {
    const STREAMS: usize = 100;
    let source = Stuck::with_cold(STREAMS);
    let gate = Arc::clone(&source.gate);
    let settings = Settings {
        max_connections: 4,
        // An eighth of three quarters of it is lent, and 16 KiB are its own.
        connection_memory: 1 << 20,
        ..settings()
    };
    let server = Running::start(bind_to(Arc::new(source), settings, Config::default()));
    run(async {
        let stream = tokio::net::TcpStream::connect(server.address).await;
        let (mut requests, connection) = h2::client::handshake(stream.unwrap()).await.unwrap();
        let driver = tokio::spawn(connection);
        let mut answers = Vec::new();
        for number in 0..STREAMS {
            let request = http::Request::get(format!("http://a/cold{number}"));
            let request = request.body(()).unwrap();
            requests = requests.ready().await.unwrap();
            answers.push(requests.send_request(request, true).unwrap().0);
        }
        // Behind all of them, so that each has been refused by then or waits.
        let last = requests
            .ready()
            .await
            .unwrap()
            .send_request(http::Request::get("http://a/a").body(()).unwrap(), true);
        let _ = within(last.unwrap().0).await;
        gate.open();
        let mut served = 0;
        for answer in answers {
            match within(answer).await {
                Ok(answer) => {
                    assert_eq!(answer.status(), 200);
                    served += 1;
                }
                Err(error) => assert_eq!(error.reason(), Some(h2::Reason::REFUSED_STREAM)),
            }
        }
        // Each takes between 2 and 3 KiB.
        assert!((4..=60).contains(&served), "{served} of {STREAMS} waited");
        driver.abort();
    });
}
