//! Pages of a built site: of errors, and without `.html` in their paths.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::StatusCode;
use salver_tower::{Assets, Error, Listing, ReadError, SharedReader, TrailingSlash};

use crate::service::{Site, ask, request};

fn built_site() -> Site {
    Site::new(&[
        ("index.html", b"home"),
        ("404.html", b"nothing here"),
        ("bad.html", b"what was that"),
        ("about.html", b"us"),
        ("blog/index.html", b"blog"),
        ("a.txt", b"a"),
        (".env", b"secret"),
    ])
}

#[tokio::test]
async fn what_is_not_found_has_a_page_and_stays_not_found() {
    let site = built_site();
    let assets = Assets::builder(site.root())
        .not_found("404.html")
        .build()
        .unwrap();
    let mut app: Router = Router::new().nest_service("/static", assets.clone());
    for target in [
        "/static/none",
        "/static/none.js",
        "/static/a/b/",
        "/static/.env",
    ] {
        // The first waits for the disk, the second is a hit.
        for _ in 0..2 {
            let (status, fields, content) = ask(&mut app, request("GET", target)).await;
            let expected = (StatusCode::NOT_FOUND, &b"nothing here"[..]);
            assert_eq!((status, &*content), expected, "{target}");
            assert_eq!(fields["content-type"], "text/html; charset=utf-8");
        }
        let (status, fields, content) = ask(&mut app, request("HEAD", target)).await;
        assert_eq!((status, &*content), (StatusCode::NOT_FOUND, &b""[..]));
        assert_eq!(fields["content-length"], "12");
    }
    let (status, _, content) = ask(&mut app, request("GET", "/static/a.txt")).await;
    assert_eq!((status, &*content), (StatusCode::OK, &b"a"[..]));
    assert_eq!(assets.read("none").await, Err(ReadError::NotFound));
    let mut one = assets.file_service("none.txt");
    let (status, _, content) = ask(&mut one, request("GET", "/")).await;
    assert_eq!(
        (status, &*content),
        (StatusCode::NOT_FOUND, &b"nothing here"[..])
    );
    let fallback = Router::new().fallback(async || "from the program");
    let (.., content) = ask(&mut assets.fallback(fallback), request("GET", "/none")).await;
    assert_eq!(content, b"from the program");
}

#[tokio::test]
async fn pages_of_other_statuses_and_of_a_single_page_application() {
    let site = built_site();
    let builder = Assets::builder(site.root()).spa("index.html");
    let builder = builder.not_found("/404.html").error_page(400, "bad.html");
    let mut assets = builder.build().unwrap();
    for (target, status, expected) in [
        ("/some/where", 200, "home"),
        ("/none.js", 404, "nothing here"),
        ("/%00", 400, "what was that"),
        ("/%zz", 400, "what was that"),
    ] {
        let (found, _, content) = ask(&mut assets, request("GET", target)).await;
        let expected = (status, expected.as_bytes());
        assert_eq!((found.as_u16(), &*content), expected, "{target}");
    }
    let wrong = Assets::builder(site.root())
        .error_page(304, "404.html")
        .build();
    assert!(matches!(wrong, Err(Error::ErrorPage(_))));
}

#[tokio::test]
async fn pages_without_html_keep_the_prefix_in_their_redirects() {
    let site = built_site();
    let at = |trailing_slash| {
        let builder = Assets::builder(site.root()).clean_urls(trailing_slash);
        // Longer than any machine takes.
        let builder = builder.revalidate(Duration::from_secs(3600));
        builder.not_found("404.html").build().unwrap()
    };
    let check = async |policy, target: &str, status: u16, expected: &str| {
        let mut app: Router = Router::new().nest_service("/static", at(policy));
        let (found, fields, content) = ask(&mut app, request("GET", target)).await;
        let content = String::from_utf8(content).unwrap();
        let got = match fields.get("location") {
            Some(location) => location.to_str().unwrap(),
            None => &*content,
        };
        assert_eq!((found.as_u16(), got), (status, expected), "{target}");
    };
    let auto = TrailingSlash::Auto;
    check(auto, "/static/about", 200, "us").await;
    check(auto, "/static/about.html?a", 308, "./about?a").await;
    check(auto, "/static/about/", 308, "../about").await;
    check(auto, "/static/%61bout%2Ehtml", 308, "./about").await;
    check(auto, "/static/blog", 308, "./blog/").await;
    check(auto, "/static/blog/index.html", 308, "../blog/").await;
    check(auto, "/static/index.html", 308, "./").await;
    check(auto, "/static/none", 404, "nothing here").await;
    check(TrailingSlash::Always, "/static/about", 308, "./about/").await;
    check(TrailingSlash::Never, "/static/blog/", 308, "../blog").await;
    check(TrailingSlash::Never, "/static/blog", 200, "blog").await;
    // Programs read files.
    let assets = at(auto);
    assert_eq!(assets.read("about.html").await.unwrap(), b"us"[..]);
    assert_eq!(assets.read("about").await, Err(ReadError::NotFound));
    let loads = assets.statistics().loads;
    let mut route = assets.file_service("about.html");
    let (status, _, content) = ask(&mut route, request("GET", "/us")).await;
    assert_eq!((status, &*content), (StatusCode::OK, &b"us"[..]));
    assert_eq!(
        assets.statistics().loads,
        loads,
        "it was cached by that name"
    );
    site.write("about.html", b"we");
    assets.invalidate("about.html");
    assert_eq!(assets.read("about.html").await.unwrap(), b"we"[..]);
}

