//! The conventions of built sites: files of rules, pages of errors, clean URLs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use salver_assets::rules::Compat;
use salver_assets::{CacheState, Config, Conventions, MemorySource, Method, Mount, TrailingSlash};

use crate::common::{Site, config_of, memory, request, seen};
use crate::rules::{MINUTE, status_and_location, values};

fn conventional(compat: Compat, files: &[(&str, &[u8])]) -> Site {
    let mount = Mount::tree("/", memory(files)).with_conventions(Conventions { compat });
    Site::new(config_of(mount))
}

pub(crate) fn netlify(files: &[(&str, &[u8])]) -> Site {
    conventional(Compat::Netlify, files)
}

#[test]
fn fields_of_a_file_stand_in_its_rendered_head() {
    let headers = b"/*\n  X-A: 1\n/a.js\n  Cache-Control: max-age=7\n  Content-Type: text/plain\n";
    let site = netlify(&[("_headers", headers), ("a.js", b"alpha"), ("b", b"beta")]);
    let answer = site.get("/a.js", &[]);
    assert_eq!((answer.status, answer.field("x-a")), (200, "1"));
    assert_eq!(values(&answer, "cache-control"), ["max-age=7"]);
    assert_eq!(values(&answer, "content-type"), ["text/plain"]);
    assert_eq!(site.get("/b", &[]).field("x-a"), "1");
    assert_eq!(site.get("/nothing", &[]).field("x-a"), "1");
    let part = site.get("/a.js", &[("Range", "bytes=1-2")]);
    assert_eq!((part.status, part.field("x-a")), (206, "1"));
    let tag = answer.field("ETag").to_owned();
    let same = site.get("/a.js", &[("If-None-Match", &tag)]);
    assert_eq!((same.status, same.field("x-a")), (304, "1"));
    assert_eq!(values(&same, "cache-control"), ["max-age=7"]);
    assert_eq!(values(&same, "content-type"), [""; 0]);
    let failed = site.get("/a.js", &[("If-Match", "\"other\"")]);
    assert_eq!((failed.status, failed.field("x-a")), (412, "1"));
    assert_eq!(values(&failed, "cache-control"), ["no-cache"]);
    let parts = site.get("/a.js", &[("Range", "bytes=0-0,2-2")]);
    assert!(
        parts
            .field("Content-Type")
            .starts_with("multipart/byteranges")
    );
    assert!(parts.text().contains("Content-Type: text/plain"));
}

#[test]
fn files_of_rules_are_never_served() {
    let site = netlify(&[
        ("_headers", b"/*\n  X-A: 1\n"),
        ("_redirects", b"/leak /_headers 200\n"),
        ("_headers.br", b"x"),
        ("a/_headers", b"a file like others"),
    ]);
    for path in [
        "/_headers",
        "/_redirects",
        "/_headers.br",
        "/%5fheaders",
        "/leak",
    ] {
        assert_eq!(site.get(path, &[]).status, 404, "{path}");
    }
    assert_eq!(site.get("/a/_headers", &[]).status, 200);
    assert_eq!(
        Site::of(&[("_headers", b"x")]).get("/_headers", &[]).status,
        200
    );
}

#[test]
fn redirects_keep_the_query_and_yield_to_files_as_their_host_says() {
    let redirects = b"/old/* /new/:splat 301\n/here /there\n/forced /there 302!\n/x https://a.org/x?q=1#f 307\n";
    let files: [(&str, &[u8]); 3] = [("_redirects", redirects), ("here", b"h"), ("forced", b"f")];
    let site = netlify(&files);
    let check = |site: &Site, target: &str, expected: (u16, &str)| {
        assert_eq!(
            status_and_location(&site.get(target, &[])),
            expected,
            "{target}"
        );
    };
    check(&site, "/old/a%20b/c?d=e", (301, "/new/a%20b/c?d=e"));
    check(&site, "/old/a%20b/c", (301, "/new/a%20b/c"));
    check(&site, "/here", (200, ""));
    check(&site, "/forced", (302, "/there"));
    check(&site, "/x?y", (307, "https://a.org/x?q=1#f"));
    let cloudflare = conventional(
        Compat::Cloudflare,
        &[("_redirects", b"/here /there\n"), ("here", b"h")],
    );
    check(&cloudflare, "/here", (302, "/there"));
    let head = site.head("/old/a", &[]);
    assert_eq!(
        (head.status, head.field("Cache-Control")),
        (301, "no-cache")
    );
}

