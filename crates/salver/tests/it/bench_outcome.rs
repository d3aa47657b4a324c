//! The outcome of `salver bench load` for builds and people: interrupts, lists of requests, Markdown, and the live view.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, Running, run, salver, site, stop};
use crate::loaded::{Said, check_schema, load};
use crate::stub::{Delay, Fault, Stub};
use rustix::process::Signal;
use serde_json::Value;

/// A load that is interrupted when its export has a line: exit code, document, standard error.
fn interrupted(url: &str, folder: &Path, flags: &[&str]) -> Said {
    let file = folder.join("export");
    let mut command = salver();
    command
        .args([
            "bench",
            "load",
            url,
            "--json",
            "--timeout",
            "5m",
            "--export",
        ])
        .arg(&file)
        .args(flags)
        .stdout(Stdio::piped());
    let mut running = Running::spawn(command);
    let begun = Instant::now();
    while std::fs::metadata(&file).map_or(0, |file| file.len()) == 0 {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
    let mut stdout = running.stdout();
    running.signal(Signal::INT);
    let mut out = String::new();
    stdout.read_to_string(&mut out).unwrap();
    let (status, error) = running.wait();
    let document = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{error}"));
    check_schema(&document);
    Said {
        code: status.code().unwrap(),
        document,
        error,
    }
}

#[test]
fn an_interrupted_run_says_so_and_waits_for_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let endless = ["-c", "2", "-d", "1h", "--warm-up", "0s"];
    // One of the two never answers.
    let stub = Stub::faulty(2, Fault::Silence);
    let said = interrupted(&stub.url(), folder.path(), &endless);
    assert_eq!(
        (said.code, said.result("/interrupted")),
        (1, &Value::from(true))
    );
    assert_eq!(said.errors(), Vec::new());
    assert!(said.result("/seconds").as_f64().unwrap() < 600.0);
    assert!(said.error.contains("interrupted"), "{}", said.error);
    // Before anything is measured there are no figures, and nobody is blamed.
    std::fs::remove_file(folder.path().join("export")).unwrap();
    let stub = Stub::start(Delay::Constant(Duration::from_millis(20)));
    let said = interrupted(&stub.url(), folder.path(), &["--warm-up", "1h"]);
    assert_eq!(said.code, 1);
    assert_eq!(said.document["error"], "interrupted: nothing was measured");
    // Nor while the server is looked at: a file whose answer does not come.
    std::fs::remove_file(folder.path().join("export")).unwrap();
    let root = site(&[("a.txt", "alpha")]);
    let root = root.path().to_str().unwrap();
    let silent = Stub::faulty(1, Fault::Silence);
    let said = interrupted(&silent.url(), folder.path(), &["--root", root]);
    assert_eq!(said.code, 1);
    assert_eq!(said.document["error"], "interrupted: nothing was measured");
}

#[test]
fn requests_come_from_a_list_or_a_log_as_often_as_they_stand_there() {
    let served = site(&[("a.txt", "alpha"), ("b.txt", "b")]);
    let server = Running::start(served.path(), &[]);
    let url = format!("http://{}/", server.addr);
    let log = |request: &str, status: u16| {
        format!(
            "::1 - - [22/Nov/2026:10:00:00 +0000] \"{request} HTTP/1.1\" {status} 17 \"-\" \"x\"\n"
        )
    };
    let list = served.path().join("access.log");
    let text = [
        log("GET /a.txt", 200).repeat(3),
        log("GET /b.txt", 304),
        log("GET /gone", 404),
        log("HEAD /a.txt", 200),
        log("POST /a.txt", 200),
    ];
    std::fs::write(&list, text.concat()).unwrap();
    let flags = [
        "-c",
        "1",
        "-d",
        "1s",
        "--rate",
        "60",
        "--requests",
        list.to_str().unwrap(),
    ];
    let said = load(&url, &flags);
    assert_eq!(said.errors(), Vec::new(), "{:#}", said.document);
    assert_eq!(
        (said.count("/requests"), said.count("/statuses/404")),
        (60, 10)
    );
    assert_eq!(
        said.count("/content_bytes") - 30 * 5 - 10,
        10 * missing(&server)
    );
    assert!(
        said.error.contains("1 lines of the list were passed over"),
        "{}",
        said.error
    );
    stop(server);
}

/// How long the content of a 404 is.
fn missing(server: &Running) -> u64 {
    let url = format!("http://{}/gone", server.addr);
    let said = load(&url, &["-c", "1", "-d", "200ms", "--status", "404"]);
    said.count("/content_bytes") / said.count("/requests")
}

#[test]
fn results_are_printed_as_markdown() {
    let stub = Stub::start(Delay::Constant(Duration::from_millis(20)));
    let url = stub.url();
    let (_, out, _) = run(&["bench", "load", &url, "-d", "300ms", "--markdown"]);
    let rows = out.lines().filter(|line| line.starts_with("| "));
    assert_eq!(rows.count(), 3, "{out}");
    let (code, _, error) = run(&["bench", "load", &url, "--markdown", "--json"]);
    assert_eq!(code, 2, "{error}");
}

/// What is drawn on a terminal while it loads for two seconds.
fn drawn(url: &str, flags: &str, variables: &[(&str, &str)]) -> String {
    let program = env!("CARGO_BIN_EXE_salver");
    let command =
        format!("'{program}' bench load {url} -c 2 -d 2500ms --warm-up 0s {flags} >/dev/null");
    let mut script = Command::new("script");
    script
        .args(["-qec", &command, "/dev/null"])
        .stdin(Stdio::null());
    script.env("TERM", "xterm").env_remove("NO_COLOR");
    script.envs(variables.iter().copied());
    String::from_utf8(script.output().unwrap().stdout).unwrap()
}

#[test]
fn a_terminal_shows_how_it_goes_on_and_nothing_else_does() {
    let stub = Stub::start(Delay::Constant(Duration::from_millis(20)));
    let url = stub.url();
    const COLOR: &str = "\u{1b}[36m";
    let shown = drawn(&url, "", &[]);
    assert!(
        shown.contains("requests/s") && shown.contains("measuring"),
        "{shown:?}"
    );
    assert!(shown.contains(COLOR), "{shown:?}");
    let plain = drawn(&url, "", &[("NO_COLOR", "1")]);
    assert!(
        plain.contains("requests/s") && !plain.contains(COLOR),
        "{plain:?}"
    );
    for flag in ["--quiet", "--json"] {
        let nothing = drawn(&url, flag, &[]);
        assert!(!nothing.contains("requests/s"), "{flag}: {nothing:?}");
    }
    // Where nobody sees it, too: standard error is a pipe.
    let (_, _, error) = run(&["bench", "load", &url, "-d", "1500ms"]);
    assert!(!error.contains("requests/s"), "{error:?}");
}
