//! Whose connection there is room for, and whose answer: nobody's absence costs another a place.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::common::client::{Client, get, is_served, request};
use crate::common::stuck::{Gate, Stuck, occupy};
use crate::common::{Running, Site, bind_to, settings, trusting, until};
use salver_assets::{Config, DirectorySource, Engine, MemorySource, Mount, Symlinks};
use salver_server::{Server, Settings};

fn site() -> Site {
    Site::with(&[("index.html", b"hello"), ("a", b"alpha")])
}

/// A server whose mount `/hung` is stuck, with `a` beside it; it has so many places.
fn half_stuck(places: usize, answer_timeout: Duration) -> (Running, Arc<Gate>) {
    let hung = Stuck::with_cold(300);
    let gate = Arc::clone(&hung.gate);
    let sound = MemorySource::default();
    sound.insert("a", "alpha", 0);
    let config = Config {
        mounts: vec![
            Mount::tree("/", Arc::new(sound)),
            Mount::tree("/hung", Arc::new(hung)),
        ],
        ..Config::default()
    };
    let settings = Settings {
        max_connections: places,
        answer_timeout,
        ..settings()
    };
    let server = Server::bind(Engine::new(config).unwrap(), settings).unwrap();
    (Running::start(server), gate)
}

const LONG: Duration = Duration::from_secs(3600);

#[test]
fn whoever_leaves_before_the_answer_keeps_no_place() {
    let (server, gate) = half_stuck(8, LONG);
    for round in 0..4 {
        let clients: Vec<_> = (0..8)
            .map(|number| {
                let mut client = Client::new(server.address);
                // With more behind it, which is not looked at before.
                client.send(
                    get("/a") + &get(&format!("/hung/cold{}", round * 8 + number)) + &get("/a"),
                );
                client
            })
            .collect();
        for mut client in clients {
            assert_eq!(client.answer().status, 200);
        }
        until("their places are free", || {
            (0..3).all(|_| is_served(server.address, "/a"))
        });
    }
    gate.open();
}

#[test]
fn whoever_has_only_ended_its_own_side_is_still_answered() {
    let (server, gate) = half_stuck(8, LONG);
    let mut client = Client::new(server.address);
    client.send(get("/hung/cold1"));
    client
        .0
        .get_ref()
        .shutdown(std::net::Shutdown::Write)
        .unwrap();
    until("the disk is waited for", || {
        gate.waiting.load(Ordering::SeqCst) == 1
    });
    gate.open();
    assert_eq!(client.answer().content, b"cold");
}

#[test]
fn an_answer_is_awaited_for_so_long() {
    let (server, gate) = half_stuck(8, Duration::from_secs(1));
    let mut client = Client::new(server.address);
    for method in ["GET", "HEAD"] {
        client.send(crate::common::client::request(method, "/hung/cold1", ""));
        let head = client.head();
        assert_eq!((head.status, head.field("retry-after")), (503, Some("1")));
        if method == "GET" {
            let mut text = vec![0; head.length()];
            client.0.read_exact(&mut text).unwrap();
        }
    }
    // The connection goes on.
    assert_eq!(client.get("/a").content, b"alpha");
    gate.open();
}

#[test]
fn a_mount_that_hangs_takes_neither_places_nor_threads_from_others() {
    let (server, gate) = half_stuck(40, LONG);
    let mut waiting = Vec::new();
    let mut refused = 0;
    // Each has a place for as long as it likes, but not all may wait for the one mount.
    while refused < 10 {
        let mut client = Client::new(server.address);
        client.send(get("/a"));
        assert_eq!(client.answer().status, 200);
        client.send(get(&format!("/hung/cold{}", waiting.len() + refused)));
        let stream = client.0.get_ref();
        let a_moment = Some(Duration::from_millis(50));
        stream.set_read_timeout(a_moment).unwrap();
        let _ = stream.peek(&mut [0]);
        stream.set_nonblocking(true).unwrap();
        waiting.push(client);
        // Who is answered is refused, however late that comes.
        until("half of 40 wait at most", || {
            let asked = waiting.len();
            waiting.retain(|client| client.0.get_ref().peek(&mut [0]).is_err());
            refused += asked - waiting.len();
            waiting.len() <= 20
        });
    }
    // The sound mount: what is cached, what is not, and by new connections.
    for name in ["/a", "/", "/b", "/c"] {
        let status = Client::new(server.address).get(name).status;
        assert!(matches!(status, 200 | 404), "{name}: {status}");
    }
    gate.open();
}

