//! Several sites on one server: which one a host gets, and what none sees of another.

mod certificates;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;

use crate::common::curl::{Answer, VERSIONS, curl};
use crate::common::{Running, run, salver, site, stop};

/// A folder with `salver.toml`, three roots, and what else is given.
fn folder(configuration: &str, more: &[(&str, &str)]) -> TempDir {
    let files = [
        ("salver.toml", configuration),
        ("a/index.html", "site a"),
        ("a/only-a.txt", "of a"),
        ("b/index.html", "site b"),
        ("b/only-b.txt", "of b"),
        ("c/index.html", "site c"),
    ];
    site(&[&files[..], more].concat())
}

const THREE: &str = "[[site]]\nroot = 'a'\nhosts = ['a.test', '[2001:db8::1]']\n\
                     [[site]]\nroot = 'b'\nhosts = ['*.b.test', '192.0.2.1']\n\
                     [[site]]\nroot = 'c'\n";

/// The answer to a request for a host.
fn ask(server: &Running, version: &str, host: &str, target: &str, more: &[&str]) -> Answer {
    let (url, host) = (
        format!("http://{}{target}", server.addr),
        format!("Host: {host}"),
    );
    curl(&[&[version, "--header", &host, &url], more].concat())
}

/// All that comes for these bytes, on a connection of its own.
fn raw(server: &Running, request: &str) -> String {
    let mut stream = server.connect();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_line_of_the_log_names_the_site() {
    let folder = folder(THREE, &[]);
    let path = folder.path().join("access.log");
    let flags = ["--log", path.to_str().unwrap(), "--log-format", "json"];
    let server = Running::by_file(folder.path(), &flags);
    for version in VERSIONS {
        for host in ["a.test", "x.b.test", "elsewhere.test"] {
            assert_eq!(ask(&server, version, host, "/", &[]).status, 200);
        }
    }
    stop(server);
    let log = fs::read_to_string(&path).unwrap();
    let mut names: Vec<_> = log
        .lines()
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let fields = ["/salver/site", "/server/address"];
            fields.map(|field| line.pointer(field).unwrap().as_str().unwrap().to_owned())
        })
        .collect();
    // Each worker has lines of its own.
    names.sort();
    let expected = [
        ["*", "elsewhere.test"],
        ["*.b.test", "x.b.test"],
        ["a.test", "a.test"],
    ];
    let expected: Vec<_> = expected
        .into_iter()
        .flat_map(|one| [one; VERSIONS.len()])
        .collect();
    assert_eq!(names, expected);
}

#[test]
fn the_host_chooses_the_site() {
    let folder = folder(THREE, &[]);
    let server = Running::by_file(folder.path(), &[]);
    for version in VERSIONS {
        let check = |host: &str, expected: &str| {
            // The second time from the cache.
            for _ in 0..2 {
                let found = ask(&server, version, host, "/", &[]).content;
                assert_eq!(found, expected, "{version} {host}");
            }
        };
        check("a.test", "site a");
        check("A.Test:8080", "site a");
        check("a.test.", "site a");
        check("[2001:DB8:0::1]:80", "site a");
        check("x.b.test", "site b");
        check("x.y.B.test:1", "site b");
        check("192.0.2.1", "site b");
        check("b.test", "site c");
        check("b.a.test", "site c");
        check("127.0.0.1", "site c");
        check(&"x".repeat(5_000), "site c");
        check(&format!("{}b.test", "x.".repeat(2_000)), "site c");
    }
    // The authority of the target is the one that counts (RFC 9112 section 3.2.2).
    let check = |request: &str, expected: &str| {
        let answer = raw(&server, request);
        assert!(answer.ends_with(expected), "{request:?}: {answer}");
    };
    let close = "Connection: close\r\n\r\n";
    check(
        &format!("GET http://a.test/ HTTP/1.1\r\nHost: x.b.test\r\n{close}"),
        "site a",
    );
    check(
        &format!("GET HTTP://X.B.test:80 HTTP/1.1\r\nHost: a.test\r\n{close}"),
        "site b",
    );
    check("GET / HTTP/1.0\r\n\r\n", "site c");
    check("GET / HTTP/1.0\r\nHost: a.test\r\n\r\n", "site a");
    let refused = raw(&server, "GET / HTTP/1.1\r\n\r\n");
    assert!(refused.starts_with("HTTP/1.1 400 "), "{refused}");
    // Requests for several hosts on one connection.
    let one = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\nGET / HTTP/1.1\r\nHost: x.b.test\r\n";
    let both = raw(&server, &format!("{one}{close}"));
    assert!(
        both.contains("site a") && both.ends_with("site b"),
        "{both}"
    );
    stop(server);
}

#[test]
fn without_a_site_for_others_the_first_is_for_them() {
    let text =
        "[[site]]\nroot = 'a'\nhosts = ['a.test']\n[[site]]\nroot = 'b'\nhosts = ['b.test']\n";
    let folder = folder(text, &[]);
    let server = Running::by_file(folder.path(), &[]);
    for version in VERSIONS {
        assert_eq!(ask(&server, version, "b.test", "/", &[]).content, "site b");
        assert_eq!(ask(&server, version, "x.test", "/", &[]).content, "site a");
    }
    let said = stop(server);
    assert!(said.contains("site    a.test\n"), "{said}");
    assert!(
        said.contains("hosts that no site has are answered by a.test"),
        "{said}"
    );
}

