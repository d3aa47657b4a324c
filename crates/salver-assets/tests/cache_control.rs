//! What a program's rule says of Cache-Control, on whichever answer, and how often it is asked.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

mod common;

use std::sync::{Arc, Mutex};

use common::{Site, coded, config_of, memory};
use salver_assets::{CacheControl, Config, Mount};

/// Says the path itself, as a directive, but for `/named/`; and notes what it was asked.
fn site(mounts: Vec<Mount>) -> (Site, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&asked);
    let rule = move |path: &str| {
        notes.lock().unwrap().push(path.to_owned());
        (!path.starts_with("/named/")).then(|| format!("path=\"{path}\""))
    };
    let config = Config {
        mounts,
        cache_control: CacheControl::by_path(rule),
        ..Config::default()
    };
    (Site::new(config), asked)
}

#[test]
fn every_answer_of_a_file_carries_what_the_rule_says_of_its_path() {
    let script = b"let a = 1; ".repeat(100);
    let tree = memory(&[
        ("index.html", b"home"),
        ("app.js", &script),
        ("app.js.br", &coded(&script, "br")),
        ("blog/index.html", b"blog"),
        ("a b.txt", b"spaced"),
        ("named/x.3f9a1c2b.js", b"x"),
        ("named/x.js", b"x"),
    ]);
    let (site, _) = site(vec![
        Mount::tree("/", tree.clone()).with_fallback("index.html"),
        Mount::tree("/m/", tree.clone()),
        Mount::file("/icon", tree, "a b.txt"),
    ]);
    let check = |path: &str, fields: &[(&str, &str)], status: u16, of: &str| {
        for answer in [site.get(path, fields), site.get(path, fields)] {
            let expected = match of {
                of if of.starts_with('/') => format!("path=\"{of}\""),
                of => of.to_owned(),
            };
            assert_eq!(
                (answer.status, answer.field("Cache-Control")),
                (status, &*expected),
                "{path} {fields:?}"
            );
        }
    };
    const BR: (&str, &str) = ("Accept-Encoding", "br");
    const ANY: (&str, &str) = ("If-None-Match", "*");
    check("/app.js", &[], 200, "/app.js");
    check("/app.js", &[BR], 200, "/app.js");
    check("/app.js", &[("Range", "bytes=0-1")], 206, "/app.js");
    check("/app.js", &[("Range", "bytes=0-1,5-6")], 206, "/app.js");
    check("/app.js", &[ANY], 304, "/app.js");
    check("/app.js", &[BR, ANY], 304, "/app.js");
    check("/app.js.br", &[], 200, "/app.js.br");
    check("/", &[], 200, "/index.html");
    check("/blog/", &[], 200, "/blog/index.html");
    check("/a%20b.txt", &[], 200, "/a b.txt");
    check("/.//a%20b.txt", &[], 200, "/a b.txt");
    check("/m/blog/", &[], 200, "/m/blog/index.html");
    check("/icon", &[], 200, "/icon");
    // The fallback of an application is its file, wherever it is asked for.
    check("/some/where", &[], 200, "/index.html");
    // Where the rule says nothing the name decides.
    let immutable = "public, max-age=31536000, immutable";
    check("/named/x.3f9a1c2b.js", &[], 200, immutable);
    check("/named/x.js", &[], 200, "no-cache");
    // Errors and redirects are not the file's.
    check("/none.txt", &[], 404, "no-cache");
    check("/blog", &[], 308, "no-cache");
    check("/app.js", &[("Range", "bytes=9999-")], 416, "no-cache");
    check("/app.js", &[("If-Match", "\"x\"")], 412, "no-cache");
    check("/%00", &[], 400, "no-cache");
}

#[test]
fn the_rule_is_asked_when_a_file_is_loaded_and_never_for_a_request() {
    let script = b"let a = 1; ".repeat(100);
    let source = memory(&[("a.js", &script), ("a.js.gz", &coded(&script, "gz"))]);
    let (site, asked) = site(vec![Mount::tree("/", source.clone())]);
    for round in 1..=3 {
        for _ in 0..10 {
            site.get("/a.js", &[]);
            site.get("/a.js", &[("Accept-Encoding", "gzip")]);
            site.get("/none", &[]);
        }
        // A look that finds nothing new asks nothing either.
        site.advance(std::time::Duration::from_secs(60));
        site.get("/a.js", &[]);
        assert_eq!(asked.lock().unwrap().len(), round, "once for both codings");
        source.insert("a.js", script.clone(), round.try_into().unwrap());
        site.advance(std::time::Duration::from_secs(60));
    }
}

#[test]
fn what_is_no_value_is_not_sent() {
    let config = Config {
        cache_control: CacheControl::by_path(|path| {
            Some(match path {
                "/split" => "max-age=1\r\nSet-Cookie: a=b",
                "/empty" => "",
                _ => "max-age=1",
            })
        }),
        ..config_of(Mount::tree(
            "/",
            memory(&[("split", b"s"), ("empty", b"e"), ("right", b"r")]),
        ))
    };
    let site = Site::new(config);
    for (path, expected) in [
        ("/split", "no-store"),
        ("/empty", "no-store"),
        ("/right", "max-age=1"),
    ] {
        let answer = site.get(path, &[]);
        assert_eq!(
            (answer.status, answer.field("Cache-Control")),
            (200, expected)
        );
    }
}
