//! The service of a port without TLS that only redirects to the port with TLS.

use std::rc::Rc;
use std::time::Instant;

use bytes::Bytes;
use salver_assets::ResponsePlan;
use salver_http1::{Limits, RequestHead, RequestTarget, authority, parse, request_method};
use salver_semantics::https_location;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::access_log::ConnectionLog;
use crate::context::WorkerContext;
use crate::dispatch::error_plan;
use crate::seats::Seat;
use crate::single_response::end_with_response;

/// Answers one request with a redirect to `port`, and ends the connection: the next request goes there.
pub(crate) async fn serve(
    context: Rc<WorkerContext>,
    mut stream: TcpStream,
    port: u16,
    seat: Seat,
) {
    let time = context.common.settings.header_timeout;
    let now = Instant::now();
    let deadline = context.deadlines.add(now + time);
    deadline.set_waiting(now + time, now);
    let waits = || !context.ends_idle();
    let mut input = Vec::new();
    let plan = loop {
        match deadline.bound(stream.read_buf(&mut input), waits).await {
            Some(Ok(count)) if count > 0 => {}
            None if !input.is_empty() && !context.ends_idle() => {
                break error_plan(408, "Request Timeout", request_method(&input));
            }
            _ => return,
        }
        if let Some(plan) = answer(&input, &context.limits, port) {
            break plan;
        }
    };
    let log = ConnectionLog::new(context.log.as_ref(), seat.address);
    let record = log.map(|log| log.unread_with_fields(&input));
    drop(input);
    end_with_response(&context, &deadline, stream, &plan, record).await;
}

/// The answer to the request in `input`; `None` if its head is incomplete.
fn answer(input: &[u8], limits: &Limits, port: u16) -> Option<ResponsePlan> {
    let (head, length) = match parse(input, limits) {
        Ok(parsed) => parsed?,
        Err(refusal) => {
            let method = request_method(input);
            return Some(error_plan(refusal.status, refusal.reason, method));
        }
    };
    let host = authority(input.get(..length).unwrap_or_default());
    let plan = match location(&head, host, port) {
        Some(location) => {
            let more = vec![("Location", Bytes::from(location))];
            ResponsePlan::error(308, "Permanent Redirect", more)
        }
        None => ResponsePlan::error(400, "Bad Request: no host to redirect to", vec![]),
    };
    Some(plan.for_method(head.method))
}

/// The target of the redirect; `None` if the request names no host.
fn location(head: &RequestHead<'_>, host: Option<&[u8]>, port: u16) -> Option<Vec<u8>> {
    let (path, query) = match head.target {
        RequestTarget::Path { path, query } => (path, query),
        RequestTarget::Asterisk | RequestTarget::Authority => (&b"/"[..], None),
    };
    https_location(host?, path, query, port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use salver_assets::Content;

    fn check(request: &str, port: u16, status: u16, expected: Option<&str>, whole: bool) {
        let found = answer(request.as_bytes(), &Limits::default(), port);
        let plan = found.unwrap();
        let location = plan.fields().find(|(name, _)| *name == "Location");
        let location = location.map(|(_, value)| str::from_utf8(value).unwrap());
        assert_eq!((plan.status, location), (status, expected), "{request:?}");
        let has_content = !matches!(plan.content, Content::Empty);
        assert_eq!(has_content, whole, "{request:?}");
    }

    fn goes(target: &str, host: &str, port: u16, expected: &str) {
        let request = format!("GET {target} HTTP/1.1\r\nX: y\r\nhOsT: {host}\r\nHosts: z\r\n\r\n");
        check(&request, port, 308, Some(expected), true);
    }

    #[test]
    fn the_same_target_of_the_same_host() {
        goes("/", "a.test", 443, "https://a.test/");
        goes("/", "a.test:80", 443, "https://a.test/");
        goes("/", "a.test:80", 8443, "https://a.test:8443/");
        goes(
            "/a/%20b?c=d&e",
            "a.test:",
            1,
            "https://a.test:1/a/%20b?c=d&e",
        );
        goes("/a?", "A.test", 443, "https://A.test/a?");
        goes("/a?b?c", "a.test", 443, "https://a.test/a?b?c");
        goes("/", "[::1]:80", 443, "https://[::1]/");
        goes("/", "[::1]", 444, "https://[::1]:444/");
        goes("/", "127.0.0.1:80", 443, "https://127.0.0.1/");
        goes("/\u{fc}", "a.test", 443, "https://a.test/%C3%BC");
        // Another host cannot be slipped in.
        goes(
            "//evil.test/x",
            "a.test",
            443,
            "https://a.test//evil.test/x",
        );
        goes("/@evil.test", "a.test", 443, "https://a.test/@evil.test");
        // RFC 9112 section 3.2.2: the target wins over Host.
        goes("http://b.test:80/x?y", "a.test", 443, "https://b.test/x?y");
        goes("http://b.test", "a.test", 443, "https://b.test/");
        goes("http://b.test?y", "a.test", 443, "https://b.test/?y");
    }

    #[test]
    fn any_method_and_no_content_for_head() {
        let request = |method: &str| format!("{method} /x HTTP/1.1\r\nHost: a.test\r\n\r\n");
        let to = Some("https://a.test/x");
        for method in ["GET", "POST", "DELETE", "BREW", "OPTIONS"] {
            check(&request(method), 443, 308, to, true);
        }
        check(&request("HEAD"), 443, 308, to, false);
        check(
            "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
            443,
            308,
            Some("https://a/"),
            true,
        );
        check(
            "GET /x HTTP/1.0\r\nHost: a.test\r\n\r\n",
            443,
            308,
            to,
            true,
        );
    }

    #[test]
    fn what_cannot_be_meant_goes_nowhere() {
        for request in [
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.0\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: user@a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost:\r\n\r\n",
            "GET x HTTP/1.1\r\nHost: a\r\n\r\n",
            "\u{16}\u{3}\u{1}\r\n\r\n",
        ] {
            check(request, 443, 400, None, true);
        }
        check("HEAD / HTTP/1.1\r\n\r\n", 443, 400, None, false);
        check("GET / HTTP/2.0\r\n\r\n", 443, 505, None, true);
        assert!(answer(b"GET / HTTP/1.1\r\nHost: a\r\n", &Limits::default(), 443).is_none());
        assert!(answer(b"", &Limits::default(), 443).is_none());
    }
}
