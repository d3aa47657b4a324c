//! Listings of directories as people and programs get them: over HTTP/1.1 and HTTP/2, by flag and by file.

use std::ffi::OsStr;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use crate::common::{Running, check_one_line, site, stop};

/// The versions of HTTP that a browser speaks to a port without TLS, as curl asks for them.
pub(crate) const VERSIONS: [&str; 2] = ["--http1.1", "--http2-prior-knowledge"];

/// The head and the content of what curl gets.
pub(crate) fn curl(
    version: &str,
    server: SocketAddr,
    target: &str,
    args: &[&str],
) -> (String, String) {
    let output = Command::new("curl")
        .args([
            "--silent",
            "--show-error",
            "--max-time",
            "60",
            "--include",
            version,
        ])
        .args(args)
        .arg(format!("http://{server}{target}"))
        .output()
        .expect("curl is needed: `make deps`");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{version} {target}: {said}");
    let text = String::from_utf8(output.stdout).unwrap();
    let (head, content) = text.split_once("\r\n\r\n").unwrap();
    (head.to_ascii_lowercase(), content.to_owned())
}

fn status(head: &str) -> &str {
    head.split(' ').nth(1).unwrap_or_default()
}

const JSON: [&str; 2] = ["--header", "Accept: application/json"];

#[test]
fn a_directory_is_listed_by_a_flag_alone() {
    let root = site(&[("docs/a b.txt", "text"), ("docs/.hidden", "x")]);
    let server = Running::start(root.path(), &[]);
    for version in VERSIONS {
        assert_eq!(status(&curl(version, server.addr, "/docs/", &[]).0), "404");
    }
    let said = stop(server);
    assert!(said.contains("is answered 404: no index.html"), "{said}");
    let server = Running::start(root.path(), &["--listing", "--revalidate", "0s"]);
    for version in VERSIONS {
        let (head, html) = curl(version, server.addr, "/docs/", &[]);
        assert_eq!(status(&head), "200", "{head}");
        assert!(
            head.contains("content-type: text/html; charset=utf-8"),
            "{head}"
        );
        assert!(
            head.contains("content-security-policy: default-src 'none'"),
            "{head}"
        );
        assert!(head.contains("vary: accept\r\n"), "{head}");
        assert!(
            html.contains("<a href=\"./a%20b.txt\"><bdi>a b.txt</bdi></a>"),
            "{html}"
        );
        assert!(
            html.contains("<form method=\"get\"") && !html.contains("<script"),
            "{html}"
        );
        assert!(!html.contains(".hidden"), "{html}");
        let (head, content) = curl(version, server.addr, "/docs", &[]);
        assert_eq!(
            (status(&head), &*content),
            ("308", "308 Permanent Redirect\n")
        );
        let (_, text) = curl(version, server.addr, "/docs/a%20b.txt", &[]);
        assert_eq!(text, "text");
        let (head, json) = curl(version, server.addr, "/docs/?sort=size", &JSON);
        assert!(head.contains("content-type: application/json"), "{head}");
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["path"], "/docs/");
        assert_eq!(json["entries"][0]["name"], "a b.txt");
        assert_eq!(json["entries"][0]["size"], 4);
    }
    let said = stop(server);
    assert!(!said.contains("is answered 404"), "{said}");
}

#[test]
fn conditions_and_heads_are_those_of_files() {
    let root = site(&[("d/one", "1")]);
    let server = Running::start(root.path(), &["--listing", "--revalidate", "0s"]);
    for version in VERSIONS {
        let (head, content) = curl(version, server.addr, "/d/", &[]);
        let field = |name: &str| {
            let line = head.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap().trim().to_owned()
        };
        let (tag, length) = (field("etag:"), field("content-length:"));
        assert_eq!(length, content.len().to_string());
        let (same, none) = curl(version, server.addr, "/d/", &["--head"]);
        assert_eq!((status(&same), &*none), ("200", ""));
        assert!(
            same.contains(&format!("content-length: {length}")),
            "{same}"
        );
        let condition = format!("If-None-Match: {tag}");
        let condition = ["--header", &condition];
        let (head, none) = curl(version, server.addr, "/d/", &condition);
        assert_eq!((status(&head), &*none), ("304", ""));
        // What is new is listed, under another tag.
        let name = format!("of{version}");
        fs::write(root.path().join("d").join(&name), "2").unwrap();
        let (head, content) = curl(version, server.addr, "/d/", &condition);
        assert_eq!(status(&head), "200");
        assert!(content.contains(&name) && !head.contains(&tag), "{head}");
    }
    stop(server);
}

