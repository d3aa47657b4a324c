//! How the program ends.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{Running, salver, site};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Asks for a file larger than all buffers between here and there, and reads its first bytes.
fn half_way(server: &Running) -> std::net::TcpStream {
    let mut stream = server.connect();
    stream
        .write_all(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    stream.read_exact(&mut [0; 1024]).unwrap();
    stream
}

const LARGE: u64 = 64 << 20;

fn large_site() -> TempDir {
    let root = site(&[("index.html", "x")]);
    fs::File::create(root.path().join("large"))
        .unwrap()
        .set_len(LARGE)
        .unwrap();
    root
}

#[test]
fn a_signal_lets_answers_under_way_be_finished() {
    for signal in [Signal::TERM, Signal::INT] {
        let root = large_site();
        let mut server = Running::start(root.path(), &[]);
        let mut stream = half_way(&server);
        // Holds nothing up: it is idle.
        let _idle = server.connect();
        server.signal(signal);
        server.wait_for_line("stopping: waiting up to 10s");
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        let (status, said) = server.wait();
        assert_eq!(status.code(), Some(0), "{said}");
        assert!(
            u64::try_from(rest.len() + 1024).unwrap() > LARGE,
            "cut at {}",
            rest.len()
        );
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    let root = large_site();
    let mut server = Running::start(root.path(), &[]);
    let _stalled = half_way(&server);
    let began = Instant::now();
    server.signal(Signal::TERM);
    server.wait_for_line("stopping");
    server.signal(Signal::TERM);
    let (status, said) = server.wait();
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(
        began.elapsed() < Duration::from_secs(8),
        "it waited for the grace period"
    );
}

#[test]
fn a_standard_error_that_nobody_reads_ends_nothing() {
    let root = site(&[]);
    let mut child = salver()
        .arg("serve")
        .arg(root.path())
        .args(["--port", "0"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = lines
        .find(|line| line.as_ref().unwrap().contains("http://"))
        .unwrap()
        .unwrap();
    drop(lines);
    let mut stream = TcpStream::connect(common::addr_in(&line)).unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
