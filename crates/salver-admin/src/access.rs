//! The check of each request: whether a page of somebody else's may have made it, and whether it knows the token.
//!
//! A browser adds what it knows to the requests of any page, so an address that only this machine reaches is reached by
//! every page that is open on it. Three things tell its own requests from those: `Host` is an address and no name that
//! somebody else may point here (DNS rebinding), and `Origin` and `Sec-Fetch-Site`, which no page can set, name no other
//! site. The token is shown in a field that browsers never add by themselves.

use std::net::{Ipv4Addr, Ipv6Addr};

use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST, HeaderName, ORIGIN};
use http::{HeaderMap, Method, Request};
use salver_semantics::field::decode_base64;

use crate::token::Token;

/// What a path wants of who asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Nothing: what it tells is public.
    Nothing,
    /// Nothing, and it may be opened from anywhere: the page itself.
    Page,
    /// The token, where there is one.
    Token,
    /// The same, by a program that may know nothing but URLs: as the password of one, too.
    TokenOrPassword,
}

/// The reason why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is for another host.
    Host,
    /// Another site has made it.
    CrossSite,
    /// It has no token, or another.
    Token,
    /// The same, where a password does as well.
    Password,
}

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// The longest credentials of Basic authentication that are decoded, in bytes: those of the longest token.
const LONGEST: usize = 2048;

/// Checks a request.
pub(crate) fn check(
    request: &Request<Bytes>,
    token: Option<&Token>,
    need: Need,
) -> Result<(), Refusal> {
    let fields = request.headers();
    let host = host(request).ok_or(Refusal::Host)?;
    let knows = token.is_some_and(|token| shows(fields, token, need));
    // Who has a password sends it once it is asked for it, by whatever name that is.
    let is_asked = need == Need::TokenOrPassword && token.is_some();
    if !knows && !is_address(host) && !is_asked {
        return Err(Refusal::Host);
    }
    if !is_own(request, host, need) {
        return Err(Refusal::CrossSite);
    }
    match need {
        Need::Token if token.is_some() && !knows => Err(Refusal::Token),
        Need::TokenOrPassword if token.is_some() && !knows => Err(Refusal::Password),
        Need::Nothing | Need::Page | Need::Token | Need::TokenOrPassword => Ok(()),
    }
}

/// The one host that a request is for.
fn host(request: &Request<Bytes>) -> Option<&str> {
    let mut named = request.headers().get_all(HOST).iter();
    let in_field = named.next();
    if named.next().is_some() {
        return None;
    }
    match (request.uri().authority(), in_field) {
        (Some(authority), _) => Some(authority.as_str()),
        (None, Some(host)) => host.to_str().ok(),
        (None, None) => None,
    }
}

/// True if a host is an address, or the one name that is always this machine's; its port may be any, as somebody may
/// have forwarded one.
fn is_address(host: &str) -> bool {
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(rest) = host.strip_prefix('[') {
        let Some((address, port)) = rest.split_once(']') else {
            return false;
        };
        return address.parse::<Ipv6Addr>().is_ok()
            && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port));
    }
    let (name, port) = host.split_once(':').unwrap_or((host, ""));
    is_port(port) && (name.eq_ignore_ascii_case("localhost") || name.parse::<Ipv4Addr>().is_ok())
}

/// True if no other site has made the request, as far as browsers tell.
fn is_own(request: &Request<Bytes>, host: &str, need: Need) -> bool {
    let fields = request.headers();
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let navigates = fields
        .get(FETCH_MODE)
        .is_some_and(|mode| mode == "navigate");
    let is_opened = need == Need::Page && is_read && navigates;
    let from_here = fields.get_all(FETCH_SITE).iter().all(|site| {
        let is_own = site == "same-origin" || site == "none";
        is_own || is_opened
    });
    let of_origin = |scheme: &str| [scheme, host].concat().into_bytes();
    let own = [of_origin("http://"), of_origin("https://")];
    let mut origins = fields.get_all(ORIGIN).iter();
    from_here
        && origins.all(|origin| {
            own.iter()
                .any(|own| own.eq_ignore_ascii_case(origin.as_bytes()))
        })
}

fn shows(fields: &HeaderMap, token: &Token, need: Need) -> bool {
    let mut shown = fields.get_all(AUTHORIZATION).iter();
    let (Some(shown), None) = (shown.next(), shown.next()) else {
        return false;
    };
    let shown = shown.as_bytes();
    is_shown(shown, token) || need == Need::TokenOrPassword && is_password(shown, token)
}

/// True if this value of `Authorization` has the token as a password (RFC 7617), of whatever user.
pub(crate) fn is_password(value: &[u8], token: &Token) -> bool {
    let Some((scheme, credentials)) = value.split_at_checked(6) else {
        return false;
    };
    let is_basic = scheme.eq_ignore_ascii_case(b"Basic ") && credentials.len() <= LONGEST;
    let credentials = is_basic.then(|| decode_base64(credentials.trim_ascii()));
    credentials.flatten().is_some_and(|credentials| {
        let mut parts = credentials.splitn(2, |byte| *byte == b':');
        let (_, password) = (parts.next(), parts.next());
        password.is_some_and(|password| token.is(password))
    })
}

