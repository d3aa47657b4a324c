//! HTTP/3: what a connection goes through. The table of exchanges is played over it as over all others.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use crate::common::{Site, pattern, settings, trusting};
use crate::quic::raw::{self, closed, frame, get, outcome, send};
use crate::quic::{HOST, Served, answer, content, endpoint, head, narrow, run, within};
use bytes::Bytes;
use quinn::TransportConfig;
use salver_assets::Config;
use salver_server::Settings;

const LARGE: usize = 8 * 1024 * 1024;

fn site() -> Site {
    Site::with(&[
        ("index.html", b"<h1>Hello</h1>"),
        ("a.css", b"body { color: red }"),
        ("large", &pattern(LARGE, 1)),
    ])
}

#[test]
fn it_is_announced_over_tcp_unless_it_is_off() {
    let site = site();
    for http3 in [true, false] {
        let settings = Settings {
            http3,
            ..settings()
        };
        let server = Served::with(&site, settings, trusting());
        let port = server.address.port();
        let field = format!("\r\nAlt-Svc: h3=\":{port}\"; ma=86400\r\n");
        let head = server.head_over_tcp();
        assert_eq!(head.contains(&field), http3, "{head}");
        // Off, somebody else may have the port.
        assert!(!http3 || std::net::UdpSocket::bind(server.address).is_err());
    }
}

#[test]
fn large_files_arrive_whole_whatever_holds_them() {
    let site = site();
    // Only in the page cache, or on the disk; read by pieces either way.
    let config = Config {
        cache_max_file: 1000,
        ..trusting()
    };
    let server = Served::with(&site, settings(), config);
    run(async {
        for cold in [false, true] {
            if cold {
                let file = File::open(site.path("large")).unwrap();
                file.sync_all().unwrap();
                rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
            }
            for transport in [TransportConfig::default(), narrow()] {
                let mut session = server.connect_with(transport).await;
                let answer = session.get("/large").await;
                assert!(answer.content == pattern(LARGE, 1), "cold: {cold}");
            }
        }
    });
}

#[test]
fn a_hundred_requests_at_a_time() {
    let site = site();
    let server = Served::new(&site);
    run(async {
        let mut session = server.connect().await;
        let mut streams = Vec::new();
        for number in 0..100 {
            let path = if number % 10 == 0 { "/large" } else { "/a.css" };
            streams.push((path, session.send("GET", path, &[]).await));
        }
        // The last ones first, so that all of them wait for each other.
        let large = pattern(LARGE, 1);
        let readers: Vec<_> = streams
            .into_iter()
            .rev()
            .map(|(path, stream)| (path, tokio::spawn(answer(stream))))
            .collect();
        for (path, reader) in readers {
            let answer = within(reader).await.unwrap();
            let expected = if path == "/large" {
                &large[..]
            } else {
                b"body { color: red }"
            };
            assert!(answer.content == expected, "{path}");
        }
    });
}

#[test]
fn many_connections_over_several_workers() {
    let site = site();
    let settings = Settings {
        workers: 2,
        ..settings()
    };
    let server = Served::with(&site, settings, trusting());
    run(async {
        let mut sessions = Vec::new();
        for _ in 0..50 {
            sessions.push(server.connect().await);
        }
        for round in 0..3 {
            for session in &mut sessions {
                assert_eq!(
                    session.get("/a.css").await.content,
                    b"body { color: red }",
                    "{round}"
                );
            }
        }
    });
}

#[test]
fn a_client_may_change_its_address() {
    let site = site();
    let settings = Settings {
        workers: 4,
        ..settings()
    };
    let server = Served::with(&site, settings, trusting());
    run(async {
        let mut session = server.connect_with(narrow()).await;
        let mut download = session.send("GET", "/large", &[]).await;
        assert_eq!(head(&mut download).await.status(), 200);
        // That all of them land at the worker that the first one landed at has one chance in 4^30.
        for _ in 0..30 {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            session.endpoint.rebind(socket).unwrap();
            assert_eq!(session.get("/a.css").await.status, 200);
        }
        // What was begun before goes on.
        assert!(content(&mut download).await.unwrap() == pattern(LARGE, 1));
    });
}

