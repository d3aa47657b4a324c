//! Services of `tower` on this server: what they are asked, what of their answers is sent, and files beside them.

use std::convert::Infallible;
use std::future::Ready;

use axum::Router;
use axum::extract::Path;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use salver_server::Peer;

use super::*;
use crate::common::{Site, trusting};
use crate::program::over::over_all;

fn app() -> Router {
    let who = async |request: Request<axum::body::Body>| {
        let peer = request.extensions().get::<Peer>().unwrap();
        assert!(peer.address.ip().is_loopback());
        format!("{:?}", peer.over_tls)
    };
    let sum = async |content: Bytes| content.len().to_string();
    Router::new()
        .route("/api/who", get(who))
        .route(
            "/api/name/{name}",
            get(async |Path(name): Path<String>| name),
        )
        .route("/api/sum", post(sum))
        .route(
            "/api/fails",
            get(async || (http::StatusCode::IM_A_TEAPOT, [("x-own", "1")]).into_response()),
        )
}

#[test]
fn a_router_answers_what_is_no_file_or_beneath_its_prefix() {
    let site = Site::with(&[("index.html", b"<h1>Hello</h1>")]);
    std::fs::create_dir_all(site.path("api/name")).unwrap();
    site.write("api/name/a", b"a file");
    for is_first in [false, true] {
        let builder = || {
            let builder = Server::builder()
                .directory("/", site.root())
                .config(trusting());
            match is_first {
                true => builder.service_at("/api", app()),
                false => builder.service(app()),
            }
        };
        over_all(builder, async |over| {
            let ask = async |method: &str, path: &str, content: &[u8]| {
                let (status, fields, content) = over.ask(method, path, &[], content).await;
                let content = String::from_utf8(content).unwrap();
                (status, content, fields.contains_key("x-own"))
            };
            let own = |content: &str| (200, content.to_owned(), false);
            assert_eq!(ask("GET", "/", b"").await, own("<h1>Hello</h1>"));
            let is_tls = matches!(over, crate::program::over::Over::Http3(_));
            assert_eq!(ask("GET", "/api/who", b"").await, own(&is_tls.to_string()));
            assert_eq!(ask("GET", "/api/name/b%20c", b"").await, own("b c"));
            let first = if is_first { "a" } else { "a file" };
            assert_eq!(ask("GET", "/api/name/a", b"").await, own(first));
            assert_eq!(
                ask("POST", "/api/sum", &[b'x'; 100_000]).await,
                own("100000")
            );
            assert_eq!(
                ask("GET", "/api/fails", b"").await,
                (418, String::new(), true)
            );
            assert_eq!(ask("HEAD", "/api/name/b", b"").await, own(""));
            assert_eq!(ask("GET", "/api/none", b"").await.0, 404);
            assert_eq!(ask("DELETE", "/api/who", b"").await.0, 405);
            let beyond = ask("POST", "/none", b"x").await.0;
            assert_eq!(beyond, if is_first { 405 } else { 404 });
        });
    }
}

/// A service that is ready when it was asked twice, and fails for one path.
#[derive(Clone, Default)]
struct Slow(u32);

impl tower_service::Service<Request<RequestBody>> for Slow {
    type Response = Response<axum::body::Body>;
    type Error = &'static str;
    type Future = Ready<Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0 += 1;
        if self.0 < 2 {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        assert_eq!(self.0, 2, "each request has a clone");
        std::future::ready(match request.uri().path() {
            "/fails" => Err("on purpose"),
            _ => Ok(Response::new("done".into())),
        })
    }
}

#[test]
fn a_service_is_waited_for_and_may_fail() {
    over_all(
        || Server::builder().service(Slow::default()),
        async |over| {
            for _ in 0..2 {
                let done = over.ask("GET", "/", &[], b"").await;
                assert_eq!((done.0, &*done.2), (200, &b"done"[..]));
                assert_eq!(over.ask("GET", "/fails", &[], b"").await.0, 500);
            }
        },
    );
}

