//! What programs do with `Assets`: nest them, fall back, send and read single files, let go of what
//! is cached.

use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::Body as AxumBody;
use axum::routing::get;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use salver_tower::{Assets, Listing, ReadError};
use tower_service::Service;

pub(crate) struct Site(tempfile::TempDir);

impl Site {
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Self {
        let site = Site(tempfile::tempdir().unwrap());
        for (name, content) in files {
            site.write(name, content);
        }
        site
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    /// As a deployment does: complete from the start.
    pub(crate) fn write(&self, name: &str, content: &[u8]) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let new = path.with_extension("new");
        fs::write(&new, content).unwrap();
        fs::rename(new, path).unwrap();
    }

    pub(crate) fn assets(&self) -> Assets {
        Assets::new(self.root()).unwrap()
    }
}

pub(crate) fn request(method: &str, target: &str) -> Request<AxumBody> {
    let request = Request::builder().method(method).uri(target);
    request.body(AxumBody::empty()).unwrap()
}

/// Status, fields and content.
pub(crate) async fn ask<S, B>(
    service: &mut S,
    request: Request<AxumBody>,
) -> (StatusCode, HeaderMap, Vec<u8>)
where
    S: Service<Request<AxumBody>, Response = Response<B>, Error = Infallible>,
    B: http_body::Body<Data = bytes::Bytes>,
    B::Error: std::fmt::Debug,
{
    let Ok(response) = service.call(request).await;
    let (head, body) = response.into_parts();
    let content = body.collect().await.unwrap().to_bytes().to_vec();
    (head.status, head.headers, content)
}

#[cfg(feature = "compress")]
#[tokio::test]
async fn files_come_coded_after_a_while_where_the_program_wants_that() {
    use std::time::{Duration, Instant};

    use salver_tower::CodingDirectory;

    let content = b"a line of text, and another one\n".repeat(300);
    let site = Site::new(&[("a.js", &content)]);
    let kept = tempfile::tempdir().unwrap();
    let mut plain = site.assets();
    let directory = CodingDirectory::open(kept.path(), 1 << 20).unwrap();
    let compressing = Assets::builder(site.root())
        .compress()
        .compress_cpu(100)
        .keep_codings_in(directory);
    let mut assets = compressing.build().unwrap();
    let wants = || {
        let mut wants = request("GET", "/a.js");
        let br = "br, gzip".parse().unwrap();
        wants.headers_mut().insert("accept-encoding", br);
        wants
    };
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        let (_, fields, got) = ask(&mut assets, wants()).await;
        assert_eq!(fields["vary"], "Accept-Encoding");
        if let Some(coding) = fields.get("content-encoding") {
            assert_eq!(coding, "br");
            assert!(got.len() < content.len() / 4);
            break;
        }
        assert!(got == content && Instant::now() < end);
        tokio::task::yield_now().await;
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(assets.statistics().codings_made, 1);
    assert_eq!(fs::read_dir(kept.path()).unwrap().count(), 1);
    // Whole files are read as they are, and without being asked nothing is coded.
    assert!(assets.read("a.js").await.unwrap() == content);
    let (_, fields, got) = ask(&mut plain, wants()).await;
    assert!(got == content && !fields.contains_key("vary"));
}

