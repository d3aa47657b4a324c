//! `salver bench compare`, as a person and as a program meet it. What it says of speed is shown
//! with made-up trials in salver-bench; here the machine may be as busy as it likes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::thread;

use crate::common::{PATIENCE, Running, run, salver, site};
use rustix::process::{Pid, Signal, test_kill_process};
use salver_bench::compare::comparison::Comparison;
use salver_bench::compare::order::Side;

/// As short as it can be.
const SHORT: [&str; 7] = [
    "--trials=16",
    "--duration=20ms",
    "--warm-up=0s",
    "--connections=2",
    "--timeout=20s",
    "--margin=50%",
    "--quiet",
];

fn compare(a: &str, b: &str, more: &[&str]) -> (i32, String, String) {
    let mut arguments = vec!["bench", "compare", a, b];
    arguments.extend(SHORT);
    arguments.extend(more);
    run(&arguments)
}

/// The times that figures are tried to be had.
const ATTEMPTS: usize = 10;

/// The same, begun again where a busy machine gave a trial no core in its 20 ms, of which there are no figures.
fn compare_by_figures(a: &str, b: &str, more: &[&str]) -> (i32, String, String) {
    begun_again(|| compare(a, b, more), |out| out.contains("requests/s"))
}

/// The result of a comparison, begun again until what it prints has figures.
fn begun_again(
    mut compare: impl FnMut() -> (i32, String, String),
    has_figures: impl Fn(&str) -> bool,
) -> (i32, String, String) {
    let mut compared = compare();
    for _ in 1..ATTEMPTS {
        if has_figures(&compared.1) {
            break;
        }
        compared = compare();
    }
    compared
}

/// A command that serves a directory with this very program.
fn serve(root: &Path, more: &str) -> String {
    let (program, root) = (env!("CARGO_BIN_EXE_salver"), root.display());
    format!("'{program}' serve '{root}' --port {{port}} --workers 1 --quiet {more}")
}

/// The same, writing the number of each of its processes into `pids`.
fn serve_with_pids(root: &Path, pids: &Path) -> String {
    let command = serve(root, "").replace('\'', "");
    format!("sh -c 'echo $$ >>{}; exec {command}'", pids.display())
}

/// The processes whose numbers are in this file, which has some.
fn pids_in(file: &Path) -> Vec<Pid> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let pids: Vec<Pid> = text
        .lines()
        .map(|line| Pid::from_raw(line.parse().unwrap()).unwrap())
        .collect();
    assert!(!pids.is_empty());
    pids
}

#[test]
fn two_commands_are_compared_file_by_file_and_leave_nothing_behind() {
    let root = site(&[("a.txt", "alpha"), ("b/c.txt", "gamma")]);
    let pids = tempfile::NamedTempFile::new().unwrap();
    let (a, b) = (
        serve_with_pids(root.path(), pids.path()),
        serve(root.path(), "--no-cache"),
    );
    let directory = root.path().to_str().unwrap();
    let (code, out, said) = begun_again(
        || {
            std::fs::write(pids.path(), "").unwrap();
            compare(&a, &b, &["--root", directory, "--json"])
        },
        |out| {
            let document: Result<Comparison, _> = serde_json::from_str(out);
            document.is_ok_and(|found| found.paths.iter().all(|path| !path.figures.is_empty()))
        },
    );
    let document: Comparison = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{said}"));
    let paths: Vec<&str> = document
        .paths
        .iter()
        .map(|path| path.path.as_str())
        .collect();
    assert_eq!(paths, ["/a.txt", "/b/c.txt"]);
    assert_eq!((document.schema, document.method.seed), (1, 1));
    // Each is called by what it is.
    assert!(document.b.contains("--no-cache --") || document.b.ends_with("--no-cache"));
    assert!(!document.a.contains("--no-cache") && document.a.contains(" serve "));
    assert_eq!(document.method.margin, 0.5);
    let mut known = true;
    for path in &document.paths {
        assert_eq!((path.errors, path.trials.len()), (0, 32), "{said}");
        let of_a = path.trials.iter().filter(|trial| trial.side == Side::A);
        assert_eq!(of_a.count(), 16);
        for trial in &path.trials {
            assert!(trial.measured.server.is_some(), "its process is known");
            let mut codings = trial.measured.codings.keys();
            assert!(codings.all(|coding| coding == "identity"));
        }
        // In 20 ms a busy machine may give nobody a core.
        let answered = path.trials.iter().map(|trial| trial.measured.requests > 0);
        assert!(answered.filter(|answered| *answered).count() > 16);
        let requests = &path.figures[0];
        assert!(requests.a > 0.0 && requests.b > 0.0);
        // Only pairs of which one had no answer have no ratio.
        match &requests.ratio {
            Some(ratio) => assert!(ratio.low <= ratio.ratio && ratio.ratio <= ratio.high),
            None => assert!(path.trials.iter().any(|trial| trial.measured.requests == 0)),
        }
        known &= path.verdict.is_some();
    }
    assert_eq!(code, i32::from(!known), "{said}");

    // One start for each block, and all of them are gone.
    let pids = pids_in(pids.path());
    assert_eq!(pids.len(), 8);
    for pid in pids {
        assert!(test_kill_process(pid).is_err(), "{pid:?} is still there");
    }
}

