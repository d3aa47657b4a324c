//! What clients may try with a server that asks its program: ways past a guard, requests that two
//! would read differently, content that is sent and given up, clients that go away.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::client::{Client, request};
use crate::common::{Running, Site, settings};
use crate::quic::{Served, run, within};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Request, Response, Version};
use salver_server::{Builder, Reply, Server, Settings};

const ANY_PORT: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

fn start(builder: Builder) -> Running {
    let builder = builder.settings(settings()).listen(ANY_PORT);
    Running::start(builder.build().unwrap())
}

/// Says of which path it was asked.
async fn path(request: Request<Bytes>) -> Response<String> {
    Response::new(format!("asked of {}", request.uri().path()))
}

#[test]
fn no_way_of_writing_a_path_leads_past_a_guard_to_the_handler() {
    let guard = async |_| Response::builder().status(401).body("").unwrap();
    let site = Site::with(&[("index.html", b"hello")]);
    let builder = Server::builder().directory("/", site.root());
    let server = start(builder.guard("/api", guard).handler(path));
    let mut client = Client::new(server.address);
    for path in [
        "/api/users%2F",
        "/api%2Fusers",
        "/api/%00",
        "/api/%",
        "/api/%4",
        "/../api/users",
        "/api/users/../..",
        "/api/users/../../x",
        "/api/users/%2E%2e/.%2e/x",
        "/x/../api/users",
        "//api/users",
        "/api//users",
        "/%61pi/users",
        "http://b/api/users",
        "http://b/api/users/../../x",
    ] {
        for method in ["GET", "POST", "DELETE", "OPTIONS", "PROPFIND"] {
            client.send(request(method, path, ""));
            let answer = client.answer();
            let said = String::from_utf8_lossy(&answer.content);
            assert!(
                !said.starts_with("asked of /api"),
                "{method} {path}: {} {said}",
                answer.status
            );
        }
    }
    // What is given says what was compared.
    let mut check = |path: &str, expected: &str| {
        client.send(request("POST", path, ""));
        let answer = client.answer();
        let said = String::from_utf8(answer.content).unwrap();
        assert_eq!(said, format!("asked of {expected}"));
    };
    check("/api/../a%20b/./c", "/a%20b/c");
    check("/a%20b/%63+d", "/a%20b/%63+d");
    check("/...", "/...");
    // The server itself may be asked about, but no handler can be a tunnel.
    client.send(request("OPTIONS", "*", ""));
    assert_eq!(client.answer().content, b"asked of *");
    client.send(request("CONNECT", "a:80", ""));
    assert_eq!(client.answer().status, 405);
}

#[test]
fn a_request_says_the_same_whatever_its_version() {
    let handler = async |request: Request<Bytes>| {
        let all = |name: &str| {
            let values = request.headers().get_all(name).iter();
            let values: Vec<_> = values.map(|value| value.to_str().unwrap()).collect();
            values.join(" | ")
        };
        let said = format!("{} {}", all("host"), all("cookie"));
        Response::new(said)
    };
    let server = start(Server::builder().handler(handler));
    // RFC 9112 section 3.2.2: the target goes before the field.
    let mut client = Client::new(server.address);
    client.send(request("GET", "http://b:1/x", "Cookie: c=1\r\n"));
    assert_eq!(client.answer().content, b"b:1 c=1");
    // RFC 9113 section 8.2.3, RFC 9114 section 4.2.1: a cookie in crumbs.
    run(async {
        let stream = tokio::net::TcpStream::connect(server.address).await;
        let (mut requests, connection) = h2::client::handshake(stream.unwrap()).await.unwrap();
        let driver = tokio::spawn(connection);
        let request = Request::get("http://b:1/x").version(Version::HTTP_2);
        let request = request.header("cookie", "c=1").header("cookie", "d=2");
        let (answer, _) = requests
            .send_request(request.body(()).unwrap(), true)
            .unwrap();
        let mut content = within(answer).await.unwrap().into_body();
        let content = within(content.data()).await.unwrap().unwrap();
        assert_eq!(content, "b:1 c=1; d=2");
        driver.abort();
    });
}

#[test]
fn an_answer_that_is_no_file_is_not_kept_like_one() {
    let site = Site::with(&[("a.txt", b"alpha")]);
    let handler = async |request: Request<Bytes>| {
        Reply::file(request.uri().path().replace("/file", ""))
            .with(
                CACHE_CONTROL,
                HeaderValue::from_static("max-age=31536000, immutable"),
            )
            .with(CONTENT_TYPE, HeaderValue::from_static("video/mp4"))
    };
    let builder = Server::builder().directory("/", site.root());
    let server = start(builder.handler(handler));
    let mut client = Client::new(server.address);
    let kept = client.get("/file/a.txt");
    assert_eq!((kept.status, &*kept.content), (200, &b"alpha"[..]));
    assert_eq!(
        kept.field("cache-control"),
        Some("max-age=31536000, immutable")
    );
    assert_eq!(kept.field("content-type"), Some("video/mp4"));
    let gone = client.get("/file/b.txt");
    assert_eq!(gone.status, 404);
    assert_eq!(gone.field("cache-control"), Some("no-cache"));
    assert_eq!(
        gone.field("content-type"),
        Some("text/plain; charset=utf-8")
    );
}

