//! What is answered: statuses, fields, negotiation and preconditions, the same from memory, from
//! open handles and without a cache.

use std::time::{Duration, UNIX_EPOCH};

use crate::common::fixture::{everywhere, text};
use crate::common::{START, Site, Tree, coded, config_of, directory, memory, request};
use salver_assets::{Config, Method, Mount};

const BROWSER: (&str, &str) = ("Accept-Encoding", "gzip, deflate, br, zstd");

#[test]
fn statuses() {
    everywhere(|site| {
        let check = |method: Method, path: &str, expected: u16| {
            let answer = site.ask(&request(method, path, &[]));
            assert_eq!(answer.status, expected, "{method:?} {path}");
            assert_eq!(
                method == Method::Head,
                answer.body.is_empty(),
                "{method:?} {path}"
            );
        };
        for method in [Method::Get, Method::Head] {
            check(method, "/", 200);
            check(method, "/index.html", 200);
            check(method, "/plain.txt", 200);
            check(method, "/./plain.txt", 200);
            check(method, "/sub/../plain.txt", 200);
            check(method, "//plain.txt", 200);
            check(method, "/pl%61in.txt", 200);
            check(method, "/sub/a%20b.txt", 200);
            check(method, "/sub", 308);
            check(method, "/sub/", 200);
            check(method, "/bare", 308);
            check(method, "/bare/", 404);
            check(method, "/nothing", 404);
            check(method, "/nothing/", 404);
            check(method, "/plain.txt/", 404);
            check(method, "/plain.txt/x", 404);
            check(method, "/sub%2Fa%20b.txt", 404);
            check(method, "/PLAIN.txt", 404);
            check(method, "/..%5Cplain.txt", 404);
            check(method, "/%c0%ae%c0%ae/x", 404);
            check(method, &format!("/{}", "long".repeat(500)), 404);
            check(method, "/.env", 404);
            check(method, "/%2eenv", 404);
            check(method, "/.git/config", 404);
            check(method, "/sub/.hidden", 404);
            check(method, "/.well-known/acme", 200);
            check(method, "/.well-known/.hidden", 404);
            check(method, "/..", 400);
            check(method, "/../plain.txt", 400);
            check(method, "/%2e%2e/%2e%2e/etc/passwd", 400);
            check(method, "/a%", 400);
            check(method, "/a%zz", 400);
            check(method, "/a%00", 400);
            check(method, "plain.txt", 400);
        }
        check(Method::Post, "/plain.txt", 405);
        check(Method::Trace, "/nothing", 405);
        check(Method::Other, "/plain.txt", 501);
        for path in ["*", "/plain.txt"] {
            let answer = site.ask(&request(Method::Options, path, &[]));
            assert_eq!(
                (answer.status, answer.field("Allow")),
                (200, "GET, HEAD, OPTIONS")
            );
        }
    });
}

#[test]
fn fields_of_a_representation() {
    everywhere(|site| {
        let answer = site.get("/plain.txt", &[]);
        assert_eq!(answer.body, text());
        assert_eq!(answer.field("Content-Type"), "text/plain; charset=utf-8");
        assert_eq!(answer.field("Accept-Ranges"), "bytes");
        assert_eq!(answer.field("Cache-Control"), "no-cache");
        assert_eq!(answer.field("Vary"), "", "there is no choice");
        assert_ne!(answer.field("Last-Modified"), "");
        let head = site.head("/plain.txt", &[]);
        assert_eq!((head.status, &head.fields), (200, &answer.fields));
        let hashed = site.get("/assets/app.3f9a1c2b.js", &[]);
        assert_eq!(
            hashed.field("Cache-Control"),
            "public, max-age=31536000, immutable"
        );
        let empty = site.get("/empty.txt", &[]);
        assert_eq!((empty.status, empty.field("Content-Length")), (200, "0"));
        assert_eq!(site.get("/empty.txt", &[("Range", "bytes=0-")]).status, 416);
        assert_eq!(site.get("/empty.txt", &[("Range", "bytes=-5")]).status, 200);
    });
}

