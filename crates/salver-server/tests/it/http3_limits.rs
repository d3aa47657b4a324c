//! HTTP/3 under clients that mean no good.

use std::time::Duration;

use crate::common::{PATIENCE, Site, pattern, settings, trusting, until};
use crate::quic::raw::{self, closed, get, outcome, send};
use crate::quic::{Served, endpoint, narrow, run, within};
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
fn an_answer_that_nobody_takes_is_given_up() {
    let site = site();
    let settings = Settings {
        send_timeout: Duration::from_secs(2),
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
        send_timeout: Duration::from_secs(2),
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
