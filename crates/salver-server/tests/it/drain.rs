//! How a server ends.

use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

use crate::common::client::{Client, get, request};
use crate::common::{PATIENCE, Running, Site, bind, pattern, settings, until};
use salver_assets::Config;
use salver_server::Settings;

const LARGE: usize = 20 * 1024 * 1024;

fn site() -> Site {
    let site = Site::with(&[("a", b"alpha")]);
    site.write("large", &pattern(LARGE, 1));
    site
}

/// An hour of grace: what ends sooner does not end because of it.
fn patient() -> Settings {
    Settings {
        grace: Duration::from_secs(3600),
        ..settings()
    }
}

/// A client in the middle of an answer that it does not read.
fn stalled(server: &Running) -> Client {
    let mut client = Client::narrow(server.address);
    client.send(get("/large"));
    assert_eq!(client.head().length(), LARGE);
    client
}

fn refuses(server: &Running) -> bool {
    TcpStream::connect(server.address).is_err()
}

#[test]
fn answers_under_way_are_finished_and_nothing_is_begun() {
    let site = site();
    let server = Running::over(site.root(), patient(), Config::default());
    let mut slow = stalled(&server);
    let mut fresh = Client::new(server.address);
    let mut idle = Client::new(server.address);
    assert_eq!(idle.get("/a").content, b"alpha");
    assert_eq!(fresh.get("/a").content, b"alpha");
    server.handle.shutdown();
    idle.ends();
    fresh.ends();
    until("new connections are refused", || refuses(&server));
    assert!(!server.has_ended());
    let (content, orderly) = slow.rest();
    assert!(orderly && content == pattern(LARGE, 1));
    server.result().unwrap();
}

#[test]
fn a_request_that_has_begun_is_the_last() {
    let site = site();
    let server = Running::over(site.root(), patient(), Config::default());
    let mut client = Client::new(server.address);
    client.send(request(
        "GET",
        "/a",
        "Expect: 100-continue\r\nContent-Length: 5\r\n",
    ));
    assert_eq!(client.head().status, 100);
    server.handle.shutdown();
    until("new connections are refused", || refuses(&server));
    client.send("12345".to_owned() + &get("/a"));
    let answer = client.answer();
    assert_eq!(
        (&*answer.content, answer.field("connection")),
        (&b"alpha"[..], Some("close"))
    );
    client.ends();
    drop(client);
    server.result().unwrap();
}

#[test]
fn the_second_call_ends_at_once() {
    let site = site();
    let server = Running::over(site.root(), patient(), Config::default());
    let mut slow = stalled(&server);
    server.handle.shutdown();
    until("new connections are refused", || refuses(&server));
    assert!(!server.has_ended());
    server.handle.shutdown();
    server.result().unwrap();
    assert!(slow.rest().0.len() < LARGE);
}

#[test]
fn grace_ends() {
    let site = site();
    let settings = Settings {
        grace: Duration::from_millis(300),
        ..settings()
    };
    let server = Running::over(site.root(), settings, Config::default());
    let mut slow = stalled(&server);
    server.handle.shutdown();
    server.result().unwrap();
    assert!(slow.rest().0.len() < LARGE);
}

#[test]
fn a_server_with_nothing_to_do_ends_on_all_its_threads() {
    let site = site();
    for connections in [0, 20] {
        let settings = Settings {
            workers: 3,
            ..patient()
        };
        let server = Running::over(site.root(), settings, Config::default());
        let mut idle: Vec<_> = (0..connections)
            .map(|_| Client::new(server.address))
            .collect();
        for client in &mut idle {
            assert_eq!(client.get("/a").content, b"alpha");
        }
        server.handle.shutdown();
        for client in &mut idle {
            client.ends();
        }
        server.result().unwrap();
    }
}

/// The beginning of HTTP/2: the preface and empty SETTINGS.
const BEGINNING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// A server with so much patience with heads, and at its end, that a test fails before.
fn endless() -> Settings {
    Settings {
        header_timeout: Duration::from_secs(3600),
        ..patient()
    }
}

#[test]
fn half_a_head_holds_nothing_up() {
    let site = site();
    let server = Running::over(site.root(), endless(), Config::default());
    // Of HEADERS only the first octets have come, or the frame does not end its field block.
    let short = b"\0\0\x20\x01\x04\0\0\0\x01\x82";
    let open = b"\0\0\x01\x01\x01\0\0\0\x01\x82";
    let begun: [&[u8]; 7] = [
        b"GET /a HT",
        b"\r\n",
        b"GET /a HTTP/1.1\r\nHost: a\r\n",
        b"PRI * HTTP/2.0\r\n\r\nS",
        &BEGINNING[..30],
        &[BEGINNING, short].concat(),
        &[BEGINNING, open].concat(),
    ];
    // After an answer what has come with the request was looked at.
    let known = |begun: &&[u8]| !begun.starts_with(b"PRI");
    let mut clients = Vec::new();
    for begun in begun {
        let mut client = Client::new(server.address);
        if known(&begun) {
            client.send([get("/a").as_bytes(), begun].concat());
            assert_eq!(client.answer().content, b"alpha");
        } else {
            client.send(begun);
        }
        clients.push(client);
    }
    // And with these what came before.
    let mut last = Client::new(server.address);
    assert_eq!(last.get("/a").content, b"alpha");
    clients.push(last);
    server.handle.shutdown();
    for (client, begun) in clients.iter_mut().zip(begun) {
        let (rest, orderly) = client.rest();
        assert!(orderly, "{:?}", begun.escape_ascii().to_string());
        if known(&begun) {
            assert_eq!(rest.escape_ascii().to_string(), "");
        }
    }
    server.result().unwrap();
}

#[test]
fn who_waits_to_be_let_in_is_answered() {
    let site = site();
    for workers in [1, 3] {
        let settings = Settings {
            workers,
            ..patient()
        };
        let server = bind(site.root(), settings, Config::default());
        let address = server.addresses()[0];
        // Nobody accepts these, and then the server is to end.
        let mut clients: Vec<_> = (0..50).map(|_| Client::new(address)).collect();
        for client in &mut clients {
            client.send(get("/a"));
        }
        server.handle().shutdown();
        let server = Running::start(server);
        for client in &mut clients {
            assert_eq!(client.answer().content, b"alpha");
            client.ends();
        }
        server.result().unwrap();
    }
}

#[test]
fn who_waits_and_says_nothing_holds_nothing_up() {
    let site = site();
    let server = bind(site.root(), endless(), Config::default());
    let silent = TcpStream::connect(server.addresses()[0]).unwrap();
    silent.set_read_timeout(Some(PATIENCE)).unwrap();
    server.handle().shutdown();
    Running::start(server).result().unwrap();
    assert_eq!((&silent).read(&mut [0; 16]).unwrap(), 0);
}