#[test]
fn negotiation() {
    everywhere(|site| {
        let check = |path: &str, accept: &str, expected: &str| {
            let answer = site.get(path, &[("Accept-Encoding", accept)]);
            let coding = match (answer.status, answer.field("Content-Encoding")) {
                (200, "") => "identity",
                (200, coding) => coding,
                (406, _) => "406",
                _ => panic!("{answer:?}"),
            };
            assert_eq!(coding, expected, "{path} {accept}");
            let extension = match coding {
                "br" => "br",
                "gzip" => "gz",
                "zstd" => "zst",
                _ => return,
            };
            let body = site.get(&format!("{path}.{extension}"), &[]).body;
            assert_eq!(answer.body, body, "asked for by name");
        };
        check("/app.js", "gzip", "gzip");
        check("/app.js", "x-gzip", "gzip");
        check("/app.js", "GZIP", "gzip");
        check("/app.js", "br", "br");
        check("/app.js", "zstd;q=0.1, gzip;q=0.01", "zstd");
        check("/app.js", "br;q=0", "identity");
        check("/app.js", "", "identity");
        check("/app.js", "deflate", "identity");
        check("/app.js", "gzip, identity;q=0", "gzip");
        check("/app.js", "identity;q=0", "406");
        check("/app.js", "identity, gzip;q=0.5", "identity");
        check("/plain.txt", "gzip, br", "identity");
        check("/plain.txt", "identity;q=0", "406");
        check("/plain.txt", "gzip, *;q=0", "406");
        // A wrong sibling is passed over, and so is one that is longer.
        check("/wrong.js", "br, gzip, zstd", "identity");
        check("/short.txt", "gzip, identity", "identity");
        check("/short.txt", "gzip", "identity");
        check("/short.txt", "gzip, identity;q=0.5", "identity");
        check("/short.txt", "gzip, identity;q=0", "406");
        // The smallest of equal preference.
        let lengths = ["br", "gzip", "zstd"].map(|coding| {
            let answer = site.get("/app.js", &[("Accept-Encoding", coding)]);
            (answer.body.len(), coding)
        });
        check("/app.js", BROWSER.1, lengths.iter().min().unwrap().1);

        let mut tags = Vec::new();
        for coding in ["identity", "br", "gzip", "zstd"] {
            let answer = site.get("/app.js", &[("Accept-Encoding", coding)]);
            assert_eq!(answer.field("Vary"), "Accept-Encoding");
            assert_eq!(
                answer.field("Content-Type"),
                "text/javascript; charset=utf-8"
            );
            tags.push(answer.field("ETag").to_owned());
            // The same choice by 304 and 206.
            let fields = [
                ("Accept-Encoding", coding),
                ("If-None-Match", &tags[tags.len() - 1]),
            ];
            let again = site.get("/app.js", &fields);
            assert_eq!(
                (again.status, again.field("Vary")),
                (304, "Accept-Encoding")
            );
            let part = site.get(
                "/app.js",
                &[("Accept-Encoding", coding), ("Range", "bytes=0-3")],
            );
            assert_eq!((part.status, part.field("Vary")), (206, "Accept-Encoding"));
            assert_eq!(part.body, answer.body[..4]);
            assert_eq!(part.field("ETag"), tags[tags.len() - 1]);
            assert_eq!(
                part.field("Content-Encoding"),
                answer.field("Content-Encoding")
            );
        }
        tags.sort();
        tags.dedup();
        assert_eq!(tags.len(), 4, "each coding has its own");
        let unacceptable = site.get("/app.js", &[("Accept-Encoding", "identity;q=0")]);
        assert_eq!(unacceptable.field("Vary"), "Accept-Encoding");
        let only = site.get("/only.txt.gz", &[BROWSER]);
        assert_eq!((only.status, only.field("Content-Encoding")), (200, ""));
        assert_eq!(site.get("/only.txt", &[BROWSER]).status, 404);
    });
}

#[test]
fn preconditions() {
    everywhere(|site| {
        let whole = site.get("/plain.txt", &[]);
        let tag = whole.field("ETag").to_owned();
        let weak = format!("W/{tag}");
        let list = format!("\"x\", {weak}, \"y\"");
        let (early, late) = (
            "Thu, 01 Jan 1970 00:00:00 GMT",
            "Fri, 31 Dec 2100 00:00:00 GMT",
        );
        let check = |fields: &[(&str, &str)], expected: u16| {
            for method in [Method::Get, Method::Head] {
                let answer = site.ask(&request(method, "/plain.txt", fields));
                assert_eq!(answer.status, expected, "{method:?} {fields:?}");
                if expected == 304 {
                    assert_eq!(answer.field("ETag"), tag);
                    assert_eq!(answer.field("Cache-Control"), whole.field("Cache-Control"));
                }
            }
        };
        check(&[("If-None-Match", &tag)], 304);
        check(&[("If-None-Match", &weak)], 304);
        check(&[("If-None-Match", &list)], 304);
        check(&[("If-None-Match", "*")], 304);
        check(&[("If-None-Match", "\"x\"")], 200);
        check(
            &[("If-None-Match", "\"x\""), ("If-Modified-Since", late)],
            200,
        );
        check(&[("If-Modified-Since", early)], 200);
        check(&[("If-Modified-Since", "yesterday")], 200);
        check(&[("If-Match", &tag)], 200);
        check(&[("If-Match", &weak)], 412);
        check(&[("If-Match", "*")], 200);
        check(&[("If-Match", "\"x\"")], 412);
        check(&[("If-Match", &tag), ("If-Unmodified-Since", early)], 200);
        check(&[("If-Match", "\"x\""), ("If-None-Match", &tag)], 412);
        check(&[("If-Unmodified-Since", early)], 412);
        check(&[("If-Unmodified-Since", late)], 200);
        check(&[("If-Match", &tag), ("If-None-Match", &tag)], 304);
        check(&[("If-None-Match", &tag), ("Range", "bytes=0-1")], 304);
        check(&[("If-Match", "\"x\""), ("Range", "bytes=0-1")], 412);
        let missing = site.get("/nothing", &[("If-Match", "*"), ("If-None-Match", "*")]);
        assert_eq!(missing.status, 404, "there is nothing to compare with");
        let redirect = site.get("/sub", &[("If-None-Match", "*")]);
        assert_eq!(redirect.status, 308);
    });
    let site = Site::of(&[("a", b"alpha")]);
    let check = |fields: &[(&str, &str)], expected: u16| {
        assert_eq!(site.get("/a", fields).status, expected, "{fields:?}");
    };
    let date = "Thu, 01 Jan 1970 00:00:00 GMT";
    assert_eq!(site.get("/a", &[]).field("Last-Modified"), date);
    check(&[("If-Modified-Since", date)], 304);
    check(&[("If-Unmodified-Since", date)], 200);
    check(&[("If-Range", date), ("Range", "bytes=0-1")], 206);
    check(
        &[
            ("If-Range", "Thu, 01 Jan 1970 00:00:01 GMT"),
            ("Range", "bytes=0-1"),
        ],
        200,
    );
}

