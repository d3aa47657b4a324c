//! A server as a part of a program: built by it, asking it about what is no file, ready and ended.

pub(crate) mod over;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::common::client::{Client, request};
use crate::common::{Running, Site, pattern, settings, trusting};
use crate::quic::{Served, run};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION};
use http::{HeaderValue, Request, Response};
use over::{ANY_PORT, Answer, Over, over_all};
use salver_assets::{MemorySource, Mount};
use salver_server::{BuildError, Builder, Peer, Reply, Server, Settings};

fn site() -> Site {
    let site = Site::with(&[
        ("index.html", b"<h1>Hello</h1>"),
        ("large", &pattern(300_000, 1)),
    ]);
    std::fs::create_dir(site.path("private")).unwrap();
    site.write("private/report.txt", b"secret report");
    site
}

fn text(content: &[u8]) -> &str {
    std::str::from_utf8(content).unwrap()
}

fn field<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.1.get(name).map(|value| value.to_str().unwrap())
}

/// Says what it was asked.
async fn echo(request: Request<Bytes>) -> Response<String> {
    let peer = request.extensions().get::<Peer>().unwrap();
    assert!(peer.address.ip().is_loopback());
    let mut said = format!("{} {}\n", request.method(), request.uri());
    for (name, value) in request.headers() {
        said.push_str(&format!("{name}: {}\n", value.to_str().unwrap()));
    }
    said.push_str(text(request.body()));
    Response::builder()
        .status(201)
        .header("x-own", "1")
        .header("set-cookie", "a=1")
        .header("set-cookie", "b=2")
        .header("connection", "close")
        .header("content-length", "7")
        .body(said)
        .unwrap()
}

#[test]
fn what_is_no_file_is_the_handlers() {
    let site = site();
    let builder = || {
        Server::builder()
            .directory("/", site.root())
            .config(trusting())
            .handler(echo)
    };
    over_all(builder, async |over| {
        let file = over.ask("GET", "/", &[], b"").await;
        assert_eq!((file.0, text(&file.2)), (200, "<h1>Hello</h1>"));
        assert_eq!(field(&file, "x-own"), None);
        let large = over.ask("GET", "/large", &[], b"").await;
        assert_eq!((large.0, large.2.len()), (200, 300_000));

        let more = [
            ("x-a", "1"),
            ("cookie", "c"),
            ("x-a", "2"),
            ("te", "trailers"),
        ];
        let own = over.ask("GET", "/api/%C3%A4?q=1&r", &more, b"").await;
        assert_eq!(own.0, 201);
        let said = text(&own.2);
        assert!(said.starts_with("GET /api/%C3%A4?q=1&r\n"), "{said}");
        for line in ["x-a: 1\n", "x-a: 2\n", "cookie: c\n", "host: "] {
            assert!(said.contains(line), "{said}");
        }
        assert!(!said.contains("te: ") && !said.contains(":path"), "{said}");
        let length = own.2.len().to_string();
        assert_eq!(field(&own, "content-length"), Some(&*length));
        assert_eq!(field(&own, "connection"), None);
        assert!(field(&own, "date").is_some());
        assert_eq!(own.1.get_all("set-cookie").iter().count(), 2);

        let posted = over.ask("POST", "/", &[("x-a", "1")], b"the content").await;
        let said = text(&posted.2);
        assert!(
            said.starts_with("POST /\n") && said.ends_with("the content"),
            "{said}"
        );
        let long = vec![b'x'; 200_000];
        let posted = over.ask("PUT", "/large", &[], &long).await;
        assert!(posted.2.ends_with(&long));
        let odd = over.ask("PROPFIND", "/", &[], b"").await;
        assert!(
            text(&odd.2).starts_with("PROPFIND /\n"),
            "{:?}",
            text(&odd.2)
        );
        let head = over.ask("HEAD", "/api", &[], b"").await;
        assert_eq!((head.0, head.2.len()), (201, 0));
        assert_ne!(field(&head, "content-length"), Some("0"));
        // Content that nobody asked for is no harm.
        let file = over.ask("GET", "/", &[], b"content").await;
        assert_eq!((file.0, text(&file.2)), (200, "<h1>Hello</h1>"));
        let malformed = over.ask("GET", "/a%2", &[], b"").await;
        assert_eq!(malformed.0, 400);
    });
}

