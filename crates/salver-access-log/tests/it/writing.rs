//! Lines from several loops to files and sockets, by one writer.

use std::io::{BufRead, BufReader, Read};
use std::num::NonZeroU32;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use crate::common::{PATIENCE, log, log_with, number, small, writer};
use salver_access_log::{AccessLog, Destination, Format, Sampling, Settings, Statistics};

fn numbers(path: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(number).collect()
}

/// Each of several threads logs its share of so many requests, waiting when its queue is full.
fn log_all(access_log: &AccessLog, threads: u64, requests: u64) {
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let mut producer = access_log.producer();
            scope.spawn(move || {
                for request in 0..requests / threads {
                    log(&mut producer, request * threads + thread);
                    if request % 100 == 99 {
                        std::thread::yield_now();
                    }
                }
            });
        }
    });
}

#[test]
fn every_line_is_written_once_and_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let (writer, notices) = writer();
    let settings = Settings {
        queue_bytes: 64 << 20,
        ..Settings::new(Destination::File(path.clone()))
    };
    let access_log = writer.open(&settings).unwrap();
    log_all(&access_log, 4, 100_000);
    assert!(writer.stop(PATIENCE));
    let mut found = numbers(&path);
    found.sort_unstable();
    assert_eq!(found, (0..100_000).collect::<Vec<_>>());
    let bytes = path.metadata().unwrap().len();
    let expected = Statistics {
        lines: 100_000,
        bytes,
        ..Statistics::default()
    };
    assert_eq!(access_log.statistics(), expected);
    assert_eq!(notices.try_iter().count(), 0);
    // Nobody writes any more, which is counted.
    log(&mut access_log.producer(), 1);
    assert_eq!(access_log.statistics().dropped, 1);
}

#[test]
fn what_is_not_written_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let (writer, _notices) = writer();
    let access_log = writer
        .open(&small(Destination::File(path.clone())))
        .unwrap();
    log_all(&access_log, 4, 400_000);
    assert!(writer.stop(PATIENCE));
    let mut found = numbers(&path);
    let statistics = access_log.statistics();
    assert_eq!(statistics.lines + statistics.dropped, 400_000);
    assert_eq!(u64::try_from(found.len()).unwrap(), statistics.lines);
    found.sort_unstable();
    assert!(found.windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn a_file_is_opened_anew_and_no_line_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let (writer, _notices) = writer();
    let settings = Settings {
        queue_bytes: 64 << 20,
        ..Settings::new(Destination::File(path.clone()))
    };
    let access_log = writer.open(&settings).unwrap();
    let old = |turn: u64| folder.path().join(format!("access.log.{turn}"));
    let mut producer = access_log.producer();
    for turn in 0..20 {
        (0..1000).for_each(|request| log(&mut producer, turn * 1000 + request));
        std::fs::rename(&path, old(turn)).unwrap();
        writer.reopen();
        // Until there is a new one: the loop does not wait for that, this test does.
        while !path.exists() {
            std::thread::yield_now();
        }
    }
    assert!(writer.stop(PATIENCE));
    let files = (0..20).map(old).chain([path.clone()]);
    let mut found: Vec<u64> = files.flat_map(|path| numbers(&path)).collect();
    found.sort_unstable();
    assert_eq!(found, (0..20_000).collect::<Vec<_>>());
}

#[test]
fn lines_come_soon_and_together_with_no_end_in_sight() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let (writer, _notices) = writer();
    let access_log = writer.open(&small(Destination::UnixStream(path))).unwrap();
    let mut producer = access_log.producer();
    log(&mut producer, 0);
    let (connection, _) = listener.accept().unwrap();
    connection.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut lines = BufReader::new(connection).lines();
    assert_eq!(number(&lines.next().unwrap().unwrap()), 0);
    // The second one comes without a third, and so does one after a pause.
    for request in 1..4 {
        log(&mut producer, request);
        assert_eq!(number(&lines.next().unwrap().unwrap()), request);
    }
    drop(writer);
}

#[test]
fn a_log_is_closed_when_nobody_has_it_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let (writer, _notices) = writer();
    let access_log = writer.open(&small(Destination::UnixStream(path))).unwrap();
    let mut producer = access_log.producer();
    drop(access_log);
    (0..10).for_each(|request| log(&mut producer, request));
    drop(producer);
    let (mut connection, _) = listener.accept().unwrap();
    connection.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut text = String::new();
    // To its end: while the writer is there.
    connection.read_to_string(&mut text).unwrap();
    assert_eq!(
        text.lines().map(number).collect::<Vec<_>>(),
        (0..10).collect::<Vec<_>>()
    );
    assert!(writer.stop(PATIENCE));
}

#[test]
fn a_loop_that_ends_leaves_its_counts() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, _notices) = writer();
    let mut settings = small(Destination::File(folder.path().join("access.log")));
    settings.sampling.one_in = NonZeroU32::new(2).unwrap();
    let access_log = writer.open(&settings).unwrap();
    for _ in 0..100 {
        let mut producer = access_log.producer();
        (0..100).for_each(|request| log(&mut producer, request));
    }
    assert!(writer.stop(PATIENCE));
    let statistics = access_log.statistics();
    assert!(
        (3000..7000).contains(&statistics.sampled_out),
        "{statistics:?}"
    );
    assert_eq!(
        statistics.lines + statistics.dropped + statistics.sampled_out,
        10_000
    );
}

#[test]
fn a_sample_has_all_failures_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let (writer, _notices) = writer();
    let sampling = Sampling {
        one_in: NonZeroU32::MAX,
        ..Sampling::default()
    };
    let settings = Settings {
        sampling,
        format: Format::Json,
        ..Settings::new(Destination::File(path.clone()))
    };
    let access_log = writer.open(&settings).unwrap();
    let mut producer = access_log.producer();
    assert_eq!(producer.sampling(), Some(sampling));
    for request in 1..1000 {
        let status = if request % 100 == 0 { 503 } else { 404 };
        log_with(&mut producer, request, status);
    }
    assert!(writer.stop(PATIENCE));
    let text = std::fs::read_to_string(path).unwrap();
    let failures = text.lines().filter(|line| line.contains("_code\":503"));
    assert_eq!((failures.count(), text.lines().count()), (9, 9));
    assert_eq!(access_log.statistics().sampled_out, 990);
}

#[test]
fn logs_do_not_wait_for_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let (path, nobody) = (
        folder.path().join("a.log"),
        folder.path().join("nobody.sock"),
    );
    let (writer, notices) = writer();
    let fails = writer
        .open(&small(Destination::UnixStream(nobody)))
        .unwrap();
    let works = writer
        .open(&small(Destination::File(path.clone())))
        .unwrap();
    let (mut to_nobody, mut to_file) = (fails.producer(), works.producer());
    log(&mut to_nobody, 1);
    let notice = notices.recv_timeout(PATIENCE).unwrap();
    assert!(notice.contains("nobody.sock cannot be written"), "{notice}");
    log(&mut to_file, 2);
    while works.statistics().lines == 0 {
        std::thread::yield_now();
    }
    assert_eq!(numbers(&path), [2]);
    // One that fails holds up the end no longer than it takes to see that.
    assert!(writer.stop(Duration::from_secs(600)));
    assert_eq!(
        (fails.statistics().lines, fails.statistics().dropped),
        (0, 1)
    );
}
