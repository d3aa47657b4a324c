//! Where trees and files appear, the fallback of an application, and redirects.

use std::sync::Arc;

use crate::common::{Site, Tree, config_of, directory, memory};
use salver_assets::{Config, Engine, Mount, Source};

#[test]
fn redirects_stay_on_this_host() {
    let tree = Tree::new();
    for name in ["d", "evil.com", "a b", "\u{e9}", "%41"] {
        tree.write(&format!("{name}/f"), "f");
    }
    // Where Windows takes no such names, nothing has them.
    let is_odd_a_name = !cfg!(windows);
    if is_odd_a_name {
        for name in ["q?r", "x\r\ny", "\\evil.com", "d:x"] {
            tree.write(&format!("{name}/f"), "f");
        }
    }
    let site = Site::new(config_of(Mount::tree("/", directory(&tree.path("")))));
    let check = |target: &str, expected: &str| {
        for answer in [site.get(target, &[]), site.head(target, &[])] {
            assert_eq!(
                (answer.status, answer.field("Location")),
                (308, expected),
                "{target}"
            );
        }
    };
    check("/d", "/d/");
    check("/d?a=b&c=%20", "/d/?a=b&c=%20");
    check("/d?", "/d/?");
    check("/d?x\r\nSet-Cookie: y", "/d/?x%0D%0ASet-Cookie:%20y");
    check("/d?\"<>", "/d/?%22%3C%3E");
    check("//evil.com", "/evil.com/");
    check("///evil.com", "/evil.com/");
    check("/.//evil.com", "/evil.com/");
    check("/a%20b", "/a%20b/");
    check("/%C3%A9", "/%C3%A9/");
    check("/%2541", "/%2541/");
    check("/./d", "/d/");
    for (target, expected) in [
        ("/%5Cevil.com", "/%5Cevil.com/"),
        ("/q%3Fr", "/q%3Fr/"),
        ("/x%0d%0ay", "/x%0D%0Ay/"),
        ("/d:x", "/d:x/"),
    ] {
        if is_odd_a_name {
            check(target, expected);
        } else {
            assert_eq!(site.get(target, &[]).status, 404, "{target}");
        }
    }
    assert_eq!(site.get("/%2Fevil.com", &[]).status, 404);
}

#[test]
fn mounts() {
    let main = memory(&[
        ("index.html", b"main"),
        ("docs/x", b"shadowed"),
        ("y", b"main y"),
    ]);
    let docs = memory(&[
        ("index.html", b"docs"),
        ("x", b"docs x"),
        (".hidden", b"secret"),
    ]);
    let file: Arc<dyn Source> = memory(&[("r.txt", b"robots"), ("other", b"other")]);
    let config = Config {
        mounts: vec![
            Mount::tree("/", main),
            Mount::tree("/docs", docs),
            Mount::file("/robots.txt", file, "r.txt"),
        ],
        ..Config::default()
    };
    let site = Site::new(config);
    let check = |path: &str, expected: &str| {
        let answer = site.get(path, &[]);
        let seen = match answer.status {
            200 => answer.text(),
            308 => answer.field("Location").to_owned(),
            status => status.to_string(),
        };
        assert_eq!(seen, expected, "{path}");
    };
    for _ in 0..2 {
        check("/", "main");
        check("/y", "main y");
        check("/docs", "/docs/");
        check("/docs?a", "/docs/?a");
        check("/docs/", "docs");
        check("/docs/x", "docs x");
        check("/docs/../y", "main y");
        check("/docs/.hidden", "404");
        check("/docsx", "404");
        check("/robots.txt", "robots");
        check("/robots.txt/", "404");
        check("/robots.txt/other", "404");
        check("/r.txt", "404");
    }
    let alone = Site::new(config_of(Mount::tree("/only", memory(&[("a", b"a")]))));
    assert_eq!(alone.get("/", &[]).status, 404);
    assert_eq!(alone.get("/only/a", &[]).status, 200);
    assert!(
        Engine::new(Config::default()).is_err(),
        "nothing is mounted"
    );
}

#[test]
fn a_single_page_application() {
    let files: [(&str, &[u8]); 3] = [
        ("index.html", b"application"),
        ("app.js", b"script"),
        ("d/x", b"x"),
    ];
    let mount = Mount::tree("/app", memory(&files)).with_fallback("index.html");
    let site = Site::new(config_of(mount));
    let check = |path: &str, status: u16, body: &str| {
        for _ in 0..2 {
            let answer = site.get(path, &[]);
            assert_eq!(answer.status, status, "{path}");
            if status == 200 {
                assert_eq!(answer.text(), body, "{path}");
                let head = site.head(path, &[]);
                assert_eq!((head.status, head.fields), (200, answer.fields));
            }
        }
    };
    check("/app/", 200, "application");
    check("/app/app.js", 200, "script");
    check("/app/route", 200, "application");
    check("/app/users/jo.doe", 200, "application");
    check("/app/deep/er/route?x=/y.js", 200, "application");
    check("/app/missing.js", 404, "");
    check("/app/img/missing.png", 404, "");
    check("/app/.env", 404, "");
    check("/app", 308, "");
    check("/app/d", 308, "");
    check("/elsewhere", 404, "");
    let tag = site.get("/app/route", &[]).field("ETag").to_owned();
    assert_eq!(tag, site.get("/app/index.html", &[]).field("ETag"));
    assert_eq!(
        site.get("/app/route", &[("If-None-Match", &tag)]).status,
        304
    );
    assert_eq!(
        site.get("/app/route", &[("Range", "bytes=0-2")]).text(),
        "app"
    );
    let none = Mount::tree("/", memory(&[("a", b"a")])).with_fallback("index.html");
    assert_eq!(Site::new(config_of(none)).get("/route", &[]).status, 404);
    // What stands for unknown paths is a file or nothing: a redirect would lead to itself.
    let directory = memory(&[("index.html/x", b"x")]);
    let site = Site::new(config_of(
        Mount::tree("/", directory).with_fallback("index.html"),
    ));
    for path in ["/", "/route", "/deep/route"] {
        let answer = site.get(path, &[]);
        assert_eq!(
            (answer.status, answer.field("Location")),
            (404, ""),
            "{path}"
        );
    }
    assert_eq!(site.get("/index.html", &[]).status, 308);
}