#[test]
fn whoever_asks_first_is_told_to_go_on_and_pieces_are_put_together() {
    let site = site();
    let builder = Server::builder().directory("/", site.root()).handler(echo);
    let server = builder.settings(settings()).listen(ANY_PORT).build();
    let server = Running::start(server.unwrap());
    let mut client = Client::new(server.address);
    let more = "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n";
    client.send(request("POST", "/a", more));
    assert_eq!(client.head().status, 100);
    for piece in ["3\r\nabc\r\n", "2;x\r\nde", "\r\n0\r\nT: t\r\n\r\n"] {
        client.send(piece);
    }
    let answer = client.answer();
    let said = text(&answer.content);
    assert!(
        said.ends_with("\nabcde") && !said.contains("expect"),
        "{said}"
    );
    // The connection is as good as before, and requests behind each other keep their order.
    let two = [
        request("POST", "/1", "Content-Length: 1\r\n"),
        "x".to_owned(),
    ]
    .concat();
    client.send([two, request("GET", "/", ""), request("GET", "/2", "")].concat());
    assert!(text(&client.answer().content).starts_with("POST /1\n"));
    assert_eq!(client.answer().content, b"<h1>Hello</h1>");
    assert!(text(&client.answer().content).starts_with("GET /2\n"));
}

#[test]
fn a_guard_decides_and_a_handler_sends_files() {
    let site = site();
    let builder = || {
        let guard = async |request: Request<Bytes>| match request.headers().get("authorization") {
            Some(_) => Reply::Proceed,
            None => Response::builder().status(401).body("who?").unwrap().into(),
        };
        let handler = async |request: Request<Bytes>| {
            if request.uri().path() != "/report" {
                return Reply::Proceed;
            }
            let name = HeaderValue::from_static("attachment; filename=report.txt");
            Reply::file("/private/report.txt")
                .with(CONTENT_DISPOSITION, name)
                .with(CACHE_CONTROL, HeaderValue::from_static("private"))
        };
        Server::builder()
            .directory("/", site.root())
            .config(trusting())
            .guard("/private/", guard)
            .handler(handler)
    };
    over_all(builder, async |over| {
        let known = [("authorization", "x")];
        for path in [
            "/private/report.txt",
            "/private",
            "/private/",
            "/%70rivate/report.txt",
            "/x/../private/report.txt",
            "/./private/./report.txt",
            "//private/report.txt",
            "/private//report.txt",
            "/private%2Freport.txt",
            "/x/%2e%2e/private/report.txt",
            "/private/nothing",
        ] {
            let refused = over.ask("GET", path, &[], b"").await;
            assert!(
                matches!(refused.0, 401 | 404 | 400) && text(&refused.2) != "secret report",
                "{path}: {}",
                refused.0
            );
        }
        let refused = over.ask("GET", "/private/report.txt", &[], b"").await;
        assert_eq!((refused.0, text(&refused.2)), (401, "who?"));
        let whole = over.ask("GET", "/private/report.txt", &known, b"").await;
        assert_eq!((whole.0, text(&whole.2)), (200, "secret report"));
        let missing = over.ask("GET", "/private/nothing", &known, b"").await;
        assert_eq!(missing.0, 404);
        let beside = over.ask("GET", "/privateer", &[], b"").await;
        assert_eq!(beside.0, 404, "a prefix ends where a segment does");

        let sent = over.ask("GET", "/report", &[], b"").await;
        assert_eq!((sent.0, text(&sent.2)), (200, "secret report"));
        let disposition = field(&sent, "content-disposition").unwrap();
        assert!(disposition.starts_with("attachment"));
        let control: Vec<_> = sent.1.get_all("cache-control").iter().collect();
        assert_eq!(control, ["private"]);
        assert_eq!(
            field(&sent, "content-type"),
            Some("text/plain; charset=utf-8")
        );
        let tag = field(&sent, "etag").unwrap();
        let same = [("if-none-match", tag)];
        assert_eq!(over.ask("GET", "/report", &same, b"").await.0, 304);
        assert_eq!(over.ask("HEAD", "/report", &[], b"").await.2.len(), 0);
        let part = over
            .ask("GET", "/report", &[("range", "bytes=0-5")], b"")
            .await;
        assert_eq!((part.0, text(&part.2)), (206, "secret"));
        let posted = over
            .ask("POST", "/report", &[("range", "bytes=0-5")], b"x")
            .await;
        assert_eq!((posted.0, text(&posted.2)), (200, "secret report"));
        let other = over.ask("POST", "/", &[], b"x").await;
        assert_eq!(
            (other.0, field(&other, "allow")),
            (405, Some("GET, HEAD, OPTIONS"))
        );
    });
}

