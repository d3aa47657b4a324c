//! A store that is served.

use std::fs;
use std::path::Path;
use std::time::Instant;

use super::Deployment;
use crate::common::{NO_COMPRESS, PATIENCE, Running, addr_in, salver, stop};

/// Serves the store of a deployment.
pub(super) fn serve(site: &Deployment, args: &[&str]) -> Running {
    let mut command = salver();
    command.args(["serve", "--port", "0", "--store"]);
    command
        .arg(site.store())
        .args(args)
        .env(NO_COMPRESS, "true");
    let mut running = Running::spawn(command);
    let line = running.wait_for_line("://");
    running.addr = addr_in(&line);
    running
}

/// The entity tag of an answer.
fn tag(head: &str) -> &str {
    let line = head.lines().find_map(|line| line.strip_prefix("ETag: "));
    line.unwrap_or_else(|| panic!("{head}"))
}

/// Waits until an answer has this status and this content.
pub(super) fn until(server: &Running, target: &str, status: u16, content: &str) {
    let since = Instant::now();
    loop {
        let (found, head, bytes) = server.get(target, "");
        if found == status && (status != 200 || bytes == content.as_bytes()) {
            return;
        }
        assert!(
            since.elapsed() < PATIENCE,
            "{target}: {head}{}",
            String::from_utf8_lossy(&bytes)
        );
        std::thread::yield_now();
    }
}

#[test]
fn a_deploy_is_seen_and_yesterdays_chunks_stay() {
    let long = "0123456789abcdef".repeat(64 * 1024);
    let site = Deployment::new(&[
        ("index.html", "<script src=app.3f9a1c2b.js>"),
        ("old.html", "old"),
        ("app.3f9a1c2b.js", "old code"),
        ("_headers", "/*\n  X-Release: one\n"),
        ("long.bin", &long),
        ("same.css", "a {}"),
    ]);
    let first = site.deploy()["release"].as_str().unwrap().to_owned();
    for args in [&[][..], &["--no-cache"][..]] {
        let server = serve(&site, args);
        let (status, head, content) = server.get("/", "");
        assert_eq!(
            (status, &*content),
            (200, &b"<script src=app.3f9a1c2b.js>"[..]),
            "{head}"
        );
        assert!(head.contains("x-release: one"), "{head}");
        let (_, before, _) = server.get("/same.css", "");
        let (status, head, content) = server.get("/long.bin", "");
        assert!(status == 200 && content == long.as_bytes(), "{head}");
        let (status, head, content) = server.get("/long.bin", "Range: bytes=16-31\r\n");
        assert_eq!(
            (status, &*content),
            (206, &b"0123456789abcdef"[..]),
            "{head}"
        );
        site.put("index.html", "<script src=app.9c2b1f3a.js>");
        site.put("app.9c2b1f3a.js", "new code");
        site.put("_headers", "/*\n  X-Release: two\n");
        site.remove("app.3f9a1c2b.js");
        site.remove("old.html");
        site.deploy();
        until(&server, "/", 200, "<script src=app.9c2b1f3a.js>");
        until(&server, "/old.html", 404, "");
        until(&server, "/app.9c2b1f3a.js", 200, "new code");
        let (status, head, content) = server.get("/app.3f9a1c2b.js", "");
        assert_eq!((status, &*content), (200, &b"old code"[..]), "{head}");
        assert!(head.contains("immutable"), "{head}");
        let (_, after, _) = server.get("/same.css", "");
        assert!(after.contains("x-release: two"), "{after}");
        assert_eq!(tag(&before), tag(&after));
        let (status, ..) = server.get("/same.css", &format!("If-None-Match: {}\r\n", tag(&after)));
        assert_eq!(status, 304);
        let (code, _, said) = site.command(&["rollback", &first], &[]);
        assert_eq!(code, 0, "{said}");
        until(&server, "/old.html", 200, "old");
        until(&server, "/", 200, "<script src=app.3f9a1c2b.js>");
        until(&server, "/app.9c2b1f3a.js", 200, "new code");
        stop(server);
        for (path, content) in [
            ("index.html", "<script src=app.3f9a1c2b.js>"),
            ("old.html", "old"),
            ("app.3f9a1c2b.js", "old code"),
            ("_headers", "/*\n  X-Release: one\n"),
        ] {
            site.put(path, content);
        }
        site.remove("app.9c2b1f3a.js");
    }
}

#[test]
fn chunks_whose_hash_looks_like_a_word_stay_too() {
    let site = Deployment::new(&[
        ("index.html", "one"),
        ("assets/Panel-DvuGvLzb.js", "panel"),
        ("assets/index-HSH5H5Bn.js", "old code"),
        ("assets/Crew-BEwzoga7.css", "old style"),
        ("assets/crew.css", "plain"),
    ]);
    site.deploy();
    site.put("index.html", "two");
    site.put("assets/Crew-Cbycmicp.css", "new style");
    site.put("assets/index-B7kq_2xZ.js", "new code");
    for gone in ["Crew-BEwzoga7.css", "crew.css", "index-HSH5H5Bn.js"] {
        site.remove(&format!("assets/{gone}"));
    }
    site.deploy();
    let server = serve(&site, &[]);
    until(&server, "/", 200, "two");
    until(&server, "/assets/Crew-Cbycmicp.css", 200, "new style");
    until(&server, "/assets/index-HSH5H5Bn.js", 200, "old code");
    let (status, head, content) = server.get("/assets/Crew-BEwzoga7.css", "");
    assert_eq!((status, &*content), (200, &b"old style"[..]), "{head}");
    // It is kept in doubt; for a year clients keep nothing in doubt.
    assert!(head.contains("no-cache"), "{head}");
    until(&server, "/assets/crew.css", 404, "");
    stop(server);
}