#[test]
fn no_site_sees_what_another_has() {
    let text = "[[site]]\nroot = 'a'\nhosts = ['a.test']\nmount = [{ prefix = '/more', path = 'c' }]\n\
                dotfiles = true\nindex = ['start.html', 'index.html']\n\
                [[site]]\nroot = 'b'\nhosts = ['b.test']\n";
    let more = [
        ("a/.secret", "dot a"),
        ("b/.secret", "dot b"),
        ("b/start.html", "start b"),
        ("a/_headers", "/*\n  X-Site: a\n"),
        ("b/_redirects", "/old /only-b.txt 302\n"),
    ];
    let folder = folder(text, &more);
    std::os::unix::fs::symlink("../b/only-b.txt", folder.path().join("a/link.txt")).unwrap();
    let server = Running::by_file(folder.path(), &[]);
    for version in VERSIONS {
        let check = |host: &str, target: &str, status: u16, content: &str| {
            for _ in 0..2 {
                let answer = ask(&server, version, host, target, &[]);
                assert_eq!(answer.status, status, "{version} {host} {target}");
                if status == 200 {
                    assert_eq!(answer.content, content, "{version} {host} {target}");
                }
                let is_of_root = host == "a.test" && !target.starts_with("/more");
                let of_a = if is_of_root { "a" } else { "" };
                assert_eq!(answer.field("x-site"), of_a, "{version} {host} {target}");
            }
        };
        check("a.test", "/only-a.txt", 200, "of a");
        check("b.test", "/only-a.txt", 404, "");
        check("b.test", "/only-b.txt", 200, "of b");
        check("a.test", "/only-b.txt", 404, "");
        check("a.test", "/more/", 200, "site c");
        check("b.test", "/more/", 404, "");
        check("a.test", "/.secret", 200, "dot a");
        check("b.test", "/.secret", 404, "");
        check("a.test", "/", 200, "site a");
        check("b.test", "/", 200, "site b");
        check("b.test", "/old", 302, "");
        check("a.test", "/old", 404, "");
        check("a.test", "/link.txt", 404, "");
        for target in [
            "/../b/only-b.txt",
            "/%2e%2e/b/only-b.txt",
            "/x/../../b/only-b.txt",
        ] {
            let answer = ask(&server, version, "a.test", target, &[]);
            assert_eq!(answer.status, 400, "{version} {target}");
        }
    }
    // What changes at one is seen at it, and the other stays.
    fs::write(folder.path().join("a/index.html"), "a anew").unwrap();
    let until = std::time::Instant::now() + crate::common::PATIENCE;
    while ask(&server, VERSIONS[0], "a.test", "/", &[]).content != "a anew" {
        assert!(std::time::Instant::now() < until, "the old one stays");
    }
    assert_eq!(
        ask(&server, VERSIONS[1], "b.test", "/", &[]).content,
        "site b"
    );
    stop(server);
}

#[test]
fn all_sites_share_one_cache_and_each_may_do_without() {
    let text = "cache.status = true\nprecompressed = 'none'\ncache.size = '256KiB'\ncache.revalidate = '100s'\n\
                [[site]]\nroot = 'a'\nhosts = ['a.test']\n\
                [[site]]\nroot = 'b'\nhosts = ['b.test']\ncache.enabled = false\n\
                [[site]]\nroot = 'c'\n";
    let content = "x".repeat(10_000);
    let names: Vec<_> = (0..40).map(|number| format!("{number}.txt")).collect();
    let folder = folder(text, &[]);
    for name in &names {
        for root in ["a", "c"] {
            fs::write(folder.path().join(root).join(name), &content).unwrap();
        }
    }
    let mut command = salver();
    command.args(["serve", "--port", "0", "--statistics", "-c"]);
    command.arg(folder.path().join("salver.toml"));
    command.stdout(Stdio::piped());
    let mut server = Running::spawn(command);
    server.addr = crate::common::addr_in(&server.wait_for_line("://"));
    let state = |host: &str| {
        ask(&server, VERSIONS[0], host, "/", &[]);
        ask(&server, VERSIONS[1], host, "/", &[]).field("cache-status")
    };
    assert!(state("a.test").contains("hit"), "{}", state("a.test"));
    assert!(state("c.test").contains("hit"), "{}", state("c.test"));
    assert!(
        state("b.test").contains("fwd=bypass"),
        "{}",
        state("b.test")
    );
    for host in ["a.test", "c.test"] {
        for name in &names {
            let target = format!("/{name}");
            let answer = ask(&server, VERSIONS[0], host, &target, &[]);
            assert_eq!(answer.content, content);
        }
    }
    let out = server.stdout();
    stop(server);
    let line = BufReader::new(out).lines().next().unwrap().unwrap();
    let counted: serde_json::Value = serde_json::from_str(&line).unwrap();
    let number = |name: &str| counted[name].as_u64().unwrap();
    assert!(number("bytes") <= 256 * 1024, "{line}");
    assert!(number("evictions") > 0 && number("entries") < 80, "{line}");
}

