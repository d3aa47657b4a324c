//! What an idle connection costs in memory.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::child::Child;
use crate::common::client::{Client, get};
use crate::common::{PATIENCE, Site};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use salver_test::{cannot_be_shown, status_kib};

const CONNECTIONS: usize = 10_000;

/// Each of the two processes has an end of every connection, and some more: test program, files.
const DESCRIPTORS: u64 = 10_300;

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
        cannot_be_shown(
            "what 10,000 idle connections cost",
            format_args!("{DESCRIPTORS} open files are needed and {most} allowed (ulimit -Hn)"),
        );
        return;
    }
    let site = Site::with(&[("index.html", b"hello"), ("a", b"alpha")]);
    let child = Child::start(site.root(), CONNECTIONS + 100, None);
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
    let before = status_kib(child.pid(), "VmRSS");
    let mut idle = Vec::new();
    for number in 0..CONNECTIONS {
        idle.push(connect());
        if number % 100 == 0 {
            assert_eq!(other.get("/a").content, b"alpha");
        }
    }
    let grown = status_kib(child.pid(), "VmRSS") - before;
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
