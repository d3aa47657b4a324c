//! `salver bench coalesce`, as a person and as a program meet it.

use std::path::Path;

use crate::common::run;
use salver::commands::bench_coalesce::{Coalesced, Form};

fn entries(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

fn measured(directory: &Path, more: &[&str]) -> Coalesced {
    let mut arguments = vec!["bench", "coalesce", directory.to_str().unwrap(), "--json"];
    arguments.extend(more);
    let (code, out, said) = run(&arguments);
    assert_eq!((code, &*said), (0, ""), "{out}");
    assert_eq!(entries(directory), 0, "nothing is left");
    serde_json::from_str(&out).unwrap()
}

fn check(form: &Form, requests: usize, size: u64, trials: usize) {
    assert_eq!((form.requests, form.size), (requests, size));
    for way in [&form.alone, &form.shared] {
        assert_eq!(way.trials, trials);
        assert_eq!(way.errors.total(), 0, "{way:?}");
        assert!(0.0 < way.ms.least && way.ms.least <= way.ms.median);
        assert!(way.ms.median <= way.ms.most);
    }
    let shared = &form.shared.loads;
    assert_eq!((shared.least, shared.most), (1.0, 1.0), "one load for all");
}

#[test]
fn one_load_if_it_is_shared_and_up_to_one_each_if_not() {
    let directory = tempfile::tempdir().unwrap();
    let more = [
        "--requests",
        "300",
        "--trials",
        "2",
        "--size",
        "100KiB",
        "--socket-size",
        "2KiB",
    ];
    let found = measured(directory.path(), &more);
    check(&found.engine, 300, 102_400, 2);
    let alone = &found.engine.alone.loads;
    assert_eq!((alone.least, alone.most), (300.0, 300.0), "one load each");
    check(&found.sockets, 300, 2048, 2);
    let alone = &found.sockets.alone.loads;
    assert!(alone.least >= 1.0 && alone.most <= 300.0, "{alone:?}");
    for form in [&found.engine, &found.sockets] {
        assert!(form.speed_up.is_none(), "two trials give no interval");
        assert!(form.notes.iter().any(|note| note.contains("--trials 16")));
    }
}

#[test]
fn enough_trials_have_an_interval() {
    let directory = tempfile::tempdir().unwrap();
    let more = ["-n", "20", "--trials", "16", "--size", "64KiB"];
    let found = measured(directory.path(), &more);
    for form in [&found.engine, &found.sockets] {
        check(form, 20, form.size, 16);
        let speed_up = form.speed_up.unwrap();
        assert!(0.0 < speed_up.low && speed_up.low <= speed_up.ratio);
        assert!(speed_up.ratio <= speed_up.high);
        assert!(form.verdict.is_some());
    }
    assert_eq!(found.sockets.size, 16 * 1024, "the default");
}

#[test]
fn the_table_has_both_ways_of_both_forms() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().to_str().unwrap();
    let arguments = ["bench", "coalesce", here, "-n", "10", "--trials", "2"];
    let (code, text, said) = run(&arguments);
    assert_eq!((code, &*said), (0, ""), "{text}");
    for row in ["each for itself ", "one load "] {
        let rows = text.lines().filter(|line| line.starts_with(row));
        assert_eq!(rows.count(), 2, "{row}: {text}");
    }
    assert_eq!(
        text.matches("10 requests at once for one cold file")
            .count(),
        2
    );
}

#[test]
fn what_cannot_be_done_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().to_str().unwrap();
    let check = |arguments: &[&str], expected: i32, parts: &[&str]| {
        let (code, out, said) = run(&[&["bench", "coalesce"], arguments].concat());
        assert_eq!((code, &*out), (expected, ""), "{arguments:?}: {said}");
        assert!(said.starts_with("salver: "), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
        for part in parts {
            assert!(said.contains(part), "{arguments:?}: {said}");
        }
    };
    check(&["/nowhere/at/all"], 2, &["/nowhere/at/all", "directory"]);
    check(&[here, "--requests", "0"], 2, &["--requests"]);
    check(&[here, "--size", "0"], 2, &["--size", "16KiB"]);
    check(
        &[here, "--socket-size", "1GiB"],
        2,
        &["--socket-size", "256MiB"],
    );
    check(&[here, "--trials", "1"], 2, &["--trials"]);
    check(&["/proc"], 1, &["/proc", "can be written to"]);
}
