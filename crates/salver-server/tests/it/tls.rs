//! TLS over real sockets: what is agreed on, which certificate is shown, and how connections end.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::common::client::{Client, get, request};
use crate::common::secure::{Issued, Secure, connect, over, secure, trusting};
use crate::common::stuck::Stuck;
use crate::common::{PATIENCE, Running, Site, bind_to, pattern, until};
use rustls::version::{TLS12, TLS13};
use rustls::{HandshakeKind, ProtocolVersion};
use salver_assets::Config;
use salver_server::{Settings, TlsSettings};
use socket2::{Domain, Socket, Type};

/// Shorter than what is waited for, and longer than a busy machine keeps a client from what it does at once.
const SHORT: Duration = Duration::from_secs(1);

const BOTH: [&rustls::SupportedProtocolVersion; 2] = [&TLS13, &TLS12];

fn site() -> Site {
    Site::with(&[("index.html", b"hello"), ("a", b"alpha")])
}

fn running(site: &Site, settings: Settings) -> Running {
    Running::over(site.root(), settings, crate::common::trusting())
}

/// Changes what the TLS listeners are told.
fn with(mut settings: Settings, change: impl FnOnce(&mut TlsSettings)) -> Settings {
    change(settings.tls.as_mut().unwrap());
    settings
}

#[test]
fn versions_and_protocols_are_agreed_on() {
    let (site, pair) = (site(), Issued::new(&["localhost"]));
    let server = running(&site, secure(&[&pair]));
    let check = |version, protocols: &[&str], expected: Option<&[u8]>| {
        let config = trusting(&[&pair], &[version], protocols);
        let mut client = connect(server.address, &config, "localhost").unwrap();
        assert_eq!(client.session().protocol_version(), Some(version.version));
        assert_eq!(client.session().alpn_protocol(), expected, "{protocols:?}");
        assert_eq!(client.get("/a").content, b"alpha");
        assert_eq!(client.get("/").content, b"hello");
        assert_eq!(client.get("/none").status, 404);
    };
    for version in BOTH {
        check(version, &[], None);
        check(version, &["http/1.1"], Some(b"http/1.1"));
        check(version, &["foo", "http/1.1"], Some(b"http/1.1"));
        // Who offers only what is not spoken is told so (RFC 7301 section 3.2).
        let config = trusting(&[&pair], &[version], &["foo"]);
        let error = connect(server.address, &config, "localhost").err().unwrap();
        assert!(
            error.to_string().contains("NoApplicationProtocol"),
            "{error}"
        );
    }
    // HTTP/2 before HTTP/1.1, whatever the client prefers, unless it is switched off.
    let offered = ["http/1.1", "h2"];
    let config = trusting(&[&pair], &BOTH, &offered);
    let client = connect(server.address, &config, "localhost").unwrap();
    assert_eq!(client.session().alpn_protocol(), Some(&b"h2"[..]));
    let settings = Settings {
        http2: false,
        ..secure(&[&pair])
    };
    let without = running(&site, settings);
    let mut client = connect(without.address, &config, "localhost").unwrap();
    assert_eq!(client.session().alpn_protocol(), Some(&b"http/1.1"[..]));
    assert_eq!(client.get("/a").content, b"alpha");
    let config = trusting(&[&pair], &BOTH, &[]);
    let client = connect(server.address, &config, "localhost").unwrap();
    let version = client.session().protocol_version();
    assert_eq!(version, Some(ProtocolVersion::TLSv1_3));
}