#[test]
fn content_of_requests_is_read_and_dropped() {
    let site = site();
    let server = Served::new(&site);
    run(async {
        let mut session = server.connect().await;
        for (method, status) in [("GET", 200), ("POST", 405)] {
            let mut stream = session
                .begin(method, "/a.css", &[("content-length", "300000")])
                .await;
            for _ in 0..3 {
                within(stream.send_data(Bytes::from(vec![7; 100_000])))
                    .await
                    .unwrap();
            }
            within(stream.finish()).await.unwrap();
            assert_eq!(answer(stream).await.status, status);
        }
        let quic = &session.quic;
        let data = |length: usize| frame(0, &vec![7; length]);
        let check = async |stream: Vec<u8>, status: u16| {
            let (_send, receive) = send(quic, &stream).await;
            assert_eq!(outcome(receive).await.map(|(status, _)| status), Ok(status));
        };
        check(
            [get("/a.css", &[("content-length", "5")]), data(5)].concat(),
            200,
        )
        .await;
        check(
            [get("/a.css", &[("content-length", "5")]), data(4)].concat(),
            400,
        )
        .await;
        check(
            [get("/a.css", &[("content-length", "5")]), data(6)].concat(),
            400,
        )
        .await;
        check(
            [get("/a.css", &[]), data(5), raw::headers(&[("a", "b")])].concat(),
            200,
        )
        .await;
        check(get("/a.css", &[("content-length", "2000000")]), 413).await;
        let much: Vec<Vec<u8>> = (0..70).map(|_| data(16_000)).collect();
        check([get("/a.css", &[]), much.concat()].concat(), 413).await;
        check(get("/a.css", &[("x", &"y".repeat(16_000))]), 200).await;
        check(get("/a.css", &[("x", &"y".repeat(16_300))]), 431).await;
        check(get(&format!("/{}", "y".repeat(9000)), &[]), 414).await;
    });
}

#[test]
fn a_client_may_ask_whether_to_send() {
    let site = site();
    let server = Served::new(&site);
    run(async {
        let quic = server.plain().await;
        let expecting = [("expect", "100-continue"), ("content-length", "5")];
        let (mut send, mut receive) = within(quic.open_bi()).await.unwrap();
        within(send.write_all(&get("/a.css", &expecting)))
            .await
            .unwrap();
        let mut interim = [0; 6];
        within(receive.read_exact(&mut interim)).await.unwrap();
        assert_eq!(interim, *salver_http3::CONTINUE);
        within(send.write_all(&frame(0, b"12345"))).await.unwrap();
        send.finish().unwrap();
        assert_eq!(
            outcome(receive).await,
            Ok((200, b"body { color: red }".to_vec()))
        );
        // Who would be refused is, without having to send anything.
        let mut lines = vec![
            (":method", "PUT"),
            (":scheme", "https"),
            (":authority", HOST),
            (":path", "/a.css"),
        ];
        lines.extend(expecting);
        let (mut send, receive) = within(quic.open_bi()).await.unwrap();
        within(send.write_all(&raw::headers(&lines))).await.unwrap();
        assert_eq!(outcome(receive).await.map(|(status, _)| status), Ok(405));
    });
}

#[test]
fn a_stream_without_a_request_is_reset() {
    let site = site();
    let server = Served::new(&site);
    run(async {
        let quic = server.plain().await;
        let (_send, receive) = send(&quic, b"").await;
        assert_eq!(
            outcome(receive).await,
            Err(Some(raw::H3_REQUEST_INCOMPLETE))
        );
        assert!(quic.close_reason().is_none());
    });
}

#[test]
fn what_breaks_the_protocol_ends_the_connection() {
    let site = site();
    let server = Served::new(&site);
    run(async {
        let request = get("/a.css", &[]);
        for (stream, code) in [
            (frame(0, b"x"), raw::H3_FRAME_UNEXPECTED),
            (frame(4, b""), raw::H3_FRAME_UNEXPECTED),
            (frame(6, b""), raw::H3_FRAME_UNEXPECTED),
            (request[..request.len() - 1].to_vec(), raw::H3_FRAME_ERROR),
            (frame(1, b"\0\0\x80"), 0x200),
        ] {
            let quic = server.plain().await;
            send(&quic, &stream).await;
            assert_eq!(closed(&quic).await, Some(code), "{stream:x?}");
        }
        for (stream, ends, code) in [
            (&b"\0\x04\0\x04\0"[..], false, raw::H3_FRAME_UNEXPECTED),
            (b"\0\x07\x01\0", false, raw::H3_MISSING_SETTINGS),
            (b"\0\x04\0", true, raw::H3_CLOSED_CRITICAL_STREAM),
            (b"\x01", false, 0x103),
            (b"\x02\x80", false, 0x201),
            (b"\x03\x80", false, 0x202),
        ] {
            let quic = server.plain().await;
            let mut control = raw::control(&quic, stream).await;
            if ends {
                control.finish().unwrap();
            }
            assert_eq!(closed(&quic).await, Some(code), "{stream:x?}");
        }
        // What is only not known does not.
        let quic = server.plain().await;
        let mut control = raw::control(&quic, b"\0\x04\0").await;
        within(control.write_all(&frame(0x21, b"grease")))
            .await
            .unwrap();
        let unknown = raw::control(&quic, b"\x21what").await;
        assert_eq!(
            within(unknown.stopped()).await.unwrap(),
            Some(raw::code(0x103))
        );
        let stream = [frame(0x21, &[0; 9000]), get("/a.css", &[])].concat();
        let (_send, receive) = send(&quic, &stream).await;
        assert_eq!(outcome(receive).await.map(|(status, _)| status), Ok(200));
    });
}