#[test]
fn rewrites_send_another_file_under_the_path_that_was_asked_for() {
    let redirects =
        b"/app/* /app.html 200\n/gone/* /sorry.html 410\n/no /nothing 200\n/dir /d 200\n";
    let headers = b"/app/*\n  X-App: 1\n/app.html\n  X-File: 1\n";
    let site = netlify(&[
        ("_redirects", redirects),
        ("_headers", headers),
        ("app.html", b"<p>app"),
        ("app/real", b"real"),
        ("sorry.html", b"<p>gone"),
        ("d/index.html", b"<p>index"),
    ]);
    let app = site.get("/app/some/where?x", &[]);
    assert_eq!((app.status, &*app.text()), (200, "<p>app"));
    assert_eq!((app.field("x-app"), app.field("x-file")), ("1", ""));
    assert!(app.field("Content-Type").starts_with("text/html"));
    assert_eq!(site.get("/app/real", &[]).text(), "real");
    let part = site.get("/app/other", &[("Range", "bytes=0-2")]);
    assert_eq!((part.status, &*part.text()), (206, "<p>"));
    let gone = site.get("/gone/x", &[]);
    assert_eq!((gone.status, &*gone.text()), (410, "<p>gone"));
    assert_eq!(site.get("/no", &[]).status, 404);
    assert_eq!(site.get("/dir", &[]).text(), "<p>index");
}

#[test]
fn the_page_of_an_error_is_no_representation_of_what_was_asked_for() {
    let site = netlify(&[
        ("_headers", b"/*\n  Cache-Control: max-age=9\n  X-A: 1\n"),
        ("404.html", b"<p>root"),
        ("a/404.html", b"<p>a"),
        ("a/b/c", b""),
    ]);
    let answer = site.get("/a/b/nothing", &[]);
    assert_eq!((answer.status, &*answer.text()), (404, "<p>a"));
    assert!(answer.field("Content-Type").starts_with("text/html"));
    assert_eq!(answer.field("x-a"), "1");
    assert_eq!(values(&answer, "cache-control"), ["no-cache"]);
    for absent in ["ETag", "Last-Modified", "Accept-Ranges"] {
        assert_eq!(answer.field(absent), "", "{absent}");
    }
    let fields = [
        ("Range", "bytes=0-1"),
        ("If-None-Match", "*"),
        ("If-Match", "\"x\""),
    ];
    assert_eq!(site.get("/a/b/nothing", &fields), answer);
    let head = site.head("/a/b/nothing", &fields);
    assert_eq!((head.status, &head.fields), (404, &answer.fields));
    assert_eq!(site.get("/x/y/z", &[]).text(), "<p>root");
    assert_eq!(site.get("/404.html", &[]).status, 200);
}

#[test]
fn what_changes_on_disk_holds_for_all_that_was_made_before() {
    let source = Arc::new(MemorySource::new());
    source.insert("a", "alpha", 0);
    source.insert("_headers", "/*\n  X-A: 1\n", 0);
    let mount = Mount::tree("/", Arc::clone(&source) as Arc<_>);
    let site = Site::new(config_of(mount.with_conventions(Conventions::default())));
    let x = || site.get("/a", &[]).field("x-a").to_owned();
    assert_eq!(x(), "1");
    source.insert("_headers", "/*\n  X-A: 2\n", 1);
    assert_eq!(x(), "1", "compared a moment ago");
    site.advance(MINUTE);
    assert_eq!(x(), "2");
    source.insert("_redirects", "/a /b 301!\n", 1);
    site.advance(MINUTE);
    assert_eq!(status_and_location(&site.get("/a", &[])), (301, "/b"));
    source.insert("_redirects", "/a /c 301!\n", 2);
    site.advance(MINUTE);
    assert_eq!(status_and_location(&site.get("/a", &[])), (301, "/c"));
    // A file that is too large leaves what holds.
    source.insert("_redirects", vec![b'#'; 5 << 20], 3);
    site.advance(MINUTE);
    assert_eq!(status_and_location(&site.get("/a", &[])), (301, "/c"));
    source.remove("_redirects");
    source.remove("_headers");
    site.advance(MINUTE);
    assert_eq!((site.get("/a", &[]).status, x()), (200, String::new()));
}

