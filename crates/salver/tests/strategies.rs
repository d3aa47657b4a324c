//! `salver bench strategies`, as a person and as a program meet it: it loads every core, so that it runs by itself.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)]

mod common;

use std::path::Path;

use common::{PATIENCE, Running, check_one_line, run, salver};
use rustix::process::Signal;
use salver_test::Schema;
use serde_json::Value;

fn entries(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

/// The ratio lies in its interval and beside the quotient of the medians.
fn check(costs: &Value, context: &Value) {
    let number = |value: &Value| value.as_f64().unwrap();
    let (below, above) = (number(&costs["below_us"]), number(&costs["above_us"]));
    let interval = ["low", "ratio", "high"].map(|name| number(&costs["ratio"][name]));
    assert!(interval.is_sorted() && interval[0] > 0.0, "{context}");
    // Nothing that sends 1 KiB over TCP takes a tenth of a microsecond, or a second.
    for cost in [below, above] {
        assert!((0.1..1e6).contains(&cost), "{context}");
    }
}

/// The published schema of this document, with nothing allowed that it does not name.
fn strict() -> Schema {
    fn close(value: &mut Value) {
        match value {
            Value::Object(object) => {
                object.values_mut().for_each(close);
                if object.contains_key("properties") {
                    object.insert("additionalProperties".to_owned(), false.into());
                }
            }
            Value::Array(values) => values.iter_mut().for_each(close),
            _ => {}
        }
    }
    let schema = include_str!("../../../docs/bench-schema.json");
    let mut schema: Value = serde_json::from_str(schema).unwrap();
    close(&mut schema);
    schema["oneOf"] = serde_json::json!([{ "$ref": "#/$defs/strategies" }]);
    Schema::new(schema)
}

#[test]
fn the_document_has_both_ways_of_each_setting_quiet_and_busy() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().to_str().unwrap();
    let more = ["--seconds", "1", "--sizes", "4KiB", "--busy", "--json"];
    let (code, out, said) = run(&[&["bench", "strategies", here], &more[..]].concat());
    let document: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{said}"));
    // Where others took the cores, nothing follows, and it says so.
    let is_invalid = !document["invalid"].as_array().unwrap().is_empty();
    let expected = (i32::from(is_invalid), !is_invalid);
    assert_eq!((code, said.is_empty()), expected, "{said}");
    let wrong = strict().errors(&document);
    assert!(wrong.is_empty(), "{wrong:#?}\n{document:#}");
    assert_eq!(document["schema"], 1);
    assert_eq!(document["trials"], 16);
    let load = &document["memory_load"];
    assert!(load["threads"].as_u64().unwrap() > 0, "{load}");
    assert!(load["mib_per_second"].as_f64().unwrap() > 0.0, "{load}");

    let comparisons = document["comparisons"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let found: Vec<_> = comparisons
        .iter()
        .map(|one| ["flag", "below", "above"].map(|name| text(&one[name])))
        .collect();
    let flags = ["--cache-max-file", "--sendfile-from"];
    assert_eq!(found[0], [flags[0], "memory", "open-handle"]);
    assert_eq!(found[1], [flags[1], "read", "sendfile"]);
    assert_eq!(found.len(), 2);
    for comparison in comparisons {
        let lengths = comparison["lengths"].as_array().unwrap();
        assert_eq!(lengths.len(), 1, "{comparison}");
        assert_eq!(lengths[0]["size"], 4096);
        check(&lengths[0]["quiet"], comparison);
        check(&lengths[0]["busy"], comparison);
    }

    let settings = document["settings"].as_array().unwrap();
    let found: Vec<_> = settings
        .iter()
        .map(|setting| text(&setting["flag"]))
        .collect();
    match is_invalid {
        true => assert!(text(&document["invalid"][0]).contains("others took")),
        false => assert_eq!(found, flags),
    }
    for setting in settings {
        let value = salver_config::values::size(setting["value"].as_str().unwrap());
        assert_eq!(value.ok(), setting["bytes"].as_u64(), "{setting}");
        let reason = text(&setting["reason"]);
        assert!(!reason.is_empty() && !reason.contains('\n'), "{setting}");
    }
    assert_eq!(entries(directory.path()), 0, "nothing is left");
}

#[test]
fn what_cannot_be_done_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().to_str().unwrap();
    let check = |arguments: &[&str], expected: i32, parts: &[&str]| {
        check_one_line(
            &[&["bench", "strategies"], arguments].concat(),
            expected,
            parts,
        );
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
    for flag in ["--sizes", "--seconds", "--busy", "--json", "[DIR]"] {
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
