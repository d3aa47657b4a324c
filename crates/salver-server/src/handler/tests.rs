//! Which handler a path has, and what of an answer is sent.

use http::{HeaderMap, Response};
use http_body::Frame;
use salver_assets::Method;
use std::convert::Infallible;
use std::task::{Context, Poll, Waker};

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
    let mut reply = guard(Request::new(RequestBody::default()));
    let context = &mut Context::from_waker(Waker::noop());
    match reply.as_mut().poll(context) {
        Poll::Ready(Ok(Reply::File { path, .. })) => Some(path),
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
    let mut replying = handler(Request::new(RequestBody::default()));
    let context = &mut Context::from_waker(Waker::noop());
    match replying.as_mut().poll(context) {
        Poll::Ready(Ok(Reply::Response(response))) => {
            let content = response.body().whole().unwrap();
            String::from_utf8(content.to_vec()).unwrap()
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
        .body(Body::from("abc"))
        .unwrap();
    let answer = answered(response, Method::Get).unwrap();
    let fields: Vec<_> = answer.plan.fields().collect();
    let own = [
        ("Content-Length", &Bytes::from_static(b"3")),
        ("x-own", &Bytes::from_static(b"1")),
    ];
    assert_eq!(fields, own);
}

/// The answer of a response that does not wait.
fn answered(response: Response<Body>, method: Method) -> Result<Answer, String> {
    answer(response, method, &mut Context::from_waker(Waker::noop()))
}

/// Streamed content, frame by frame, then a wait for ever if it does not end.
struct Frames {
    frames: Vec<Frame<Bytes>>,
    exact: Option<u64>,
    ends: bool,
}

impl http_body::Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match (self.frames.pop(), self.ends) {
            (Some(frame), _) => Poll::Ready(Some(Ok(frame))),
            (None, true) => Poll::Ready(None),
            (None, false) => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ends && self.frames.is_empty()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.exact
            .map(http_body::SizeHint::with_exact)
            .unwrap_or_default()
    }
}

#[test]
fn streamed_content_has_the_length_that_is_known() {
    let piece = |bytes: &'static [u8]| Frame::data(Bytes::from_static(bytes));
    let two = || Frames {
        frames: vec![piece(b"def"), piece(b"abc")],
        exact: Some(6),
        ends: true,
    };
    // What the head has of the length, and whether content is streamed.
    let check = |method, status: u16, said: &[&str], body: Frames, expected: Result<_, &str>| {
        let mut response = Response::builder().status(status);
        for said in said {
            response = response.header("content-length", *said);
        }
        let response = response
            .header("trailer", "x")
            .body(Body::new(body))
            .unwrap();
        let answer = answered(response, method).map(|answer| {
            let fields: HeaderMap = answer
                .plan
                .fields()
                .map(|(name, value)| (name.parse().unwrap(), value.as_ref().try_into().unwrap()))
                .collect();
            let length: Option<_> = fields.get("content-length");
            let length = length.map(|length| length.to_str().unwrap().to_owned());
            assert_eq!(
                fields.contains_key("trailer"),
                length.as_deref() != Some("3")
            );
            (length, answer.streamed.is_some())
        });
        let expected = expected
            .map(|(length, streamed): (Option<&str>, bool)| (length.map(str::to_owned), streamed));
        match (answer, expected) {
            (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
            (answer, expected) => assert_eq!(answer, expected.map_err(str::to_owned)),
        }
    };
    let one = Frames {
        frames: vec![piece(b"abc")],
        exact: None,
        ends: true,
    };
    check(Method::Get, 200, &[], one, Ok((Some("3"), false)));
    check(Method::Get, 200, &[], two(), Ok((Some("6"), true)));
    check(Method::Get, 200, &["6"], two(), Ok((Some("6"), true)));
    check(
        Method::Get,
        200,
        &["7"],
        two(),
        Err("another Content-Length"),
    );
    check(Method::Get, 200, &["x"], two(), Err("no length"));
    check(Method::Get, 200, &["6", "6"], two(), Err("several"));
    check(Method::Get, 103, &[], two(), Err("1xx"));
    let unknown = Frames {
        exact: None,
        ..two()
    };
    check(Method::Get, 200, &[], unknown, Ok((None, true)));
    let unknown = Frames {
        exact: None,
        ..two()
    };
    check(Method::Get, 200, &["6"], unknown, Ok((Some("6"), true)));
    check(Method::Head, 200, &["7"], two(), Ok((Some("7"), false)));
    check(Method::Head, 200, &[], two(), Ok((Some("6"), false)));
    check(Method::Get, 304, &["7"], two(), Ok((Some("7"), false)));
    check(Method::Get, 204, &["7"], two(), Ok((None, false)));
    let waits = Frames {
        frames: vec![],
        exact: None,
        ends: false,
    };
    check(Method::Get, 200, &[], waits, Ok((None, true)));
}

#[test]
fn any_target_is_given() {
    let check = |path: &str, query: Option<&str>, expected: &str| {
        let mut asked = salver_assets::Request::get(path.as_bytes());
        asked.query = query.map(|query| query.as_bytes().into());
        let lines = [(&b":method"[..], &b"X-OWN"[..]), (b":authority", b"a")];
        let path = RequestPath::parse(&asked.path).ok();
        let (version, lines) = (http::Version::HTTP_2, lines.into_iter());
        let empty = (None, http::HeaderMap::new());
        let given = to_http_request(version, &asked, path.as_ref(), lines, empty, None).unwrap();
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
