//! `salver bench cache`, as a person and as a program meet it.

use std::path::Path;
use std::time::Instant;

use crate::common::{PATIENCE, Running, check_one_line, run, salver};
use rustix::process::{Pid, Signal, kill_process};
use salver_bench::report::{CACHED, PLAIN, Report};

fn entries(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

fn arguments<'a>(directory: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["bench", "cache", directory.to_str().unwrap()];
    all.extend(["--trials", "2", "--connections", "4"]);
    all.extend(more);
    all
}

#[test]
fn the_document_has_both_ways_at_every_size() {
    let directory = tempfile::tempdir().unwrap();
    let more = [
        "--duration",
        "100ms",
        "--sizes",
        "10KiB,1KiB,1KiB",
        "--json",
    ];
    let (code, out, said) = run(&arguments(directory.path(), &more));
    let report: Report = serde_json::from_str(&out).expect(&said);
    assert_eq!(code == 0, report.is_sound(), "{said}");
    assert!(report.environment["kernel"].is_string(), "{out}");
    assert!(report.environment["others"]["cores"].is_number(), "{out}");
    let names: Vec<_> = report.rows.iter().map(|row| &*row.name).collect();
    assert_eq!(names, ["1 KiB", "10 KiB"]);
    for (row, length) in report.rows.iter().zip([1024, 10_240]) {
        let labels: Vec<_> = row.series.iter().map(|series| &*series.label).collect();
        assert_eq!(labels, [PLAIN, CACHED]);
        for series in &row.series {
            let found = &series.measured;
            assert_eq!(found.errors.total(), 0, "{found:?}");
            assert_eq!(found.verified, salver_bench::model::Verified::Content);
            assert_eq!(found.content_bytes, found.requests * length, "{found:?}");
            assert!(found.requests > 0 && found.seconds > 0.0);
            // All of one trial: the figures belong together.
            let by_time = found.requests as f64 / found.seconds;
            assert!(
                (found.requests_per_second / by_time - 1.0).abs() < 1e-9,
                "{found:?}"
            );
            assert_eq!(found.raw.count, found.requests, "{found:?}");
            assert!(found.raw.p50_us > 0.0 && found.raw.p50_us <= found.raw.p99_us);
            assert!(found.server.is_some());
            assert!(found.target.contains(&format!("/{}/", series.label)));
        }
        assert!(row.speed_up.is_none(), "two trials give no interval");
    }
    assert_eq!(entries(directory.path()), 0, "nothing is left");
    let more = ["--duration", "50ms", "--sizes", "1KiB", "--markdown"];
    let (_, out, said) = run(&arguments(directory.path(), &more));
    let rows = out.lines().filter(|line| line.starts_with("| 1 KiB |"));
    assert_eq!(rows.count(), 2, "{out}{said}");
}

#[test]
fn the_table_has_a_row_for_each_of_the_six_sizes() {
    let directory = tempfile::tempdir().unwrap();
    let (_, text, said) = run(&arguments(directory.path(), &["--duration", "50ms"]));
    for size in ["1 KiB", "10 KiB", "50 KiB", "100 KiB", "500 KiB", "1 MiB"] {
        let rows = text
            .lines()
            .filter(|line| line.starts_with(&format!("{size} ")));
        assert_eq!(
            rows.count(),
            2,
            "figures and speed-ups of {size}: {text}{said}"
        );
    }
    for row in [PLAIN, CACHED] {
        let all = text.lines().filter(|line| {
            line.get(10..)
                .is_some_and(|rest| rest.starts_with(&format!("{row} ")))
        });
        assert_eq!(all.count(), 6, "{row}: {text}");
    }
    assert!(!text.contains("errors,"), "{text}");
}

#[test]
fn what_cannot_be_done_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().to_str().unwrap();
    let check = |arguments: &[&str], expected: i32, parts: &[&str]| {
        check_one_line(&[&["bench", "cache"], arguments].concat(), expected, parts);
    };
    check(&["/nowhere/at/all"], 2, &["/nowhere/at/all", "directory"]);
    check(&[here, "--sizes", "0"], 2, &["--sizes", "1KiB"]);
    check(&[here, "--sizes", "1GiB"], 2, &["--sizes", "64MiB"]);
    check(&[here, "--trials", "1"], 2, &["--trials"]);
    check(&[here, "--duration", "0s"], 2, &["--duration"]);
    check(&[here, "--connections", "0"], 2, &["--connections"]);
    check(&["/proc"], 1, &["/proc", "can be written to"]);
}

/// The process that this one has started.
fn child_of(parent: u32) -> Option<Pid> {
    let processes = std::fs::read_dir("/proc").unwrap();
    let mut found = processes.filter_map(|entry| {
        let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, in parentheses, may hold anything.
        let (_, rest) = stat.rsplit_once(") ")?;
        let of: u32 = rest.split(' ').nth(1)?.parse().ok()?;
        (of == parent).then(|| Pid::from_raw(pid))?
    });
    found.next()
}

/// A measurement that would take long, and its server.
fn long(directory: &Path) -> (Running, Pid) {
    let mut command = salver();
    command.args(arguments(
        directory,
        &["--sizes", "1KiB", "--duration", "1h"],
    ));
    let running = Running::spawn(command);
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(child) = child_of(running.pid()) {
            return (running, child);
        }
        assert!(Instant::now() < until, "no server");
        std::thread::yield_now();
    }
}

#[test]
fn a_server_that_dies_is_a_failure() {
    let directory = tempfile::tempdir().unwrap();
    let (running, server) = long(directory.path());
    kill_process(server, Signal::KILL).unwrap();
    let (status, said) = running.wait();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(
        said.starts_with("salver: ") && said.lines().count() == 1,
        "{said}"
    );
    assert_eq!(entries(directory.path()), 0);
}

#[test]
fn an_interruption_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let (running, server) = long(directory.path());
    running.signal(Signal::INT);
    let (status, said) = running.wait();
    assert_eq!(status.code(), Some(1), "{said}");
    assert_eq!(said, "salver: interrupted: nothing was measured");
    assert_eq!(entries(directory.path()), 0);
    assert!(
        kill_process(server, Signal::KILL).is_err(),
        "the server is gone"
    );
}
