//! Releases at addresses of their own: a host and a path for each.

use std::fs;
use std::time::Instant;

use super::Deployment;
use super::served::{serve, until};
use crate::common::curl::{Answer, VERSIONS, curl};
use crate::common::{PATIENCE, Running, stop};

/// A request for a host, over a version of HTTP.
pub(super) fn ask(
    server: &Running,
    version: &str,
    host: &str,
    target: &str,
    more: &[&str],
) -> Answer {
    let url = format!("http://{}{target}", server.addr);
    let host = format!("Host: {host}");
    curl(&[&[version, "--header", &host, &url], more].concat())
}

/// Waits until a host has this status at a path.
pub(super) fn until_status(server: &Running, host: &str, target: &str, status: u16) -> Answer {
    let since = Instant::now();
    loop {
        let answer = ask(server, VERSIONS[0], host, target, &[]);
        if answer.status == status {
            return answer;
        }
        assert!(since.elapsed() < PATIENCE, "{host}{target}: {answer:?}");
        std::thread::yield_now();
    }
}

/// A store of two releases that differ in all ways, and the names of both.
fn two() -> (Deployment, String, String) {
    let site = Deployment::new(&[
        ("index.html", "one <script src=/app.3f9a1c2b.js>"),
        ("docs/index.html", "docs of one"),
        ("only-one.html", "only in one"),
        ("app.3f9a1c2b.js", "code of one"),
        ("style.css", "a { color: red }"),
        ("404.html", "nothing in one"),
        ("_headers", "/*\n  X-Release: one\n"),
        (
            "_redirects",
            "/away https://other.test/ 302\n/old /docs/ 301\n",
        ),
    ]);
    let one = site.deploy()["release"].as_str().unwrap().to_owned();
    for path in [
        "docs/index.html",
        "only-one.html",
        "app.3f9a1c2b.js",
        "404.html",
        "_redirects",
    ] {
        site.remove(path);
    }
    site.put("index.html", "two");
    site.put("style.css", "a { color: blue }");
    site.put("_headers", "/*\n  X-Release: two\n");
    let two = site.deploy()["release"].as_str().unwrap().to_owned();
    (site, one, two)
}

#[test]
fn a_release_is_served_as_it_was() {
    let (site, one, two) = two();
    let server = serve(&site, &["--release-addresses", "both"]);
    for version in VERSIONS {
        for (host, prefix) in [
            (format!("{one}--a.test"), String::new()),
            (format!("{}--A.test:80", one.to_uppercase()), String::new()),
            ("a.test".to_owned(), format!("/_release/{one}")),
        ] {
            let get = |target: &str, more: &[&str]| {
                let answer = ask(&server, version, &host, &format!("{prefix}{target}"), more);
                assert_eq!(
                    answer.field("x-robots-tag"),
                    "noindex",
                    "{host} {target}: {answer:?}"
                );
                answer
            };
            // Twice, as what is asked for again might come from elsewhere.
            for _ in 0..2 {
                let page = get("/", &[]);
                assert_eq!(
                    page.content, "one <script src=/app.3f9a1c2b.js>",
                    "{version} {host}"
                );
                assert_eq!((page.status, &*page.field("x-release")), (200, "one"));
                assert_eq!(page.field("cache-control"), "no-cache");
            }
            assert_eq!(get("/docs/", &[]).content, "docs of one");
            assert_eq!(get("/only-one.html", &[]).content, "only in one");
            let style = get("/style.css", &[]);
            assert_eq!(
                (&*style.content, &*style.field("cache-control")),
                ("a { color: red }", "no-cache")
            );
            let tag = style.field("etag");
            assert!(tag.starts_with('"'), "{tag}");
            let unchanged = get(
                "/style.css",
                &["--header", &format!("If-None-Match: {tag}")],
            );
            assert_eq!(unchanged.status, 304);
            let part = get("/style.css", &["--range", "4-8"]);
            assert_eq!((part.status, &*part.content), (206, "color"));
            let code = get("/app.3f9a1c2b.js", &[]);
            assert_eq!(code.content, "code of one");
            assert!(
                code.field("cache-control").contains("immutable"),
                "{code:?}"
            );
            let nothing = get("/nothing", &[]);
            assert_eq!((nothing.status, &*nothing.content), (404, "nothing in one"));
            // Within the release, whoever says where to go.
            let redirects = [
                ("/docs?q=1", 308, format!("{prefix}/docs/?q=1")),
                ("/old", 301, format!("{prefix}/docs/")),
                ("/away", 302, "https://other.test/".to_owned()),
            ];
            for (target, status, location) in redirects {
                let answer = get(target, &[]);
                assert_eq!(
                    (answer.status, answer.field("location")),
                    (status, location),
                    "{target}"
                );
            }
            let refused = get("/style.css", &["--request", "DELETE"]);
            assert_eq!(refused.status, 405);
            let head = get("/style.css", &["--head"]);
            assert_eq!((head.status, &*head.content), (200, ""));
        }
        // The current release is one, too, without what others have.
        let current = ask(&server, version, &format!("{two}--a.test"), "/", &[]);
        assert_eq!(
            (&*current.content, &*current.field("x-robots-tag")),
            ("two", "noindex")
        );
        for (target, status) in [
            ("/only-one.html", 404),
            ("/app.3f9a1c2b.js", 404),
            ("/style.css", 200),
        ] {
            let answer = ask(&server, version, &format!("{two}--a.test"), target, &[]);
            assert_eq!(answer.status, status, "{target}");
        }
        // And the site is what it was.
        for (target, status) in [
            ("/only-one.html", 404),
            ("/app.3f9a1c2b.js", 200),
            ("/", 200),
        ] {
            let answer = ask(&server, version, "a.test", target, &[]);
            let fields = (
                answer.status,
                &*answer.field("x-release"),
                &*answer.field("x-robots-tag"),
            );
            assert_eq!(fields, (status, "two", ""), "{target}");
        }
        let slash = ask(
            &server,
            version,
            "a.test",
            &format!("/_release/{one}?q"),
            &[],
        );
        let location = format!("/_release/{one}/?q");
        assert_eq!((slash.status, slash.field("location")), (308, location));
    }
    stop(server);
}