#[test]
fn whoever_asks_after_a_change_is_answered_by_it_however_many_load() {
    let source = Arc::new(MemorySource::new());
    source.insert("a", "alpha", 0);
    let mount = Mount::tree("/", Arc::clone(&source) as Arc<_>);
    let mount = mount.with_conventions(Conventions::default());
    // Every request compares, and none takes what another one saw before.
    let site = Site::new(Config {
        revalidate: Duration::ZERO,
        coalesce: false,
        ..config_of(mount)
    });
    // `None` for one that others have kept from looking until it was given up: on a busy machine that happens.
    let current = |path| {
        let plan = site.plan(&request(Method::Get, path, &[]));
        let is_given_up = plan.cache_state == Some(CacheState::Stale) || plan.status == 503;
        (!is_given_up).then(|| seen(&plan))
    };
    let (written, done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut asked = 0;
                while !done.load(Ordering::Acquire) || asked < 20 {
                    let least = written.load(Ordering::Acquire);
                    if let Some(answer) = current("/a") {
                        let found = answer.field("x-a").parse().unwrap_or(0);
                        assert!(found >= least, "{found} of {least}");
                    }
                    if let Some(moved) = current("/m").filter(|moved| moved.status != 404) {
                        let to = moved.field("Location").trim_start_matches('/').to_owned();
                        assert!(to.parse::<u64>().unwrap() >= least);
                    }
                    asked += 1;
                }
            });
        }
        for number in 1..=200_u64 {
            source.insert("_redirects", format!("/m /{number}\n"), 0);
            source.insert("_headers", format!("/*\n  X-A: {number}\n"), 0);
            written.store(number, Ordering::Release);
            std::thread::yield_now();
        }
        done.store(true, Ordering::Release);
    });
    assert_eq!(site.get("/a", &[]).field("x-a"), "200");
}

#[test]
fn no_answer_is_by_rules_that_were_compared_too_long_ago() {
    let source = Arc::new(MemorySource::new());
    source.insert("a", "alpha", 0);
    source.insert("b", "beta", 0);
    let mount = Mount::tree("/", Arc::clone(&source) as Arc<_>);
    let site = Site::new(config_of(mount.with_conventions(Conventions::default())));
    let x = |path: &str| site.get(path, &[]).field("x-a").to_owned();
    assert_eq!(x("/a"), "");
    source.insert("_headers", "/*\n  X-A: 1\n", 0);
    // Loaded just before the rules have to be compared again.
    site.advance(Duration::from_millis(400));
    x("/b");
    site.advance(Duration::from_millis(700));
    assert_eq!(x("/b"), "1");
}

#[test]
fn a_fallback_has_the_fields_of_the_path_that_was_asked_for() {
    let files: [(&str, &[u8]); 3] = [
        (
            "_headers",
            b"/app/*\n  X-A: app\n/index.html\n  X-A: index\n",
        ),
        ("index.html", b"<p>app"),
        ("404.html", b"<p>none"),
    ];
    let mount = Mount::tree("/", memory(&files))
        .with_fallback("index.html")
        .with_conventions(Conventions::default());
    let site = Site::new(config_of(mount));
    for _ in 0..2 {
        let answer = site.get("/app/x", &[]);
        assert_eq!(
            (answer.status, answer.field("x-a"), &*answer.text()),
            (200, "app", "<p>app")
        );
        let missing = site.get("/app/x.js", &[]);
        assert_eq!((missing.status, &*missing.text()), (404, "<p>none"));
    }
    assert_eq!(site.get("/other", &[]).field("x-a"), "");
    let evaluated = site.engine.statistics().rulings;
    site.get("/app/x", &[]);
    assert_eq!(site.engine.statistics().rulings, evaluated);
}

