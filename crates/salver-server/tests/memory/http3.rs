//! What clients of HTTP/3 can have the server hold.

use std::time::Duration;

use crate::common::{Site, pattern, settings, trusting};
use crate::quic::raw::{self, closed, get, outcome, send};
use crate::quic::{Served, endpoint, head, narrow, run, within};
use salver_assets::Config;
use salver_server::Settings;
use salver_test::{alone, status_kib};

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

#[test]
fn clients_that_do_not_read_hold_little() {
    let _alone = alone();
    let site = site();
    let server = Served::with(&site, settings(), uncached());
    run(async {
        let mut other = server.connect().await;
        assert_eq!(other.get("/a").await.content, b"alpha");
        let before = status_kib("self", "VmRSS");
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
        let grown = status_kib("self", "VmRSS").saturating_sub(before);
        // 800 answers of 20 MiB: at most 1 MiB and a piece of 64 KiB for each stream at the server,
        // and as much at the client, which grants 10 KB for each.
        assert!(grown < 160 * 1024, "{grown} KiB for 8 connections");
    });
}

/// Sends a request and takes it back.
async fn cancelled(quic: &quinn::Connection) -> bool {
    let Ok((mut send, mut receive)) = within(quic.open_bi()).await else {
        return false;
    };
    let sent = within(send.write_all(&get("/large", &[]))).await;
    let _ = send.reset(raw::code(raw::H3_REQUEST_CANCELLED));
    let _ = receive.stop(raw::code(raw::H3_REQUEST_CANCELLED));
    sent.is_ok()
}

#[test]
fn a_flood_of_resets_ends_the_connection_and_leaves_nothing() {
    let _alone = alone();
    let site = site();
    let server = Served::with(&site, settings(), uncached());
    run(async {
        let mut other = server.connect().await;
        let flood = async || {
            let quic = server.quic(&endpoint(), narrow()).await.unwrap();
            let mut count = 0;
            while count < 20_000 && cancelled(&quic).await {
                count += 1;
            }
            assert!(
                (1000..20_000).contains(&count),
                "{count} requests were cancelled"
            );
            assert_eq!(closed(&quic).await, Some(raw::H3_EXCESSIVE_LOAD));
        };
        flood().await;
        assert_eq!(other.get("/a").await.content, b"alpha");
        let before = status_kib("self", "VmRSS");
        flood().await;
        flood().await;
        assert_eq!(other.get("/a").await.content, b"alpha");
        let grown = status_kib("self", "VmRSS").saturating_sub(before);
        assert!(grown < 32 * 1024, "{grown} KiB more after two floods");
    });
}

#[test]
fn who_cancels_some_of_what_it_asks_for_is_no_flood() {
    let _alone = alone();
    let site = site();
    let server = Served::with(&site, settings(), uncached());
    run(async {
        let quic = server.quic(&endpoint(), narrow()).await.unwrap();
        for round in 0..2500 {
            assert!(cancelled(&quic).await, "{round}");
            let (_send, receive) = send(&quic, &get("/a", &[])).await;
            let answer = outcome(receive).await;
            assert_eq!(answer, Ok((200, b"alpha".to_vec())), "{round}");
        }
    });
}

#[test]
fn frames_that_announce_much_hold_nothing() {
    let _alone = alone();
    let site = site();
    let slow = Settings {
        // On a busy machine 100 MiB take longer than a head may.
        header_timeout: Duration::from_secs(600),
        ..settings()
    };
    let server = Served::with(&site, slow, trusting());
    run(async {
        let quic = server.plain().await;
        let before = status_kib("self", "VmRSS");
        // A frame of an unknown type and 1 GiB, of which 100 MiB come: nobody keeps them.
        let (mut send, _receive) = within(quic.open_bi()).await.unwrap();
        within(send.write_all(b"\x21\xc0\0\0\0\x40\0\0\0"))
            .await
            .unwrap();
        let piece = vec![0; 1 << 20];
        for _ in 0..100 {
            within(send.write_all(&piece)).await.unwrap();
        }
        let grown = status_kib("self", "VmRSS").saturating_sub(before);
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
