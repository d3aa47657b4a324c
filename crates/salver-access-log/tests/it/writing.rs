//! Lines from several loops to files, by one writer.

use std::num::NonZeroU32;

use crate::common::{PATIENCE, log, log_with, numbers, small, writer};
use salver_access_log::{AccessLog, Destination, Format, Sampling, Settings, Statistics};

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
