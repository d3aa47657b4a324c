//! HTTP/3 under clients that mean no good.

use std::time::Duration;

use crate::common::{PATIENCE, Site, memory_kib, pattern, settings, trusting, until};
use crate::quic::raw::{self, closed, get, outcome, send};
use crate::quic::{Served, endpoint, head, narrow, run, within};
use quinn::TransportConfig;
use salver_assets::Config;
use salver_server::Settings;

const MEDIUM: usize = 8 * 1024 * 1024;
const LARGE: usize = 20 * 1024 * 1024;

/// Files are read piece by piece, not kept.
fn uncached() -> Config {
    Config {
        cache_max_file: 1000,
        ..trusting()
    }
}

fn site() -> Site {
    Site::with(&[
        ("a", b"alpha"),
        ("medium", &pattern(MEDIUM, 1)),
        ("large", &pattern(LARGE, 1)),
    ])
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
fn an_answer_that_nobody_takes_is_given_up_though_others_are_taken() {
    let site = site();
    let settings = Settings {
        send_timeout: Duration::from_millis(500),
        ..settings()
    };
    let server = Served::with(&site, settings, uncached());
    run(async {
        let quic = server.quic(&endpoint(), narrow()).await.unwrap();
        let (_send, mut unread) = send(&quic, &get("/large", &[])).await;
        let reading = tokio::spawn({
            let quic = quic.clone();
            async move {
                loop {
                    let (_send, receive) = send(&quic, &get("/medium", &[])).await;
                    let (status, content) = outcome(receive).await.unwrap();
                    assert_eq!((status, content.len()), (200, MEDIUM));
                }
            }
        });
        let reset = within(unread.received_reset()).await.unwrap();
        assert_eq!(reset, Some(raw::code(raw::H3_REQUEST_CANCELLED)));
        assert!(!reading.is_finished(), "another answer was cut");
        reading.abort();
    });
}

#[test]
fn an_answer_that_waits_for_others_is_not_given_up() {
    let site = site();
    let settings = Settings {
        send_timeout: Duration::from_secs(2),
        ..settings()
    };
    let server = Served::with(&site, settings, uncached());
    run(async {
        let mut transport = TransportConfig::default();
        transport.receive_window(50_000u32.into());
        let quic = server.quic(&endpoint(), transport).await.unwrap();
        let (_send, mut urgent) = send(&quic, &get("/large", &[("priority", "u=0")])).await;
        let mut begun = [0; 100];
        within(urgent.read_exact(&mut begun)).await.unwrap();
        let (_send, usual) = send(&quic, &get("/medium", &[])).await;
        let usual = tokio::spawn(outcome(usual));
        // A slow reader, for more than twice the limit.
        let end = tokio::time::Instant::now() + Duration::from_secs(5);
        while tokio::time::Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(20)).await;
            assert!(
                within(urgent.read_chunk(20_000, true))
                    .await
                    .unwrap()
                    .is_some()
            );
        }
        assert!(!usual.is_finished(), "the less urgent one has ended");
        drop(urgent);
        let (status, content) = within(usual).await.unwrap().unwrap();
        assert_eq!((status, content.len()), (200, MEDIUM));
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
        let before = memory_kib("self", "VmRSS");
        flood().await;
        flood().await;
        assert_eq!(other.get("/a").await.content, b"alpha");
        let grown = memory_kib("self", "VmRSS").saturating_sub(before);
        assert!(grown < 32 * 1024, "{grown} KiB more after two floods");
    });
}

#[test]
fn who_cancels_some_of_what_it_asks_for_is_no_flood() {
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
fn what_leads_to_nothing_is_limited_whatever_it_is() {
    let site = site();
    let server = Served::with(&site, settings(), uncached());
    run(async {
        // PRIORITY_UPDATE, a frame of no known type, MAX_PUSH_ID.
        for frame in [
            &b"\x80\x0f\x07\x00\x04\x04u=0"[..],
            b"\x21\0",
            b"\x0d\x01\x05",
        ] {
            let quic = server.plain().await;
            let mut control = raw::control(&quic, b"\0\x04\0").await;
            let (_send, receive) = send(&quic, &get("/a", &[])).await;
            assert!(outcome(receive).await.is_ok());
            within(control.write_all(&frame.repeat(900))).await.unwrap();
            let (_send, receive) = send(&quic, &get("/a", &[])).await;
            assert!(outcome(receive).await.is_ok(), "{frame:x?}");
            // So many that time forgives them for nobody.
            let _ = within(control.write_all(&frame.repeat(10_000))).await;
            assert_eq!(closed(&quic).await, Some(raw::H3_EXCESSIVE_LOAD));
        }
        let quic = server.plain().await;
        let malformed = get("/a", &[("Upper", "a")]);
        let mut count = 0;
        while count < 20_000 && quic.close_reason().is_none() {
            let Ok((mut send, _receive)) = within(quic.open_bi()).await else {
                break;
            };
            let _ = within(send.write_all(&malformed)).await;
            count += 1;
        }
        assert_eq!(closed(&quic).await, Some(raw::H3_EXCESSIVE_LOAD));
        assert!(count >= 1000, "{count}");
        // Streams of no known type.
        let quic = server.plain().await;
        let mut count = 0;
        while count < 20_000 && quic.close_reason().is_none() {
            let Ok(mut unknown) = within(quic.open_uni()).await else {
                break;
            };
            let _ = within(unknown.write_all(b"\x21")).await;
            count += 1;
        }
        assert_eq!(closed(&quic).await, Some(raw::H3_EXCESSIVE_LOAD));
        assert!(count >= 1000, "{count}");
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
fn the_end_waits_for_no_handshake() {
    let site = site();
    let long = Duration::from_secs(3600);
    let settings = Settings {
        header_timeout: long,
        idle_timeout: long,
        grace: long,
        ..settings()
    };
    let server = Served::with(&site, settings, uncached());
    let nobody = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    nobody.set_read_timeout(Some(PATIENCE)).unwrap();
    run(async {
        let mut transport = TransportConfig::default();
        transport.max_idle_timeout(None);
        let config = server.client(transport, "h3");
        // The client speaks to somebody who hands its first packet on, and nothing back.
        let (client, address) = (endpoint(), nobody.local_addr().unwrap());
        let _connecting = client
            .connect_with(config, address, crate::quic::HOST)
            .unwrap();
        let hello = tokio::task::spawn_blocking(move || {
            let mut hello = [0; 2000];
            let length = nobody.recv(&mut hello).unwrap();
            nobody.send_to(&hello[..length], server.address).unwrap();
            // The handshake is under way.
            nobody.recv(&mut hello).unwrap();
            server
        });
        let server = within(hello).await.unwrap();
        server.running.handle.shutdown();
        until("the server ends", || server.running.has_ended());
    });
}

#[test]
fn a_port_that_is_taken_over_udp_is_said_to_be() {
    let site = site();
    let server = Served::new(&site);
    // Over TCP it is free: else that would be said.
    let taken = std::iter::repeat_with(|| {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        std::net::UdpSocket::bind(free.local_addr().unwrap())
    });
    let taken = taken.flatten().next().unwrap();
    let error = server.bind_error(taken.local_addr().unwrap());
    assert!(
        error.contains("over UDP") && error.contains("--no-http3"),
        "{error}"
    );
}