#[test]
fn two_urls_are_compared_and_told_in_words() {
    let root = site(&[("index.html", "<p>hello")]);
    let server = Running::start(root.path(), &[]);
    let url = format!("http://{}/", server.addr);
    let (_, out, said) = compare_by_figures(&url, &url, &["--path=/", "--path=/index.html"]);
    for expected in [
        "\n/index.html: ",
        "requests/s",
        "p99, us",
        "95 % interval",
        "trials of each: 16",
        "Hodges-Lehmann",
        "seed 1",
    ] {
        assert!(out.contains(expected), "{expected}: {out}{said}");
    }
    assert!(!out.contains("server CPU"), "nobody named its process");
    for side in ["A", "B"] {
        let line = format!("{side}: {url}, by HTTP/1.1\n");
        assert!(out.contains(&line), "{out}{said}");
    }
}

#[test]
fn different_answers_are_not_compared_unless_that_is_meant() {
    let (one, other) = (site(&[("a.txt", "alpha")]), site(&[("a.txt", "alphb")]));
    let (a, b) = (serve(one.path(), ""), serve(other.path(), ""));
    let (code, out, said) = compare(&a, &b, &["--path=/a.txt"]);
    assert_eq!((code, &*out), (2, ""), "{said}");
    for expected in ["/a.txt: A and B send different bytes", "--allow-different"] {
        assert!(said.contains(expected), "{said}");
    }
    assert_eq!(said.lines().count(), 1, "{said}");

    let more = ["--path=/a.txt", "--allow-different"];
    let (_, out, said) = compare_by_figures(&a, &b, &more);
    assert!(out.contains("not the same: /a.txt"), "{out}{said}");
    assert!(out.contains("requests/s"), "{out}{said}");
}

#[test]
fn codings_are_part_of_what_is_sent() {
    let text = "alpha ".repeat(100);
    let root = site(&[("a.txt", &text)]);
    let coded = gzip(text.as_bytes());
    std::fs::write(root.path().join("a.txt.gz"), coded).unwrap();
    let (a, b) = (
        serve(root.path(), ""),
        serve(root.path(), "--precompressed none"),
    );
    let (code, _, said) = compare(&a, &b, &["--path=/a.txt", "--accept-encoding=gzip"]);
    assert_eq!(code, 2, "{said}");
    let expected = "/a.txt (Accept-Encoding: gzip): A sends coding gzip (";
    assert!(said.contains(expected), "{said}");
    assert!(said.contains("B identity (600 bytes)"), "{said}");
}

/// Coded by the program gzip.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut child = std::process::Command::new("gzip")
        .args(["-n", "-c"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    child.wait_with_output().unwrap().stdout
}

/// A server that answers so many connections rightly, and cuts the answers of all others.
fn breaks_after(connections: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().map_while(Result::ok).enumerate() {
            thread::spawn(move || {
                let mut stream = stream;
                let mut buffer = [0; 4096];
                while let Ok(1..) = stream.read(&mut buffer) {
                    let text: &[u8] = if number < connections {
                        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nalpha"
                    } else {
                        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nal"
                    };
                    if stream.write_all(text).is_err() || number >= connections {
                        return;
                    }
                }
            });
        }
    });
    addr
}

