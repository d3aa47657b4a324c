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