/// One more for as long as this is there.
struct Present(Arc<AtomicUsize>);

impl Present {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Present(Arc::clone(count))
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn a_handler_ends_with_the_request_that_it_is_for() {
    let present = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&present);
    let handler = move |_| {
        let present = Present::new(&counted);
        async move {
            std::future::pending::<()>().await;
            drop(present);
            Reply::Proceed
        }
    };
    let served = Served::of(Server::builder().handler(handler).settings(settings()));
    run(async {
        // A request that is withdrawn.
        let mut session = served.connect().await;
        let mut one = session.send("POST", "/", &[]).await;
        let _other = session.send("POST", "/", &[]).await;
        wait(&present, 2).await;
        one.stop_sending(h3::error::Code::H3_REQUEST_CANCELLED);
        wait(&present, 1).await;
        // And all of a connection that is gone.
        session.quic.close(0u32.into(), b"");
        wait(&present, 0).await;
    });
}

/// Waits until there are so many.
async fn wait(present: &AtomicUsize, expected: usize) {
    within(async {
        while present.load(Ordering::SeqCst) != expected {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[test]
fn content_of_a_refused_request_is_given_back_before_its_connection_ends() {
    let bounded = Settings {
        max_body: 2_000_000,
        max_connections: 12,
        connection_memory: 18 << 20,
        ..settings()
    };
    let handler = async |request: Request<Bytes>| Response::new(request.into_body());
    let builder = Server::builder().handler(handler).settings(bounded);
    let server = Running::start(builder.listen(ANY_PORT).build().unwrap());
    let post = |length: usize| {
        let head = request("POST", "/", &format!("Content-Length: {length}\r\n"));
        [head.as_bytes(), &vec![b'x'; length]].concat()
    };
    // Chunks, the last of which is none.
    let mut refused = Client::new(server.address);
    refused.send(request("POST", "/", "Transfer-Encoding: chunked\r\n"));
    let content = vec![b'x'; 2_000_000];
    refused.send([&b"1e8480\r\n"[..], &content, b"\r\nz"].concat());
    assert_eq!(refused.answer().status, 400);
    // It is still there, and reads its answer.
    let mut client = Client::new(server.address);
    client.send(post(2_000_000));
    assert_eq!(client.answer().status, 200);
    drop(refused);
}

#[test]
fn content_that_takes_too_long_is_refused_whatever_else_its_connection_does() {
    let hasty = Settings {
        idle_timeout: Duration::from_secs(1),
        // More than any client sends a byte at a time.
        min_rate: 1 << 20,
        ..settings()
    };
    let builder = || Server::builder().handler(path).settings(hasty.clone());
    let plain = Running::start(builder().listen(ANY_PORT).build().unwrap());
    let served = Served::of(builder());
    run(async {
        let stream = tokio::net::TcpStream::connect(plain.address).await;
        let (mut requests, connection) = h2::client::handshake(stream.unwrap()).await.unwrap();
        let driver = tokio::spawn(connection);
        let post = || Request::post("http://a/").body(()).unwrap();
        let (mut slow, mut content) = requests.send_request(post(), false).unwrap();
        content.send_data(Bytes::from_static(b"x"), false).unwrap();
        let slow = within(async {
            loop {
                tokio::select! {
                    biased;
                    answer = &mut slow => return answer,
                    () = tokio::time::sleep(Duration::from_millis(20)) => {}
                }
                // A connection on which much is going on. It may end at last.
                let _ = content.send_data(Bytes::from_static(b"x"), false);
                if let Ok((other, _)) = requests.send_request(post(), true) {
                    let _ = other.await;
                }
            }
        })
        .await;
        let mut slow = slow.unwrap();
        assert_eq!(slow.status(), 408);
        let text = within(slow.body_mut().data()).await.unwrap().unwrap();
        assert_eq!(&*text, b"408 Request Timeout\n");
        driver.abort();

        let mut session = served.connect().await;
        let mut slow = session.begin("POST", "/", &[]).await;
        let piece = || Bytes::from_static(b"x");
        within(async {
            while slow.send_data(piece()).await.is_ok() {
                assert_eq!(session.request("POST", "/", &[]).await.status, 200);
            }
        })
        .await;
        assert_eq!(crate::quic::head(&mut slow).await.status(), 408);
    });
}
