//! How the program ends.

use std::fs;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Running, salver, site};
use rustix::process::{Pid, Signal, kill_process};
use salver_test::machine::judge;
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
    for signal in [Signal::TERM, Signal::INT, Signal::QUIT] {
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
    // Longer than anything here waits.
    let mut server = Running::start(root.path(), &["--drain", "1h"]);
    let _stalled = half_way(&server);
    server.signal(Signal::TERM);
    server.wait_for_line("stopping");
    server.signal(Signal::TERM);
    let (status, said) = server.wait();
    assert_eq!(status.code(), Some(0), "{said}");
}

#[test]
fn signals_that_mean_something_else_end_nothing() {
    let root = site(&[("index.html", "x")]);
    let mut server = Running::start(root.path(), &[]);
    server.signal(Signal::USR1);
    server.signal(Signal::HUP);
    server.wait_for_line("reloaded: nothing is another");
    assert_eq!(server.get("/", "").0, 200);
    crate::common::stop(server);
}

#[test]
fn a_drain_takes_as_long_as_it_is_told_to() {
    let drain = |args: &[&str], variable: &str, waits: &str| {
        let root = large_site();
        let mut server = Running::start_with(root.path(), args, |command| {
            command.env("SALVER_DRAIN", variable);
        });
        let _stalled = half_way(&server);
        let began = Instant::now();
        server.signal(Signal::TERM);
        server.wait_for_line(&format!("waiting up to {waits} for answers"));
        let (status, said) = server.wait();
        assert_eq!(status.code(), Some(0), "{said}");
        assert!(said.contains("1 connection did not end"), "{said}");
        // The default is 10 s.
        let took = began.elapsed();
        let is_obeyed = (took < Duration::from_secs(8)).then_some(());
        is_obeyed.ok_or_else(|| format!("it took {took:?}"))
    };
    let check = |args: &[&str], variable: &str, waits: &str| {
        judge(format_args!("a drain of {waits}"), || {
            drain(args, variable, waits)
        });
    };
    check(&[], "300ms", "300ms");
    check(&["--drain", "200ms"], "1h", "200ms");
    check(&["--drain", "0s"], "1h", "0s");
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
    let mut stream = TcpStream::connect(crate::common::addr_in(&line)).unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// A pipe that is full, whose reading end nobody reads.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    fill(&writer);
    // The flag belongs to the open pipe, which the server is to share: its writes must block.
    rustix::io::ioctl_fionbio(&writer, false).unwrap();
    (reader, writer)
}

/// Writes until nothing fits.
fn fill(mut pipe: &PipeWriter) {
    for piece in [&[b'.'; 4096][..], b"."] {
        while pipe.write_all(piece).is_ok() {}
    }
}

/// A server at a port that was free a moment ago: it says nowhere which one it has. At its address of this machine
/// nobody else takes ports.
fn mute(root: &TempDir, stderr: PipeWriter) -> (Child, SocketAddr) {
    let free = TcpListener::bind("127.83.76.86:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let child = salver()
        .arg("serve")
        .arg(root.path())
        .args(["--host", &address.ip().to_string()])
        .args(["--port", &address.port().to_string()])
        .stderr(stderr)
        .spawn()
        .unwrap();
    (child, address)
}

/// Looks again and again until `holds`.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + crate::common::PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// How a process ends that has been told to.
fn ends(child: &mut Child) -> Option<i32> {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let mut status = None;
    let end = Instant::now() + crate::common::PATIENCE;
    while status.is_none() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
        status = child.try_wait().unwrap();
    }
    let _ = child.kill();
    let _ = child.wait();
    status?.code()
}

#[test]
fn a_full_standard_error_stops_neither_the_start_nor_the_end() {
    let root = site(&[("index.html", "x")]);
    let (_nobody_reads, writer) = full_pipe();
    let (mut child, address) = mute(&root, writer);
    let mut stream = None;
    until("it serves", || {
        stream = TcpStream::connect(address).ok();
        stream.is_some()
    });
    let mut stream = stream.unwrap();
    stream
        .set_read_timeout(Some(crate::common::PATIENCE))
        .unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    let code = ends(&mut child);
    assert!(
        read.is_ok() && answer.starts_with("HTTP/1.1 200 "),
        "{read:?} {answer}"
    );
    assert_eq!(code, Some(0));
}

#[test]
fn a_standard_error_that_is_full_by_then_does_not_stop_the_end() {
    let root = site(&[("index.html", "x")]);
    let (reader, writer) = std::io::pipe().unwrap();
    let ours = writer.try_clone().unwrap();
    let (mut child, _) = mute(&root, writer);
    let mut lines = BufReader::new(&reader).lines();
    assert!(lines.any(|line| line.unwrap().contains("cache")));
    rustix::io::ioctl_fionbio(&ours, true).unwrap();
    fill(&ours);
    rustix::io::ioctl_fionbio(&ours, false).unwrap();
    assert_eq!(ends(&mut child), Some(0));
}

#[test]
fn a_failed_start_ends_too_when_nobody_hears_of_it() {
    let root = site(&[]);
    let (_nobody_reads, writer) = full_pipe();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut child = salver()
        .arg("serve")
        .arg(root.path())
        .args(["--port", &port])
        .stderr(writer)
        .spawn()
        .unwrap();
    let mut status = None;
    let end = Instant::now() + crate::common::PATIENCE;
    while status.is_none() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
        status = child.try_wait().unwrap();
    }
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!(status.unwrap().code(), Some(1));
}
