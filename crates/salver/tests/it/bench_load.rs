//! `salver bench load` against servers of known behaviour, as a person and as a program meet it.

use std::process::{Child, Command};
use std::time::Duration;

use crate::common::{Running, run, site, stop, went_well};
use crate::loaded::{check_schema, load};
use crate::stub::{CONTENT, Delay, Fault, Served, Stub};
use salver_test::Refusing;
use serde_json::Value;

/// How many requests were answered with a fault, and how many well.
fn counts(served: &[Served]) -> (u64, u64) {
    let faults = served.iter().filter(|one| one.fault.is_some()).count();
    (faults as u64, (served.len() - faults) as u64)
}

/// Each hundredth request goes wrong in this way: it is reported so often, and the command fails.
fn check_fault(fault: Fault, error: &str) {
    let stub = Stub::faulty(100, fault);
    // Longer than a busy machine makes any answer that comes, and so long one that does not is waited for.
    let said = load(&stub.url(), &["-c", "8", "-d", "1s", "--timeout", "3s"]);
    let (faults, right) = counts(&stub.end());
    assert!(faults > 0);
    assert_eq!(said.errors(), [(error.to_owned(), faults)]);
    assert_eq!(said.count("/requests"), right);
    assert_eq!(said.code, 1);
    assert_eq!(said.error.lines().count(), 1, "{}", said.error);
    assert!(said.error.contains(&faults.to_string()), "{}", said.error);
}

#[test]
fn a_server_that_is_right_is_no_failure() {
    let stub = Stub::start(Delay::Constant(Duration::from_millis(20)));
    let said = load(&stub.url(), &["-c", "4", "-d", "1s"]);
    let (_, right) = counts(&stub.end());
    let invalid = said.result("/invalid").to_string();
    assert!(
        went_well(said.code, &invalid, &said.error),
        "{invalid} {}",
        said.error
    );
    assert_eq!(said.count("/requests"), right);
    assert_eq!(said.count("/statuses/200"), right);
    assert_eq!(said.count("/codings/identity"), right);
    assert_eq!(said.count("/content_bytes"), right * CONTENT.len() as u64);
    assert!(said.result("/raw/p50_us").as_f64().unwrap() >= 19_980.0);
    assert!(said.result("/corrected").is_null());
    let command = said.document["environment"]["command"].as_array().unwrap();
    assert_eq!(
        (&command[0], &command[2]),
        (&Value::from("salver"), &Value::from("load"))
    );
}

#[test]
fn one_connection_in_a_hundred_dropped_is_reported_and_a_failure() {
    check_fault(Fault::Dropped, "closed");
}

#[test]
fn a_server_that_lies_about_lengths_is_reported_and_a_failure() {
    check_fault(Fault::Short, "short");
    check_fault(Fault::Long, "malformed");
}

#[test]
fn a_server_that_answers_500_is_reported_and_a_failure() {
    check_fault(Fault::Failure, "status");
}

#[test]
fn a_server_that_does_not_answer_is_reported_and_a_failure() {
    check_fault(Fault::Silence, "timeout");
}

#[test]
fn a_server_slower_than_the_rate_is_reported_and_a_failure() {
    let stub = Stub::start(Delay::OneByOne(Duration::from_millis(20)));
    let flags = ["-c", "4", "-d", "1s", "--rate", "100", "--timeout", "5s"];
    let said = load(&stub.url(), &flags);
    // All that were due in that second are waited for, and all are answered.
    assert_eq!(said.count("/requests"), 100);
    assert_eq!(counts(&stub.end()), (0, 100));
    assert_eq!(said.code, 1);
    let reasons = said.result("/invalid").to_string();
    assert!(reasons.contains("the rate was not kept"), "{reasons}");
    // The last was due after 0.99 s, and answered after 2 s; four at a time wait for each other, 80 ms.
    let figure = |path| said.result(path).as_f64().unwrap();
    let (corrected, raw) = (figure("/corrected/max_us"), figure("/raw/p50_us"));
    assert!(
        corrected > 1_000_000.0 && raw < corrected / 4.0,
        "{corrected} {raw}"
    );
}

