//! `salver bench load`, `compare` and `staleness` over TLS and HTTP/2, as a person and as a program meet
//! them. What holds for each version of HTTP is shown in salver-bench.

#[path = "../../../salver-bench/tests/protocols/server.rs"]
#[allow(dead_code, reason = "the tests of the library use the rest")]
mod server;

use std::path::Path;
use std::time::Duration;

use crate::common::{run, went_well};
use crate::loaded::check_schema;
use serde_json::Value;
use server::{Reply, Server, Speaks};

/// So slow that no client is ever the bottleneck.
const SLOW: Duration = Duration::from_millis(10);

/// A directory with the one file that the server serves.
fn root() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("file"), server::CONTENT).unwrap();
    root
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Exit code, the result in the document, standard error.
fn load(url: &str, flags: &[&str]) -> (i32, Value, String) {
    let short = ["--json", "--quiet", "-c=2", "-d=300ms", "--warm-up=0s"];
    let (code, out, error) = run(&[&["bench", "load", url], &short[..], flags].concat());
    let document: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{error}"));
    check_schema(&document);
    (code, document["result"].clone(), error)
}

#[test]
fn each_version_is_spoken_and_said() {
    let root = root();
    for (speaks, version) in [
        (Speaks::OneSecurely, "1"),
        (Speaks::Two, "2"),
        (Speaks::TwoSecurely, "2"),
        (Speaks::Three, "3"),
    ] {
        let server = Server::start(speaks, |_| Reply::Late(SLOW));
        let certificate = server.certificate();
        let flags = ["--ca", text(&certificate), "--root", text(root.path())];
        let (code, result, error) =
            load(&server.url(), &[&flags[..], &["--http", version]].concat());
        let invalid = result["invalid"].to_string();
        assert!(
            went_well(code, &invalid, &error),
            "{speaks:?}: {invalid} {error}"
        );
        assert_eq!(result["http"].as_str().unwrap().get(..1), Some(version));
        assert_eq!(result["verified"], "content");
        assert_eq!(result["tls"].is_null(), speaks == Speaks::Two);
    }
}

#[test]
fn words_say_what_was_spoken_and_what_was_trusted() {
    let server = Server::start(Speaks::TwoSecurely, |_| Reply::Late(SLOW));
    let flags = ["--http", "2", "--insecure", "--streams", "3", "-c", "2"];
    let short = [
        "bench",
        "load",
        &server.url(),
        "-d",
        "200ms",
        "--warm-up",
        "0s",
    ];
    let (code, out, error) = run(&[&short[..], &flags].concat());
    assert!(went_well(code, &out, &error), "{out}{error}");
    let line = out.lines().nth(1).unwrap();
    let tls = "HTTP/2 over TLSv1.3 with TLS13_AES_";
    assert!(line.starts_with(tls), "{line}");
    assert!(
        line.contains(", any certificate trusted, 2 connections of 3 streams,"),
        "{line}"
    );
}

#[test]
fn what_fails_is_in_the_result_and_the_exit_code() {
    let server = Server::start(Speaks::Two, |number| match number % 10 {
        0 => Reply::Reset,
        _ => Reply::Right,
    });
    let (code, result, error) = load(&server.url(), &["--http", "2", "--streams", "2"]);
    let reset = server
        .end()
        .iter()
        .filter(|one| one.reply == Reply::Reset)
        .count();
    assert_eq!((code, error.lines().count()), (1, 1), "{error}");
    assert_eq!(result["errors"]["closed"].as_u64(), Some(reset as u64));
}

#[test]
fn a_certificate_that_is_not_trusted_is_a_failure_of_one_line() {
    for (speaks, version) in [
        (Speaks::OneSecurely, "1"),
        (Speaks::TwoSecurely, "2"),
        (Speaks::Three, "3"),
    ] {
        let server = Server::start(speaks, |_| Reply::Right);
        let arguments = ["bench", "load", &server.url(), "--http", version];
        let (code, out, error) = run(&arguments);
        assert_eq!((code, &*out), (1, ""), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.contains("certificate is not trusted"), "{error}");
    }
}

