//! TLS as a person sets it up, looked at with curl.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Running, run, salver, site, stop};
use salver_test::Certificate;
use tempfile::TempDir;

/// A directory with `cert.pem` and `key.pem`.
fn issued(names: &[&str]) -> TempDir {
    let directory = site(&[]);
    Certificate::of(names).write(directory.path());
    directory
}

fn file(directory: &TempDir, name: &str) -> String {
    directory.path().join(name).to_str().unwrap().to_owned()
}

/// A server on any free port, and that port.
fn serve(root: &Path, prepare: impl FnOnce(&mut Command)) -> (Running, u16) {
    let mut command = salver();
    command.arg("serve").arg(root).args(["--port", "0"]);
    prepare(&mut command);
    let mut server = Running::spawn(command);
    let port = port_in(&server.wait_for_line("https://"));
    (server, port)
}

/// The port of the URL in a line of the banner.
fn port_in(line: &str) -> u16 {
    let digits = line.split_once("://127.0.0.1:").unwrap().1;
    digits.split('/').next().unwrap().parse().unwrap()
}

/// What curl prints; it fails if a certificate is not right.
fn curl(arguments: &[&str]) -> String {
    let mut command = Command::new("curl");
    command.args([
        "--silent",
        "--show-error",
        "--max-time",
        "30",
        "--noproxy",
        "*",
    ]);
    let output = command.args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn each_host_gets_its_certificate_and_every_port_what_it_is_for() {
    let root = site(&[("index.html", "hello")]);
    let (one, two) = (issued(&["one.test"]), issued(&["two.test", "*.two.test"]));
    let (mut server, port) = serve(root.path(), |command| {
        for pair in [&one, &two] {
            command.args(["--tls-cert", &file(pair, "cert.pem")]);
            command.args(["--tls-key", &file(pair, "key.pem")]);
        }
        command.args(["--http-port", "0", "--https-redirect", "0", "--hsts=300"]);
    });
    let plain = port_in(&server.wait_for_line("http://"));
    let redirect = port_in(&server.wait_for_line("redirects to https"));
    for (host, pair) in [
        ("one.test", &one),
        ("two.test", &two),
        ("www.two.test", &two),
    ] {
        let place = format!("{host}:{port}:127.0.0.1");
        let url = format!("https://{host}:{port}/");
        let trusted = file(pair, "cert.pem");
        for (version, most) in [("--tlsv1.3", "1.3"), ("--tlsv1.2", "1.2")] {
            let common = [
                "--resolve",
                &place,
                "--cacert",
                &trusted,
                version,
                "--include",
                &url,
            ];
            let answer = curl(&[&common[..], &["--tls-max", most]].concat());
            assert!(answer.ends_with("hello"), "{answer}");
            let answer = answer.to_ascii_lowercase();
            assert!(
                answer.contains("strict-transport-security: max-age=300\r\n"),
                "{answer}"
            );
        }
    }
    let answer = curl(&["--include", &format!("http://127.0.0.1:{plain}/")]);
    assert!(answer.ends_with("hello"), "{answer}");
    assert!(
        !answer.to_ascii_lowercase().contains("strict-transport"),
        "{answer}"
    );
    // Followed from the one port to the other.
    let places = [redirect, port].map(|port| format!("one.test:{port}:127.0.0.1"));
    let mut follow = vec!["--location", "--cacert"];
    let trusted = file(&one, "cert.pem");
    follow.push(&trusted);
    for place in &places {
        follow.extend(["--resolve", place]);
    }
    let url = format!("http://one.test:{redirect}/?x");
    follow.push(&url);
    assert_eq!(curl(&follow), "hello");
    let answer = curl(&["--include", &format!("http://127.0.0.1:{port}/")]);
    assert!(
        answer.starts_with("HTTP/1.1 400 ") && answer.contains("https://"),
        "{answer}"
    );
    let said = stop(server);
    for pair in [&one, &two] {
        assert!(
            said.contains(&format!("{:?} for", file(pair, "cert.pem"))),
            "{said}"
        );
    }
    assert!(
        said.contains("for two.test, *.two.test, valid until "),
        "{said}"
    );
}

#[test]
fn a_laptop_needs_one_flag_or_one_variable() {
    let root = site(&[("index.html", "hello")]);
    let check = |prepare: &dyn Fn(&mut Command)| {
        let (server, port) = serve(root.path(), |command| prepare(command));
        for host in ["127.0.0.1", "localhost"] {
            let answer = curl(&["--insecure", &format!("https://{host}:{port}/")]);
            assert_eq!(answer, "hello");
        }
        let said = stop(server);
        assert!(
            said.contains("self-signed for localhost, 127.0.0.1, ::1, valid"),
            "{said}"
        );
        assert!(said.contains("browsers warn"), "{said}");
    };
    check(&|command| {
        command.arg("--tls-self-signed");
    });
    check(&|command| {
        command.env("SALVER_TLS_SELF_SIGNED", "true");
    });
}

#[test]
fn what_is_odd_about_a_certificate_is_said_at_the_start() {
    let root = site(&[("index.html", "hello")]);
    let mut parameters = rcgen::CertificateParams::new(vec!["old.test".to_owned()]).unwrap();
    parameters.not_after = rcgen::date_time_ymd(2001, 2, 3);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = parameters.self_signed(&key).unwrap();
    let files = site(&[
        ("cert.pem", &certificate.pem()),
        ("key.pem", &key.serialize_pem()),
    ]);
    let (server, _) = serve(root.path(), |command| {
        command.env("SALVER_TLS_CERT", file(&files, "cert.pem"));
        command.env("SALVER_TLS_KEY", file(&files, "key.pem"));
    });
    let said = stop(server);
    assert!(said.contains("cert.pem\" expired on 2001-02-03"), "{said}");
}

#[test]
fn what_cannot_be_meant_is_one_line_and_exit_code_2() {
    let root = site(&[("index.html", "x")]);
    let (good, other) = (issued(&["a.test"]), issued(&["b.test"]));
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| file(&good, name));
    let (other_key, missing) = (file(&other, "key.pem"), file(&good, "none.pem"));
    let empty = file(&good, "empty.pem");
    fs::write(&empty, "").unwrap();
    let check = |arguments: &[&str], parts: &[&str]| {
        let path = root.path().to_str().unwrap();
        let (code, out, said) = run(&[&["serve", path], arguments].concat());
        assert_eq!((code, &*out), (2, ""), "{arguments:?}: {said}");
        assert!(said.starts_with("salver: "), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
        for part in parts {
            assert!(said.contains(part), "{arguments:?}: {said}");
        }
    };
    let pair = |cert, key| ["--tls-cert", cert, "--tls-key", key];
    check(
        &pair(&cert, &other_key),
        &[&other_key, "does not belong", &cert],
    );
    check(
        &pair(&missing, &key),
        &[&missing, "does not exist", "--tls-cert"],
    );
    check(&pair(&cert, &missing), &[&missing, "does not exist"]);
    check(&pair(&empty, &key), &[&empty, "no certificate"]);
    check(&pair(&cert, &empty), &[&empty, "no private key"]);
    check(&pair(&key, &cert), &[&key, "a key and no certificate"]);
    check(&["--tls-cert", &cert], &["1 --tls-cert and 0 --tls-key"]);
    check(&["--tls-key", &key], &["0 --tls-cert and 1 --tls-key"]);
    let both = [&pair(&cert, &key)[..], &["--tls-self-signed"]].concat();
    check(&both, &["--tls-self-signed", "--tls-cert", "contradict"]);
    check(&["--hsts"], &["--hsts needs TLS", "--tls-self-signed"]);
    check(&["--https-redirect", "0"], &["--https-redirect needs TLS"]);
    check(&["--hsts=soon"], &["--hsts", "31536000"]);
    check(&["--hsts", "5", "--tls-self-signed"], &["--hsts=5"]);
    let tls = ["--tls-self-signed", "--port", "8443"];
    let twice = |more: [&'static str; 2]| [&tls[..], &more].concat();
    check(&twice(["--port", "8443"]), &["--port 8443", "one port"]);
    check(
        &twice(["--http-port", "8443"]),
        &["--http-port 8443", "--port 8443"],
    );
    check(
        &twice(["--https-redirect", "8443"]),
        &["--https-redirect 8443"],
    );
    check(&["--http-port", "x"], &["--http-port"]);
}
