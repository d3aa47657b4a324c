//! `salver bench strategies`, as a person and as a program meet it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::common::{PATIENCE, Running, run, salver};
use rustix::process::Signal;
use serde_json::Value;

const WAYS: [(&str, &str); 6] = [
    ("memory-one-send", "memory, one send"),
    ("memory-writev", "memory, writev"),
    ("handle-sendfile", "open handle, sendfile"),
    ("handle-pread", "open handle, pread + send"),
    ("open-pread", "open, pread + send, close"),
    ("open-sendfile", "open, sendfile, close"),
];

const SHORT: [&str; 4] = ["--seconds", "0.5", "--sizes", "1KiB,64KiB"];

fn entries(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

/// Checks the figures at `name` and gives the median.
fn median(value: &Value, name: &str) -> f64 {
    let figure = |which: &str| value[name][which].as_f64().unwrap();
    let (low, median, high) = (figure("low"), figure("median"), figure("high"));
    assert!(
        0.0 < low && low <= median && median <= high,
        "{name}: {value}"
    );
    median
}

#[test]
fn the_document_has_every_way_at_every_size() {
    let directory = tempfile::tempdir().unwrap();
    let mut arguments = vec!["bench", "strategies", directory.path().to_str().unwrap()];
    arguments.extend(SHORT);
    arguments.push("--json");
    let (code, out, said) = run(&arguments);
    let document: Value = serde_json::from_str(&out).unwrap();
    // Where others took the cores, nothing follows, and it says so.
    let is_invalid = !document["invalid"].as_array().unwrap().is_empty();
    assert_eq!(
        (code, said.is_empty()),
        (i32::from(is_invalid), !is_invalid)
    );
    assert_eq!(document["schema"], 1);
    for name in ["kernel", "processor", "congestion_control", "file_system"] {
        assert_ne!(document["machine"][name].as_str().unwrap(), "", "{name}");
    }
    let rounds = document["method"]["rounds"].as_u64().unwrap();
    assert!(rounds >= 5, "{rounds}");

    let ways = document["ways"].as_array().unwrap();
    let found: BTreeSet<_> = ways
        .iter()
        .map(|way| (way["way"].as_str().unwrap(), way["size"].as_u64().unwrap()))
        .collect();
    let expected = WAYS.map(|(name, _)| [(name, 1024), (name, 65_536)]);
    assert_eq!(found, expected.into_iter().flatten().collect());
    assert_eq!(ways.len(), found.len());
    for way in ways {
        assert!(way["requests"].as_u64().unwrap() >= rounds, "{way}");
        // A thread cannot work for longer than it takes, but for how the clocks are read.
        let (cpu, time) = (median(way, "cpu_us"), median(way, "time_us"));
        assert!(cpu <= time * 1.1, "{way}");
        // Nothing that sends 1 KiB over TCP takes a tenth of a microsecond, or a second.
        assert!((0.1..1e6).contains(&cpu), "{way}");
    }

    let residency = document["residency"].as_array().unwrap();
    for call in ["residency", "read-byte"] {
        for window in [4096, 65_536, 262_144, 1_048_576] {
            let mut asked = residency.iter();
            let resident = asked.find(|asked| {
                asked["call"] == call && asked["window"] == window && asked["state"] == "read"
            });
            median(resident.unwrap(), "ns");
        }
    }

    let settings = document["settings"].as_array().unwrap();
    let flags: Vec<_> = settings.iter().map(|setting| &setting["flag"]).collect();
    match is_invalid {
        true => assert!(
            document["invalid"][0]
                .as_str()
                .unwrap()
                .contains("others took")
        ),
        false => assert_eq!(flags, ["--cache-max-file", "--sendfile-from"]),
    }
    for setting in settings {
        let value = salver::values::size(setting["value"].as_str().unwrap());
        assert_eq!(value.ok(), setting["bytes"].as_u64(), "{setting}");
        let reason = setting["reason"].as_str().unwrap();
        assert!(!reason.is_empty() && !reason.contains('\n'), "{setting}");
    }
    assert_eq!(entries(directory.path()), 0, "nothing is left");
}

#[test]
fn the_table_has_a_row_for_each_way_and_marks_the_cheapest() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = salver();
    command
        .args(["bench", "strategies"])
        .arg(directory.path())
        .args(["--seconds", "0.5", "--sizes", "64KiB,1KiB,1000"]);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, tables) = text.split_once("us per request").unwrap();
    let mut marks = [0; 3];
    for (_, title) in WAYS {
        let mut rows = tables.lines().filter(|line| line.starts_with(title));
        let (cpu, _time) = (rows.next().unwrap(), rows.next().unwrap());
        assert!(rows.next().is_none(), "{title} twice in a table:\n{text}");
        let figures: Vec<_> = cpu
            .strip_prefix(title)
            .unwrap()
            .split_whitespace()
            .collect();
        assert_eq!(figures.len(), marks.len(), "{cpu}");
        for (figure, marks) in figures.iter().zip(&mut marks) {
            let number: f64 = figure.trim_end_matches('*').parse().unwrap();
            assert!(number > 0.0, "{cpu}");
            *marks += usize::from(figure.ends_with('*'));
        }
    }
    assert_eq!(marks, [1; 3], "{text}");
    let head = tables.lines().nth(1).unwrap();
    let sizes: Vec<_> = head.split_whitespace().collect();
    assert_eq!(sizes, ["1000", "1KiB", "64KiB"], "{text}");
    let is_invalid = text.contains("\nINVALID: others took");
    assert_eq!(output.status.code(), Some(i32::from(is_invalid)), "{text}");
    for flag in ["--cache-max-file ", "--sendfile-from "] {
        assert_eq!(
            text.matches(flag).count(),
            usize::from(!is_invalid),
            "{text}"
        );
    }
}