/// True if this value of `Authorization` shows the token.
pub(crate) fn is_shown(value: &[u8], token: &Token) -> bool {
    let Some((scheme, guess)) = value.split_at_checked(7) else {
        return false;
    };
    // The scheme is case-insensitive (RFC 9110 section 11.1).
    scheme.eq_ignore_ascii_case(b"Bearer ") && token.is(guess.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, fields: &[(&str, &str)]) -> Request<Bytes> {
        let mut request = Request::builder().method(method).uri("/cache/purge");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        request.body(Bytes::new()).unwrap()
    }

    #[test]
    fn hosts_are_addresses_and_localhost() {
        fn check(host: &str, expected: bool) {
            assert_eq!(is_address(host), expected, "{host}");
        }
        for host in [
            "127.0.0.1",
            "127.0.0.1:9090",
            "10.1.2.3:80",
            "localhost",
            "LocalHost:1",
            "[::1]",
            "[::1]:9090",
        ] {
            check(host, true);
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "127.0.0.1:80@evil.example",
            "evil@127.0.0.1",
            "0x7f.1",
            "[::1",
            "[::1].evil.example",
            "[evil]",
            "::1",
        ] {
            check(host, false);
        }
    }

    const HOST: (&str, &str) = ("host", "127.0.0.1:9090");

    fn reply(method: &str, fields: &[(&str, &str)], need: Need) -> Result<(), Refusal> {
        check(&request(method, fields), None, need)
    }

    #[test]
    fn other_sites_are_refused() {
        let check = |fields: &[(&str, &str)], expected| {
            let all = [&[HOST][..], fields].concat();
            for need in [Need::Token, Need::Nothing] {
                assert_eq!(reply("POST", &all, need), expected, "{fields:?}");
            }
        };
        check(&[], Ok(()));
        check(&[("sec-fetch-site", "same-origin")], Ok(()));
        check(&[("sec-fetch-site", "none")], Ok(()));
        check(&[("origin", "http://127.0.0.1:9090")], Ok(()));
        let refused = Err(Refusal::CrossSite);
        check(&[("sec-fetch-site", "cross-site")], refused);
        // Another port of this machine, or a name beside it.
        check(&[("sec-fetch-site", "same-site")], refused);
        check(&[("origin", "http://127.0.0.1:8080")], refused);
        check(&[("origin", "null")], refused);
        check(&[("origin", "http://evil.example")], refused);
        let both = [
            ("origin", "http://127.0.0.1:9090"),
            ("origin", "http://evil.example"),
        ];
        check(&both, refused);
    }

    #[test]
    fn the_page_may_be_opened_from_anywhere_and_nothing_else() {
        let fields = [
            HOST,
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
        ];
        assert_eq!(reply("GET", &fields, Need::Page), Ok(()));
        let refused = Err(Refusal::CrossSite);
        assert_eq!(reply("POST", &fields, Need::Page), refused);
        assert_eq!(reply("GET", &fields, Need::Token), refused);
        assert_eq!(reply("GET", &fields[..2], Need::Page), refused);
    }

    #[test]
    fn other_hosts_are_refused() {
        let refused = Err(Refusal::Host);
        assert_eq!(reply("GET", &[], Need::Nothing), refused);
        assert_eq!(reply("GET", &[HOST, HOST], Need::Nothing), refused);
        let named = [("host", "evil.example")];
        for need in [Need::Nothing, Need::Page, Need::Token] {
            assert_eq!(reply("GET", &named, need), refused);
        }
    }

    #[test]
    fn where_a_password_does_the_token_is_one() {
        let token = Token::new(b"0123456789abcdef").unwrap();
        let check = |host: &str, value: &str, need, expected| {
            let request = request("POST", &[("host", host), ("authorization", value)]);
            assert_eq!(check(&request, Some(&token), need), expected, "{value}");
        };
        let password = Need::TokenOrPassword;
        let (shown, name) = ("Basic c25zOjAxMjM0NTY3ODlhYmNkZWY=", "nodes.example.org");
        check(name, shown, password, Ok(()));
        check(name, "basic OjAxMjM0NTY3ODlhYmNkZWY", password, Ok(()));
        check(name, "Bearer 0123456789abcdef", password, Ok(()));
        check(name, shown, Need::Token, Err(Refusal::Host));
        check(HOST.1, shown, Need::Token, Err(Refusal::Token));
        let refused = Err(Refusal::Password);
        for wrong in [
            "",
            "Basic",
            "Basic ",
            "Basic 0123456789abcdef",
            "Basic MDEyMzQ1Njc4OWFiY2RlZg==",
            "Basic c25zOjAxMjM0NTY3ODlhYmNkZWZn",
            "Digest username=sns",
        ] {
            check(name, wrong, password, refused);
        }
        let without = request("POST", &[("host", name)]);
        assert_eq!(super::check(&without, Some(&token), password), refused);
        assert_eq!(super::check(&without, None, password), Err(Refusal::Host));
    }

    #[test]
    fn who_knows_the_token_may_call_it_by_any_name() {
        let token = Token::new(b"0123456789abcdef").unwrap();
        let check = |fields: &[(&str, &str)], expected| {
            let request = request("GET", fields);
            assert_eq!(
                check(&request, Some(&token), Need::Token),
                expected,
                "{fields:?}"
            );
        };
        let shown = ("authorization", "Bearer 0123456789abcdef");
        check(&[HOST, shown], Ok(()));
        check(
            &[HOST, ("authorization", "bearer 0123456789abcdef")],
            Ok(()),
        );
        check(&[("host", "salver.internal:9090"), shown], Ok(()));
        check(&[HOST], Err(Refusal::Token));
        check(&[HOST, shown, shown], Err(Refusal::Token));
        check(
            &[HOST, ("authorization", "Basic 0123456789abcdef")],
            Err(Refusal::Token),
        );
        check(&[HOST, ("authorization", "Bearer")], Err(Refusal::Token));
        check(&[HOST, shown, ("origin", "null")], Err(Refusal::CrossSite));
        check(&[("host", "salver.internal")], Err(Refusal::Host));
    }
}