#[test]
fn what_is_no_release_is_not_found() {
    let (site, one, _) = two();
    let server = serve(&site, &["--release-addresses", "both", "--spa"]);
    let other = format!("{}0", one.get(..one.len() - 1).unwrap());
    let other = if other == one {
        one.replace('0', "1")
    } else {
        other
    };
    for version in VERSIONS {
        for (host, target) in [
            (format!("{other}--a.test"), "/".to_owned()),
            ("a.test".to_owned(), format!("/_release/{other}/")),
            ("a.test".to_owned(), format!("/_release/{other}")),
            ("a.test".to_owned(), "/_release/".to_owned()),
            ("a.test".to_owned(), "/_release/../index.html".to_owned()),
            (
                "a.test".to_owned(),
                format!("/_release/%32{}/", one.get(1..).unwrap()),
            ),
            ("nonsense--a.test".to_owned(), "/".to_owned()),
        ] {
            let answer = ask(&server, version, &host, &target, &[]);
            if answer.status != 308 {
                assert_eq!(answer.status, 404, "{host}{target}: {answer:?}");
            }
            assert_eq!(answer.field("x-robots-tag"), "noindex", "{host}{target}");
        }
        // A host in another script is no release, and outside of a release nothing is reached.
        let answer = ask(&server, version, "xn--bcher-kva.test", "/", &[]);
        assert_eq!((answer.status, &*answer.content), (200, "two"));
        let answer = ask(
            &server,
            version,
            "a.test",
            &format!("/_release/{one}/../../manifests"),
            &[],
        );
        assert!(
            matches!(answer.status, 400 | 404)
                || answer.content == "one <script src=/app.3f9a1c2b.js>",
            "{answer:?}"
        );
    }
    stop(server);
}

#[test]
fn what_was_pruned_is_gone_at_once() {
    let (site, one, two) = two();
    let server = serve(
        &site,
        &["--release-addresses", "both", "--revalidate", "0s"],
    );
    let host = format!("{one}--a.test");
    until_status(&server, &host, "/", 200);
    site.put("index.html", "three");
    site.deploy();
    until(&server, "/", 200, "three");
    assert_eq!(
        until_status(&server, &host, "/style.css", 200).content,
        "a { color: red }"
    );
    let pruned = site.json(&["prune", "--keep", "1", "--for", "0s"]);
    assert_eq!(pruned["releases"], serde_json::json!([one, two]));
    for (host, target) in [
        (&*host, "/"),
        (&*host, "/style.css"),
        ("a.test", &*format!("/_release/{one}/")),
        ("a.test", &*format!("/_release/{two}/")),
    ] {
        let answer = ask(&server, VERSIONS[0], host, target, &[]);
        assert_eq!(answer.status, 404, "{host}{target}");
    }
    stop(server);
}

