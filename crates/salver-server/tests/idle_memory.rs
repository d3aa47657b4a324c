//! What an idle connection costs in memory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;

use common::child::{Child, serve_if_child};
use common::client::{Client, get};
use common::{PATIENCE, Site, memory_kib};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const CONNECTIONS: usize = 10_000;

/// Each of the two processes has an end of every connection, and some more: test program, files.
const DESCRIPTORS: u64 = 10_300;

/// The server that [`Child::start`] starts.
#[test]
fn child() {
    serve_if_child();
}

/// Raises the limit on descriptors for this process and those it starts.
fn descriptors() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    limit.maximum.unwrap_or(u64::MAX)
}

#[test]
fn ten_thousand_idle_connections_need_little() {
    let most = descriptors();
    if most < DESCRIPTORS {
        println!("skipped: {DESCRIPTORS} open files are needed and {most} allowed (ulimit -Hn)");
        return;
    }
    let site = Site::with(&[("index.html", b"hello"), ("a", b"alpha")]);
    let child = Child::start("child", site.root(), CONNECTIONS + 100, None);
    let connect = || {
        let mut stream = TcpStream::connect(child.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(get("/a").as_bytes()).unwrap();
        let mut answer = [0; 1000];
        let mut count = 0;
        while !answer[..count].ends_with(b"alpha") {
            let more = stream.read(&mut answer[count..]).unwrap();
            assert!(more > 0, "closed after {count} bytes");
            count += more;
        }
        stream
    };
    let mut other = Client::new(child.address);
    drop(connect());
    let before = memory_kib(&child.pid(), "VmRSS");
    let mut idle = Vec::new();
    for number in 0..CONNECTIONS {
        idle.push(connect());
        if number % 100 == 0 {
            assert_eq!(other.get("/a").content, b"alpha");
        }
    }
    let grown = memory_kib(&child.pid(), "VmRSS") - before;
    let each = grown * 1024 / u64::try_from(CONNECTIONS).unwrap();
    println!("{CONNECTIONS} idle connections: {grown} KiB, {each} bytes each");
    assert!(each < 2048, "{each} bytes");
    // They are all there still.
    for stream in idle.iter_mut().step_by(97) {
        stream.write_all(get("/a").as_bytes()).unwrap();
        assert!(stream.read(&mut [0; 1000]).unwrap() > 0);
    }
    assert_eq!(other.get("/a").content, b"alpha");
}