#[test]
fn long_files_and_pipelined_requests_come_as_they_are() {
    let (small, large) = (pattern(100_000, 1), pattern(5_000_000, 2));
    let files: [(&str, &[u8]); 3] = [("small", &small), ("large", &large), ("empty", b"")];
    let (site, pair) = (Site::with(&files), Issued::new(&["localhost"]));
    let server = running(&site, secure(&[&pair]));
    for version in BOTH {
        let config = trusting(&[&pair], &[version], &[]);
        let mut client = connect(server.address, &config, "localhost").unwrap();
        let all = ["/small", "/large", "/empty", "/small", "/large"];
        client.send(all.map(get).concat());
        for path in all {
            let expected = files
                .iter()
                .find(|(name, _)| *name == path.trim_start_matches('/'))
                .unwrap()
                .1;
            assert!(client.answer().content == expected, "{path}");
        }
        client.send(request("GET", "/large", "Range: bytes=1000000-1999999\r\n"));
        let answer = client.answer();
        assert_eq!(answer.status, 206);
        assert!(answer.content == large[1_000_000..2_000_000]);
    }
}

#[test]
fn the_name_that_a_client_asks_for_chooses_the_certificate() {
    let first = Issued::new(&["first.test"]);
    let second = Issued::new(&["second.test", "*.second.test"]);
    let pairs = [&first, &second];
    let site = site();
    let server = running(&site, secure(&pairs));
    let shown = |name: &str| connect(server.address, &trusting(&pairs, &BOTH, &[]), name);
    let check = |name, expected: &Issued| {
        let client = shown(name).unwrap();
        assert!(*client.shown() == expected.certificate, "{name}");
    };
    check("first.test", &first);
    check("second.test", &second);
    check("www.second.test", &second);
    // Nobody has it: the first is shown, and the client refuses it.
    let error = shown("third.test").err().unwrap().to_string();
    assert!(error.contains("first.test"), "{error}");
    let error = shown("127.0.0.1").err().unwrap().to_string();
    assert!(error.contains("first.test"), "{error}");
}

#[test]
fn a_session_is_resumed_on_any_worker() {
    let (site, pair) = (site(), Issued::new(&["localhost"]));
    let settings = Settings {
        workers: 3,
        ..secure(&[&pair])
    };
    let server = running(&site, settings);
    for version in BOTH {
        let config = trusting(&[&pair], &[version], &[]);
        for number in 0..10 {
            let mut client = connect(server.address, &config, "localhost").unwrap();
            assert_eq!(client.get("/a").content, b"alpha");
            let resumed = client.session().handshake_kind() == Some(HandshakeKind::Resumed);
            assert_eq!(resumed, number > 0, "{version:?}, connection {number}");
        }
    }
}

#[test]
fn a_renewed_certificate_is_for_new_connections() {
    let (old, new) = (Issued::new(&["localhost"]), Issued::new(&["localhost"]));
    let site = site();
    let server = running(&site, secure(&[&old]));
    let config = || trusting(&[&old, &new], &BOTH, &[]);
    let mut open = connect(server.address, &config(), "localhost").unwrap();
    assert_eq!(open.get("/a").content, b"alpha");
    assert!(*open.shown() == old.certificate);
    for name in ["key.pem", "cert.pem"] {
        let next = old.directory().join("next");
        fs::copy(new.directory().join(name), &next).unwrap();
        fs::rename(next, old.directory().join(name)).unwrap();
    }
    until("the new certificate is shown", || {
        let client = connect(server.address, &config(), "localhost").unwrap();
        *client.shown() == new.certificate
    });
    // Half a certificate is none.
    let whole = fs::read(old.files().certificate).unwrap();
    fs::write(old.files().certificate, &whole[..whole.len() / 2]).unwrap();
    let client = connect(server.address, &config(), "localhost").unwrap();
    assert!(*client.shown() == new.certificate);
    assert_eq!(open.get("/a").content, b"alpha");
}

