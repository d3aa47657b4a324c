//! Thresholds of `salver bench load`, and a saved result, as a build goes by them: a run that others had a part in is invalid,
//! which is said before anything else, so that this runs by itself.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

mod common;
#[path = "../../salver-bench/tests/truth/stub.rs"]
#[allow(dead_code, reason = "the tests of the load generator use the rest")]
mod stub;

use std::time::Duration;

use common::run;
use salver_test::not_judged;
use serde_json::Value;
use stub::{Delay, Fault, Stub};

#[test]
fn thresholds_and_a_saved_result_decide_the_exit_code() {
    let stub = Stub::start(Delay::Constant(Duration::from_millis(20)));
    let url = stub.url();
    let short = [
        "bench",
        "load",
        &*url,
        "-c",
        "4",
        "-d",
        "500ms",
        "--warm-up",
        "0s",
    ];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("saved.json");
    let check = |flags: &[&str], parts: &[&str]| {
        // A busy machine makes a run invalid, which is said before anything else.
        for _ in 0..20 {
            let (code, out, error) = run(&[&short[..], flags].concat());
            if error.contains("the run is invalid") {
                continue;
            }
            let fails = !parts.is_empty();
            assert_eq!(code, i32::from(fails), "{flags:?}: {error}");
            let lines = error.lines().count();
            assert_eq!(lines, usize::from(fails), "{flags:?}: {error}");
            for part in parts {
                assert!(error.contains(part), "{flags:?}: {error}");
            }
            return out;
        }
        not_judged(format_args!("{flags:?}"), "the run was invalid each time");
        String::new()
    };
    check(&["--fail-if", "p50>10s", "--fail-if=rps<1"], &[]);
    check(
        &[
            "--fail-if",
            "p50>10ms",
            "--fail-if",
            "rps<1",
            "--fail-if=max>1ms",
        ],
        &["a threshold is passed: p50 is ", "(p50>10ms); max is "],
    );
    let saved = check(&["--json"], &[]);
    if saved.is_empty() {
        return;
    }
    let file = file.to_str().unwrap();
    let save = |us: f64| {
        let mut document: Value = serde_json::from_str(&saved).unwrap();
        for figure in ["/result/raw/p50_us", "/result/raw/p99_us"] {
            *document.pointer_mut(figure).unwrap() = us.into();
        }
        std::fs::write(file, document.to_string()).unwrap();
    };
    // As slow as no machine is, and then ten times as fast as it can be.
    save(1e7);
    check(&["--baseline", file, "--margin", "90%"], &[]);
    save(2000.0);
    let parts = [
        "worse than",
        "by more than 10 %",
        "p50 is ",
        "more than 2.00 ms",
    ];
    check(&["--baseline", file], &parts);
    let (code, _, error) = run(&[&short[..], &["--baseline", file, "-c", "5"]].concat());
    assert!(code == 2 || error.contains("the run is invalid"), "{error}");
    for (flags, part) in [
        (&["--baseline", "/dev/null"][..], "no result of"),
        (&["--fail-if", "p98>1ms"], "none of p50"),
        (&["--margin", "5%"], "--baseline"),
    ] {
        let (code, out, error) = run(&[&short[..], flags].concat());
        assert_eq!((code, &*out, error.lines().count()), (2, "", 1), "{error}");
        assert!(error.contains(part), "{error}");
    }
    // With a bound on errors those within it are no failure.
    let stub = Stub::faulty(100, Fault::Failure);
    let url = stub.url();
    let flags = [
        "bench",
        "load",
        &*url,
        "-c",
        "2",
        "-d",
        "500ms",
        "--fail-if",
        "errors>2%",
    ];
    let (code, out, error) = run(&flags);
    assert!(
        code == 0 || error.contains("the run is invalid"),
        "{out}{error}"
    );
}