#[test]
fn clean_urls() {
    let files: [(&str, &[u8]); 7] = [
        ("index.html", b"root"),
        ("about.html", b"about"),
        ("blog/index.html", b"blog"),
        ("blog/post.html", b"post"),
        ("both.html", b"page"),
        ("both/index.html", b"folder"),
        ("a.js", b"js"),
    ];
    let check = |policy, compat, cases: &[(&str, &str)]| {
        let mount = Mount::tree("/", memory(&files)).with_clean_urls(policy);
        let site = Site::new(config_of(mount.with_conventions(Conventions { compat })));
        for (target, expected) in cases {
            let answer = site.get(target, &[]);
            let found = match answer.status {
                200 => answer.text(),
                308 => format!("-> {}", answer.field("Location")),
                status => status.to_string(),
            };
            assert_eq!(found, *expected, "{target} {policy:?} {compat:?}");
        }
    };
    let same = [
        ("/", "root"),
        ("/index.html", "-> /"),
        ("/a.js", "js"),
        ("/nothing", "404"),
        ("/nothing/", "404"),
    ];
    for policy in [
        TrailingSlash::Auto,
        TrailingSlash::Always,
        TrailingSlash::Never,
    ] {
        check(policy, Compat::Netlify, &same);
    }
    check(
        TrailingSlash::Auto,
        Compat::Netlify,
        &[
            ("/about", "about"),
            ("/about?x", "about"),
            ("/about.html?x", "-> /about?x"),
            ("/about/", "-> /about"),
            ("/blog", "-> /blog/"),
            ("/blog/", "blog"),
            ("/blog/index.html", "-> /blog/"),
            ("/blog/index", "-> /blog/"),
            ("/blog/post", "post"),
            ("/both", "-> /both/"),
            ("/both/", "folder"),
            ("/both.html", "page"),
        ],
    );
    check(
        TrailingSlash::Auto,
        Compat::Cloudflare,
        &[("/both", "page"), ("/both/", "folder")],
    );
    check(
        TrailingSlash::Always,
        Compat::Netlify,
        &[
            ("/about", "-> /about/"),
            ("/about/", "about"),
            ("/about.html", "-> /about/"),
            ("/blog", "-> /blog/"),
            ("/blog/", "blog"),
            ("/blog/index.html", "-> /blog/"),
        ],
    );
    check(
        TrailingSlash::Never,
        Compat::Netlify,
        &[
            ("/about", "about"),
            ("/about/", "-> /about"),
            ("/about.html", "-> /about"),
            ("/blog", "blog"),
            ("/blog/", "-> /blog"),
            ("/blog/index.html", "-> /blog"),
            ("/blog/index", "-> /blog"),
        ],
    );
}

#[test]
fn an_invalidated_file_is_looked_at_wherever_rules_send_it() {
    let source = memory(&[
        ("_redirects", b"/app/* /app.html 200\n"),
        ("app.html", b"one"),
    ]);
    let mount = Mount::tree("/", Arc::clone(&source) as Arc<_>);
    let site = Site::new(config_of(mount.with_conventions(Conventions::default())));
    assert_eq!(site.get("/app/x", &[]).text(), "one");
    source.insert("app.html", "two", 1);
    assert_eq!(site.get("/app/x", &[]).text(), "one");
    let path = salver_assets::RequestPath::parse(b"/app.html").unwrap();
    site.engine.invalidate(&path);
    assert_eq!(site.get("/app/x", &[]).text(), "two");
}

#[test]
fn pages_are_loaded_ahead_and_invalidated_by_their_clean_paths() {
    let source = memory(&[("about.html", b"one"), ("blog/index.html", b"blog")]);
    let mount = Mount::tree("/", Arc::clone(&source) as Arc<_>);
    let site = Site::new(config_of(mount.with_clean_urls(TrailingSlash::Auto)));
    assert_eq!(site.engine.prewarm().files, 2);
    let loads = site.engine.statistics().loads;
    assert_eq!(site.get("/about", &[]).text(), "one");
    assert_eq!(site.get("/blog/", &[]).text(), "blog");
    assert_eq!(site.engine.statistics().loads, loads);
    source.insert("about.html", "two", 1);
    let path = salver_assets::RequestPath::parse(b"/about.html").unwrap();
    site.engine.invalidate(&path);
    assert_eq!(site.get("/about", &[]).text(), "two");
}