#[test]
fn a_file_that_changes_is_cut_off() {
    let site = site();
    let config = Config {
        cache_max_file: 1000,
        ..trusting()
    };
    let server = Served::with(&site, settings(), config);
    run(async {
        let quic = server.quic(&endpoint(), narrow()).await.unwrap();
        let (_send, mut receive) = send(&quic, &get("/large", &[])).await;
        let mut begun = [0; 100];
        within(receive.read_exact(&mut begun)).await.unwrap();
        let file = File::options()
            .write(true)
            .open(site.path("large"))
            .unwrap();
        file.write_all_at(&pattern(LARGE, 2), 0).unwrap();
        assert_eq!(outcome(receive).await, Err(Some(raw::H3_INTERNAL_ERROR)));
        // The connection goes on.
        let (_send, receive) = send(&quic, &get("/a.css", &[])).await;
        assert_eq!(outcome(receive).await.map(|(status, _)| status), Ok(200));
    });
}

#[test]
fn what_is_urgent_comes_first() {
    let site = site();
    let server = Served::new(&site);
    run(async {
        for by_frame in [false, true] {
            // So little at a time that the server has to choose all the while.
            let mut transport = TransportConfig::default();
            transport.receive_window(20_000u32.into());
            let quic = server.quic(&endpoint(), transport).await.unwrap();
            let mut control = raw::control(&quic, b"\0\x04\0").await;
            let urgent: &[(&str, &str)] = if by_frame {
                // For the second request, which has not been sent.
                within(control.write_all(b"\x80\x0f\x07\x00\x04\x04u=0"))
                    .await
                    .unwrap();
                // The answer to another one says that it has arrived.
                &[]
            } else {
                &[("priority", "u=0")]
            };
            let (_first, usual) = send(&quic, &get("/large", &[("priority", "u=6")])).await;
            let (_second, urgent) = send(&quic, &get("/large", urgent)).await;
            let usual = tokio::spawn(outcome(usual));
            let (status, content) = outcome(urgent).await.unwrap();
            assert_eq!((status, content.len()), (200, LARGE));
            assert!(
                !usual.is_finished(),
                "the other one, which was asked for before, has ended"
            );
            assert_eq!(within(usual).await.unwrap().unwrap().1.len(), LARGE);
        }
    });
}

#[test]
fn idle_connections_are_closed_whatever_keeps_them_alive() {
    let site = site();
    let settings = Settings {
        idle_timeout: Duration::from_secs(2),
        ..settings()
    };
    let server = Served::with(&site, settings, trusting());
    run(async {
        let mut transport = TransportConfig::default();
        transport.keep_alive_interval(Some(Duration::from_millis(50)));
        let mut session = server.connect_with(transport).await;
        assert_eq!(session.get("/a.css").await.status, 200);
        assert_eq!(closed(&session.quic).await, Some(raw::H3_NO_ERROR));
    });
}

#[test]
fn a_request_that_never_ends_is_given_up() {
    let site = site();
    let settings = Settings {
        header_timeout: Duration::from_millis(300),
        ..settings()
    };
    let server = Served::with(&site, settings, trusting());
    run(async {
        let quic = server.plain().await;
        let (mut send, receive) = within(quic.open_bi()).await.unwrap();
        within(send.write_all(&get("/a.css", &[])[..5]))
            .await
            .unwrap();
        assert_eq!(outcome(receive).await.map(|(status, _)| status), Ok(408));
    });
}