#[test]
fn one_short_answer_is_enough_to_say_nothing() {
    // Two to look at both, and two in each trial: the sixth trial's are the first that break, and
    // that is in the second block.
    let url = format!("http://{}/", breaks_after(12));
    let (code, out, said) = compare(&url, &url, &[]);
    assert_eq!(code, 1, "{out}{said}");
    for expected in ["/: nothing is said", "cut short", "trials of each: 4\n"] {
        assert!(out.contains(expected), "{expected}: {out}{said}");
    }
    assert!(said.contains("requests failed"), "{out}{said}");
}

#[test]
fn a_server_that_does_not_come_is_told_with_its_last_words() {
    let root = site(&[]);
    let right = serve(root.path(), "");
    let wrong = serve(&root.path().join("nowhere"), "");
    let (code, out, said) = compare(&right, &wrong, &[]);
    assert_eq!((code, &*out), (1, ""));
    assert!(said.starts_with("salver: B: it ended before"), "{said}");
    assert!(said.contains("nowhere"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn what_cannot_be_meant_is_misused() {
    fn check(arguments: &[&str], expected: &str) {
        let (code, _, said) = run(&[&["bench", "compare"], arguments].concat());
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(expected), "{said}");
    }
    let url = "http://127.0.0.1:1/";
    check(&[url], "<B>");
    check(&[url, "salver serve"], "{port}");
    check(&[url, "ftp://127.0.0.1/"], "http://");
    check(&[url, "http://127.0.0.1:1/?a"], "query");
    check(&[url, url, "--trials=15"], "16");
    check(&[url, url, "--margin=0%"], "3%");
    check(&[url, url, "--path=a"], "slash");
    check(&[url, url, "--root=.", "--path=/a"], "--path");
    check(&[url, url, "--server-core=100000"], "core 100000");
}

#[test]
fn what_was_compared_until_an_interrupt_is_told() {
    let root = site(&[("index.html", "<p>hello")]);
    let pids = tempfile::NamedTempFile::new().unwrap();
    let command = serve_with_pids(root.path(), pids.path());
    let mut program = salver();
    program
        .args([
            "bench",
            "compare",
            &command,
            &command,
            "--trials=100000",
            "--json",
        ])
        .args(["--duration=20ms", "--warm-up=0s", "--connections=2"])
        .stdout(std::process::Stdio::piped());
    let mut compared = Running::spawn(program);
    let begun = std::time::Instant::now();
    // Servers are started anew for each block: the first two are over.
    while std::fs::read_to_string(pids.path())
        .unwrap()
        .lines()
        .count()
        < 5
    {
        assert!(begun.elapsed() < PATIENCE);
        thread::yield_now();
    }
    let mut stdout = compared.stdout();
    compared.signal(Signal::INT);
    let mut out = String::new();
    stdout.read_to_string(&mut out).unwrap();
    let (status, said) = compared.wait();
    assert_eq!(status.code(), Some(1), "{said}");
    let document: Comparison = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{said}"));
    assert!(
        document.interrupted && said.contains("until then"),
        "{said}"
    );
    let trials = document.paths[0].trials.len();
    assert!(trials >= 8 && trials.is_multiple_of(4), "{trials}");
}

#[test]
fn a_comparison_is_printed_as_markdown() {
    let root = site(&[("index.html", "<p>hello")]);
    let server = Running::start(root.path(), &[]);
    let url = format!("http://{}/", server.addr);
    let (_, out, said) = compare(&url, &url, &["--markdown"]);
    let rows: Vec<&str> = out.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(
        rows.len() >= 3 && rows[2].starts_with("| / |"),
        "{out}{said}"
    );
}

#[test]
fn an_interrupt_ends_it_and_its_servers() {
    let root = site(&[("index.html", "<p>hello")]);
    let pids = tempfile::NamedTempFile::new().unwrap();
    let command = serve_with_pids(root.path(), pids.path());
    let mut program = salver();
    program.args(["bench", "compare", &command, &command, "--duration=60s"]);
    let compared = Running::spawn(program);
    // It listens to signals before it starts servers.
    let begun = std::time::Instant::now();
    while std::fs::metadata(pids.path()).unwrap().len() == 0 {
        assert!(begun.elapsed() < PATIENCE);
        thread::yield_now();
    }
    compared.signal(Signal::INT);
    let (status, said) = compared.wait();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("interrupted"), "{said}");
    for pid in pids_in(pids.path()) {
        assert!(test_kill_process(pid).is_err(), "{pid:?} is still there");
    }
}
