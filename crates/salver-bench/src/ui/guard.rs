//! The check of each request: under a name of the loopback interface, with the token, and for what
//! changes something from the page itself.
//!
//! The page alone, in which nothing stands that is not public, is given without the token: its tab
//! keeps that, so that it need not stand in the address.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::state::State as Page;

/// The value of a parameter of a query, as it stands there: secrets need no decoding.
pub(super) fn parameter<'a>(query: Option<&'a str>, name: &str) -> Option<&'a str> {
    let mut pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Lets a request through, or answers it with 403.
pub(super) async fn guard(State(page): State<Arc<Page>>, request: Request, next: Next) -> Response {
    let refused = match refusal(&page, &request) {
        None => return protected(next.run(request).await),
        Some(refused) => refused,
    };
    protected((StatusCode::FORBIDDEN, format!("{refused}\n")).into_response())
}

/// The reason to refuse a request, if there is one.
fn refusal(page: &Page, request: &Request) -> Option<&'static str> {
    let headers = request.headers();
    let Some(host) = loopback_host(headers) else {
        // A name that somebody else can point to this machine (DNS rebinding).
        return Some("This page is asked for as 127.0.0.1 or localhost only.");
    };
    let uri = request.uri();
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let may = match uri.path() {
        "/" => reads,
        "/open" => parameter(uri.query(), "code").is_some_and(|code| page.is_invited(code)),
        _ => parameter(uri.query(), "token").is_some_and(|token| page.token.is(token)),
    };
    if !may {
        return Some(
            "This page needs its token: open the address that `salver bench ui` has printed.",
        );
    }
    let origin = headers.get(ORIGIN).map(|origin| origin.as_bytes());
    if !reads && origin != Some(format!("http://{host}").as_bytes()) {
        return Some("Only the page itself may start and stop runs.");
    }
    None
}

/// The one host that was asked for, if it is a name of the loopback interface.
fn loopback_host(headers: &HeaderMap) -> Option<&str> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next()?.to_str().ok()?;
    if hosts.next().is_some() {
        return None;
    }
    let authority: Authority = host.parse().ok()?;
    // Another port is fine: somebody may have forwarded one.
    let name = authority.host();
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = |address: IpAddr| address.is_loopback();
    let loopback = name.eq_ignore_ascii_case("localhost") || bare.parse().is_ok_and(is_loopback);
    (loopback && !host.contains('@')).then_some(host)
}

/// Sets what every answer has: it is for this page alone, and nobody keeps it.
fn protected(mut response: Response) -> Response {
    let fields = [
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ];
    for (name, value) in fields {
        let (name, value) = (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
        response.headers_mut().insert(name, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_loopback_interface_are_hosts() {
        fn check(hosts: &[&str], expected: bool) {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(HOST, host.parse().unwrap());
            }
            assert_eq!(loopback_host(&headers).is_some(), expected, "{hosts:?}");
        }
        for host in [
            "127.0.0.1:8080",
            "127.0.0.1",
            "localhost:1",
            "LOCALHOST:1",
            "[::1]:8080",
        ] {
            check(&[host], true);
        }
        check(&[], false);
        check(&["127.0.0.1", "127.0.0.1"], false);
        for host in [
            "evil.example",
            "127.0.0.1.evil.example:80",
            "localhost.evil.example",
        ] {
            check(&[host], false);
        }
        for host in ["evil@127.0.0.1", "192.168.0.1:80", "0.0.0.0:80", ""] {
            check(&[host], false);
        }
    }

    #[test]
    fn a_parameter_is_found_by_its_whole_name() {
        fn check(query: Option<&str>, expected: Option<&str>) {
            assert_eq!(parameter(query, "token"), expected, "{query:?}");
        }
        check(None, None);
        check(Some(""), None);
        check(Some("token"), None);
        check(Some("token=a"), Some("a"));
        check(Some("x=1&token=a=b&token=c"), Some("a=b"));
        check(Some("mytoken=a"), None);
    }
}
