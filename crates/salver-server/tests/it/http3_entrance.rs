//! Who is let in over HTTP/3, and whose place it is.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::common::stuck::{Stuck, occupy};
use crate::common::{Site, settings, trusting};
use crate::quic::raw::{get, outcome, send};
use crate::quic::{HOST, Served, endpoint, run, within};
use quinn::{ConnectionError, TransportConfig};
use salver_server::Settings;

fn site() -> Site {
    Site::with(&[
        ("index.html", b"<h1>Hello</h1>"),
        ("a.css", b"body { color: red }"),
    ])
}

/// Between a client and the server: which kinds of packets the server sent first.
async fn first_packet(server: std::net::SocketAddr, served: &Served) -> u8 {
    let middle = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = middle.local_addr().unwrap();
    let endpoint = endpoint();
    let config = served.client(TransportConfig::default(), "h3");
    let connecting = endpoint.connect_with(config, address, HOST).unwrap();
    let listening = async {
        let mut buffer = [0; 2048];
        loop {
            let (length, from) = within(middle.recv_from(&mut buffer)).await.unwrap();
            if from == server {
                return buffer[0];
            }
            middle.send_to(&buffer[..length], server).await.unwrap();
        }
    };
    tokio::select! {
        first = listening => first,
        ended = connecting => panic!("{ended:?}"),
    }
}

#[test]
fn addresses_are_proved_when_many_shake_hands() {
    let site = site();
    // RFC 9000 section 17.2: the type of a packet with a long header.
    let kind = |first: u8| (first & 0x80 != 0, first >> 4 & 3);
    for (limit, expected) in [(0, (true, 3)), (10, (true, 0))] {
        let settings = Settings {
            quic_handshakes: limit,
            workers: 2,
            ..settings()
        };
        let served = Served::with(&site, settings, trusting());
        run(async {
            assert_eq!(kind(first_packet(served.address, &served).await), expected);
            // A client that does it gets in.
            for _ in 0..5 {
                assert_eq!(served.connect().await.get("/a.css").await.status, 200);
            }
        });
    }
}

#[test]
fn connections_are_limited_together_with_those_over_tcp() {
    let source = Stuck::with_cold(2);
    let gate = Arc::clone(&source.gate);
    let settings = Settings {
        max_connections: 2,
        ..settings()
    };
    let server = Served::over(Arc::new(source), settings);
    let tcp = occupy(server.running.address, &gate, 0);
    run(async {
        let mut first = server.connect().await;
        // Both wait for the disk: neither makes room.
        let _under_way = first.send("GET", "/cold1", &[]).await;
        within(async {
            while gate.waiting.load(Ordering::SeqCst) < 2 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        let refused = server
            .try_connect(TransportConfig::default())
            .await
            .err()
            .unwrap();
        let quinn::ConnectionError::ConnectionClosed(close) = refused else {
            panic!("{refused:?}")
        };
        // CONNECTION_REFUSED.
        assert_eq!(u64::from(close.error_code), 2);
        drop(tcp);
        // The server has to see first that it is gone.
        let mut second = within(async {
            loop {
                if let Ok(session) = server.try_connect(TransportConfig::default()).await {
                    return session;
                }
            }
        })
        .await;
        assert_eq!(second.get("/a").await.status, 200);
        gate.open();
    });
}

#[test]
fn unknown_protocols_and_hosts() {
    let site = site();
    let server = Served::new(&site);
    run(async {
        let endpoint = endpoint();
        let config = server.client(TransportConfig::default(), "h2");
        let connecting = endpoint.connect_with(config, server.address, HOST).unwrap();
        let error = within(connecting).await.unwrap_err();
        // no_application_protocol (RFC 9001 section 8.1), which is 120 in TLS (section 4.8).
        let ConnectionError::ConnectionClosed(close) = &error else {
            panic!("{error:?}")
        };
        assert_eq!(u64::from(close.error_code), 0x100 + 120, "{error:?}");
        // Another host gets the first certificate, which is not the one for it.
        let config = server.client(TransportConfig::default(), "h3");
        let connecting = endpoint
            .connect_with(config, server.address, "other.test")
            .unwrap();
        let error = within(connecting).await.unwrap_err().to_string();
        assert!(error.contains("certificate not valid for name"), "{error}");
        assert_eq!(server.connect().await.get("/a.css").await.status, 200);
    });
}

#[test]
fn half_a_request_makes_room() {
    let site = site();
    let settings = Settings {
        max_connections: 1,
        ..settings()
    };
    let server = Served::with(&site, settings, trusting());
    run(async {
        let mut half = Vec::new();
        for _ in 0..3 {
            let transport = TransportConfig::default();
            let quic = server.quic(&endpoint(), transport).await.unwrap();
            let (mut begun, receive) = within(quic.open_bi()).await.unwrap();
            begun.write_all(&get("/a.css", &[])[..5]).await.unwrap();
            // Once the next one is answered, that has come.
            let (_send, whole) = send(&quic, &get("/a.css", &[])).await;
            assert!(outcome(whole).await.is_ok());
            half.push((quic, begun, receive));
        }
    });
}