#[test]
fn answers_are_those_of_the_directory() {
    let site = Deployment::new(&[
        ("index.html", &"<p>page</p>".repeat(500)),
        ("a b.txt", "text"),
        ("sub/index.html", "sub"),
        ("404.html", "nothing"),
        ("long.bin", &"x".repeat(300_000)),
    ]);
    let directory = site.site();
    let compressed = crate::common::run(&["compress", directory.to_str().unwrap()]);
    if cfg!(feature = "compress") {
        assert_eq!(compressed.0, 0, "{}", compressed.2);
    }
    site.deploy();
    let (one, other) = (Running::start(&directory, &[]), serve(&site, &[]));
    for target in [
        "/",
        "/index.html",
        "/a%20b.txt",
        "/sub",
        "/sub/",
        "/none",
        "/long.bin",
        "/index.html.br",
    ] {
        for fields in ["", "Accept-Encoding: br, gzip\r\n", "Range: bytes=1-3\r\n"] {
            let [(status, head, content), found] =
                [&one, &other].map(|server| server.get(target, fields));
            let without_date = |head: &str| {
                let lines = head.lines().filter(|line| !line.starts_with("Date: "));
                lines.map(str::to_owned).collect::<Vec<_>>()
            };
            assert_eq!(found.0, status, "{target} {fields:?}");
            assert_eq!(
                without_date(&found.1),
                without_date(&head),
                "{target} {fields:?}"
            );
            assert!(found.2 == content, "{target} {fields:?}");
        }
    }
}

#[test]
fn damage_is_a_visible_error_and_never_wrong_bytes() {
    let site = Deployment::new(&[("a.txt", "alpha"), ("b.txt", "beta"), ("good.txt", "good")]);
    site.deploy();
    let server = serve(&site, &[]);
    for directory in fs::read_dir(site.store().join("blobs")).unwrap() {
        for blob in fs::read_dir(directory.unwrap().path()).unwrap() {
            let blob = blob.unwrap().path();
            let content = fs::read_to_string(&blob).unwrap();
            let damaged = match &*content {
                "alpha" => "alpxa",
                "beta" => "bet",
                _ => continue,
            };
            fs::remove_file(&blob).unwrap();
            fs::write(&blob, damaged).unwrap();
        }
    }
    for target in ["/a.txt", "/b.txt"] {
        let (status, head, _) = server.get(target, "");
        assert_eq!(status, 500, "{head}");
    }
    assert_eq!(server.get("/good.txt", "").0, 200);
    let said = stop(server);
    assert!(
        said.contains("it is damaged") && said.contains("salver fsck"),
        "{said}"
    );
}

#[test]
fn a_server_can_begin_before_the_first_deploy() {
    let check = |make: &dyn Fn(&Path)| {
        let site = Deployment::new(&[("index.html", "one")]);
        make(&site.store());
        let server = serve(&site, &[]);
        assert_eq!(server.get("/", "").0, 404);
        site.deploy();
        until(&server, "/", 200, "one");
        let said = stop(server);
        assert!(said.contains("there is no release in"), "{said}");
    };
    check(&|_| {});
    check(&|store| fs::create_dir(store).unwrap());
    // A store without a release: what a deploy that was refused leaves.
    check(&|store| {
        fs::create_dir(store).unwrap();
        for name in ["blobs", "manifests", "new"] {
            fs::create_dir(store.join(name)).unwrap();
        }
        fs::write(store.join("salver-store"), "salver-store 1\n").unwrap();
    });
}

#[test]
fn a_store_is_a_site_of_a_file() {
    let site = Deployment::new(&[("index.html", "of the store")]);
    site.deploy();
    site.put("index.html", "of the directory");
    let text = format!(
        "[[site]]\nstore = {:?}\nhosts = [\"stored.test\"]\n\n[[site]]\nroot = {:?}\n",
        site.store(),
        site.site()
    );
    fs::write(site.temp.path().join("salver.toml"), text).unwrap();
    let server = Running::by_file(site.temp.path(), &[]);
    let (_, _, content) = server.get("/", "");
    assert_eq!(String::from_utf8(content).unwrap(), "of the directory");
    let mut stream = server.connect();
    let request = "GET / HTTP/1.1\r\nHost: stored.test\r\nConnection: close\r\n\r\n";
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
    assert!(answer.ends_with("\r\n\r\nof the store"), "{answer}");
}

#[test]
fn a_store_is_looked_at_often_unless_it_is_said() {
    let site = Deployment::new(&[("index.html", "one")]);
    site.deploy();
    for (args, expected) in [(&[][..], "250ms"), (&["--revalidate", "2s"], "2s")] {
        let said = stop(serve(&site, args));
        assert!(said.contains(expected), "{said}");
    }
}