#[tokio::test]
async fn a_fallback_is_asked_about_paths_that_are_none() {
    let site = built_site();
    let fallback = Router::new().fallback(|request: http::Request<Body>| async move {
        (StatusCode::NOT_FOUND, request.uri().path().to_owned())
    });
    let mut service = site.assets().fallback(fallback);
    for target in [
        "/%00",
        "/%",
        "/%zz",
        "/%2e%2e/x",
        "/a%2Fb",
        "/.env",
        "/none",
    ] {
        let (status, _, content) = ask(&mut service, request("GET", target)).await;
        let expected = (StatusCode::NOT_FOUND, target.as_bytes());
        assert_eq!((status, &*content), expected, "{target}");
    }
    let (status, ..) = ask(&mut service, request("POST", "/%00")).await;
    assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn without_an_index_nothing_tells_of_directories() {
    let site = built_site();
    let without_index = || Assets::builder(site.root()).index([] as [&str; 0]);
    let status = async |mut assets: Assets, target| ask(&mut assets, request("GET", target)).await;
    for target in ["/blog", "/blog/", "/none", "/"] {
        let plain = without_index().build().unwrap();
        let (found, _, content) = status(plain, target).await;
        let expected = (StatusCode::NOT_FOUND, &b"404 Not Found\n"[..]);
        assert_eq!((found, &*content), expected, "{target}");
        let with_page = without_index().not_found("404.html").build().unwrap();
        let (found, _, content) = status(with_page, target).await;
        let expected = (StatusCode::NOT_FOUND, &b"nothing here"[..]);
        assert_eq!((found, &*content), expected, "{target}");
        let application = without_index().spa("index.html").build().unwrap();
        let (found, _, content) = status(application, target).await;
        assert_eq!(
            (found, &*content),
            (StatusCode::OK, &b"home"[..]),
            "{target}"
        );
    }
    let listed = without_index().listing(Listing::default()).build().unwrap();
    assert_eq!(
        status(listed, "/blog").await.0,
        StatusCode::PERMANENT_REDIRECT
    );
    // A program is told what it named.
    let plain = without_index().build().unwrap();
    assert_eq!(plain.read("blog").await, Err(ReadError::Directory));
    let reader = SharedReader::new(site.root()).unwrap();
    assert_eq!(reader.read("blog").await, Err(ReadError::Directory));
}

#[test]
fn pages_that_are_not_there_are_named_in_the_log() {
    let site = built_site();
    let said = |builder: salver_tower::Builder| {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let log = tracing_subscriber::fmt().with_ansi(false);
        let log = log.with_writer(Lines(Arc::clone(&lines))).finish();
        tracing::subscriber::with_default(log, || drop(builder.build().unwrap()));
        let lines = lines.lock().unwrap();
        String::from_utf8(lines.clone()).unwrap()
    };
    let builder = || Assets::builder(site.root());
    let there = builder().spa("index.html").not_found("404.html");
    assert_eq!(said(there), "");
    for wrong in ["nope.html", "blog"] {
        let log = said(builder().spa(wrong));
        assert!(log.contains(&format!("{wrong:?} is not there")), "{log}");
        let log = said(builder().not_found(wrong));
        assert!(log.contains(&format!("\"/{wrong}\" is not there")), "{log}");
    }
}

/// Where lines of the log go.
#[derive(Clone)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl tracing_subscriber::fmt::MakeWriter<'_> for Lines {
    type Writer = Lines;

    fn make_writer(&self) -> Lines {
        self.clone()
    }
}
