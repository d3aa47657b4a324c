//! A client that others wrote: curl, over every version of HTTP and TLS that it speaks.

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::common::{Running, addr_in, certify, salver, site, tls_flags};
use tempfile::TempDir;

/// Longer than a frame, a record and what fits into a window at first.
const LENGTH: usize = 300_000;

struct Served {
    server: Running,
    certificate: PathBuf,
    text: String,
    _folders: [TempDir; 2],
}

/// A server with a certificate that [`curl`](Served::curl) trusts, or without one.
fn serve(secure: bool) -> Served {
    let text: String = (0..LENGTH)
        .map(|at| char::from(b'a' + u8::try_from(at % 23).unwrap()))
        .collect();
    let root = site(&[("text.txt", &text), ("short.txt", "short")]);
    let folder = tempfile::tempdir().unwrap();
    let pair = certify(folder.path());
    let flags: &[&str] = if secure { &tls_flags(&pair) } else { &[] };
    Served {
        server: Running::start(root.path(), flags),
        certificate: pair[0].clone(),
        text,
        _folders: [root, folder],
    }
}

impl Served {
    fn url(&self, scheme: &str, path: &str) -> String {
        format!("{scheme}://localhost:{}{path}", self.server.addr.port())
    }

    fn curl(&self, args: &[&str]) -> Output {
        Command::new("curl")
            .args(["--silent", "--show-error", "--max-time", "30", "--cacert"])
            .arg(&self.certificate)
            .args(args)
            .output()
            .expect("curl is needed: `make deps`")
    }

    /// Asks for the long text and checks it; gives what curl says of the version of HTTP.
    fn version_of(&self, scheme: &str, args: &[&str]) -> String {
        let url = self.url(scheme, "/text.txt");
        let mut all = args.to_vec();
        all.extend(["--write-out", "\n%{http_code} %{http_version}", &url]);
        let output = self.curl(&all);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {said}");
        let printed = String::from_utf8(output.stdout).unwrap();
        let (content, found) = printed.rsplit_once('\n').unwrap();
        assert!(content == self.text, "{args:?}: other content");
        let (status, version) = found.split_once(' ').unwrap();
        assert_eq!(status, "200", "{args:?}");
        version.to_owned()
    }
}

#[test]
fn over_tls_it_gets_the_version_it_asks_for() {
    let served = serve(true);
    for (args, expected) in [
        (&["--http2"][..], "2"),
        (&["--http1.1"], "1.1"),
        (&["--no-alpn"], "1.1"),
        (&["--http2", "--tlsv1.3"], "2"),
        (&["--http2", "--tlsv1.2", "--tls-max", "1.2"], "2"),
        (&["--http1.1", "--tlsv1.2", "--tls-max", "1.2"], "1.1"),
    ] {
        assert_eq!(served.version_of("https", args), expected, "{args:?}");
    }
}

#[test]
fn in_the_clear_it_gets_http2_with_prior_knowledge() {
    let served = serve(false);
    for (args, expected) in [
        (&["--http2-prior-knowledge"][..], "2"),
        (&["--http1.1"], "1.1"),
        // An upgrade that is offered may be declined (RFC 9110 section 7.8).
        (&["--http2"], "1.1"),
    ] {
        assert_eq!(served.version_of("http", args), expected, "{args:?}");
    }
}

#[test]
fn older_versions_of_tls_are_refused() {
    let served = serve(true);
    let url = served.url("https", "/short.txt");
    for version in ["1.0", "1.1"] {
        let lowest = format!("--tlsv{version}");
        // OpenSSL offers them at security level 0 only.
        let offer = [
            &lowest,
            "--tls-max",
            version,
            "--ciphers",
            "DEFAULT@SECLEVEL=0",
            &url,
        ];
        let output = served.curl(&offer);
        assert_eq!(output.status.code(), Some(35), "TLS {version}: {output:?}");
        assert!(output.stdout.is_empty(), "TLS {version}");
    }
}

#[test]
fn many_requests_share_one_connection() {
    let served = serve(true);
    let url = served.url("https", "/text.txt?[1-50]");
    let output = served.curl(&[
        "--http2",
        "--parallel",
        "--parallel-max",
        "50",
        "--output",
        "/dev/null",
        "--write-out",
        "%{http_code} %{http_version} %{size_download} %{local_port}\n",
        &url,
    ]);
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(lines.len(), 50, "{printed}");
    assert!(lines[0].starts_with("200 2 300000 "), "{printed}");
    assert!(lines.iter().all(|line| *line == lines[0]), "{printed}");
}

#[test]
fn ranges_and_conditions_hold_over_http2() {
    let served = serve(true);
    let (url, code) = (served.url("https", "/text.txt"), "%{stderr}%{http_code}");
    let range = served.curl(&["--http2", "--range", "100-199", "--write-out", code, &url]);
    assert_eq!(range.stderr, b"206");
    assert_eq!(range.stdout, &served.text.as_bytes()[100..200]);
    let head = served.curl(&["--http2", "--head", &url]);
    let head = String::from_utf8(head.stdout).unwrap();
    assert!(head.starts_with("HTTP/2 200"), "{head}");
    assert!(head.contains("\r\ncontent-length: 300000\r\n"), "{head}");
    let tag = head
        .lines()
        .find_map(|line| line.strip_prefix("etag: "))
        .unwrap();
    let condition = format!("If-None-Match: {tag}");
    let unchanged = served.curl(&["--http2", "--header", &condition, "--write-out", code, &url]);
    assert_eq!(
        (unchanged.stderr.as_slice(), unchanged.stdout.len()),
        (&b"304"[..], 0)
    );
}

/// What curl gets from this address.
fn get_at(host: &str, port: u16) -> String {
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--max-time", "30"])
        .arg(format!("http://{host}:{port}/short.txt"))
        .output()
        .expect("curl is needed: `make deps`");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{host}:{port}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_interface_is_ipv4_and_ipv6() {
    let root = site(&[("short.txt", "short")]);
    for workers in ["1", "2"] {
        let server = Running::start(root.path(), &["--host", "::", "--workers", workers]);
        let port = server.addr.port();
        for host in ["127.0.0.1", "[::1]"] {
            assert_eq!(get_at(host, port), "short", "{host}");
        }
        let said = crate::common::stop(server);
        assert!(said.contains("every interface, IPv4 and IPv6"), "{said}");
    }
}

#[test]
fn several_hosts_are_listened_on_each_once() {
    let root = site(&[("short.txt", "short")]);
    let check = |args: &[&str], variable: &str, expected: &[&str]| {
        let mut command = salver();
        command.arg("serve").arg(root.path()).args(["--port", "0"]);
        command.args(args).env("SALVER_HOST", variable);
        let mut server = Running::spawn(command);
        for host in expected {
            let address = addr_in(&server.wait_for_line("://"));
            assert_eq!(address.ip().to_string(), host.trim_matches(['[', ']']));
            assert_eq!(get_at(host, address.port()), "short", "{host}");
        }
        let said = crate::common::stop(server);
        assert_eq!(said.matches("://").count(), expected.len(), "{said}");
    };
    let both = ["127.0.0.1", "[::1]"];
    check(&["--host", "127.0.0.1", "--host", "::1"], "0.0.0.0", &both);
    check(&["--host", "127.0.0.1,::1,127.0.0.1"], "::", &both);
    check(&[], "127.0.0.1,::1", &both);
}
