//! What one connection carries, and how it ends.

use std::io::{Read, Write};
use std::net::Shutdown;

use crate::common::client::{Client, get, request};
use crate::common::{Running, Site, pattern, settings, until};
use salver_assets::Config;
use salver_server::Settings;

const MIB: usize = 1024 * 1024;

#[test]
fn a_connection_is_kept() {
    let site = Site::with(&[("a.txt", b"alpha"), ("b.txt", b"beta")]);
    let server = Running::serving(&site);
    let mut client = Client::new(server.address);
    for _ in 0..10 {
        assert_eq!(client.get("/a.txt").content, b"alpha");
        let answer = client.get("/b.txt");
        assert_eq!((answer.status, &*answer.content), (200, &b"beta"[..]));
        assert_eq!(answer.field("connection"), None);
        assert_eq!(client.get("/none").status, 404);
        client.send(request("HEAD", "/a.txt", ""));
        assert_eq!(client.head().length(), 5);
    }
}

#[test]
fn a_thousand_requests_in_one_write_are_answered_in_order() {
    let site = Site::new();
    let hot = pattern(20_000, 1);
    let large = pattern(200_000, 2);
    site.write("hot", &hot);
    site.write("large", &large);
    for number in 0..200 {
        site.write(
            &format!("cold{number}"),
            format!("cold {number}").as_bytes(),
        );
    }
    // Beyond this a file is sent from its handle.
    let config = Config {
        cache_max_file: 100_000,
        ..Config::default()
    };
    let server = Running::over(site.root(), settings(), config);
    let mut client = Client::new(server.address);
    let mut requests = String::new();
    for number in 0..200 {
        requests += &get("/hot");
        requests += &get(&format!("/cold{number}"));
        requests += &get("/large");
        requests += &get(&format!("/none{number}"));
        requests += &request("HEAD", &format!("/cold{number}"), "");
    }
    let sent = client.send_beside(requests.into_bytes());
    for number in 0..200 {
        let cold = format!("cold {number}");
        assert!(client.answer().content == hot, "hot {number}");
        assert_eq!(client.answer().content, cold.as_bytes());
        assert!(client.answer().content == large, "large {number}");
        assert_eq!(client.answer().status, 404);
        assert_eq!(client.head().length(), cold.len());
    }
    sent.join().unwrap().unwrap();
    client.0.get_ref().shutdown(Shutdown::Write).unwrap();
    client.ends();
}

#[test]
fn clients_that_leave_take_nothing_with_them() {
    let site = Site::with(&[("a", b"alpha")]);
    site.write("large", &pattern(8 * MIB, 1));
    let settings = Settings {
        max_connections: 2,
        ..settings()
    };
    let server = Running::over(site.root(), settings, Config::default());
    for round in 0..30 {
        let mut client = Client::new(server.address);
        match round % 5 {
            0 => client.send("GET /a HTT"),
            1 => client.send(request("POST", "/a", "Content-Length: 100\r\n") + "some"),
            2 => client.send(get("/large")),
            3 => {
                client.send(get("/large"));
                client.0.read_exact(&mut [0; 1000]).unwrap();
                // Not only gone, but gone with a reset.
                let socket = socket2::SockRef::from(client.0.get_ref());
                socket.set_linger(Some(std::time::Duration::ZERO)).unwrap();
            }
            _ => client.send(get("/large").repeat(20)),
        }
        drop(client);
        // Its place is free again: there is one for each of two.
        until("both places are free", || {
            let both = [(); 2].map(|()| Client::try_new(server.address));
            let [Ok(mut one), Ok(mut other)] = both else {
                return false;
            };
            // If one had to make room for the other, it is not served again.
            one.is_served("/a") && other.is_served("/a") && one.is_served("/a")
        });
    }
}

#[test]
fn the_last_answer_is_whole_and_then_the_connection_ends() {
    let large = pattern(3 * MIB, 3);
    let site = Site::with(&[("small", b"small"), ("large", &large)]);
    site.write("medium", &large[..500_000]);
    let server = Running::serving(&site);
    let files = [
        ("/small", &b"small"[..]),
        ("/medium", &large[..500_000]),
        ("/large", &large),
    ];
    for (path, content) in files {
        // Twice: once from the disk, once from the cache.
        for _ in 0..2 {
            for (version, more) in [("1.1", "Connection: close\r\n"), ("1.0", "")] {
                let mut client = Client::new(server.address);
                client.send(format!(
                    "GET {path} HTTP/{version}\r\nHost: a\r\n{more}\r\n"
                ));
                let answer = client.answer();
                assert_eq!(
                    answer.field("connection"),
                    Some("close"),
                    "{path} {version}"
                );
                assert!(answer.content == content, "{path} {version}");
                client.ends();
            }
        }
    }
}

#[test]
fn what_follows_the_last_request_does_not_destroy_its_answer() {
    let large = pattern(MIB, 4);
    let site = Site::with(&[("small", b"small"), ("large", &large)]);
    let server = Running::serving(&site);
    for (path, content) in [("/small", &b"small"[..]), ("/large", &large)] {
        for trailing in [1, 20_000, 300_000] {
            let mut client = Client::new(server.address);
            let mut sent = request("GET", path, "Connection: close\r\n").into_bytes();
            sent.resize(sent.len() + trailing, b'x');
            let sent = client.send_beside(sent);
            // Whether the rest could be sent is the server's business; the answer is the client's.
            let _ = sent.join().unwrap();
            assert!(client.answer().content == content, "{path} {trailing}");
            client.ends();
        }
    }
}