#[test]
fn raw_and_corrected_stand_side_by_side_in_words() {
    let stub = Stub::start(Delay::Constant(Duration::from_millis(20)));
    let url = stub.url();
    let (_, out, _) = run(&["bench", "load", &url, "-d", "500ms", "--rate", "50"]);
    for name in ["  raw ", "  corrected "] {
        let line = out.lines().find(|line| line.starts_with(name));
        assert!(
            line.is_some_and(|line| line.contains(" ms")),
            "{name}: {out}"
        );
    }
}

#[test]
fn what_is_exported_comes_line_by_line_and_ends_with_the_result() {
    let stub = Stub::start(Delay::Constant(Duration::from_millis(20)));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lines.json");
    let flags = [
        "-c",
        "2",
        "-d",
        "2500ms",
        "--export",
        file.to_str().unwrap(),
    ];
    let said = load(&stub.url(), &flags);
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (last, progress) = lines.split_last().unwrap();
    assert_eq!(*last, said.document);
    // About one a second: a busy machine may be late with one.
    assert!((1..=3).contains(&progress.len()), "{text}");
    for line in progress {
        check_schema(line);
        assert_eq!(line["progress"]["of_seconds"], 2.5);
    }
}

#[test]
fn content_that_is_not_the_files_is_reported_and_a_failure() {
    let served = site(&[("a.txt", "alpha"), ("b.txt", "beta"), ("c/d.txt", "delta")]);
    let server = Running::start(served.path(), &[]);
    let url = format!("http://{}/", server.addr);
    let flags =
        |root: &str| ["-c", "2", "-d", "300ms", "--rate", "60", "--root", root].map(str::to_owned);
    let check = |root: &std::path::Path| {
        let flags = flags(root.to_str().unwrap());
        load(&url, &flags.each_ref().map(String::as_str))
    };
    let same = check(served.path());
    assert_eq!(same.errors(), Vec::new(), "{}", same.error);
    assert_eq!(same.result("/verified"), "content");
    assert_eq!(same.count("/requests"), 18);
    // The same length, and other bytes.
    let other = site(&[("a.txt", "alpha"), ("b.txt", "BETA"), ("c/d.txt", "delta")]);
    let found = check(other.path());
    assert_eq!(found.code, 1);
    assert_eq!(found.errors(), [("content".to_owned(), 6)]);
    assert_eq!(found.count("/requests"), 12);
    stop(server);
}

#[test]
fn the_cpu_of_a_named_server_is_in_the_result() {
    let served = site(&[("index.html", "hello")]);
    let server = Running::start(served.path(), &[]);
    let url = format!("http://{}/", server.addr);
    let pid = server.pid().to_string();
    let said = load(
        &url,
        &["-c", "2", "-d", "1s", "--rate", "200", "--pid", &pid],
    );
    assert_eq!(said.errors(), Vec::new());
    assert!(said.result("/server/cores").as_f64().unwrap() < 2.0);
    assert!(said.count("/server/resident_bytes") > 1 << 20);
    stop(server);
}

/// Programs that want every core, until this is dropped.
struct Greedy(Vec<Child>);

impl Greedy {
    /// So many on one core, counted from 0.
    fn on_core(core: usize, count: usize) -> Greedy {
        let endless = || {
            let mut command = Command::new("taskset");
            command.args(["-c", &core.to_string(), "sh", "-c", "while :; do :; done"]);
            command.spawn().unwrap()
        };
        Greedy((0..count).map(|_| endless()).collect())
    }

