//! A server that changes to other settings while it serves: who is connected goes on, and what is wrong changes nothing.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use salver_assets::{Config, DirectorySource, Engine, Mount, Symlinks};
use salver_server::{Handle, InheritedSockets, ReloadError, Server, Settings};

struct Running {
    handle: Handle,
    address: SocketAddr,
    thread: JoinHandle<std::io::Result<()>>,
}

fn engine(root: &Path) -> Engine {
    let source = DirectorySource::open(root, Symlinks::Beneath, Duration::from_secs(1)).unwrap();
    let mounts = vec![Mount::tree("/", std::sync::Arc::new(source))];
    Engine::new(Config {
        mounts,
        ..Config::default()
    })
    .unwrap()
}

fn settings(addresses: &[SocketAddr]) -> Settings {
    Settings {
        addresses: addresses.to_vec(),
        workers: 2,
        ..Settings::default()
    }
}

fn any() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

fn start(server: Server) -> Running {
    let (handle, address) = (server.handle(), server.addresses()[0]);
    let thread = std::thread::spawn(move || server.serve());
    // It answers only when it runs.
    get(&mut TcpStream::connect(address).unwrap(), "/");
    Running {
        handle,
        address,
        thread,
    }
}

impl Running {
    fn end(self) {
        self.handle.shutdown();
        self.thread.join().unwrap().unwrap();
    }
}

/// A root with one page.
fn root(page: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("index.html"), page).unwrap();
    root
}

/// Asks on a connection that stays open; the whole answer.
fn get(stream: &mut TcpStream, target: &str) -> String {
    let request = format!("GET {target} HTTP/1.1\r\nHost: a.test\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    answer(stream)
}

fn answer(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let count = stream.read(&mut buffer).unwrap();
        all.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&all).into_owned();
        let (head, content) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            (name == "Content-Length").then(|| value.parse::<usize>().unwrap())
        });
        if length == Some(content.len()) || count == 0 {
            return text;
        }
    }
}

#[test]
fn connections_go_on_with_what_there_is_now() {
    let (old, new) = (root("old"), root("new"));
    let server = Server::bind(engine(old.path()), settings(&[any()])).unwrap();
    let running = start(server);
    let mut kept = TcpStream::connect(running.address).unwrap();
    assert!(get(&mut kept, "/").ends_with("old"));
    let reloaded = running
        .handle
        .reload(engine(new.path()), settings(&[any()]));
    // The port that the kernel chose stays.
    assert_eq!(reloaded.unwrap().addresses, [running.address]);
    assert!(get(&mut kept, "/").ends_with("new"));
    let mut fresh = TcpStream::connect(running.address).unwrap();
    assert!(get(&mut fresh, "/").ends_with("new"));
    running.end();
}

#[test]
fn a_listener_that_goes_answers_who_is_there_and_one_that_comes_is_bound_before() {
    let page = root("page");
    let other = |last| SocketAddr::from(([127, 0, 0, last], 0));
    let server = Server::bind(engine(page.path()), settings(&[any(), other(2)])).unwrap();
    let goes = server.addresses()[1];
    let running = start(server);
    let mut on_it = TcpStream::connect(goes).unwrap();
    get(&mut on_it, "/");
    let mut waits = TcpStream::connect(goes).unwrap();
    let wanted = settings(&[running.address, other(3)]);
    let reloaded = running.handle.reload(engine(page.path()), wanted).unwrap();
    let comes = reloaded.addresses[1];
    for stream in [&mut on_it, &mut waits] {
        let last = get(stream, "/");
        assert!(
            last.contains("Connection: close\r\n") && last.ends_with("page"),
            "{last}"
        );
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "it ends");
    }
    assert!(TcpStream::connect(goes).is_err());
    let mut fresh = TcpStream::connect(comes).unwrap();
    assert!(!get(&mut fresh, "/").contains("Connection: close"));
    running.end();
}

#[test]
fn what_cannot_be_leaves_everything_as_it_is() {
    let (old, new) = (root("old"), root("new"));
    let server = Server::bind(engine(old.path()), settings(&[any()])).unwrap();
    assert!(matches!(
        server
            .handle()
            .reload(engine(new.path()), settings(&[any()])),
        Err(ReloadError::NotRunning)
    ));
    let running = start(server);
    let other = std::net::TcpListener::bind(any()).unwrap();
    let taken = other.local_addr().unwrap();
    let reload = |wanted| running.handle.reload(engine(new.path()), wanted);
    let error = reload(settings(&[running.address, any(), taken])).unwrap_err();
    assert!(error.to_string().contains("is taken"), "{error}");
    let more = Settings {
        workers: 3,
        ..settings(&[running.address])
    };
    let line = reload(more).unwrap_err().to_string();
    assert!(line.contains("3 workers instead of 2"), "{line}");
    let mut stream = TcpStream::connect(running.address).unwrap();
    assert!(get(&mut stream, "/").ends_with("old"));
    running.end();
}

