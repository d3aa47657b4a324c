//! Fields about the message that they stand in, where all versions of HTTP mean the same by it.

use crate::field::{is_token, list};

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
    if value.is_empty() {
        return None;
    }
    value.iter().try_fold(0u64, |length, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte & 0x0f))?;
        Some(length.saturating_mul(10).saturating_add(digit))
    })
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

/// True if a field is one of the connection, which HTTP/2 and HTTP/3 have none of (RFC 9113 section
/// 8.2.2, RFC 9114 section 4.2). `name` is in small letters.
///
/// ```
/// use salver_semantics::message::is_of_connection;
///
/// assert!(is_of_connection(b"connection", b"close"));
/// assert!(is_of_connection(b"te", b"trailers, deflate"));
/// assert!(!is_of_connection(b"te", b"Trailers"));
/// ```
pub fn is_of_connection(name: &[u8], value: &[u8]) -> bool {
    match name {
        b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade" => {
            true
        }
        b"te" => !value.eq_ignore_ascii_case(b"trailers"),
        _ => false,
    }
}

/// True if `name` is one of a field in HTTP/2 and HTTP/3: a token without capitals (RFC 9113 section 8.2.1,
/// RFC 9114 section 4.2).
pub fn is_lowercase_name(name: &[u8]) -> bool {
    is_token(name) && !name.iter().any(u8::is_ascii_uppercase)
}

/// True if a request for this scheme can be meant for a server of the web (RFC 9110 section 4.2).
///
/// ```
/// use salver_semantics::message::is_web_scheme;
///
/// assert!(is_web_scheme(b"https") && is_web_scheme(b"HTTP"));
/// assert!(!is_web_scheme(b"ftp") && !is_web_scheme(b""));
/// ```
pub fn is_web_scheme(scheme: &[u8]) -> bool {
    scheme.eq_ignore_ascii_case(b"https") || scheme.eq_ignore_ascii_case(b"http")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::is_value;

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

    #[test]
    fn names_and_values() {
        for name in ["x", "a-b", "2"] {
            assert!(is_lowercase_name(name.as_bytes()), "{name:?}");
        }
        for name in ["", "X", "aB", "a b", "a:", "\u{e9}", "a\0"] {
            assert!(!is_lowercase_name(name.as_bytes()), "{name:?}");
        }
        for value in ["", "a", "a b", "a\tb", "\u{e9}"] {
            assert!(is_value(value.as_bytes()), "{value:?}");
        }
        for value in [" ", " a", "a\t", "a\u{1}", "\u{7f}", "a\nb", "\r", "\0"] {
            assert!(!is_value(value.as_bytes()), "{value:?}");
        }
    }
}