#[test]
fn what_cannot_be_meant_is_misuse() {
    let check = |arguments: &[&str], part: &str| {
        let (code, out, error) = run(&[&["bench", "load"], arguments].concat());
        assert_eq!((code, &*out), (2, ""), "{arguments:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.contains(part), "{arguments:?}: {error}");
    };
    let url = "http://127.0.0.1:1/";
    check(&[url, "--http", "4"], "1, 2 or 3");
    check(&[url, "--http", "3"], "https://127.0.0.1:1");
    check(&[url, "--streams", "2"], "one request at a time");
    check(&[url, "--http", "2", "--streams", "0"], "from 1 to");
    check(&[url, "--ca", "x.pem", "--insecure"], "--ca");
    check(
        &["https://127.0.0.1:1/", "--ca", "/dev/null"],
        "no certificate",
    );
}

/// As short as a comparison can be.
const SHORT: [&str; 7] = [
    "--trials=16",
    "--duration=20ms",
    "--warm-up=0s",
    "--connections=2",
    "--timeout=20s",
    "--margin=50%",
    "--json",
];

#[test]
fn two_versions_are_compared_if_they_send_the_same() {
    let (one, two) = (
        Server::start(Speaks::OneSecurely, |_| Reply::Right),
        Server::start(Speaks::TwoSecurely, |_| Reply::Right),
    );
    let (url_a, url_b) = (one.url(), two.url());
    let compare = |more: &[&str]| {
        let urls = ["bench", "compare", &url_a, &url_b, "--insecure"];
        run(&[&urls[..], &SHORT, more].concat())
    };
    let (_, out, error) = compare(&["--http-b", "2", "--streams", "2"]);
    let document: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{error}"));
    let path = &document["paths"][0];
    assert_eq!(path["errors"], 0);
    let mut sides = [0, 0];
    for trial in path["trials"].as_array().unwrap() {
        let of_b = trial["side"] == "b";
        let expected = if of_b { ("2", 2) } else { ("1.1", 1) };
        let measured = &trial["measured"];
        assert_eq!(measured["http"], expected.0, "{measured:#}");
        assert_eq!(measured["streams"], expected.1);
        assert_eq!(measured["tls"]["certificate"], "any");
        sides[usize::from(of_b)] += 1;
    }
    assert!(sides[0] >= 8 && sides[0] == sides[1], "{sides:?}");
    // One of them does not speak that.
    let (code, out, error) = compare(&["--http", "2"]);
    assert_eq!((code, error.lines().count()), (1, 1), "{error}");
    let document: Value = serde_json::from_str(&out).unwrap();
    assert!(
        error.contains(document["error"].as_str().unwrap()),
        "{out}{error}"
    );
}

#[test]
fn versions_that_send_different_bytes_are_not_compared() {
    let (one, two) = (
        Server::start(Speaks::OneSecurely, |_| Reply::Right),
        Server::start(Speaks::TwoSecurely, |_| Reply::Wrong),
    );
    let (url_a, url_b) = (one.url(), two.url());
    let urls = [
        "bench",
        "compare",
        &url_a,
        &url_b,
        "--insecure",
        "--http-b=2",
    ];
    let (code, out, error) = run(&[&urls[..], &SHORT].concat());
    assert_eq!((code, &*out, error.lines().count()), (2, "", 1), "{error}");
    assert!(error.contains("different bytes"), "{error}");
}

#[test]
fn staleness_is_asked_over_http_2() {
    // It never looks at its file again.
    let server = Server::start(Speaks::TwoSecurely, |_| Reply::Right);
    let root = root();
    let url = server.url();
    let flags = [
        "--insecure",
        "--http=2",
        "--streams=4",
        "-c=2",
        "--limit=300ms",
        "--json",
    ];
    let arguments = ["bench", "staleness", &url, "--root", text(root.path())];
    let (code, out, error) = run(&[&arguments, &flags[..]].concat());
    let document: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{error}"));
    let found = &document["staleness"][0];
    assert_eq!((code, &found["target"]), (1, &"/file".into()), "{document}");
    assert_eq!(
        (&found["still_stale"], &found["torn"]),
        (&true.into(), &0.into())
    );
    assert!(found["asked"].as_u64().unwrap() > 0);
    let left = std::fs::read(root.path().join("file")).unwrap();
    assert!(left == server::CONTENT, "it was put back");
}