#[test]
fn who_speaks_plainly_is_told_what_is_spoken() {
    let (site, pair) = (site(), Issued::new(&["localhost"]));
    let server = running(&site, secure(&[&pair]));
    for asked in [
        get("/a"),
        request("POST", "/", ""),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".into(),
    ] {
        let mut client = Client::new(server.address);
        client.send(&asked);
        let answer = client.answer();
        assert_eq!(answer.status, 400, "{asked:?}");
        assert_eq!(answer.field("connection"), Some("close"));
        let text = String::from_utf8(answer.content).unwrap();
        assert!(text.contains("this port speaks HTTPS"), "{text}");
        client.ends();
    }
    let mut client = Client::new(server.address);
    client.send(request("HEAD", "/", ""));
    assert_eq!(client.head().status, 400);
    client.ends();
    // Neither the one nor the other: no answer in plain HTTP.
    let mut client = Client::new(server.address);
    client.send(b"\x00\x01\x02\x03\x04\x05\x06\x07");
    assert!(!client.rest().0.starts_with(b"HTTP"));
}

#[test]
fn a_handshake_that_takes_too_long_gives_its_seat_back() {
    let (site, pair) = (site(), Issued::new(&["localhost"]));
    let settings = Settings {
        header_timeout: SHORT,
        max_connections: 2,
        ..secure(&[&pair])
    };
    let server = running(&site, settings);
    let config = trusting(&[&pair], &BOTH, &[]);
    // A record of 512 bytes that has only begun, and nothing at all.
    for begun in [
        &b""[..],
        b"\x16",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ] {
        let start = Instant::now();
        let mut slow: Vec<Client> = (0..2).map(|_| Client::new(server.address)).collect();
        slow.iter_mut().for_each(|client| client.send(begun));
        for client in &mut slow {
            assert_eq!(client.rest().0, b"", "{begun:?}");
        }
        assert!(start.elapsed() >= SHORT);
        until("there is a seat", || {
            let client = connect(server.address, &config, "localhost");
            client.is_ok_and(|mut client| client.get("/a").content == b"alpha")
        });
    }
}

#[test]
fn the_end_of_the_server_waits_for_no_handshake() {
    let (site, pair) = (site(), Issued::new(&["localhost"]));
    // Who waits for it waits longer than this test.
    let settings = Settings {
        header_timeout: Duration::from_secs(3600),
        grace: Duration::from_secs(3600),
        ..secure(&[&pair])
    };
    let server = running(&site, settings);
    let config = trusting(&[&pair], &BOTH, &[]);
    let mut idle = connect(server.address, &config, "localhost").unwrap();
    assert_eq!(idle.get("/a").content, b"alpha");
    let mut begun = Client::new(server.address);
    begun.send(b"\x16\x03\x01");
    server.handle.shutdown();
    assert_eq!(begun.rest().0, b"");
    idle.ends();
    server.result().unwrap();
}

#[test]
fn the_end_is_said_where_it_is_meant() {
    let (site, pair) = (site(), Issued::new(&["localhost"]));
    let server = running(&site, secure(&[&pair]));
    for version in BOTH {
        let config = trusting(&[&pair], &[version], &[]);
        let open = || connect(server.address, &config, "localhost").unwrap();
        let mut client = open();
        client.send(request("GET", "/a", "Connection: close\r\n"));
        assert_eq!(client.answer().content, b"alpha");
        client.ends();
        let mut client = open();
        client.send("nonsense\r\n\r\n");
        assert_eq!(client.answer().status, 400);
        client.ends();
    }
}

#[test]
fn the_end_is_said_to_those_who_wait_too_long() {
    let (site, pair) = (site(), Issued::new(&["localhost"]));
    let settings = Settings {
        idle_timeout: Duration::from_secs(1),
        header_timeout: Duration::from_secs(1),
        ..secure(&[&pair])
    };
    let server = running(&site, settings);
    let config = trusting(&[&pair], &BOTH, &[]);
    let open = || connect(server.address, &config, "localhost").unwrap();
    let (mut silent, mut idle, mut slow) = (open(), open(), open());
    slow.send("GET / HT");
    idle.send(get("/a"));
    assert_eq!(idle.answer().content, b"alpha");
    silent.ends();
    idle.ends();
    assert_eq!(slow.answer().status, 408);
    slow.ends();
}

