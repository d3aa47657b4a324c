//! Codings against what a client has (RFC 9842), over HTTP/1.1 and HTTP/2: from a directory that changes, from a store,
//! and behind a proxy.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use salver_assets::DictionaryCoding;
use salver_coding::{Dictionary, decode_with_dictionary};

use crate::common::curl::VERSIONS;
use crate::common::{NO_COMPRESS, PATIENCE, Running, addr_in, run, salver, site};

const OLD: &str = "app.3f9a1c2b.js";
const NEW: &str = "app.8b1d90e4.js";

/// A script that changes little with its number.
fn script(version: usize) -> String {
    let lines = (0..400).map(|line| format!("export let name{} = {line};\n", line * 7919 % 10_007));
    format!(
        "export const version = {version};\n{}",
        lines.collect::<String>()
    )
}

/// The value of Available-Dictionary of who has this.
fn available(content: &str) -> String {
    let value = Dictionary::new(content.as_bytes()).available();
    String::from_utf8(value.to_vec()).unwrap()
}

fn serve(root: &Path, args: &[&str]) -> Running {
    Running::start_with(root, args, |command| {
        command.env_remove(NO_COMPRESS);
    })
}

/// What came: the fields that these tests look at, and the content as it was sent.
struct Answer {
    coding: String,
    offer: String,
    vary: String,
    body: Vec<u8>,
}

fn ask(server: &Running, version: &str, path: &str, fields: &[&str]) -> Answer {
    let mut command = Command::new("curl");
    command.args([
        "--silent",
        "--show-error",
        "--max-time",
        "30",
        "--noproxy",
        "*",
        version,
    ]);
    for field in fields {
        command.args(["-H", field]);
    }
    let told =
        "\n%header{content-encoding}\n%header{use-as-dictionary}\n%header{vary}\n%{http_code}";
    let url = format!("http://{}/{path}", server.addr);
    let output = command
        .args(["--write-out", told, &url])
        .output()
        .expect("curl is needed: `make deps`");
    let mut parts = output.stdout.rsplitn(5, |&byte| byte == b'\n');
    let mut next = || String::from_utf8(parts.next().unwrap().to_vec()).unwrap();
    let (status, vary, offer, coding) = (next(), next(), next(), next());
    assert_eq!(status, "200", "{path}");
    let body = parts.next().unwrap().to_vec();
    Answer {
        coding,
        offer,
        vary,
        body,
    }
}

const OWN: &str = "Sec-Fetch-Site: same-origin";

/// Asks for the next version as who has `old`, until it comes in this coding.
fn until(server: &Running, version: &str, old: &str, coding: &str, more: &[&str]) -> Answer {
    let end = Instant::now() + PATIENCE;
    let has = format!("Available-Dictionary: {}", available(old));
    let accept = format!("Accept-Encoding: {coding}");
    loop {
        let answer = ask(
            server,
            version,
            NEW,
            &[&[&*has, &*accept, OWN], more].concat(),
        );
        if answer.coding == coding {
            return answer;
        }
        assert!(answer.body == script(2).as_bytes(), "{}", answer.coding);
        assert!(Instant::now() < end, "it never came in {coding}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

fn check(answer: &Answer, old: &str) {
    let coding = DictionaryCoding::ALL
        .into_iter()
        .find(|one| one.name() == answer.coding);
    let dictionary = Dictionary::new(old.as_bytes());
    let decoded = decode_with_dictionary(&answer.body, &dictionary, coding.unwrap(), 1 << 20);
    assert!(decoded.unwrap() == script(2).as_bytes());
    assert!(answer.body.len() < 300, "{}", answer.body.len());
    assert_eq!(answer.vary, "Accept-Encoding, Available-Dictionary");
    assert!(
        answer.offer.starts_with("match=\"app.*.js\", "),
        "{}",
        answer.offer
    );
}

#[test]
fn what_was_sent_is_a_dictionary_after_it_has_gone() {
    let root = site(&[(OLD, &script(1))]);
    let server = serve(
        root.path(),
        &["--revalidate", "10ms", "--compress-cpu", "100"],
    );
    let first = ask(&server, VERSIONS[0], OLD, &[OWN]);
    assert!(
        first.offer.starts_with("match=\"app.*.js\", "),
        "{}",
        first.offer
    );
    fs::write(root.path().join(NEW), script(2)).unwrap();
    // It is kept beside the answer: that the next version comes against it shows that it was.
    check(
        &until(&server, VERSIONS[0], &script(1), "dcb", &[]),
        &script(1),
    );
    fs::remove_file(root.path().join(OLD)).unwrap();
    check(
        &until(&server, VERSIONS[1], &script(1), "dcz", &[]),
        &script(1),
    );
}

#[test]
fn a_kept_release_is_a_dictionary_for_the_current_one() {
    let root = site(&[(OLD, &script(1)), ("index.html", "old")]);
    let temp = tempfile::tempdir().unwrap();
    let store = temp.path().join("store");
    let (directory, path) = (root.path().to_str().unwrap(), store.to_str().unwrap());
    let deploy = || {
        let (code, _, said) = run(&["deploy", directory, "--to", path, "--quiet"]);
        assert_eq!(code, 0, "{said}");
    };
    deploy();
    fs::rename(root.path().join(OLD), root.path().join(NEW)).unwrap();
    fs::write(root.path().join(NEW), script(2)).unwrap();
    deploy();
    let mut command = salver();
    command.args([
        "serve",
        "--port",
        "0",
        "--store",
        path,
        "--compress-cpu",
        "100",
    ]);
    let mut server = Running::spawn(command);
    server.addr = addr_in(&server.wait_for_line("://"));
    // Nobody has asked this server for the former version.
    for (version, coding) in VERSIONS.into_iter().zip(["dcb", "dcz"]) {
        check(
            &until(&server, version, &script(1), coding, &[]),
            &script(1),
        );
    }
}

#[test]
fn a_secure_context_is_said_by_tls_by_this_machine_or_by_a_trusted_proxy() {
    let root = site(&[(OLD, &script(1)), (NEW, &script(2))]);
    let elsewhere = "Host: example.org";
    let says = "X-Forwarded-Proto: https";
    let forwarded = "Forwarded: for=192.0.2.1;proto=https";
    let check = |args: &[&str], fields: &[&str], expected: bool| {
        let server = serve(root.path(), args);
        for version in VERSIONS {
            let answer = ask(&server, version, OLD, &[&[OWN], fields].concat());
            assert_eq!(!answer.offer.is_empty(), expected, "{args:?} {fields:?}");
            assert_eq!(answer.vary.contains("Available-Dictionary"), expected);
        }
    };
    check(&[], &[], true);
    check(&[], &["Host: localhost"], true);
    check(&[], &[elsewhere], false);
    check(&[], &[elsewhere, says], false);
    let trusted = ["--trusted-proxies", "127.0.0.1"];
    check(&trusted, &[elsewhere], false);
    check(&trusted, &[elsewhere, says], true);
    check(&trusted, &[elsewhere, forwarded], true);
    check(
        &["--trusted-proxies", "192.0.2.0/24"],
        &[elsewhere, says],
        false,
    );
    check(&["--no-dictionaries"], &[], false);
    check(&["--no-compress"], &[], false);
}