#[test]
fn what_goes_wrong_has_an_answer_and_harms_nobody() {
    let site = site();
    let builder = || {
        let handler = async |request: Request<Bytes>| {
            let answer = |status| Response::builder().status(status).body("").unwrap();
            match request.uri().path() {
                "/panics" => panic!("on purpose"),
                "/later" => {
                    tokio::task::yield_now().await;
                    panic!("on purpose, later")
                }
                "/up" => Reply::file("/../x"),
                "/hint" => Reply::from(answer(103)),
                "/nothing" => Reply::from(answer(204)),
                path => Reply::file(path.replace("/file", "")),
            }
        };
        Server::builder()
            .directory("/", site.root())
            .handler(handler)
    };
    over_all(builder, async |over| {
        for (path, status) in [
            ("/panics", 500),
            ("/later", 500),
            ("/hint", 500),
            ("/file/gone", 404),
            ("/up", 400),
            ("/", 200),
        ] {
            assert_eq!(over.ask("GET", path, &[], b"").await.0, status, "{path}");
        }
        let nothing = over.ask("GET", "/nothing", &[], b"").await;
        assert_eq!((nothing.0, field(&nothing, "content-length")), (204, None));
    });
}

#[test]
fn content_has_its_bounds() {
    let site = site();
    let bounded = || Settings {
        max_body: 60_000,
        max_connections: 12,
        connection_memory: 5 << 18,
        ..settings()
    };
    // Holds what it is given until it is told to let go.
    let open = Arc::new(AtomicBool::new(false));
    let builder = || {
        let open = Arc::clone(&open);
        let handler = move |request: Request<Bytes>| {
            let open = Arc::clone(&open);
            async move {
                while !open.load(Ordering::SeqCst) && request.uri().path() == "/hold" {
                    tokio::task::yield_now().await;
                }
                Response::new(request.into_body())
            }
        };
        let builder = Server::builder().directory("/", site.root());
        builder.handler(handler).settings(bounded())
    };
    let plain = Running::start(builder().listen(ANY_PORT).build().unwrap());
    let served = Served::of(builder());
    run(async {
        for over in [
            Over::Http1(plain.address),
            Over::Http2(plain.address),
            Over::Http3(&served),
        ] {
            open.store(false, Ordering::SeqCst);
            let content = |length: usize| vec![b'x'; length];
            let just = over.ask("POST", "/", &[], &content(60_000)).await;
            assert_eq!((just.0, just.2.len()), (200, 60_000));
            if !matches!(over, Over::Http3(_)) {
                let long = over.ask("POST", "/", &[], &content(60_001)).await;
                assert_eq!(long.0, 413);
            }
            let address = match over {
                Over::Http3(_) => None,
                Over::Http1(address) | Over::Http2(address) => Some(address),
            };
            let Some(address) = address else { continue };
            // As many as there is room for. What each connection has of its own is not theirs.
            let mut holding = Vec::new();
            while over.ask("POST", "/", &[], &content(60_000)).await.0 != 503 {
                assert!(holding.len() < 50, "there is no end of memory");
                let mut client = Client::new(address);
                client.send(request("POST", "/hold", "Content-Length: 60000\r\n"));
                client.send(content(60_000));
                holding.push(client);
            }
            let little = over.ask("POST", "/", &[], &content(10_000)).await;
            assert_eq!((little.0, little.2.len()), (200, 10_000));
            assert_eq!(over.ask("GET", "/", &[], b"").await.0, 200);
            open.store(true, Ordering::SeqCst);
            for mut client in holding {
                assert!(matches!(client.answer().status, 200 | 503));
            }
            let again = over.ask("POST", "/", &[], &content(60_000)).await;
            assert_eq!(again.0, 200, "there is room again");
        }
    });
}