    fn on_all_cores() -> Greedy {
        let cores = std::thread::available_parallelism().unwrap().get();
        let endless = || {
            let mut command = Command::new("sh");
            command.args(["-c", "while :; do :; done"]).spawn().unwrap()
        };
        Greedy((0..2 * cores).map(|_| endless()).collect())
    }
}

impl Drop for Greedy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn figures_that_others_had_a_part_in_must_not_be_believed() {
    let served = site(&[("index.html", "hello")]);
    let server = Running::start(served.path(), &[]);
    let url = format!("http://{}/", server.addr);
    let _greedy = Greedy::on_all_cores();
    for flags in [
        &["-c", "2", "-d", "1s"][..],
        &["-d", "1s", "--rate", "2000"],
    ] {
        let said = load(&url, flags);
        let invalid = said.result("/invalid").to_string();
        assert_eq!(said.code, 1, "{invalid}");
        assert!(invalid.contains("others took"), "{invalid}");
        // Nobody else is to blame.
        assert!(!invalid.contains("bottleneck"), "{invalid}");
        assert!(
            said.document["environment"]["others"]["cores"]
                .as_f64()
                .unwrap()
                > 0.2
        );
    }
    stop(server);
}

#[test]
fn a_client_that_was_kept_from_its_core_must_not_be_believed() {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    let is_allowed = |core: &usize| allowed.is_set(*core);
    let core = (0..rustix::thread::CpuSet::MAX_CPU)
        .rfind(is_allowed)
        .unwrap();
    let served = site(&[("index.html", "hello")]);
    let server = Running::start(served.path(), &["--workers", "1"]);
    let url = format!("http://{}/", server.addr);
    let _greedy = Greedy::on_core(core, 3);
    // The other cores may have nothing to do: the client's is full.
    let output = Command::new("taskset")
        .args(["-c", &core.to_string(), env!("CARGO_BIN_EXE_salver")])
        .args(["bench", "load", &url, "-c", "2", "-d", "2s", "--json"])
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    check_schema(&document);
    let invalid = document["result"]["invalid"].to_string();
    assert_eq!(output.status.code(), Some(1), "{invalid}");
    assert!(invalid.contains("others took"), "{document:#}");
    let waiting = document["result"]["client"]["waiting_thread"].as_f64();
    assert!(waiting.is_none_or(|share| share > 0.1), "{document:#}");
    stop(server);
}

#[test]
fn a_server_that_nobody_named_is_none_of_the_others() {
    let served = site(&[("index.html", "hello")]);
    let server = Running::start(served.path(), &[]);
    let url = format!("http://{}/", server.addr);
    let pid = server.pid();
    let of = |pids: Vec<u32>| {
        let workload = salver_bench::workload::Workload::of_urls(&[&*url]).unwrap();
        let load = salver_bench::load::Load {
            server_pids: pids,
            ..salver_bench::load::Load::new(workload)
        };
        load.server_processes()
    };
    assert_eq!(of(Vec::new()), [pid]);
    assert_eq!(of(vec![1, 2]), [1, 2], "who is named is believed");
    stop(server);
    assert_eq!(of(Vec::new()), [0; 0]);
}

#[test]
fn several_processes_are_named_as_pidof_prints_them() {
    let served = site(&[("index.html", "hello")]);
    let (one, other) = (
        Running::start(served.path(), &[]),
        Running::start(served.path(), &[]),
    );
    let url = format!("http://{}/", one.addr);
    let pids = format!("{} {}", one.pid(), other.pid());
    let said = load(
        &url,
        &["-c", "2", "-d", "300ms", "--rate", "100", "--pid", &pids],
    );
    let both = said.count("/server/resident_bytes");
    let pid = one.pid().to_string();
    let said = load(
        &url,
        &["-c", "2", "-d", "300ms", "--rate", "100", "--pid", &pid],
    );
    let alone = said.count("/server/resident_bytes");
    assert!(both > alone && alone > 1 << 20, "{both} {alone}");
    let (code, _, error) = run(&["bench", "load", &url, "--pid", ""]);
    assert_eq!((code, error.lines().count()), (2, 1), "{error}");
    assert!(error.contains("does the server run"), "{error}");
    stop(one);
    stop(other);
}