#[tokio::test]
async fn directories_are_listed_beneath_a_prefix() {
    let site = Site::new(&[("docs/a b.txt", b"text")]);
    let listed = Assets::builder(site.root()).listing(Listing::default());
    let assets = listed.build().unwrap();
    let mut app: Router = Router::new().nest_service("/static", assets.clone());
    // The first waits for the disk, the second is a hit.
    for _ in 0..2 {
        let (status, fields, html) = ask(&mut app, request("GET", "/static/docs/")).await;
        let html = String::from_utf8(html).unwrap();
        assert_eq!(
            (status, &fields["vary"]),
            (StatusCode::OK, &"Accept".parse().unwrap())
        );
        assert!(html.contains("href=\"./a%20b.txt\""), "{html}");
        let mut wants_json = request("GET", "/static/docs/");
        let json = "application/json";
        wants_json
            .headers_mut()
            .insert("accept", json.parse().unwrap());
        let (_, fields, json) = ask(&mut app, wants_json).await;
        assert_eq!(fields["content-type"], "application/json");
        assert!(String::from_utf8(json).unwrap().contains("\"a b.txt\""));
    }
    // A listing is no file.
    let read = |assets: Assets| async move { assets.read("docs/").await.unwrap_err().to_string() };
    assert_eq!(read(assets).await, read(site.assets()).await);
    let (status, ..) = ask(&mut site.assets(), request("GET", "/docs/")).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn nested_beneath_a_prefix_and_beside_an_api() {
    let site = Site::new(&[
        ("index.html", b"home"),
        ("docs/index.html", b"docs"),
        ("photos (2024)/index.html", b"photos"),
        ("caf\u{e9}/index.html", b"caf\xc3\xa9"),
    ]);
    let assets = site.assets();
    let mut app: Router = Router::new()
        .route("/api", get(|| async { "api" }))
        .nest_service("/static", assets.clone())
        .fallback_service(assets);
    for (target, status, content) in [
        ("/api", 200, "api"),
        ("/", 200, "home"),
        ("/static/", 200, "home"),
        ("/static/docs/", 200, "docs"),
        ("/static/none", 404, "404 Not Found\n"),
    ] {
        let answer = ask(&mut app, request("GET", target)).await;
        assert_eq!(
            (answer.0.as_u16(), &*answer.2),
            (status, content.as_bytes()),
            "{target}"
        );
    }
    // Relative, so that it is right whatever prefix was taken off, and however the client escaped the path.
    for (target, location) in [
        ("/static/docs?a=b", "./docs/?a=b"),
        ("/static/%64ocs", "./docs/"),
        ("/static/photos%20%282024%29", "./photos%20(2024)/"),
        ("/static/caf%c3%a9", "./caf%C3%A9/"),
    ] {
        let (status, headers, _) = ask(&mut app, request("GET", target)).await;
        assert_eq!(
            (status.as_u16(), headers["location"].to_str().unwrap()),
            (308, location),
            "{target}"
        );
    }
}

#[tokio::test]
async fn a_fallback_is_asked_about_what_is_not_here() {
    let site = Site::new(&[("a.txt", b"a")]);
    let fallback = Router::new().fallback(|request: Request<AxumBody>| async move {
        (StatusCode::IM_A_TEAPOT, request.uri().path().to_owned())
    });
    let mut service = site.assets().fallback(fallback);
    assert_eq!(ask(&mut service, request("GET", "/a.txt")).await.2, b"a");
    let (status, _, content) = ask(&mut service, request("GET", "/b.txt")).await;
    assert_eq!((status.as_u16(), &*content), (418, &b"/b.txt"[..]));
    assert_eq!(
        ask(&mut service, request("POST", "/a.txt"))
            .await
            .0
            .as_u16(),
        405
    );
    // And as a router's fallback, which is how axum wants it.
    let mut app: Router = Router::new().fallback_service(service);
    assert_eq!(
        ask(&mut app, request("GET", "/b.txt")).await.0.as_u16(),
        418
    );
}

#[tokio::test]
async fn a_route_is_one_file_whatever_its_path() {
    let site = Site::new(&[("icons/a b.svg", b"<svg/>"), ("index.html", b"home")]);
    let assets = site.assets();
    let mut app: Router = Router::new()
        .route_service("/favicon.ico", assets.file_service("icons/a b.svg"))
        .route_service("/gone", assets.file_service("gone.txt"))
        .nest_service("/app", assets.file_service("/index.html"));
    for (method, target, status, content) in [
        ("GET", "/favicon.ico?v=1", 200, "<svg/>"),
        ("HEAD", "/favicon.ico", 200, ""),
        ("POST", "/favicon.ico", 405, "405 Method Not Allowed\n"),
        ("GET", "/gone", 404, "404 Not Found\n"),
        ("GET", "/app/some/route", 200, "home"),
    ] {
        let (found, fields, body) = ask(&mut app, request(method, target)).await;
        let expected = (status, content.as_bytes());
        assert_eq!((found.as_u16(), &*body), expected, "{method} {target}");
        if content == "<svg/>" {
            assert_eq!(fields["content-type"], "image/svg+xml");
        }
    }
}

#[tokio::test]
async fn a_handler_sends_one_file_with_its_ranges() {
    let site = Site::new(&[("reports/a b%.txt", b"0123456789")]);
    let assets = site.assets();
    let mut headers = HeaderMap::new();
    headers.insert("range", "bytes=2-4".parse().unwrap());
    for (method, status, content) in [
        (Method::GET, 206, &b"234"[..]),
        (Method::HEAD, 200, b""),
        (Method::POST, 405, b"405 Method Not Allowed\n"),
    ] {
        let response = assets.file("reports/a b%.txt", &method, &headers).await;
        assert_eq!(response.status().as_u16(), status, "{method}");
        assert_eq!(
            response.into_body().collect().await.unwrap().to_bytes(),
            content
        );
    }
    // A name is a name: nothing is decoded twice, and nothing leads out.
    for (name, status) in [
        ("reports/a%20b%25.txt", 404),
        ("../secret", 400),
        ("reports/../../secret", 400),
        ("none", 404),
        ("", 404),
    ] {
        let response = assets.file(name, &Method::GET, &HeaderMap::new()).await;
        assert_eq!(response.status().as_u16(), status, "{name}");
    }
}

#[tokio::test]
async fn reads_are_shared_and_their_errors_too() {
    let large: Vec<u8> = (0..3_000_000u32).map(|n| n.to_le_bytes()[0]).collect();
    let site = Site::new(&[
        ("small", b"content"),
        ("large", &large),
        ("empty", b""),
        ("d/f", b""),
    ]);
    // Longer than any machine takes to ask.
    let hour = std::time::Duration::from_secs(3600);
    let builder = Assets::builder(site.root()).revalidate(hour);
    let assets = builder.build().unwrap();
    assert_eq!(assets.read("/small").await.unwrap(), b"content"[..]);
    assert_eq!(assets.read("empty").await.unwrap(), b""[..]);
    assert!(assets.read("large").await.unwrap() == large);
    assert!(matches!(
        assets.read("none").await,
        Err(ReadError::NotFound)
    ));
    assert!(matches!(assets.read("d").await, Err(ReadError::Directory)));
    assert!(matches!(
        assets.read(".hidden").await,
        Err(ReadError::NotFound)
    ));
    let loads = assets.statistics().loads;
    site.write("new", b"new");
    let reads: Vec<_> = (0..1000)
        .map(|_| {
            let assets = assets.clone();
            tokio::spawn(async move { assets.read("new").await.unwrap() })
        })
        .collect();
    let mut contents = Vec::new();
    for read in reads {
        contents.push(read.await.unwrap());
    }
    assert!(contents.iter().all(|content| *content == b"new"[..]));
    assert_eq!(assets.statistics().loads, loads + 1, "one load for all");
    // One allocation for all, too.
    assert!(
        contents
            .iter()
            .all(|content| content.as_ptr() == contents[0].as_ptr())
    );
}

#[tokio::test]
async fn what_is_let_go_of_is_looked_at_again() {
    let site = Site::new(&[("a/x", b"1"), ("a/y", b"1"), ("b", b"1")]);
    let hour = std::time::Duration::from_secs(3600);
    let assets = Assets::builder(site.root())
        .revalidate(hour)
        .build()
        .unwrap();
    let prewarmed = assets.prewarm().await.unwrap();
    assert_eq!(prewarmed.files, 3);
    for name in ["a/x", "a/y", "b"] {
        site.write(name, b"2");
    }
    let read = async |name| assets.read(name).await.unwrap()[0];
    assert_eq!(
        (read("a/x").await, read("a/y").await, read("b").await),
        (b'1', b'1', b'1')
    );
    assets.invalidate("a/x");
    assert_eq!(
        (read("a/x").await, read("a/y").await, read("b").await),
        (b'2', b'1', b'1')
    );
    assets.invalidate_prefix("a/");
    assert_eq!(
        (read("a/x").await, read("a/y").await, read("b").await),
        (b'2', b'2', b'1')
    );
    assets.clear();
    assert_eq!(read("b").await, b'2');
}

#[tokio::test]
async fn cache_control_is_what_the_program_says() {
    let site = Site::new(&[("index.html", b"home"), ("a.txt", b"a"), ("x.txt", b"x")]);
    let rule = |path: &str| match path {
        "/index.html" => Some("private, max-age=5".to_owned()),
        "/x.txt" => Some("max-age=1\r\nx: y".to_owned()),
        _ => None,
    };
    let assets = Assets::builder(site.root())
        .spa("index.html")
        .cache_control(rule);
    let assets = assets.build().unwrap();
    let mut app: Router = Router::new().nest_service("/static", assets);
    for (target, status, expected) in [
        ("/static/", 200, "private, max-age=5"),
        ("/static/index.html", 200, "private, max-age=5"),
        ("/static/some/where", 200, "private, max-age=5"),
        ("/static/a.txt", 200, "no-cache"),
        ("/static/x.txt", 200, "no-store"),
        ("/static/none.txt", 404, "no-cache"),
    ] {
        let (answered, headers, _) = ask(&mut app, request("GET", target)).await;
        assert_eq!(
            (answered.as_u16(), &headers["cache-control"]),
            (status, &expected.parse::<http::HeaderValue>().unwrap()),
            "{target}"
        );
    }
    let mut again = request("GET", "/static/");
    let headers = again.headers_mut();
    headers.insert("if-none-match", "*".parse().unwrap());
    let (status, headers, _) = ask(&mut app, again).await;
    assert_eq!(
        (status.as_u16(), &headers["cache-control"]),
        (
            304,
            &"private, max-age=5".parse::<http::HeaderValue>().unwrap()
        )
    );
}

#[tokio::test]
async fn long_content_comes_in_pieces_and_never_as_a_mixture() {
    let site = Site::new(&[("large", &vec![b'1'; 2_000_000])]);
    let assets = site.assets();
    let response = assets.file("large", &Method::GET, &HeaderMap::new()).await;
    assert_eq!(response.headers()["content-length"], "2000000");
    let mut body = response.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!((1..=65536).contains(&first.len()));
    // Rewritten in place, as nobody should.
    fs::write(site.root().join("large"), vec![b'2'; 2_000_000]).unwrap();
    let error = loop {
        match body.frame().await.expect("it cannot become whole") {
            Ok(frame) => assert!(frame.into_data().unwrap().iter().all(|byte| *byte == b'1')),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn content_in_memory_is_shared_not_copied() {
    let site = Site::new(&[("a.txt", b"shared")]);
    let mut assets = site.assets();
    let mut pointers = Vec::new();
    for _ in 0..2 {
        let Ok(response) = assets.call(request("GET", "/a.txt")).await;
        let frame = response.into_body().frame().await.unwrap().unwrap();
        pointers.push(frame.into_data().unwrap().as_ptr().addr());
    }
    assert_eq!(pointers[0], pointers[1]);
}

#[test]
fn what_cannot_be_served_is_said_at_once() {
    let error = Assets::new("/no/such/directory").unwrap_err().to_string();
    assert!(
        error.starts_with("cannot serve /no/such/directory: "),
        "{error}"
    );
}

#[tokio::test]
async fn any_source_will_do() {
    let source = salver_tower::MemorySource::new();
    source.insert("a.txt", "from memory", 0);
    let assets = Assets::from_source(Arc::new(source)).build().unwrap();
    assert_eq!(assets.read("a.txt").await.unwrap(), b"from memory"[..]);
}
