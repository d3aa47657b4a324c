//! HTTP/3 at the end of the server.

use std::time::Duration;

use crate::common::{Site, pattern, settings, trusting};
use crate::quic::raw::{self, closed, get, outcome, send};
use crate::quic::{Served, content, head, narrow, run, within};
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
fn who_comes_while_another_process_takes_over_is_not_refused() {
    let site = site();
    let server = Served::with(&site, patient(), uncached());
    run(async {
        let mut session = server.connect_with(narrow()).await;
        let mut slow = session.send("GET", "/large", &[]).await;
        assert_eq!(head(&mut slow).await.status(), 200);
        let quiet = server.plain().await;
        server.running.handle.hand_over();
        assert_eq!(closed(&quiet).await, Some(raw::H3_NO_ERROR));
        // Not even when those who are there have no more time, which the loop sees in a moment.
        server.running.handle.shutdown();
        for _ in 0..3 {
            let mut impatient = TransportConfig::default();
            let idle = quinn::VarInt::from_u32(200);
            impatient.max_idle_timeout(Some(idle.into()));
            let error = server.try_connect(impatient).await.err().unwrap();
            // Nobody has answered, so that a client asks again.
            assert_eq!(error, quinn::ConnectionError::TimedOut);
        }
        assert!(content(&mut slow).await.unwrap() == pattern(LARGE, 1));
        drop(slow);
        session.ends().await;
    });
    server.running.result().unwrap();
}

/// An integer of QUIC at the beginning of `bytes` (RFC 9000 section 16), and what follows it.
fn integer(bytes: &[u8]) -> (u64, &[u8]) {
    let length = 1 << (bytes[0] >> 6);
    let (bytes, rest) = bytes.split_at(length);
    let first = u64::from(bytes[0] & 0x3f);
    let value = bytes[1..].iter();
    (
        value.fold(first, |value, byte| value << 8 | u64::from(*byte)),
        rest,
    )
}

/// What each GOAWAY names in what came on a control stream.
fn goaways(mut bytes: &[u8]) -> Vec<u64> {
    assert_eq!(bytes[0], 0, "not the control stream");
    bytes = &bytes[1..];
    let mut named = Vec::new();
    while !bytes.is_empty() {
        let (kind, rest) = integer(bytes);
        let (length, rest) = integer(rest);
        let (payload, rest) = rest.split_at(usize::try_from(length).unwrap());
        if kind == 7 {
            named.push(integer(payload).0);
        }
        bytes = rest;
    }
    named
}

#[test]
fn the_end_is_announced_before_it_comes() {
    let site = site();
    let server = Served::with(&site, patient(), uncached());
    run(async {
        let quic = server
            .quic(&crate::quic::endpoint(), narrow())
            .await
            .unwrap();
        let mut control = within(quic.accept_uni()).await.unwrap();
        // As long as this is not read, the connection stays.
        let (_send, mut unread) = send(&quic, &get("/large", &[])).await;
        let mut begun = [0; 100];
        within(unread.read_exact(&mut begun)).await.unwrap();
        server.running.handle.shutdown();
        // Without a pause, until one is rejected: each of them was under way when the end was announced, or
        // came later.
        let (mut answered, mut rejected) = (vec![0], None);
        while rejected.is_none() {
            let (sent, receive) = send(&quic, &get("/a", &[])).await;
            let stream = quinn::VarInt::from(sent.id()).into_inner();
            match outcome(receive).await {
                Ok(answer) => {
                    assert_eq!(answer, (200, b"alpha".to_vec()));
                    answered.push(stream);
                }
                Err(code) => rejected = Some((stream, code)),
            }
        }
        let mut said = Vec::new();
        while goaways_so_far(&said) < 2 {
            let chunk = within(control.read_chunk(1000, true)).await.unwrap();
            said.extend_from_slice(&chunk.unwrap().bytes);
        }
        let last = answered.last().unwrap() + 4;
        assert_eq!(goaways(&said), [(1 << 62) - 4, last]);
        assert_eq!(rejected, Some((last, Some(0x10b))));
        drop(unread);
        assert_eq!(closed(&quic).await, Some(raw::H3_NO_ERROR));
    });
    server.running.result().unwrap();
}

/// How many whole ones there are; nobody says two of them in one piece.
fn goaways_so_far(bytes: &[u8]) -> usize {
    match bytes {
        [] => 0,
        bytes => goaways(bytes).len(),
    }
}