#[test]
fn a_server_that_has_nothing_of_it_is_said_soon() {
    let served = site(&[("index.html", "hello")]);
    let server = Running::start(served.path(), &[]);
    let url = format!("http://{}/nothing", server.addr);
    // It is not waited for the end of a day.
    let (code, out, error) = run(&["bench", "load", &url, "-d", "1day"]);
    assert_eq!((code, &*out, error.lines().count()), (1, "", 1), "{error}");
    for part in ["404", "/nothing", "nothing is measured"] {
        assert!(error.contains(part), "{error}");
    }
    // What was not measured is no 0.00 us.
    let (code, out, _) = run(&["bench", "load", &url, "-d", "100ms", "--warm-up", "0s"]);
    assert_eq!(code, 1);
    assert!(
        out.contains("of the wrong status") && !out.contains("0.00 us "),
        "{out}"
    );
    let (code, out, error) = run(&[
        "bench",
        "load",
        &url,
        "-d",
        "100ms",
        "--warm-up",
        "0s",
        "--status",
        "404",
    ]);
    assert!(went_well(code, &out, &error), "{out}{error}");
    stop(server);
}

#[test]
fn who_cannot_be_asked_is_a_failure_of_one_line() {
    let refusing = Refusing::new();
    let port = refusing.address.port();
    let url = format!("http://127.0.0.1:{port}/");
    let (code, out, error) = run(&["bench", "load", &url, "-d", "1s", "--timeout", "1s"]);
    assert_eq!((code, &*out), (1, ""));
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.contains(&port.to_string()), "{error}");
    let (code, out, error) = run(&[
        "bench",
        "load",
        "http://127.0.0.1:1/",
        "--pid",
        "4294967295",
    ]);
    assert_eq!((code, &*out, error.lines().count()), (1, "", 1), "{error}");
    // A program is told in its own words.
    let (code, out, error) = run(&["bench", "load", &url, "--json", "--timeout", "1s"]);
    assert_eq!((code, error.lines().count()), (1, 1), "{error}");
    let document: Value = serde_json::from_str(&out).unwrap();
    check_schema(&document);
    let said = document["error"].as_str().unwrap();
    assert!(
        error.contains(said) && said.contains(&port.to_string()),
        "{said}"
    );
}

#[test]
fn what_cannot_be_meant_is_misuse() {
    let check = |arguments: &[&str], part: &str| {
        let (code, out, error) = run(&[&["bench", "load"], arguments].concat());
        assert_eq!((code, &*out), (2, ""), "{arguments:?}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.contains(part), "{arguments:?}: {error}");
    };
    let url = "http://127.0.0.1:1/";
    check(&[], "URL");
    check(&["nonsense"], "nonsense");
    check(&["ftp://127.0.0.1/"], "http");
    check(&[url, "http://127.0.0.1:2/"], "127.0.0.1:2");
    check(&[url, "-c", "0"], "connections");
    check(&[url, "-c", "2", "--threads", "3"], "threads");
    check(&[url, "-d", "0s"], "0s");
    check(&[url, "--rate", "0"], "rate");
    check(&[url, "--rate", "5", "--burst", "1s"], "--burst");
    check(&[url, "--header", "nonsense"], "nonsense");
    check(&[url, "--ranges", "60%", "--conditional", "60%"], "0.6");
    check(
        &[url, "--header", "Host: a", "--header", "host: b"],
        "one Host",
    );
    check(&[url, "--method", "no such"], "no method");
    check(&[url, "--body", "x", "--ranges", "10%"], "by GET");
    check(&[url, "--body-file", "/nowhere/at/all"], "/nowhere/at/all");
    check(&[url, "--requests", "/dev/null"], "lists no request");
}
