//! The four forms of a request target (RFC 9112 section 3.2).

use salver_semantics::{Authority, Method};

use crate::error::ParseError;

/// A request target (RFC 9112 section 3.2). The bytes are as they were received: not decoded, not normalised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestTarget<'b> {
    /// Origin form, or absolute form with its scheme and authority taken off.
    Path {
        /// Begins with `/`. Holds neither `?` nor `#`, no control and no space; any byte from 0x80
        /// on may be there.
        path: &'b [u8],
        /// The query, without its `?`.
        query: Option<&'b [u8]>,
    },
    /// `*`: the server itself. Only with OPTIONS.
    Asterisk,
    /// `host:port`. Only with CONNECT.
    Authority,
}

/// A request target as it stands in the request line: neither empty nor with a control, a space or `#`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawTarget<'b> {
    pub(crate) bytes: &'b [u8],
    /// The index of the first `?`.
    pub(crate) question: Option<usize>,
}

impl<'b> RequestTarget<'b> {
    #[inline]
    pub(crate) fn parse(
        method: Method,
        raw: RawTarget<'b>,
    ) -> Result<RequestTarget<'b>, ParseError> {
        match raw.bytes {
            // Section 3.2.3: authority-form is used by CONNECT alone, and CONNECT uses no other.
            // The port is not optional.
            _ if method == Method::Connect => Authority::parse(raw.bytes)
                .filter(|authority| authority.has_port)
                .map(|_| RequestTarget::Authority)
                .ok_or(ParseError::Target),
            [b'/', ..] => Ok(RequestTarget::from_path(raw)),
            // Section 3.2.4.
            b"*" if method == Method::Options => Ok(RequestTarget::Asterisk),
            _ => RequestTarget::from_absolute(raw.bytes).ok_or(ParseError::Target),
        }
    }

    fn from_path(raw: RawTarget<'b>) -> RequestTarget<'b> {
        let end = raw.question.unwrap_or(raw.bytes.len());
        let (path, query) = raw.bytes.split_at_checked(end).unwrap_or((raw.bytes, b""));
        RequestTarget::Path {
            path,
            query: query.strip_prefix(b"?"),
        }
    }

    /// A target in absolute form (section 3.2.2). The authority is checked and dropped: every host is served alike.
    fn from_absolute(raw: &'b [u8]) -> Option<RequestTarget<'b>> {
        let colon = raw.iter().position(|&byte| byte == b':')?;
        let (scheme, rest) = raw.split_at_checked(colon)?;
        if !scheme.eq_ignore_ascii_case(b"http") && !scheme.eq_ignore_ascii_case(b"https") {
            return None;
        }
        let rest = rest.strip_prefix(b"://")?;
        let end = rest
            .iter()
            .position(|byte| b"/?".contains(byte))
            .unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end)?;
        Authority::parse(authority)?;
        Some(match path {
            // RFC 9110 section 4.2.3: an empty path means "/".
            [] => RequestTarget::Path {
                path: b"/",
                query: None,
            },
            [b'?', query @ ..] => RequestTarget::Path {
                path: b"/",
                query: Some(query),
            },
            _ => RequestTarget::from_path(RawTarget {
                bytes: path,
                question: path.iter().position(|&byte| byte == b'?'),
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: Method, raw: &[u8], expected: Option<RequestTarget<'_>>) {
        let question = raw.iter().position(|&byte| byte == b'?');
        let actual = RequestTarget::parse(
            method,
            RawTarget {
                bytes: raw,
                question,
            },
        );
        assert_eq!(
            actual,
            expected.ok_or(ParseError::Target),
            "{}",
            raw.escape_ascii()
        );
    }

    fn path<'b>(path: &'b [u8], query: Option<&'b [u8]>) -> Option<RequestTarget<'b>> {
        Some(RequestTarget::Path { path, query })
    }

    #[test]
    fn origin_form() {
        for (raw, expected) in [
            (&b"/"[..], path(b"/", None)),
            (b"/a/b.html", path(b"/a/b.html", None)),
            (b"//evil.example/x", path(b"//evil.example/x", None)),
            (
                b"/http://evil.example/x",
                path(b"/http://evil.example/x", None),
            ),
            (b"/./../%2e%2E/", path(b"/./../%2e%2E/", None)),
            (b"/a?", path(b"/a", Some(b""))),
            (b"/?", path(b"/", Some(b""))),
            (b"/a?b=c", path(b"/a", Some(b"b=c"))),
            (b"/a?b?c", path(b"/a", Some(b"b?c"))),
            (b"/??", path(b"/", Some(b"?"))),
            (b"/?/x", path(b"/", Some(b"/x"))),
            (b"/a%3Fb", path(b"/a%3Fb", None)),
            (b"/\xff\xc3\xbc\x80", path(b"/\xff\xc3\xbc\x80", None)),
            (b"/\\..\\x", path(b"/\\..\\x", None)),
            (b"/*", path(b"/*", None)),
            (b"/<\"{|}^`>", path(b"/<\"{|}^`>", None)),
        ] {
            for method in [Method::Get, Method::Head, Method::Options, Method::Other] {
                check(method, raw, expected);
            }
            check(Method::Connect, raw, None);
        }
    }

    #[test]
    fn absolute_form() {
        for (raw, expected) in [
            (&b"http://a"[..], path(b"/", None)),
            (b"http://a/", path(b"/", None)),
            (b"https://a/", path(b"/", None)),
            (b"HTTP://A/B", path(b"/B", None)),
            (b"HttpS://a:8080/b?c", path(b"/b", Some(b"c"))),
            (b"http://a?b", path(b"/", Some(b"b"))),
            (b"http://a?", path(b"/", Some(b""))),
            (b"http://a?/b", path(b"/", Some(b"/b"))),
            (b"http://a/?b", path(b"/", Some(b"b"))),
            (b"http://a//b", path(b"//b", None)),
            (b"http://a/http://b/", path(b"/http://b/", None)),
            (b"http://[::1]:80/x", path(b"/x", None)),
            (b"http://a:/x", path(b"/x", None)),
            (b"http://a://b/", path(b"//b/", None)),
            (b"http://a/@b", path(b"/@b", None)),
            (b"http://a/b:c", path(b"/b:c", None)),
        ] {
            check(Method::Get, raw, expected);
            check(Method::Options, raw, expected);
        }
        for raw in [
            &b"http"[..],
            b"http:",
            b"http:/",
            b"http://",
            b"http:///",
            b"http:///x",
            b"http://?x",
            b"http:/a/x",
            b"http:a",
            b"http//a/",
            b"://a/",
            b":",
            b"ftp://a/",
            b"file:///etc/passwd",
            b"httpx://a/",
            b"xhttp://a/",
            b" http://a/",
            b"ws://a/",
            b"javascript:alert(1)",
            b"http://user@a/",
            b"http://user:pass@a/",
            b"http://@a/",
            b"http://a:b/",
            b"http://a:99999/",
            b"http://a,b/",
            b"http://a\\b/",
            b"http://\xff/",
            b"http://a%/",
            b"http://[::1/",
            b"http://:80/",
        ] {
            check(Method::Get, raw, None);
        }
    }

    #[test]
    fn other_forms() {
        check(Method::Options, b"*", Some(RequestTarget::Asterisk));
        for method in [
            Method::Get,
            Method::Head,
            Method::Post,
            Method::Trace,
            Method::Other,
        ] {
            check(method, b"*", None);
        }
        check(Method::Connect, b"*", None);
        for raw in [&b"a:443"[..], b"a.example:80", b"127.0.0.1:1", b"[::1]:443"] {
            check(Method::Connect, raw, Some(RequestTarget::Authority));
            check(Method::Get, raw, None);
            check(Method::Options, raw, None);
        }
        for raw in [
            &b"a"[..],
            b"a:",
            b":443",
            b"a:x",
            b"user@a:443",
            b"http://a:443/",
            b"a:443/",
        ] {
            check(Method::Connect, raw, None);
        }
        for raw in [
            &b"**"[..],
            b"*?x",
            b"*/",
            b"a",
            b"index.html",
            b"?x",
            b".",
            b"..",
            b"a/b",
        ] {
            check(Method::Get, raw, None);
            check(Method::Options, raw, None);
        }
    }
}