/// A client into whose kernel little fits.
fn narrow(address: SocketAddr, pair: &Issued) -> Client<Secure> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(&address.into()).unwrap();
    over(socket.into(), &trusting(&[pair], &BOTH, &[]), "localhost").unwrap()
}

#[test]
fn an_answer_that_is_cut_short_does_not_look_whole() {
    const LARGE: usize = 20 * 1024 * 1024;
    let content = pattern(LARGE, 1);
    let (site, pair) = (Site::new(), Issued::new(&["localhost"]));
    let server = running(&site, secure(&[&pair]));
    let change: [fn(&File); 2] = [
        |file| file.set_len(1000).unwrap(),
        |mut file| file.write_all(b"another").unwrap(),
    ];
    for change in change {
        site.write("large", &content);
        let mut client = narrow(server.address, &pair);
        client.send(get("/large"));
        assert_eq!(client.head().length(), LARGE);
        client.0.read_exact(&mut [0; 100_000]).unwrap();
        let file = File::options()
            .write(true)
            .open(site.path("large"))
            .unwrap();
        change(&file);
        let (rest, orderly) = client.rest();
        assert!(rest.len() + 100_000 < LARGE, "padded to {}", rest.len());
        assert!(!orderly, "after {} bytes the end was said", rest.len());
        assert!(rest == content[100_000..100_000 + rest.len()]);
    }
}

#[test]
fn a_client_that_takes_nothing_is_dropped() {
    let content = pattern(20 * 1024 * 1024, 1);
    let (site, pair) = (
        Site::with(&[("large", &content)]),
        Issued::new(&["localhost"]),
    );
    let settings = Settings {
        send_timeout: SHORT,
        max_connections: 1,
        ..secure(&[&pair])
    };
    let server = running(&site, settings);
    let mut stalled = narrow(server.address, &pair);
    stalled.send(get("/large"));
    let config = trusting(&[&pair], &BOTH, &[]);
    until("its seat is free", || {
        let client = connect(server.address, &config, "localhost");
        client.is_ok_and(|mut client| client.get("/none").status == 404)
    });
    let (rest, orderly) = stalled.rest();
    assert!(rest.len() < content.len() && !orderly);
}

#[test]
fn strict_transport_security_is_on_every_answer_over_tls_alone() {
    let (site, pair) = (site(), Issued::new(&["localhost"]));
    let year = Some(Duration::from_secs(31_536_000));
    let mut settings = with(secure(&[&pair]), |tls| tls.hsts = year);
    settings.addresses = crate::common::settings().addresses;
    let server = crate::common::bind(site.root(), settings, Config::default());
    let tls = server.tls_addresses()[0];
    let server = Running::start(server);
    let config = trusting(&[&pair], &BOTH, &[]);
    let name = "strict-transport-security";
    let check = |asked: &str, status: u16| {
        let mut secure = connect(tls, &config, "localhost").unwrap();
        let mut plain = Client::new(server.address);
        // Again: then the answer stands ready.
        for _ in 0..3 {
            secure.send(asked);
            plain.send(asked);
            let (secure, plain) = (secure.head(), plain.head());
            assert_eq!((secure.status, plain.status), (status, status), "{asked:?}");
            assert_eq!(secure.field(name), Some("max-age=31536000"), "{asked:?}");
            assert_eq!(plain.field(name), None, "{asked:?}");
            if status == 400 {
                return;
            }
        }
    };
    check(&request("HEAD", "/a", ""), 200);
    check(&request("HEAD", "/none", ""), 404);
    check(&request("GET", "/a", "If-None-Match: *\r\n"), 304);
    check(&request("HEAD", "/a", "Content-Length: x\r\n"), 400);
    let mut secure = connect(tls, &config, "localhost").unwrap();
    for _ in 0..3 {
        let answer = secure.get("/a");
        assert_eq!(answer.field(name), Some("max-age=31536000"));
        assert_eq!(answer.content, b"alpha");
    }
    let mut plain = Client::new(server.address);
    for _ in 0..3 {
        assert_eq!(plain.get("/a").field(name), None);
    }
}

