//! Destinations that take nothing: loops go on, what is lost is counted and said, and the end comes.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, log, number, small, writer};
use salver_access_log::{AccessLog, Destination, LogWriter, Producer, Settings};

/// A named pipe with a reader, which does not read yet.
fn named_pipe(folder: &Path) -> (PathBuf, File) {
    let path = folder.join("pipe");
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    // Else opening waits for who writes.
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
    let reader = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(&path);
    (path, reader.unwrap())
}

/// Logs more lines than a pipe holds and than may wait behind it, until a thousand are lost in a row; how many. A pipe
/// that is written in small pieces holds far less than its 64 KiB, as each takes a page.
fn log_more_than_fits(access_log: &AccessLog, producer: &mut Producer) -> u64 {
    let (mut logged, mut written, mut before) = (0, 0, 0);
    loop {
        log(producer, logged);
        logged += 1;
        let now = access_log.statistics();
        if now.lines != written {
            (written, before) = (now.lines, now.dropped);
        }
        if written > 0 && now.dropped >= before + 1000 {
            return logged;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_pipe_that_nobody_reads_holds_up_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut reader) = named_pipe(folder.path());
    let (writer, notices) = writer();
    let access_log = writer.open(&small(Destination::File(path))).unwrap();
    let mut producer = access_log.producer();
    let logged = log_more_than_fits(&access_log, &mut producer);
    let notice = notices.recv_timeout(PATIENCE).unwrap();
    assert!(notice.contains("were dropped"), "{notice}");
    let first = access_log.statistics();
    assert!(first.lines < logged - first.dropped, "some wait");
    // It is read again: what waited comes, and what is logged from now on.
    let mut text = Vec::new();
    let mut read = || {
        let mut part = [0; 65536];
        match reader.read(&mut part) {
            Ok(length) => text.extend_from_slice(&part[..length]),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        }
    };
    while access_log.statistics().lines < logged - first.dropped {
        read();
    }
    log(&mut producer, logged);
    while access_log.statistics().lines <= logged - first.dropped {
        read();
    }
    assert!(writer.stop(PATIENCE));
    read();
    let text = String::from_utf8(text).unwrap();
    let numbers: Vec<u64> = text.lines().map(number).collect();
    assert_eq!(access_log.statistics().dropped, first.dropped);
    assert_eq!(
        u64::try_from(numbers.len()).unwrap(),
        logged + 1 - first.dropped
    );
    assert_eq!(numbers.last(), Some(&logged));
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), numbers.len());
}

#[test]
fn the_end_does_not_wait_for_a_reader() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _reader) = named_pipe(folder.path());
    let (writer, notices) = writer();
    let access_log = writer.open(&small(Destination::File(path))).unwrap();
    let mut producer = access_log.producer();
    let logged = log_more_than_fits(&access_log, &mut producer);
    let began = Instant::now();
    let most = Duration::from_millis(300);
    assert!(writer.stop(most));
    assert!(began.elapsed() >= most);
    let statistics = access_log.statistics();
    assert_eq!(statistics.lines + statistics.dropped, logged);
    assert!(statistics.dropped > 0);
    assert!(
        notices
            .try_iter()
            .any(|notice| notice.contains("were dropped"))
    );
}

#[test]
fn a_full_disk_is_said_and_tried_again() {
    let (writer, notices) = writer();
    let access_log = writer
        .open(&small(Destination::File("/dev/full".into())))
        .unwrap();
    let mut producer = access_log.producer();
    log(&mut producer, 0);
    let notice = notices.recv_timeout(PATIENCE).unwrap();
    assert!(notice.contains("/dev/full cannot be written"), "{notice}");
    while access_log.statistics().failures < 2 {
        std::thread::yield_now();
    }
    // While it is tried the loop logs, as far as there is room.
    (0..10_000).for_each(|request| log(&mut producer, request));
    assert!(access_log.statistics().dropped > 0);
    assert!(writer.stop(PATIENCE));
    assert_eq!(access_log.statistics().dropped, 10_001);
}

#[test]
fn a_socket_that_breaks_is_connected_again_and_lines_stay_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.sock");
    let (writer, notices) = writer();
    let settings = Settings::new(Destination::UnixStream(path.clone()));
    let access_log = writer.open(&settings).unwrap();
    let mut producer = access_log.producer();
    log(&mut producer, 0);
    assert!(
        notices
            .recv_timeout(PATIENCE)
            .unwrap()
            .contains("cannot be written")
    );
    let listener = UnixListener::bind(&path).unwrap();
    let (first, _) = listener.accept().unwrap();
    first.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(
        notices
            .recv_timeout(PATIENCE)
            .unwrap()
            .contains("is written again")
    );
    let mut first = BufReader::with_capacity(1, first);
    let mut line = String::new();
    first.read_line(&mut line).unwrap();
    assert_eq!(number(line.trim_end()), 0);
    // It reads until the midst of a line, and goes.
    (1..1000).for_each(|request| log(&mut producer, request));
    first.read_exact(&mut [0; 1000]).unwrap();
    drop(first);
    for request in 1000..2000 {
        log(&mut producer, request);
    }
    let (second, _) = listener.accept().unwrap();
    second.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(writer.stop(PATIENCE));
    let mut text = String::new();
    BufReader::new(second).read_to_string(&mut text).unwrap();
    assert!(
        text.lines().map(number).any(|number| number == 1999),
        "{text}"
    );
}

/// What the next test runs in a process of its own: it logs to standard output.
#[test]
#[ignore = "a part of the next one"]
fn log_to_standard_output() {
    let writer = LogWriter::start(|_| {}).unwrap();
    let access_log = writer.open(&small(Destination::StandardOutput)).unwrap();
    let mut producer = access_log.producer();
    (0..100_000).for_each(|request| log(&mut producer, request));
    assert!(writer.stop(Duration::from_millis(200)));
    let statistics = access_log.statistics();
    eprintln!(
        "{} of {}",
        statistics.lines,
        statistics.lines + statistics.dropped
    );
}

#[test]
fn standard_output_that_nobody_reads_holds_up_nobody() {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "stalled::log_to_standard_output",
            "--ignored",
            "--nocapture",
            "--quiet",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Nothing of its output is read until it has said what it wrote.
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let said = said.find_map(|line| {
        let line = line.unwrap();
        let (lines, all) = line.split_once(" of ")?;
        Some((lines.parse::<usize>().ok()?, all.to_owned()))
    });
    let (lines, all) = said.unwrap();
    assert_eq!(all, "100000");
    assert!(lines > 0 && lines < 100_000);
    let mut text = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert!(child.wait().unwrap().success());
    // The test harness says something too.
    let found = text
        .lines()
        .filter(|line| line.starts_with("192.0.2.1"))
        .map(number);
    assert_eq!(found.count(), lines);
}