#[test]
fn replicas_agree_on_tags_and_equal_times_do_not() {
    let tags = ["one", "two"].map(|content| {
        let both = [0, 1].map(|_| {
            let tree = Tree::new();
            tree.write("a", content);
            tree.modified("a", UNIX_EPOCH + Duration::from_secs(1));
            let site = Site::new(config_of(Mount::tree("/", directory(&tree.path("")))));
            site.get("/a", &[]).field("ETag").to_owned()
        });
        assert_eq!(both[0], both[1]);
        both[0].clone()
    });
    assert_ne!(tags[0], tags[1]);
}

#[test]
fn times_out_of_the_ordinary() {
    let source = memory(&[]);
    source.insert("future", "f", START + 1_000_000);
    source.insert("past", "p", -1_000_000_000);
    source.insert("past.gz", coded(b"p", "gz"), i64::MIN);
    source.insert("never", "n", i64::MIN);
    source.insert("forever", "e", i64::MAX);
    let site = Site::new(config_of(Mount::tree("/", source)));
    let now = "Sun, 09 Sep 2001 01:46:40 GMT";
    for path in ["/future", "/forever"] {
        for fields in [&[][..], &[("Range", "bytes=0-0")]] {
            for answer in [site.get(path, fields), site.head(path, fields)] {
                assert_eq!(
                    answer.field("Last-Modified"),
                    now,
                    "RFC 9110 section 8.8.2.1"
                );
            }
        }
        let tag = site.get(path, &[]).field("ETag").to_owned();
        assert_eq!(site.get(path, &[("If-None-Match", &tag)]).status, 304);
    }
    for path in ["/past", "/never"] {
        let answer = site.get(path, &[]);
        let date = answer.field("Last-Modified").to_owned();
        assert!(date.ends_with(" GMT"), "{date}");
        assert_eq!(site.get(path, &[("If-Modified-Since", now)]).status, 304);
    }
    let tree = Tree::new();
    tree.write("old", "old");
    tree.modified("old", UNIX_EPOCH - Duration::from_secs(86_400));
    let site = Site::new(config_of(Mount::tree("/", directory(&tree.path("")))));
    let answer = site.get("/old", &[]);
    assert_eq!((answer.status, answer.text()), (200, "old".into()));
    assert_eq!(
        answer.field("Last-Modified"),
        "Wed, 31 Dec 1969 00:00:00 GMT"
    );
}

#[cfg(unix)]
#[test]
fn what_is_no_file_and_what_leads_outside() {
    let tree = Tree::new();
    tree.write("root/a", "a");
    tree.write("secret", "secret");
    for (name, target) in [("out", "../secret"), ("loop", "loop"), ("in", "a")] {
        std::os::unix::fs::symlink(target, tree.path("root").join(name)).unwrap();
    }
    let socket = std::os::unix::net::UnixListener::bind(tree.path("root").join("socket"));
    let site = Site::new(config_of(Mount::tree("/", directory(&tree.path("root")))));
    for (path, status) in [
        ("/in", 200),
        ("/out", 404),
        ("/loop", 404),
        ("/socket", 404),
    ] {
        assert_eq!(site.get(path, &[]).status, status, "{path}");
    }
    drop(socket);
}

#[test]
fn hidden_files_are_served_if_that_is_asked_for() {
    let site = Site::new(Config {
        dotfiles: true,
        ..config_of(Mount::tree(
            "/",
            memory(&[(".env", b"shown"), ("a/.b/c", b"c")]),
        ))
    });
    assert_eq!(site.get("/.env", &[]).text(), "shown");
    assert_eq!(site.get("/a/.b/c", &[]).text(), "c");
}
