//! `salver bench ui` in a terminal: what it says, whom it answers, and how it ends. The page itself
//! is tested with a browser in `crates/salver-bench/ui-tests`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::{Running, addr_in, check_one_line, salver, stop};
use rustix::process::Signal;
use serde_json::Value;

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

/// Sends the page's server a request as the page does.
fn ask(address: SocketAddr, request: &str, content: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = content.len();
    write!(
        stream,
        "{request} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n\
         {content}"
    )
    .unwrap();
    stream
}

#[test]
fn an_interruption_ends_it_and_saves_what_the_run_has_measured() {
    let runs = tempfile::tempdir().unwrap();
    let (mut ui, token) = start(runs.path(), &[]);
    let job = r#"{"kind":"load","directory":".","duration_seconds":"3600","connections":"1"}"#;
    let mut answer = String::new();
    ask(ui.addr, &format!("POST /api/run?token={token}"), job)
        .read_to_string(&mut answer)
        .unwrap();
    assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
    let events = ask(ui.addr, &format!("GET /api/events?token={token}"), "");
    let measuring = BufReader::new(events).lines().filter_map(|line| {
        let line = line.unwrap();
        serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok()
    });
    let now = measuring.filter_map(|event| event["progress"]["now"].as_object().cloned());
    // From the second one on they tell of nothing but what is measured.
    let mut measured = now.filter(|now| now["warming_up"] == false).skip(1);
    assert!(measured.any(|now| now["requests_per_second"].as_f64() > Some(0.0)));
    ui.signal(Signal::INT);
    ui.wait_for_line("stopping the run");
    let (status, said) = ui.wait();
    assert_eq!(status.code(), Some(0), "{said}");
    let mut saved = std::fs::read_dir(runs.path()).unwrap();
    let text = std::fs::read(saved.next().unwrap().unwrap().path()).unwrap();
    let run: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(run["report"]["interrupted"], true, "{run}");
    let measured = &run["report"]["rows"][0]["series"][0]["measured"];
    assert!(measured["requests"].as_u64() > Some(0), "{measured}");
    assert!(measured["seconds"].as_f64() < Some(3600.0), "{measured}");
    assert!(saved.next().is_none());
}

#[test]
fn what_cannot_be_done_is_one_line() {
    let runs = tempfile::tempdir().unwrap();
    let (ui, _) = start(runs.path(), &[]);
    let taken = ui.addr.port().to_string();
    let here = runs.path().to_str().unwrap();
    let check = |arguments: &[&str], expected: i32, parts: &[&str]| {
        check_one_line(
            &[&["bench", "ui", "--no-open", "--runs"], arguments].concat(),
            expected,
            parts,
        );
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