#[test]
fn limits_hold_from_then_on() {
    let page = root("page");
    let server = Server::bind(engine(page.path()), settings(&[any()])).unwrap();
    let running = start(server);
    let mut first = TcpStream::connect(running.address).unwrap();
    get(&mut first, "/");
    let fewer = Settings {
        max_connections_per_client: Some(1),
        ..settings(&[any()])
    };
    running.handle.reload(engine(page.path()), fewer).unwrap();
    let mut second = TcpStream::connect(running.address).unwrap();
    assert!(get(&mut second, "/").starts_with("HTTP/1.1 503 "));
    assert!(
        get(&mut first, "/").starts_with("HTTP/1.1 200 "),
        "it stays"
    );
    let more = settings(&[any()]);
    running.handle.reload(engine(page.path()), more).unwrap();
    let mut third = TcpStream::connect(running.address).unwrap();
    assert!(get(&mut third, "/").starts_with("HTTP/1.1 200 "));
    running.end();
}

#[test]
fn the_same_engine_keeps_its_cache_and_another_leaves_none_behind() {
    let page = root("page");
    let first = engine(page.path());
    let server = Server::bind(first.clone(), settings(&[any()])).unwrap();
    let running = start(server);
    assert_eq!(first.statistics().entries, 1);
    running
        .handle
        .reload(first.clone(), settings(&[any()]))
        .unwrap();
    assert_eq!(first.statistics().entries, 1);
    let second = engine(page.path());
    running
        .handle
        .reload(second.clone(), settings(&[any()]))
        .unwrap();
    assert_eq!(first.statistics().entries, 0);
    get(&mut TcpStream::connect(running.address).unwrap(), "/");
    assert_eq!(second.statistics().entries, 1);
    running.end();
}

#[test]
fn a_thousand_changes_leave_no_generation_behind_and_lose_no_request() {
    let (old, new) = (root("old"), root("new"));
    let server = Server::bind(engine(old.path()), settings(&[any()])).unwrap();
    let running = start(server);
    let address = running.address;
    let (ends, ended) = channel();
    let asking = std::thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut count = 0;
        while ended.try_recv().is_err() {
            let found = get(&mut stream, "/");
            assert!(found.ends_with("old") || found.ends_with("new"), "{found}");
            // A new connection now and then.
            if count % 5 == 0 {
                stream = TcpStream::connect(address).unwrap();
            }
            count += 1;
        }
        count
    });
    for number in 0..1000 {
        let root = [&old, &new][number % 2];
        let engine = engine(root.path());
        running.handle.reload(engine, settings(&[any()])).unwrap();
    }
    ends.send(()).unwrap();
    assert!(asking.join().unwrap() > 0);
    running.end();
}

#[test]
fn another_server_takes_the_sockets_and_nobody_waits_in_vain() {
    let (old, new) = (root("old"), root("new"));
    let server = Server::bind(engine(old.path()), settings(&[any()])).unwrap();
    let first = start(server);
    let mut kept = TcpStream::connect(first.address).unwrap();
    get(&mut kept, "/");
    let mut inherited = InheritedSockets::default();
    for (address, listener) in first.handle.sockets().unwrap().listeners {
        assert_eq!(address, any());
        inherited.add_listener(address, listener);
    }
    let second = Server::bind_with(engine(new.path()), settings(&[any()]), inherited).unwrap();
    assert_eq!(second.addresses(), [first.address]);
    let second = start(second);
    first.handle.hand_over();
    // It waited for a request, which is answered; as soon as the loops know, that is the last.
    loop {
        let answer = get(&mut kept, "/");
        assert!(answer.ends_with("old"), "{answer}");
        if answer.contains("Connection: close\r\n") {
            break;
        }
    }
    first.thread.join().unwrap().unwrap();
    let mut fresh = TcpStream::connect(second.address).unwrap();
    assert!(get(&mut fresh, "/").ends_with("new"));
    second.end();
}