#[test]
fn what_cannot_be_done_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().to_str().unwrap();
    let check = |arguments: &[&str], expected: i32, parts: &[&str]| {
        let (code, out, said) = run(&[&["bench", "strategies"], arguments].concat());
        assert_eq!((code, &*out), (expected, ""), "{arguments:?}: {said}");
        assert!(said.starts_with("salver: "), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
        for part in parts {
            assert!(said.contains(part), "{arguments:?}: {said}");
        }
    };
    check(&["/nowhere/at/all"], 2, &["/nowhere/at/all", "directory"]);
    check(&["/dev/null"], 2, &["/dev/null", "directory"]);
    check(&[here, here], 2, &["unexpected argument"]);
    check(&[here, "--sizes", "many"], 2, &["--sizes", "64MiB"]);
    check(&[here, "--sizes", "0"], 2, &["--sizes", "1KiB"]);
    check(&[here, "--sizes", "1KiB,65MiB"], 2, &["--sizes", "64MiB"]);
    check(&[here, "--sizes", ""], 2, &["--sizes"]);
    check(&[here, "--seconds", "0"], 2, &["--seconds", "0.1"]);
    check(&[here, "--seconds", "5s"], 2, &["--seconds", "number"]);
    // Nobody can make files there.
    check(&["/proc"], 1, &["/proc", "can be written to"]);
}

#[test]
fn nothing_to_measure_shows_what_there_is() {
    let (code, out, said) = run(&["bench"]);
    assert_eq!((code, &*said), (0, ""));
    assert!(out.contains("strategies"), "{out}");
    let (code, out, _) = run(&["bench", "strategies", "--help"]);
    assert_eq!(code, 0);
    for flag in ["--sizes", "--seconds", "--json", "[DIR]"] {
        assert!(out.contains(flag), "{flag}: {out}");
    }
}

#[test]
fn an_interruption_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = salver();
    command
        .args(["bench", "strategies", "--seconds", "3600"])
        .arg(directory.path());
    let running = Running::spawn(command);
    // It listens for signals before it makes its folder.
    let until = std::time::Instant::now() + PATIENCE;
    while entries(directory.path()) == 0 {
        assert!(std::time::Instant::now() < until, "no folder");
        std::thread::yield_now();
    }
    running.signal(Signal::INT);
    let (status, said) = running.wait();
    assert_eq!(status.code(), Some(1), "{said}");
    assert_eq!(said, "salver: interrupted: nothing was measured");
    assert_eq!(entries(directory.path()), 0);
}
