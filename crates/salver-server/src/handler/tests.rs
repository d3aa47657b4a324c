//! Which handler a path has, and what of an answer is sent.

use super::*;

fn handlers(guards: &[&str]) -> Handlers {
    let mut handlers = Handlers::default();
    for (number, prefix) in guards.iter().enumerate() {
        let reply = move |_| std::future::ready(Reply::file(number.to_string()));
        assert!(
            handlers.add_guard(prefix, erase_type(reply)).is_ok(),
            "{prefix}"
        );
    }
    handlers
}

/// The number of the guard that is asked.
fn asked(handlers: &Handlers, path: &str) -> Option<String> {
    let guard = handlers.guard(&RequestPath::parse(path.as_bytes()).ok()?)?;
    let mut reply = guard(Request::new(Bytes::new()));
    let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
    match reply.as_mut().poll(context) {
        Poll::Ready(Reply::File { path, .. }) => Some(path),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_longest_prefix_is_asked_however_the_path_is_written() {
    let handlers = handlers(&["/a", "/a/b/", "/c d"]);
    let check = |path: &str, expected: Option<&str>| {
        assert_eq!(asked(&handlers, path).as_deref(), expected, "{path}");
    };
    check("/a", Some("0"));
    check("/a/", Some("0"));
    check("/a/x", Some("0"));
    check("/a/b", Some("1"));
    check("/a/b/c", Some("1"));
    check("/a/bc", Some("0"));
    check("/ab", None);
    check("/", None);
    check("/%61/x", Some("0"));
    check("/x/../a/x", Some("0"));
    check("/x/%2E%2e/a", Some("0"));
    check("/a/../x", None);
    check("/c%20d/e", Some("2"));
    check("/..", None);
    check("*", None);
    assert_eq!(asked(&self::handlers(&["/"]), "/x").as_deref(), Some("0"));
    assert!(
        Handlers::default()
            .add_guard("a", erase_type(async |_| Reply::Proceed))
            .is_err()
    );
}

/// The reply of a handler that does not wait, as text.
fn reply(handler: &Handler) -> String {
    let mut replying = handler(Request::new(Bytes::new()));
    let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
    match replying.as_mut().poll(context) {
        Poll::Ready(Reply::Response(response)) => {
            String::from_utf8(response.into_body().to_vec()).unwrap()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_handler_may_have_state_in_every_form() {
    use std::sync::atomic::{AtomicU32, Ordering};

    async fn stateless(_: Request<Bytes>) -> Response<&'static str> {
        Response::new("0")
    }
    fn count(calls: &AtomicU32) -> Response<String> {
        Response::new(calls.fetch_add(1, Ordering::Relaxed).to_string())
    }
    let check = |handler: Handler, expected: [&str; 2]| {
        assert_eq!([reply(&handler), reply(&handler)], expected);
    };
    check(erase_type(stateless), ["0", "0"]);
    let calls = AtomicU32::new(0);
    check(erase_type(async move |_| count(&calls)), ["0", "1"]);
    let calls = Arc::new(AtomicU32::new(0));
    let shared = Arc::clone(&calls);
    check(
        erase_type(move |_| {
            let calls = Arc::clone(&shared);
            async move { count(&calls) }
        }),
        ["0", "1"],
    );
    check(
        erase_type(move |_| std::future::ready(count(&calls))),
        ["2", "3"],
    );
}

#[test]
fn fields_of_the_connection_are_not_the_handlers() {
    let response = Response::builder()
        .status(200)
        .header("connection", "close")
        .header("transfer-encoding", "chunked")
        .header("date", "now")
        .header("content-length", "9")
        .header("x-own", "1")
        .body(Bytes::from_static(b"abc"))
        .unwrap();
    let plan = response_plan(response).unwrap();
    let fields: Vec<_> = plan.fields().collect();
    let own = [
        ("Content-Length", &Bytes::from_static(b"3")),
        ("x-own", &Bytes::from_static(b"1")),
    ];
    assert_eq!(fields, own);
}

#[test]
fn any_target_is_given() {
    let check = |path: &str, query: Option<&str>, expected: &str| {
        let mut asked = salver_assets::Request::get(path.as_bytes());
        asked.query = query.map(|query| query.as_bytes().into());
        let lines = [(&b":method"[..], &b"X-OWN"[..]), (b":authority", b"a")];
        let path = RequestPath::parse(&asked.path).ok();
        let (version, lines) = (http::Version::HTTP_2, lines.into_iter());
        let given = to_http_request(version, &asked, path.as_ref(), lines, None, None).unwrap();
        assert_eq!(given.uri(), expected);
        assert_eq!(
            (given.method().as_str(), &given.headers()["host"]),
            ("X-OWN", &"a".parse().unwrap())
        );
    };
    check("/a%20b", None, "/a%20b");
    check("/a", Some(""), "/a?");
    check("/a\"b\\", Some("<\u{e9}>"), "/a%22b%5C?%3C%C3%A9%3E");
    check("*", None, "*");
}