#[test]
fn it_says_when_it_is_ready_and_ends_when_it_is_told() {
    let site = site();
    let (tell, told) = channel();
    let settings = Settings {
        workers: 2,
        ..settings()
    };
    let server = Server::builder()
        .directory("/", site.root())
        .directory("/app/", site.root())
        .spa("/app", "index.html")
        .mount(Mount::tree("/memory", {
            let source = MemorySource::new();
            source.insert("a", "alpha", 0);
            Arc::new(source)
        }))
        .spa("/", "index.html")
        .settings(settings)
        .listen(ANY_PORT)
        .listen(ANY_PORT)
        .on_ready(move |ready| tell.send(ready).unwrap());
    let thread = std::thread::spawn(|| server.serve());
    let ready = told.recv_timeout(crate::common::PATIENCE).unwrap();
    assert_eq!(ready.addresses.len(), 2);
    for address in &ready.addresses {
        let mut client = Client::new(*address);
        assert_eq!(client.get("/memory/a").content, b"alpha");
        for route in ["/some/route", "/app/some/route"] {
            assert_eq!(client.get(route).content, b"<h1>Hello</h1>");
        }
    }
    ready.handle.shutdown();
    thread.join().unwrap().unwrap();
}

#[test]
fn a_program_without_files_has_its_handler_alone() {
    let builder = || Server::builder().handler(echo);
    over_all(builder, async |over| {
        let answer = over.ask("GET", "/a", &[], b"").await;
        assert_eq!(answer.0, 201);
    });
}

#[test]
fn what_cannot_be_built_is_said() {
    #[track_caller]
    fn check(builder: Builder, part: &str) {
        let error = builder.build().err().unwrap();
        let text = error.to_string();
        assert!(text.contains(part) && !text.contains('\n'), "{text}");
    }
    let site = site();
    let proceed = async |_: Request<Bytes>| Reply::Proceed;
    let new = || Server::builder().listen(ANY_PORT);
    check(new(), "nothing is mounted");
    check(new().directory("/", site.path("gone")), "gone");
    check(new().directory("x", site.root()), "mount prefix \"x\"");
    check(
        new().directory("/", site.root()).spa("/a", "index.html"),
        "spa(\"/a\")",
    );
    let nowhere = Settings {
        addresses: vec![],
        ..settings()
    };
    check(
        Server::builder().handler(proceed).settings(nowhere),
        "no address",
    );
    check(
        new().handler(proceed).guard("private", proceed),
        "the prefix \"private\" is no absolute path",
    );
    check(
        new().answer_timeout("api", Duration::ZERO),
        "the prefix \"api\" is no absolute path",
    );
    let taken = new().handler(proceed).build().unwrap();
    let again = Server::builder()
        .handler(proceed)
        .listen(taken.addresses()[0]);
    let error = again.build().err().unwrap();
    assert!(matches!(&error, BuildError::Address(_)), "{error}");
}

#[test]
fn a_callback_that_panics_leaves_no_server_behind() {
    let (tell, told) = channel();
    let server = Server::builder()
        .handler(echo)
        .settings(settings())
        .listen(ANY_PORT)
        .on_ready(move |ready| {
            tell.send(ready.addresses[0]).unwrap();
            panic!("on purpose");
        });
    let thread = std::thread::spawn(|| server.serve());
    let address = told.recv_timeout(crate::common::PATIENCE).unwrap();
    assert!(thread.join().is_err());
    assert!(Client::try_new(address).is_err());
}
