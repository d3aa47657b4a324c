//! Fields about the message that they stand in, where all versions of HTTP mean the same by it.

use crate::field::{list, number};

/// The length of the content as Content-Length says: `1*DIGIT` (RFC 9110 section 8.6). `None` if it is
/// no such number. One that does not fit is [`u64::MAX`]: it is too large for everybody.
///
/// ```
/// use salver_semantics::message::content_length;
///
/// assert_eq!(content_length(b"007"), Some(7));
/// assert_eq!(content_length(b"99999999999999999999"), Some(u64::MAX));
/// assert_eq!(content_length(b"5, 5"), None);
/// ```
pub fn content_length(value: &[u8]) -> Option<u64> {
    number(value)
}

/// True if Expect asks for `100 Continue`; `None` if it asks for anything else, which nobody can meet (RFC
/// 9110 section 10.1.1).
///
/// ```
/// use salver_semantics::message::expects_continue;
///
/// assert_eq!(expects_continue(b"100-Continue"), Some(true));
/// assert_eq!(expects_continue(b"100-continue, 100-continue"), Some(true));
/// assert_eq!(expects_continue(b""), Some(false));
/// assert_eq!(expects_continue(b"100-continue, tea"), None);
/// ```
pub fn expects_continue(value: &[u8]) -> Option<bool> {
    let mut members = list(value).peekable();
    let any = members.peek().is_some();
    let all = members.all(|member| member.eq_ignore_ascii_case(b"100-continue"));
    all.then_some(any)
}

/// The fields that may not stand in a trailer section, in order: who reads them has decided by the head already how the
/// message is framed, who gets it, who sent it and what its content is.
const NEVER_TRAILERS: [&str; 36] = [
    "age",
    "authorization",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-location",
    "content-range",
    "content-type",
    "cookie",
    "date",
    "expect",
    "expires",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "retry-after",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "vary",
    "warning",
    "www-authenticate",
];

/// True if a field with this name, in small letters, may stand in a trailer section (RFC 9110 section 6.5.1): one of
/// framing, routing, conditions, authentication or content may not, as some recipients would merge it into the head.
///
/// ```
/// use salver_semantics::message::may_be_trailer;
///
/// assert!(may_be_trailer("grpc-status") && may_be_trailer("server-timing"));
/// assert!(!may_be_trailer("content-length") && !may_be_trailer("authorization"));
/// ```
pub fn may_be_trailer(name: &str) -> bool {
    NEVER_TRAILERS.binary_search(&name).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_are_never_trailers_are_found() {
        assert!(NEVER_TRAILERS.is_sorted());
        assert!(NEVER_TRAILERS.iter().all(|name| !may_be_trailer(name)));
        assert!(
            ["", "a", "hosts", "x-host", "digest", "zz"]
                .into_iter()
                .all(may_be_trailer)
        );
    }

    #[test]
    fn lengths() {
        fn check(value: &str, expected: Option<u64>) {
            assert_eq!(content_length(value.as_bytes()), expected, "{value:?}");
        }
        check("0", Some(0));
        check("18446744073709551615", Some(u64::MAX));
        check("18446744073709551616", Some(u64::MAX));
        check("340282366920938463463374607431768211461", Some(u64::MAX));
        for value in [
            "",
            "+1",
            "-1",
            "1.0",
            "1 ",
            "5,5",
            "0x5",
            "99999999999999999999x",
        ] {
            check(value, None);
        }
    }
}
