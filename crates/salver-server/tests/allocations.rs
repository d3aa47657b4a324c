//! A cached hit allocates nothing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use common::client::{Client, request};
use common::{PATIENCE, Running, Site, pattern, settings, until};
use salver_access_log::{AccessLog, Destination, LogWriter, Settings as LogSettings};
use salver_assets::{Config, DirectorySource, Engine, Mount, Symlinks};
use salver_server::{Server, Settings, Sites};
use salver_test::allocations::{Counting, by_thread};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The id of the thread that serves.
fn worker() -> i32 {
    let mut found = None;
    until("the worker runs", || {
        found = std::fs::read_dir("/proc/self/task")
            .unwrap()
            .find_map(|task| {
                let task = task.unwrap();
                let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
                let id = task.file_name().to_str()?.parse().ok()?;
                (name.trim_end() == "salver-worker-0").then_some(id)
            });
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn a_cached_hit_allocates_nothing() {
    check(None, 0, 0);
    // Nor does finding its site among others.
    check(None, 100, 0);
    // The three buffers that a loop and the writer exchange, once each.
    let writer = LogWriter::start(|notice| panic!("{notice}")).unwrap();
    let log = LogSettings::new(Destination::File("/dev/null".into()));
    check(Some(writer.open(&log).unwrap()), 0, 3);
}

/// A server of this site, among so many others.
fn server(root: &Site, settings: Settings, config: Config, others: usize) -> Running {
    if others == 0 {
        return Running::over(root.root(), settings, config);
    }
    let source = DirectorySource::open(root.root(), Symlinks::Beneath, config.revalidate).unwrap();
    let config = Config {
        mounts: vec![Mount::tree("/", Arc::new(source))],
        ..config
    };
    let first = Engine::new(config.clone()).unwrap();
    let site = |number: usize| salver_server::Site {
        hosts: vec![format!("{number}.test"), format!("*.{number}.test")],
        engine: first.beside(config.clone()).unwrap(),
        hsts: None,
        label: 0,
        releases: None,
    };
    let mut sites: Vec<_> = (0..others).map(site).collect();
    sites.push(salver_server::Site {
        hosts: vec!["a".to_owned()],
        engine: first.clone(),
        hsts: None,
        label: 0,
        releases: None,
    });
    let sites = Sites::new(sites).unwrap();
    Running::start(Server::bind(sites, settings).unwrap())
}

/// Exchanges with a site beside so many others cost no more allocations than `most`.
fn check(access_log: Option<AccessLog>, others: usize, most: u64) {
    let site = Site::with(&[("small", b"small")]);
    // Longer than what is copied behind its head: by reference, with writev.
    site.write("large", &pattern(60_000, 1));
    let config = Config {
        // A look at the disk once an hour is no hit.
        revalidate: Duration::from_secs(3600),
        cache_max_file: 64 * 1024,
        ..Config::default()
    };
    let settings = Settings {
        access_log,
        ..settings()
    };
    let server = server(&site, settings, config, others);
    let worker = worker();
    let etag = {
        let mut client = Client::new(server.address);
        client.get("/large");
        client.get("/small").field("etag").unwrap().to_owned()
    };
    let cases = [
        (
            "small",
            request("GET", "/small", "Accept-Encoding: gzip, br\r\n"),
            200,
        ),
        ("large", request("GET", "/large", "Range: lines=1\r\n"), 200),
        ("head", request("HEAD", "/large", ""), 200),
        (
            "304",
            request("GET", "/small", &format!("If-None-Match: {etag}\r\n")),
            304,
        ),
        ("8 pipelined", request("GET", "/small", "").repeat(8), 200),
    ];
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut buffer = vec![0; 100_000];
    for (name, request, status) in cases {
        stream.write_all(request.as_bytes()).unwrap();
        let length = {
            // The answer's length is that of the first one, however it comes.
            let mut client = Client::new(server.address);
            client.send(&request);
            client
                .0
                .get_ref()
                .shutdown(std::net::Shutdown::Write)
                .unwrap();
            let (answer, _) = client.rest();
            assert!(answer.starts_with(format!("HTTP/1.1 {status} ").as_bytes()));
            answer.len()
        };
        let mut exchange = |first: bool| {
            if !first {
                stream.write_all(request.as_bytes()).unwrap();
            }
            stream.read_exact(&mut buffer[..length]).unwrap();
        };
        exchange(true);
        for _ in 0..100 {
            exchange(false);
        }
        let counted = by_thread(worker, || (0..1000).for_each(|_| exchange(false)));
        println!("{name}: {counted} allocations in 1,000 exchanges");
        assert!(counted <= most, "{name}: {counted}");
    }
    // The count counts: a new connection needs memory.
    let counted = by_thread(worker, || {
        assert_eq!(Client::new(server.address).get("/small").status, 200);
    });
    assert!(counted > 0);
}