#[test]
fn a_redirect_leads_to_the_same_place_over_tls() {
    let (site, pair) = (site(), Issued::new(&["localhost"]));
    let settings = with(secure(&[&pair]), |tls| {
        tls.redirects = tls.addresses.clone()
    });
    let server = crate::common::bind(site.root(), settings, Config::default());
    let (tls, redirect) = (server.tls_addresses()[0], server.redirect_addresses()[0]);
    let _server = Running::start(server);
    let port = tls.port();
    let mut client = Client::new(redirect);
    // In pieces, and with a body that nobody reads.
    for piece in [
        "POST /a%20b?c HT",
        "TP/1.1\r\nHost: localhost:80\r\nContent-",
        "Length: 3\r\n\r\nabc",
    ] {
        client.send(piece);
    }
    let answer = client.answer();
    let expected = format!("https://localhost:{port}/a%20b?c");
    assert_eq!(answer.status, 308);
    assert_eq!(answer.field("location"), Some(&*expected));
    assert_eq!(answer.field("strict-transport-security"), None);
    client.ends();
    let mut client = Client::new(redirect);
    client.send("GET / HTTP/1.1\r\n\r\n");
    assert_eq!(client.answer().status, 400);
}

#[test]
fn a_redirect_has_the_limits_of_all_connections() {
    let pair = Issued::new(&["localhost"]);
    let settings = Settings {
        header_timeout: SHORT,
        max_connections: 1,
        ..with(secure(&[&pair]), |tls| {
            tls.redirects = tls.addresses.clone();
        })
    };
    let source = Stuck::with_cold(1);
    let gate = Arc::clone(&source.gate);
    let server = bind_to(Arc::new(source), settings, Config::default());
    let (tls, redirect) = (server.tls_addresses()[0], server.redirect_addresses()[0]);
    let _server = Running::start(server);
    let mut slow = Client::new(redirect);
    slow.send("GET / HTTP/1.1\r\nHo");
    assert_eq!(slow.answer().status, 408);
    slow.ends();
    drop(slow);
    // One that says nothing is not even told.
    until("a seat is free, and its time over", || {
        let mut silent = Client::new(redirect);
        silent.rest().0.is_empty()
    });
    let config = trusting(&[&pair], &BOTH, &[]);
    let mut seated = None;
    until("the seat is taken", || {
        seated = connect(tls, &config, "localhost").ok();
        seated.is_some()
    });
    // It is kept while the disk is waited for.
    let mut seated = seated.unwrap();
    seated.send(get("/cold0"));
    until("the disk is waited for", || {
        gate.waiting.load(Ordering::SeqCst) == 1
    });
    assert_eq!(Client::new(redirect).answer().status, 503);
    gate.open();
}

#[test]
fn without_a_seat_a_client_over_tls_is_turned_away_at_once() {
    let pair = Issued::new(&["localhost"]);
    let settings = Settings {
        max_connections: 1,
        ..secure(&[&pair])
    };
    let source = Stuck::with_cold(1);
    let gate = Arc::clone(&source.gate);
    let server = Running::start(bind_to(Arc::new(source), settings, Config::default()));
    let config = trusting(&[&pair], &BOTH, &[]);
    // One whose seat is needed: the disk is waited for.
    let mut seated = connect(server.address, &config, "localhost").unwrap();
    seated.send(get("/a") + &get("/cold0"));
    assert_eq!(seated.answer().content, b"alpha");
    until("the disk is waited for", || {
        gate.waiting.load(Ordering::SeqCst) == 1
    });
    let mut other = TcpStream::connect(server.address).unwrap();
    other.set_read_timeout(Some(PATIENCE)).unwrap();
    match other.read(&mut [0; 100]) {
        Ok(count) => assert_eq!(count, 0),
        Err(error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionReset),
    }
    gate.open();
    assert_eq!(seated.answer().content, b"cold");
}