/// Infallible services are services, too.
#[test]
fn the_futures_of_services_need_not_be_sent_between_threads() {
    #[derive(Clone)]
    struct Local;

    impl tower_service::Service<Request<RequestBody>> for Local {
        type Response = Response<axum::body::Body>;
        type Error = Infallible;
        type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>>>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<RequestBody>) -> Self::Future {
            Box::pin(async {
                let local = std::rc::Rc::new("here");
                tokio::task::yield_now().await;
                Ok(Response::new((*local).into()))
            })
        }
    }

    over_all(
        || Server::builder().service(Local),
        async |over| {
            assert_eq!(over.ask("GET", "/", &[], b"").await.2, b"here");
        },
    );
}

/// WebSockets by axum's own extractor: over HTTP/1.1 what it takes is hyper's.
#[cfg(feature = "axum")]
mod websockets {
    use std::io::Read;

    use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
    use axum::routing::any;

    use super::*;
    use crate::common::client::{Client, request};

    /// Says in capitals what it is told.
    async fn shout(mut socket: WebSocket) {
        while let Some(Ok(message)) = socket.recv().await {
            if let Message::Text(text) = message {
                let loud = text.to_uppercase();
                if socket.send(Message::Text(loud.into())).await.is_err() {
                    return;
                }
            }
        }
    }

    fn app() -> Router {
        let upgrade = async |upgrade: WebSocketUpgrade| upgrade.on_upgrade(shout);
        Router::new().route("/ws", any(upgrade))
    }

    /// A text as a client's frame (RFC 6455 section 5.2), masked by zeros.
    fn text(text: &str) -> Vec<u8> {
        let length = 0x80 | u8::try_from(text.len()).unwrap();
        [&[0x81, length, 0, 0, 0, 0], text.as_bytes()].concat()
    }

    /// What a server sends for a text.
    fn loud(text: &str) -> Vec<u8> {
        let length = u8::try_from(text.len()).unwrap();
        [&[0x81, length], text.to_uppercase().as_bytes()].concat()
    }

    /// A closing frame of a client, and what a server sends for it.
    const CLOSE: [u8; 6] = [0x88, 0x80, 0, 0, 0, 0];
    const CLOSED: [u8; 2] = [0x88, 0];

    #[test]
    fn over_http_1_1() {
        let builder = Server::builder().service(app()).settings(settings());
        let server = Running::start(builder.listen(ANY_PORT).build().unwrap());
        let mut client = Client::new(server.address);
        // Who asks wrongly is refused, and the connection goes on.
        client.send(request("GET", "/ws", ""));
        assert_eq!(client.answer().status, 400);
        let wrong = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 12\r\n";
        client.send(request("GET", "/ws", wrong));
        assert_eq!(client.answer().status, 400);
        let right = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                     Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        client.send(request("GET", "/ws", right).into_bytes());
        client.send(text("early"));
        let head = client.head();
        assert_eq!(head.status, 101);
        assert_eq!(head.field("upgrade"), Some("websocket"));
        // RFC 6455 section 1.3 has this example.
        let accepted = head.field("sec-websocket-accept");
        assert_eq!(accepted, Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        let mut check = |sent: Option<&str>, said: &str| {
            if let Some(sent) = sent {
                client.send(text(sent));
            }
            let expected = loud(said);
            let mut received = vec![0; expected.len()];
            client.0.read_exact(&mut received).unwrap();
            assert_eq!(received, expected);
        };
        check(None, "early");
        for said in ["a", "hello", "how are you"] {
            check(Some(said), said);
        }
        client.send(CLOSE);
        assert_eq!(client.rest(), (CLOSED.to_vec(), true));
    }

    #[cfg(feature = "axum-http2")]
    #[test]
    fn over_http_2() {
        use crate::streams::upgrades::Connected;
        let builder = Server::builder().service(app()).settings(settings());
        let server = Running::start(builder.listen(ANY_PORT).build().unwrap());
        run(async {
            let version = [("sec-websocket-version", "13")];
            let path = "/ws";
            let mut connected = Connected::new(server.address, path, "websocket", &version).await;
            for said in ["hello", "how are you"] {
                connected
                    .sending
                    .send_data(text(said).into(), false)
                    .unwrap();
                let expected = loud(said);
                assert_eq!(connected.exactly(expected.len()).await, expected);
            }
            let close = Bytes::from_static(&CLOSE);
            connected.sending.send_data(close, false).unwrap();
            assert_eq!(connected.exactly(2).await, CLOSED);
        });
    }
}
