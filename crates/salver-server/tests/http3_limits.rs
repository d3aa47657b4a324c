//! HTTP/3 under clients that mean no good, and at the end of the server.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

mod common;
mod quic;

use std::time::Duration;

use common::{Site, memory_kib, pattern, settings, trusting, until};
use quic::raw::{self, closed, get, outcome, send};
use quic::{Served, content, endpoint, head, narrow, run, within};
use quinn::TransportConfig;
use salver_assets::Config;
use salver_server::Settings;

const LARGE: usize = 20 * 1024 * 1024;

/// Files are read piece by piece, not kept.
fn uncached() -> Config {
    Config {
        cache_max_file: 1000,
        ..trusting()
    }
}

fn site() -> Site {
    Site::with(&[("a", b"alpha"), ("large", &pattern(LARGE, 1))])
}

/// A server that waits for its clients as long as it takes when it ends.
fn patient() -> Settings {
    Settings {
        grace: Duration::from_secs(3600),
        ..settings()
    }
}

#[test]
fn clients_that_do_not_read_hold_little() {
    let site = site();
    let server = Served::with(&site, settings(), uncached());
    run(async {
        let mut other = server.connect().await;
        assert_eq!(other.get("/a").await.content, b"alpha");
        let before = memory_kib("self", "VmRSS");
        let mut stalled = Vec::new();
        for _ in 0..8 {
            let mut session = server.connect_with(narrow()).await;
            for _ in 0..100 {
                let mut stream = session.send("GET", "/large", &[]).await;
                assert_eq!(head(&mut stream).await.status(), 200);
                stalled.push(stream);
            }
            // Others are served meanwhile, and the memory is what is granted to a connection.
            assert_eq!(other.get("/a").await.content, b"alpha");
            stalled.push(session.send("GET", "/a", &[]).await);
            std::mem::forget(session);
        }
        let grown = memory_kib("self", "VmRSS").saturating_sub(before);
        // 800 answers of 20 MiB: at most 1 MiB and a piece of 64 KiB for each stream at the server,
        // and as much at the client, which grants 10 KB for each.
        assert!(grown < 160 * 1024, "{grown} KiB for 8 connections");
    });
}

#[test]
fn an_answer_that_nobody_takes_is_given_up() {
    let site = site();
    let settings = Settings {
        send_timeout: Duration::from_millis(500),
        ..settings()
    };
    let server = Served::with(&site, settings, uncached());
    run(async {
        let quic = server.quic(&endpoint(), narrow()).await.unwrap();
        let (_send, mut receive) = send(&quic, &get("/large", &[])).await;
        // Nothing is read, and all the same it is seen that the server has given up.
        let reset = within(receive.received_reset()).await.unwrap();
        assert_eq!(reset, Some(raw::code(raw::H3_REQUEST_CANCELLED)));
        let (_send, receive) = send(&quic, &get("/a", &[])).await;
        assert_eq!(outcome(receive).await, Ok((200, b"alpha".to_vec())));
    });
}

#[test]
fn a_flood_of_resets_leaves_nothing() {
    let site = site();
    let server = Served::with(&site, settings(), uncached());
    run(async {
        let mut other = server.connect().await;
        let quic = server.quic(&endpoint(), narrow()).await.unwrap();
        let flood = async |rounds: usize| {
            for _ in 0..rounds {
                let (mut send, mut receive) = within(quic.open_bi()).await.unwrap();
                within(send.write_all(&get("/large", &[]))).await.unwrap();
                let _ = send.reset(raw::code(raw::H3_REQUEST_CANCELLED));
                let _ = receive.stop(raw::code(raw::H3_REQUEST_CANCELLED));
            }
        };
        flood(1000).await;
        assert_eq!(other.get("/a").await.content, b"alpha");
        let before = memory_kib("self", "VmRSS");
        flood(4000).await;
        assert_eq!(other.get("/a").await.content, b"alpha");
        let grown = memory_kib("self", "VmRSS").saturating_sub(before);
        assert!(grown < 32 * 1024, "{grown} KiB more after 4000 resets");
        let (_send, receive) = send(&quic, &get("/a", &[])).await;
        assert_eq!(outcome(receive).await, Ok((200, b"alpha".to_vec())));
    });
}