#[test]
fn releases_have_addresses_only_where_that_is_asked_for() {
    let (site, one, _) = two();
    let path = format!("/_release/{one}/");
    let host = format!("{one}--a.test");
    for (flags, by_host, by_path) in [
        (&[][..], "two", 404),
        (&["--release-addresses", "off"], "two", 404),
        (&["--release-addresses=path"], "two", 200),
        (
            &["--release-addresses", "host"],
            "one <script src=/app.3f9a1c2b.js>",
            404,
        ),
    ] {
        let server = serve(&site, flags);
        let answer = ask(&server, VERSIONS[0], &host, "/", &[]);
        assert_eq!(answer.content, by_host, "{flags:?}");
        let answer = ask(&server, VERSIONS[0], "a.test", &path, &[]);
        assert_eq!(answer.status, by_path, "{flags:?}");
        stop(server);
    }
    let server = Running::start(&site.site(), &["--release-addresses", "host"]);
    let said = stop(server);
    let expected = "--release-addresses does nothing without --store";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn rules_of_the_site_hold_for_its_releases_and_each_site_has_its_own() {
    let (site, one, _) = two();
    let folder = crate::common::site(&[
        ("b/index.html", "site b"),
        ("files/f.txt", "mounted"),
        (
            "salver.toml",
            &format!(
                "release-addresses = 'both'\n\
                 [[site]]\nstore = '{}'\nhosts = ['a.test', 'www--x.a.test', '*.w.test']\n\n\
                 [[site.mount]]\nprefix = '/files'\npath = 'files'\n\
                 [[site.rule]]\npath = '/docs/*'\ndeny = 403\n\
                 [[site]]\nroot = 'b'\nhosts = ['b.test']\nrelease-addresses = 'off'\n",
                site.store().display()
            ),
        ),
    ]);
    let server = Running::by_file(folder.path(), &[]);
    let check = |host: &str, target: &str, status: u16, content: &str| {
        for version in VERSIONS {
            let answer = ask(&server, version, host, target, &[]);
            assert_eq!(
                answer.status, status,
                "{version} {host}{target}: {answer:?}"
            );
            assert!(
                answer.content.starts_with(content),
                "{version} {host}{target}: {answer:?}"
            );
        }
    };
    let host = format!("{one}--a.test");
    check(&host, "/", 200, "one ");
    check(&host, "/docs/", 403, "403");
    check("a.test", &format!("/_release/{one}/docs/"), 403, "403");
    check("a.test", "/docs/", 403, "403");
    check(&host, "/files/f.txt", 200, "mounted");
    check(&format!("{one}--www.w.test"), "/", 200, "one ");
    check("www--x.a.test", "/", 200, "two");
    check("b.test", "/", 200, "site b");
    check(&format!("{one}--b.test"), "/", 200, "two");
    check("b.test", &format!("/_release/{one}/"), 404, "404");
    stop(server);
}

#[test]
fn many_addresses_take_no_memory_that_lasts() {
    let (site, one, _) = two();
    let server = serve(&site, &["--release-addresses", "both", "--metrics", "0"]);
    let resident = || {
        let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .unwrap();
        let kib = line.split_whitespace().nth(1).unwrap();
        kib.parse::<u64>().unwrap()
    };
    // Each is a name that there could be, over one connection.
    let burst = |from: u32| {
        let mut targets = Vec::new();
        for number in from..from + 2_000 {
            targets.push(format!("/_release/20200101-000000-{number:08x}/"));
        }
        let mut stream = server.connect();
        for some in targets.chunks(50) {
            let requests: String = some
                .iter()
                .map(|target| format!("GET {target} HTTP/1.1\r\nHost: a.test\r\n\r\n"))
                .collect();
            std::io::Write::write_all(&mut stream, requests.as_bytes()).unwrap();
            let mut answers = String::new();
            while answers.matches("there is no such release").count()
                + answers.matches("404 Not Found\n").count()
                < some.len()
            {
                let mut buffer = [0; 65_536];
                let count = std::io::Read::read(&mut stream, &mut buffer).unwrap();
                assert!(count > 0, "{answers}");
                answers.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
            }
            assert!(!answers.contains("HTTP/1.1 200"), "{answers}");
        }
    };
    burst(0);
    let before = resident();
    (1..6).for_each(|round| burst(round * 2_000));
    let after = resident();
    assert!(after < before + 8 * 1024, "{before} KiB, then {after} KiB");
    let answer = ask(
        &server,
        VERSIONS[0],
        &format!("{one}--a.test"),
        "/style.css",
        &[],
    );
    assert_eq!(answer.content, "a { color: red }");
    let said = stop(server);
    assert!(said.lines().count() < 100, "{said}");
}

#[test]
fn a_reload_turns_them_on_and_off() {
    let (site, one, _) = two();
    let folder = tempfile::tempdir().unwrap();
    let write = |addresses: &str| {
        let text = format!(
            "release-addresses = '{addresses}'\n[[site]]\nstore = '{}'\n",
            site.store().display()
        );
        fs::write(folder.path().join("salver.toml"), text).unwrap();
    };
    write("off");
    let mut server = Running::by_file(folder.path(), &[]);
    let path = format!("/_release/{one}/");
    assert_eq!(ask(&server, VERSIONS[0], "a.test", &path, &[]).status, 404);
    for (addresses, status) in [("path", 200), ("off", 404)] {
        write(addresses);
        server.signal(rustix::process::Signal::HUP);
        server.wait_for_line("reloaded: with another release-addresses");
        assert_eq!(
            ask(&server, VERSIONS[0], "a.test", &path, &[]).status,
            status
        );
    }
    stop(server);
}