#[test]
fn http_1_0_is_kept_alive_on_request() {
    let site = Site::with(&[("a", b"alpha")]);
    let server = Running::serving(&site);
    let mut client = Client::new(server.address);
    for _ in 0..3 {
        client.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        let answer = client.answer();
        assert_eq!(answer.field("connection"), Some("keep-alive"));
        assert_eq!(answer.content, b"alpha");
    }
    client.send("GET /a HTTP/1.0\r\n\r\n");
    assert_eq!(client.answer().content, b"alpha");
    client.ends();
}

#[test]
fn a_body_is_asked_for_and_skipped() {
    let site = Site::with(&[("a", b"alpha")]);
    let server = Running::serving(&site);
    let mut client = Client::new(server.address);
    for _ in 0..3 {
        client.send(request(
            "GET",
            "/a",
            "Expect: 100-continue\r\nContent-Length: 5\r\n",
        ));
        let interim = client.head();
        assert_eq!((interim.status, interim.head.lines().count()), (100, 2));
        client.send("12345");
        assert_eq!(client.answer().content, b"alpha");
        let chunked = request("GET", "/a", "Transfer-Encoding: chunked\r\n");
        client.send(chunked + "5\r\n12345\r\n0\r\nT: x\r\n\r\n");
        assert_eq!(client.answer().content, b"alpha");
    }
    // A method that is not there is refused before the body is sent.
    for (method, status) in [("POST", 405), ("BREW", 501)] {
        let mut client = Client::new(server.address);
        client.send(request(
            method,
            "/a",
            "Expect: 100-continue\r\nContent-Length: 5\r\n",
        ));
        assert_eq!(client.answer().status, status);
        client.ends();
    }
}

#[test]
fn a_post_is_drained_and_the_connection_goes_on() {
    let site = Site::with(&[("a", b"alpha")]);
    let server = Running::serving(&site);
    let mut client = Client::new(server.address);
    let body = "x".repeat(MIB);
    for _ in 0..3 {
        client.send(request("POST", "/a", &format!("Content-Length: {MIB}\r\n")) + &body);
        let answer = client.answer();
        assert_eq!(
            (answer.status, answer.field("allow").is_some()),
            (405, true)
        );
        assert_eq!(client.get("/a").content, b"alpha");
    }
}

#[test]
fn too_long_a_body_is_refused_readably() {
    let site = Site::with(&[("a", b"alpha")]);
    let server = Running::serving(&site);
    let sized = request("POST", "/a", &format!("Content-Length: {}\r\n", 4 * MIB));
    let chunked = request("POST", "/a", "Transfer-Encoding: chunked\r\n") + "400000\r\n";
    for head in [sized, chunked] {
        let mut client = Client::new(server.address);
        let mut sent = head.into_bytes();
        sent.resize(sent.len() + 4 * MIB, b'x');
        let sent = client.send_beside(sent);
        let _ = sent.join().unwrap();
        let answer = client.answer();
        assert_eq!(
            (answer.status, answer.field("connection")),
            (413, Some("close"))
        );
        client.ends();
    }
}

#[test]
fn a_request_in_single_bytes_is_one_request() {
    let site = Site::with(&[("a", b"alpha")]);
    let server = Running::serving(&site);
    let mut client = Client::new(server.address);
    let body = request("PUT", "/a", "Content-Length: 3\r\n") + "abc";
    for byte in (body + &get("/a") + &request("HEAD", "/a", "")).into_bytes() {
        client.send([byte]);
    }
    assert_eq!(client.answer().status, 405);
    assert_eq!(client.answer().content, b"alpha");
    assert_eq!(client.head().length(), 5);
}

#[test]
fn a_slow_reader_gets_every_byte_while_others_are_served() {
    let large = pattern(20 * MIB, 5);
    let site = Site::with(&[("large", &large), ("a", b"alpha")]);
    let server = Running::serving(&site);
    let mut slow = Client::narrow(server.address);
    slow.send(get("/large"));
    assert_eq!(slow.head().length(), large.len());
    let mut others = Client::new(server.address);
    let mut received = Vec::new();
    let mut piece = vec![0; 100_000];
    while received.len() < large.len() {
        let count = slow.0.read(&mut piece).unwrap();
        assert!(count > 0, "ended after {} bytes", received.len());
        received.extend_from_slice(&piece[..count]);
        if received.len() % 7 == 0 {
            assert_eq!(others.get("/a").content, b"alpha");
        }
    }
    assert!(received == large);
    assert_eq!(slow.get("/a").content, b"alpha");
}

#[test]
fn many_fast_readers_share_one_loop() {
    let large = pattern(4 * MIB, 6);
    let site = Site::with(&[("large", &large)]);
    let server = Running::serving(&site);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut client = Client::new(server.address);
                for _ in 0..3 {
                    assert!(client.get("/large").content == large);
                }
            });
        }
    });
}

#[test]
fn what_was_asked_before_the_end_is_answered() {
    let site = Site::with(&[("a", b"alpha"), ("b", b"beta")]);
    let server = Running::serving(&site);
    let mut client = Client::new(server.address);
    client.send(get("/a") + &get("/b") + "GET /a HT");
    client.0.get_ref().shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.answer().content, b"alpha");
    assert_eq!(client.answer().content, b"beta");
    client.ends();
    let mut client = Client::new(server.address);
    client.send("BAD\r\n\r\n".to_owned() + &get("/a"));
    assert_eq!(client.answer().status, 400);
    client.ends();
    assert!(client.0.get_mut().flush().is_ok());
}
