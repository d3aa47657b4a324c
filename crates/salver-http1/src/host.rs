//! The host that a request is for. A server of all hosts alike need not know it, so it is not read with the rest of
//! the head.

use salver_semantics::field::trim_ows;
use salver_semantics::request_fields::is;

use crate::limits::FIELDS_AT_MOST;
use crate::request_line::skip_empty_lines;
use crate::section;

/// The authority that a request head names, which [`parse`](crate::parse) has found to be valid:
/// that of its target, if it has one there, or else of its Host field (RFC 9112 sections 3.2.2 and
/// 3.3). `None` if it names none, as HTTP/1.0 allows.
pub fn authority(head: &[u8]) -> Option<&[u8]> {
    let (_, head) = skip_empty_lines(head);
    let end = head.iter().position(|&byte| byte == b'\n')?;
    let (line, section) = head.split_at_checked(end + 1)?;
    let target = line.split(|&byte| byte == b' ').nth(1)?;
    if !target.starts_with(b"/")
        && let Some(at) = target.windows(3).position(|part| part == b"://")
    {
        let authority = target.get(at + 3..)?;
        let end = authority.iter().position(|byte| b"/?".contains(byte));
        return authority.get(..end.unwrap_or(authority.len()));
    }
    let mut host = None;
    section::parse(section, FIELDS_AT_MOST, |name, value| {
        if is(name, b"host") {
            host = Some(trim_ows(value));
        }
    })
    .ok()?;
    host
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_before_the_field() {
        fn check(head: &str, expected: Option<&str>) {
            let found = authority(head.as_bytes()).map(|found| str::from_utf8(found).unwrap());
            assert_eq!(found, expected, "{head:?}");
        }
        check("GET / HTTP/1.1\r\nHost: a:1\r\n\r\n", Some("a:1"));
        check("\r\n\nGET / HTTP/1.1\nA: b\nHOST:\t a \n\n", Some("a"));
        check("GET http://b HTTP/1.1\r\nHost: a\r\n\r\n", Some("b"));
        check(
            "GET http://b:2/x://c?d HTTP/1.1\r\nHost: a\r\n\r\n",
            Some("b:2"),
        );
        check(
            "GET https://[::1]?d HTTP/1.1\r\nHost: a\r\n\r\n",
            Some("[::1]"),
        );
        check("GET /x://c HTTP/1.1\r\nHost: a\r\n\r\n", Some("a"));
        check("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", Some("a"));
        check("GET / HTTP/1.0\r\nHosts: a\r\n\r\n", None);
        check("GET / HTTP/1.0\r\n\r\n", None);
        check("GET / HTTP", None);
        check("", None);
    }
}