#[test]
fn frames_that_announce_much_hold_nothing() {
    let site = site();
    let server = Served::new(&site);
    run(async {
        let quic = server.plain().await;
        let before = memory_kib("self", "VmRSS");
        // A frame of an unknown type and 1 GiB, of which 100 MiB come: nobody keeps them.
        let (mut send, _receive) = within(quic.open_bi()).await.unwrap();
        within(send.write_all(b"\x21\xc0\0\0\0\x40\0\0\0"))
            .await
            .unwrap();
        let piece = vec![0; 1 << 20];
        for _ in 0..100 {
            within(send.write_all(&piece)).await.unwrap();
        }
        let grown = memory_kib("self", "VmRSS").saturating_sub(before);
        assert!(grown < 48 * 1024, "{grown} KiB");
        // One with a field section of 1 GiB is refused at once.
        let (mut send, receive) = within(quic.open_bi()).await.unwrap();
        within(send.write_all(b"\x01\xc0\0\0\0\x40\0\0\0\0\0"))
            .await
            .unwrap();
        assert_eq!(outcome(receive).await.map(|(status, _)| status), Ok(431));
        assert!(quic.close_reason().is_none());
    });
}

#[test]
fn answers_under_way_are_finished_and_nothing_is_begun() {
    let site = site();
    let settings = Settings {
        workers: 2,
        ..patient()
    };
    let server = Served::with(&site, settings, uncached());
    run(async {
        let mut session = server.connect_with(narrow()).await;
        let mut slow = session.send("GET", "/large", &[]).await;
        assert_eq!(head(&mut slow).await.status(), 200);
        let quiet = server.plain().await;
        server.running.handle.shutdown();
        assert_eq!(closed(&quiet).await, Some(raw::H3_NO_ERROR));
        let refused = server.try_connect(TransportConfig::default()).await;
        assert!(matches!(
            refused.err().unwrap(),
            quinn::ConnectionError::ConnectionClosed(_)
        ));
        // What comes after GOAWAY is rejected, and can be sent again elsewhere.
        let late = within(async {
            loop {
                let (_send, receive) = send(&session.quic, &get("/a", &[])).await;
                match outcome(receive).await {
                    Ok(answer) => assert_eq!(answer, (200, b"alpha".to_vec())),
                    Err(code) => return code,
                }
            }
        })
        .await;
        assert_eq!(late, Some(0x10b));
        assert!(!server.running.has_ended());
        assert!(content(&mut slow).await.unwrap() == pattern(LARGE, 1));
        drop(slow);
        let error = session.ends().await;
        assert!(
            matches!(error, quinn::ConnectionError::ApplicationClosed(_)),
            "{error:?}"
        );
    });
    server.running.result().unwrap();
}

#[test]
fn grace_ends() {
    let site = site();
    let settings = Settings {
        grace: Duration::from_millis(300),
        ..settings()
    };
    let server = Served::with(&site, settings, uncached());
    run(async {
        let quic = server.quic(&endpoint(), narrow()).await.unwrap();
        let (_send, mut receive) = send(&quic, &get("/large", &[])).await;
        let mut begun = [0; 100];
        within(receive.read_exact(&mut begun)).await.unwrap();
        server.running.handle.shutdown();
        assert_eq!(closed(&quic).await, Some(raw::H3_NO_ERROR));
    });
    until("the server ends", || server.running.has_ended());
}

#[test]
fn a_port_that_is_taken_over_udp_is_said_to_be() {
    let site = site();
    let server = Served::new(&site);
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let error = server.bind_error(taken.local_addr().unwrap());
    assert!(
        error.contains("over UDP") && error.contains("--no-http3"),
        "{error}"
    );
}