#[test]
fn the_log_says_which_host_was_asked() {
    let folder = folder(THREE, &[]);
    let log = folder.path().join("access.log");
    let flags = ["--log", log.to_str().unwrap(), "--log-format", "json"];
    let server = Running::by_file(folder.path(), &flags);
    for (version, host) in [(VERSIONS[0], "a.test"), (VERSIONS[1], "x.b.test:81")] {
        ask(&server, version, host, "/", &[]);
    }
    stop(server);
    let text = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(
        lines[0].contains("a.test") && !lines[0].contains("b.test"),
        "{text}"
    );
    assert!(
        lines[1].contains("x.b.test") && !lines[1].contains("a.test"),
        "{text}"
    );
}

#[test]
fn the_cache_is_filled_for_all_of_them() {
    let folder = folder(THREE, &[]);
    let server = Running::by_file(folder.path(), &["--prewarm", "--cache-status"]);
    for host in ["a.test", "x.b.test", "c.test"] {
        let status = ask(&server, VERSIONS[0], host, "/", &[]).field("cache-status");
        assert!(status.contains("hit"), "{host}: {status}");
    }
    let said = stop(server);
    assert!(said.contains("prewarm 5 files"), "{said}");
}

/// What `salver check` answers for the file of a folder: exit code and standard error.
fn check(folder: &Path) -> (i32, String) {
    let path = folder.join("salver.toml");
    let (code, _, said) = run(&["check", "-c", path.to_str().unwrap()]);
    (code, said)
}

#[test]
fn check_looks_at_every_site() {
    let (code, said) = check(folder(THREE, &[]).path());
    assert_eq!((code, &*said), (0, "nothing is wrong: 3 sites\n"));
    let wrong = "[[site]]\nroot = 'gone'\nhosts = ['a.test']\n\
                 [[site]]\nroot = 'b'\nhosts = ['b.test']\nmount = [{ prefix = '/../x', path = 'c' }]\n\
                 [[site]]\nroot = 'c'\n[[site.rule]]\npath = '/x'\ndneny = true\n";
    let (code, said) = check(folder(wrong, &[]).path());
    assert_eq!(code, 2, "{said}");
    for part in [
        "gone\" does not exist",
        "b.test: mount prefix \"/../x\"",
        "salver.toml:12: rule.dneny is not known: is deny meant?",
        "3 faults",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let alone = "root = 'a'\nhosts = ['a.test']\n";
    let (code, said) = check(folder(alone, &[]).path());
    assert!(
        code == 0 && said.contains("does nothing: the only site"),
        "{said}"
    );
}

#[test]
fn the_file_in_the_documents_is_right() {
    let text = include_str!("../../../../docs/sites.md");
    let (_, text) = text.split_once("```toml\n").unwrap();
    let (text, _) = text.split_once("```").unwrap();
    let folder = folder("", &[("errors/missing.html", "lost"), ("tls/x", "")]);
    for name in ["example", "preview", "shared", "others"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let [certificate, key] = salver_test::Certificate::of(&["example.org"]).write(folder.path());
    fs::rename(certificate, folder.path().join("tls/example.pem")).unwrap();
    fs::rename(key, folder.path().join("tls/example.key")).unwrap();
    let srv = folder.path().to_str().unwrap();
    fs::write(folder.path().join("salver.toml"), text.replace("/srv", srv)).unwrap();
    let (code, said) = check(folder.path());
    assert!(
        code == 0 && said.ends_with("nothing is wrong: 3 sites\n"),
        "{said}"
    );
}

#[test]
fn a_thousand_sites_are_served_with_the_descriptors_of_any_shell() {
    let text: String = (0..1_000)
        .map(|number| {
            let root = ["a", "b", "c"][number % 3];
            format!("[[site]]\nroot = '{root}'\nhosts = ['{number}.test', '*.{number}.test']\n")
        })
        .collect();
    let folder = folder(&text, &[]);
    let mut command = std::process::Command::new("sh");
    let script = "ulimit -Sn 512 && exec \"$0\" serve --port 0 -c \"$1\"";
    command.args(["-c", script, env!("CARGO_BIN_EXE_salver")]);
    command.arg(folder.path().join("salver.toml"));
    let mut server = Running::spawn(command);
    server.addr = crate::common::addr_in(&server.wait_for_line("://"));
    server.wait_for_line("980 more");
    for version in VERSIONS {
        for (host, expected) in [
            ("0.test", "site a"),
            ("x.499.test", "site b"),
            ("999.test", "site a"),
            ("1000.test", "site a"),
            ("998.test", "site c"),
        ] {
            let found = ask(&server, version, host, "/", &[]).content;
            assert_eq!(found, expected, "{version} {host}");
        }
    }
    stop(server);
}
