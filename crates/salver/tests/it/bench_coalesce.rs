//! `salver bench coalesce`, as a person and as a program meet it.

use std::path::Path;

use crate::common::{check_one_line, run};
use salver::commands::bench::coalesce::Coalesced;

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

fn check(found: &Coalesced, requests: usize, size: u64, trials: usize) {
    assert_eq!((found.requests, found.size), (requests, size));
    for way in [&found.alone, &found.shared] {
        assert_eq!(way.trials, trials);
        assert_eq!(way.errors.total(), 0, "{way:?}");
        assert!(0.0 < way.ms.least && way.ms.least <= way.ms.median);
        assert!(way.ms.median <= way.ms.most);
    }
    let shared = &found.shared.loads;
    assert_eq!((shared.least, shared.most), (1.0, 1.0), "one load for all");
    let alone = &found.alone.loads;
    assert!(alone.least >= 1.0, "{alone:?}");
    assert!(alone.most <= found.requests as f64, "{alone:?}");
}

#[test]
fn one_load_if_it_is_shared_and_up_to_one_each_if_not() {
    let directory = tempfile::tempdir().unwrap();
    let more = ["--requests", "300", "--trials", "2", "--size", "2KiB"];
    let found = measured(directory.path(), &more);
    check(&found, 300, 2048, 2);
    assert!(found.speed_up.is_none(), "two trials give no interval");
    assert!(found.notes.iter().any(|note| note.contains("--trials 16")));
}

#[test]
fn enough_trials_have_an_interval() {
    let directory = tempfile::tempdir().unwrap();
    let found = measured(directory.path(), &["-n", "20", "--trials", "16"]);
    check(&found, 20, 16 * 1024, 16);
    let speed_up = found.speed_up.unwrap();
    assert!(0.0 < speed_up.low && speed_up.low <= speed_up.ratio);
    assert!(speed_up.ratio <= speed_up.high);
    assert!(found.verdict.is_some());
}

#[test]
fn the_table_has_both_ways() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().to_str().unwrap();
    let arguments = ["bench", "coalesce", here, "-n", "10", "--trials", "2"];
    let (code, text, said) = run(&arguments);
    assert_eq!((code, &*said), (0, ""), "{text}");
    for row in ["each for itself ", "one load "] {
        let rows = text.lines().filter(|line| line.starts_with(row));
        assert_eq!(rows.count(), 1, "{row}: {text}");
    }
    assert!(
        text.starts_with("10 requests at once for one cold file of 16 KiB"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_done_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().to_str().unwrap();
    let check = |arguments: &[&str], expected: i32, parts: &[&str]| {
        check_one_line(
            &[&["bench", "coalesce"], arguments].concat(),
            expected,
            parts,
        );
    };
    check(&["/nowhere/at/all"], 2, &["/nowhere/at/all", "directory"]);
    check(&[here, "--requests", "0"], 2, &["--requests"]);
    check(&[here, "--size", "0"], 2, &["--size", "16KiB"]);
    check(&[here, "--size", "1GiB"], 2, &["--size", "256MiB"]);
    check(&[here, "--trials", "1"], 2, &["--trials"]);
    check(&["/proc"], 1, &["/proc", "can be written to"]);
}