#[test]
fn hostile_names_are_shown_and_their_links_lead_to_them() {
    let root = site(&[]);
    let long = "w".repeat(255);
    let names = [
        "<script>alert(1)<\u{200b}".as_bytes(),
        b"\"' onmouseover=alert(1)",
        b"a\r\nSet-Cookie: x=y",
        b"javascript:alert(1)",
        "x\u{202e}gpj.exe".as_bytes(),
        b"caf\xe9\xff",
        b"?a=b#c%2e%2e",
        b"{{ path }}",
        long.as_bytes(),
    ];
    for name in names {
        fs::write(root.path().join(OsStr::from_bytes(name)), name).unwrap();
    }
    let server = Running::start(root.path(), &["--listing"]);
    for version in VERSIONS {
        let (_, html) = curl(version, server.addr, "/", &[]);
        assert!(!html.contains("<script") && !html.contains('\u{202e}') && !html.contains('\r'));
        let (_, json) = curl(version, server.addr, "/", &JSON);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let entries = json["entries"].as_array().unwrap();
        assert_eq!(entries.len(), names.len());
        for entry in entries {
            let href = entry["href"].as_str().unwrap();
            assert!(html.contains(&format!("href=\"{href}\"")), "{href}");
            let target = href.strip_prefix('.').unwrap();
            let (status, _, content) = server.get(target, "");
            // Each holds its own name.
            assert!(
                status == 200 && names.contains(&&*content),
                "{target}: {status}"
            );
        }
    }
    stop(server);
}

#[test]
fn large_directories_are_paged_and_filtered() {
    let root = site(&[]);
    for number in 0..2500 {
        fs::write(root.path().join(format!("file{number}")), "").unwrap();
    }
    let server = Running::start(root.path(), &["--listing"]);
    for version in VERSIONS {
        let (_, html) = curl(version, server.addr, "/?page=2&order=desc", &[]);
        assert!(html.contains("2500 entries, page 2 of 3<"), "{version}");
        assert!(html.contains("\"./file1499\"") && !html.contains("\"./file1500\""));
        assert!(html.contains("href=\"?sort=name&amp;order=desc&amp;page=3\""));
        let (_, json) = curl(version, server.addr, "/?filter=E249&page=9", &JSON);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&json["matching"], &json["page"]), (&11.into(), &1.into()));
        assert_eq!(json["entries"][0]["name"], "file249");
    }
    stop(server);
}

#[test]
fn a_template_is_read_at_the_start_and_faults_are_said_with_their_line() {
    let text =
        "<title>{{ path }}</title>\n{% for entry in entries %}{{ entry.name }}\n{% endfor %}";
    let folder = site(&[
        ("dist/<b>", "x"),
        ("good.html", text),
        ("bad.html", "\n{% if %}"),
    ]);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let flags = ["--listing-template", &at("good.html")];
    let server = Running::start(&folder.path().join("dist"), &flags);
    for version in VERSIONS {
        let (head, html) = curl(version, server.addr, "/", &[]);
        assert!(
            html.starts_with("<title>&#x2f;</title>\n&lt;b&gt;"),
            "{html}"
        );
        assert!(
            head.contains("content-security-policy: default-src 'self'"),
            "{head}"
        );
    }
    stop(server);
    let dist = at("dist");
    let refused = |template: &str, parts: &[&str]| {
        let flags = [
            "serve",
            &dist,
            "--port",
            "0",
            "--listing-template",
            template,
        ];
        check_one_line(&flags, 2, parts);
    };
    refused(&at("bad.html"), &["bad.html:2: syntax error"]);
    refused(
        &at("none.html"),
        &["--listing-template", "none.html", "does not exist"],
    );
    refused(&dist, &["is a directory"]);
    let configuration =
        format!("root = {dist:?}\n[listing]\nenabled = true\ntemplate = 'bad.html'\n");
    fs::write(folder.path().join("salver.toml"), configuration).unwrap();
    let file = at("salver.toml");
    check_one_line(&["check", "-c", &file], 2, &["bad.html:2: syntax error"]);
}