/// Looks whether what is cached is still right go first, and may take every thread: but not those of one mount.
#[test]
fn looks_at_a_mount_that_hangs_take_no_thread_from_others() {
    const FILES: usize = 200;
    let hung = Stuck::default();
    let name = |number: usize| format!("cold{number}");
    (0..FILES).for_each(|number| hung.files.insert(&name(number), "cold", 0));
    let gate = Arc::clone(&hung.gate);
    gate.open();
    // Longer than what a loop reads by itself.
    let long = vec![7; 60_000 * 2];
    let site = Site::with(&[("long", &long)]);
    let config = trusting();
    let sound = DirectorySource::open(site.root(), Symlinks::Beneath, config.revalidate).unwrap();
    let config = Config {
        mounts: vec![
            Mount::tree("/", Arc::new(sound)),
            Mount::tree("/hung", Arc::new(hung)),
        ],
        // Every request looks.
        revalidate: Duration::ZERO,
        ..config
    };
    let server = Server::bind(Engine::new(config).unwrap(), settings()).unwrap();
    let server = Running::start(server);
    let mut clients: Vec<_> = (0..FILES)
        .map(|number| {
            let mut client = Client::new(server.address);
            assert_eq!(client.get(&format!("/hung/{}", name(number))).status, 200);
            client
        })
        .collect();
    gate.close();
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(get(&format!("/hung/{}", name(number))));
    }
    until("looks hang", || gate.waiting.load(Ordering::SeqCst) > 16);
    assert_eq!(Client::new(server.address).get("/long").content, long);
    let hanging = gate.waiting.load(Ordering::SeqCst);
    assert!(hanging < FILES, "{hanging}: nothing hung");
    gate.open();
    for mut client in clients {
        assert_eq!(client.answer().content, b"cold");
    }
}

/// A server with one of its places taken, by a client that waits for the disk.
fn occupied(settings: Settings) -> (Running, Arc<Gate>, Client) {
    let source = Stuck::with_cold(1);
    let gate = Arc::clone(&source.gate);
    let server = Running::start(bind_to(Arc::new(source), settings, Config::default()));
    let client = occupy(server.address, &gate, 0);
    (server, gate, client)
}

#[test]
fn the_longest_idle_makes_room() {
    let settings = Settings {
        max_connections: 3,
        ..settings()
    };
    let (server, gate, mut occupant) = occupied(settings);
    let mut idle: Vec<_> = (0..2).map(|_| Client::new(server.address)).collect();
    for client in &mut idle {
        assert_eq!(client.get("/a").content, b"alpha");
    }
    // The first has asked last.
    assert_eq!(idle[0].get("/a").content, b"alpha");
    for _ in 0..20 {
        // One after the other, each in the place of the longest idle one.
        let mut newcomer = Client::new(server.address);
        assert_eq!(newcomer.get("/a").content, b"alpha");
        let mut oldest = idle.remove(1 % idle.len());
        oldest.ends();
        idle.push(newcomer);
        idle.swap(0, 1);
    }
    gate.open();
    assert_eq!(occupant.answer().content, b"cold");
}

#[test]
fn half_a_request_makes_room_too_and_half_a_head_has_its_time_from_the_beginning() {
    // So long that no time-out ends what is to be pushed out, and yet not for ever.
    let settings = Settings {
        max_connections: 2,
        header_timeout: Duration::from_secs(3),
        idle_timeout: Duration::from_secs(3600),
        ..settings()
    };
    let (server, gate, _occupant) = occupied(settings);
    let half_content = request("POST", "/a", "Content-Length: 2\r\n") + "x";
    for sent in ["GET / HT", &half_content] {
        let mut half = Client::new(server.address);
        half.send(sent);
        until("there is room", || is_served(server.address, "/a"));
        half.ends();
    }
    // Who says nothing at all has the time of a head, not that of a connection between requests.
    Client::new(server.address).ends();
    gate.open();
}

#[test]
fn one_client_has_its_share() {
    let site = site();
    let settings = Settings {
        max_connections: 100,
        max_connections_per_client: Some(3),
        ..settings()
    };
    let server = Running::over(site.root(), settings, Config::default());
    let mut clients: Vec<_> = (0..3).map(|_| Client::new(server.address)).collect();
    for client in &mut clients {
        assert_eq!(client.get("/a").content, b"alpha");
    }
    assert_eq!(Client::new(server.address).answer().status, 503);
    // Another address of this machine is another client.
    let other = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let any: std::net::SocketAddr = "127.0.0.2:0".parse().unwrap();
    other.bind(&any.into()).unwrap();
    other.connect(&server.address.into()).unwrap();
    let mut other = Client(std::io::BufReader::new(std::net::TcpStream::from(other)));
    assert!(other.is_served("/a"));
    drop(clients.pop());
    until("there is room again", || is_served(server.address, "/a"));
}
