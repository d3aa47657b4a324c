//! `salver bench ui` in a terminal: what it says, whom it answers, and how it ends. The page itself
//! is tested with a browser in `crates/salver-bench/ui-tests`.

use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::{Running, addr_in, run, salver, stop};
use rustix::process::Signal;

/// Starts it with these flags; gives it with the token.
fn start(runs: &Path, flags: &[&str]) -> (Running, String) {
    let mut command = salver();
    command
        .args(["bench", "ui", "--no-open", "--runs"])
        .arg(runs)
        .args(flags);
    let mut ui = Running::spawn(command);
    let line = ui.wait_for_line("http://");
    ui.addr = addr_in(&line);
    let (_, token) = line.split_once("/?token=").unwrap();
    (ui, token.to_owned())
}

#[test]
fn it_listens_on_the_loopback_interface_and_wants_its_token() {
    let directory = tempfile::tempdir().unwrap();
    let runs = directory.path().join("a/runs");
    let (ui, token) = start(&runs, &[]);
    assert!(ui.addr.ip().is_loopback(), "{}", ui.addr);
    assert_eq!(token.len(), 32);
    let mode = std::fs::metadata(&runs).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    // What `get` gives as a host is no name of this interface.
    let target = format!("/?token={token}");
    assert_eq!(ui.get(&target, "").0, 403);
    let said = stop(ui);
    assert!(said.contains(runs.to_str().unwrap()), "{said}");
}

#[test]
fn an_interruption_ends_it_with_the_run_under_way() {
    let runs = tempfile::tempdir().unwrap();
    let (mut ui, token) = start(runs.path(), &[]);
    let address = ui.addr;
    let job = r#"{"kind":"load","directory":".","duration_seconds":3600,"connections":1}"#;
    let mut stream = TcpStream::connect(address).unwrap();
    let length = job.len();
    std::io::Write::write_all(
        &mut stream,
        format!(
            "POST /api/run?token={token} HTTP/1.1\r\nHost: {address}\r\n\
             Origin: http://{address}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{job}"
        )
        .as_bytes(),
    )
    .unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
    ui.signal(Signal::INT);
    ui.wait_for_line("stopping the run");
    let (status, said) = ui.wait();
    assert_eq!(status.code(), Some(0), "{said}");
    let saved = std::fs::read_dir(runs.path()).unwrap().count();
    assert_eq!(saved, 0, "what was cut off is no result");
}

#[test]
fn what_cannot_be_done_is_one_line() {
    let runs = tempfile::tempdir().unwrap();
    let (ui, _) = start(runs.path(), &[]);
    let taken = ui.addr.port().to_string();
    let here = runs.path().to_str().unwrap();
    let check = |arguments: &[&str], expected: i32, parts: &[&str]| {
        let flags = [&["bench", "ui", "--no-open", "--runs"], arguments].concat();
        let (code, out, said) = run(&flags);
        assert_eq!((code, &*out), (expected, ""), "{arguments:?}: {said}");
        assert!(said.starts_with("salver: "), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
        for part in parts {
            assert!(said.contains(part), "{arguments:?}: {said}");
        }
    };
    check(&[here, "--port", &taken], 1, &[&taken, "taken"]);
    check(&[here, "--port", "70000"], 2, &["--port"]);
    check(&["/dev/null"], 2, &["/dev/null", "--runs"]);
    check(&[here, "more"], 2, &["unexpected argument"]);
    stop(ui);
}

#[test]
fn runs_are_kept_where_the_environment_says() {
    let home = tempfile::tempdir().unwrap();
    let mut command = salver();
    command
        .args(["bench", "ui", "--no-open"])
        .env("HOME", home.path())
        .env_remove("XDG_STATE_HOME");
    let mut ui = Running::spawn(command);
    ui.wait_for_line("http://");
    stop(ui);
    assert!(home.path().join(".local/state/salver/runs").is_dir());

    let mut command = salver();
    command
        .args(["bench", "ui", "--no-open"])
        .env_remove("HOME")
        .env_remove("XDG_STATE_HOME");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("--runs"), "{said}");
}
