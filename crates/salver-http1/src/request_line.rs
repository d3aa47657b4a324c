//! The request line (RFC 9112 section 3).
//!
//! httparse could read it, but takes neither HTTP/1.2 nor a target that is not UTF-8, and doesn't name each error.
//! The pass over the target is needed anyway: `#` has to be found.

use salver_semantics::Method;
use salver_semantics::field::is_token;

use crate::error::ParseError;
use crate::scan;
use crate::target::{RawTarget, RequestTarget};

/// The protocol version by which a request is understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1, and every later HTTP/1.x: RFC 9110 section 2.5 has a recipient process a message
    /// of a higher minor version as the highest one it knows.
    Http11,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RequestLine<'b> {
    pub(crate) method: Method,
    pub(crate) target: RequestTarget<'b>,
    pub(crate) version: Version,
}

/// The longest method that is read, in bytes.
const MAX_METHOD: usize = 64;

/// The length of `HTTP/1.1` and CRLF.
const VERSION_AND_END: usize = 10;

/// The length in bytes within which a line has to end, or is refused by [`parse`].
pub(crate) fn longest(max_target: usize) -> usize {
    max_target.saturating_add(MAX_METHOD + 1 + 1 + VERSION_AND_END)
}

/// A part of the line as it was parsed, and the bytes behind it; `None` if it is incomplete.
type Parsed<'b, T> = Result<Option<(T, &'b [u8])>, ParseError>;

/// The bytes before a delimiter, the delimiter, and the bytes after it.
type Divided<'b> = (&'b [u8], u8, &'b [u8]);

/// Parses the request line that `input` begins with. `Some` comes with the bytes after the line, `None` says that the
/// line has not ended yet.
///
/// The first byte that is wrong decides, however much follows it: the outcome doesn't depend on how
/// the bytes were divided into reads.
#[inline]
pub(crate) fn parse(input: &[u8], max_target: usize) -> Parsed<'_, RequestLine<'_>> {
    let Some((method, rest)) = method(input)? else {
        return Ok(None);
    };
    let Some((target, rest)) = target(rest, max_target)? else {
        return Ok(None);
    };
    let Some((version, rest)) = version(rest)? else {
        return Ok(None);
    };
    // The version comes first: the preface `PRI * HTTP/2.0` (RFC 9113 section 3.4) has a target
    // that only OPTIONS may have.
    let target = RequestTarget::parse(method, target)?;
    Ok(Some((
        RequestLine {
            method,
            target,
            version,
        },
        rest,
    )))
}

/// Divides `input` before the first of its bytes at or before `at_most` that `ends` names. `None`
/// if that is not known yet; `Err` if `at_most` bytes don't hold it.
fn divide(
    input: &[u8],
    at_most: usize,
    ends: impl Fn(u8) -> bool,
) -> Result<Option<Divided<'_>>, ()> {
    let window = input.get(..=at_most).unwrap_or(input);
    match window.iter().position(|&byte| ends(byte)) {
        Some(at) => Ok(input
            .split_at_checked(at)
            .and_then(|(head, tail)| tail.split_first().map(|(&end, tail)| (head, end, tail)))),
        None if window.len() > at_most => Err(()),
        None => Ok(None),
    }
}

/// The method that the line begins with.
#[inline]
pub(crate) fn method(input: &[u8]) -> Parsed<'_, Method> {
    match input {
        [b'G', b'E', b'T', b' ', rest @ ..] => Ok(Some((Method::Get, rest))),
        [b'H', b'E', b'A', b'D', b' ', rest @ ..] => Ok(Some((Method::Head, rest))),
        _ => any_method(input),
    }
}

fn any_method(input: &[u8]) -> Parsed<'_, Method> {
    let ends = |byte: u8| !byte.is_ascii_uppercase() && !is_token(&[byte]);
    match divide(input, MAX_METHOD, ends) {
        Ok(Some((token, b' ', rest))) if !token.is_empty() => {
            Ok(Some((Method::from_token(token), rest)))
        }
        Ok(Some(_)) => Err(ParseError::Method),
        Ok(None) => Ok(None),
        Err(()) => Err(ParseError::MethodTooLong),
    }
}

/// The request target. Any byte but controls, SP and `#` is allowed: RFC 3986 allows fewer, but a path is judged
/// once, where it is decoded.
#[inline]
fn target(input: &[u8], max_target: usize) -> Parsed<'_, RawTarget<'_>> {
    let mut end = scan::run(scan::TARGET, input);
    let mut question = None;
    if input.get(end) == Some(&b'?') {
        question = Some(end);
        end = query_end(input, end);
    }
    if end > max_target {
        return Err(ParseError::TargetTooLong);
    }
    match input.split_at_checked(end) {
        Some((bytes, [b' ', rest @ ..])) if end > 0 => {
            Ok(Some((RawTarget { bytes, question }, rest)))
        }
        // `GET /` alone is a simple request of HTTP/0.9.
        Some((_, [b'\r' | b'\n', ..])) => Err(ParseError::VersionMissing),
        Some((_, [_, ..])) => Err(ParseError::TargetByte),
        _ => Ok(None),
    }
}

/// The end of the query that begins with the `?` at `question`. A query may hold more of them.
#[inline(never)]
fn query_end(input: &[u8], question: usize) -> usize {
    let mut end = question;
    while let Some([b'?', query @ ..]) = input.get(end..) {
        end += 1 + scan::run(scan::TARGET, query);
    }
    end
}

#[inline]
fn version(input: &[u8]) -> Parsed<'_, Version> {
    match input.strip_prefix(b"HTTP/1.1\r\n") {
        Some(rest) => Ok(Some((Version::Http11, rest))),
        None => any_version(input),
    }
}

fn any_version(input: &[u8]) -> Parsed<'_, Version> {
    let (line, rest) = match divide(input, VERSION_AND_END - 1, |byte| byte == b'\n') {
        Ok(Some((line, _, rest))) => (line, rest),
        Ok(None) => return Ok(None),
        Err(()) => return Err(ParseError::Version),
    };
    // RFC 9112 section 2.2: LF alone may end a line; CR belongs to the end only before it.
    match line.strip_suffix(b"\r").unwrap_or(line) {
        [
            b'H',
            b'T',
            b'T',
            b'P',
            b'/',
            major @ b'0'..=b'9',
            b'.',
            minor @ b'0'..=b'9',
        ] => match (major, minor) {
            (b'1', b'0') => Ok(Some((Version::Http10, rest))),
            (b'1', _) => Ok(Some((Version::Http11, rest))),
            _ => Err(ParseError::VersionUnsupported),
        },
        _ => Err(ParseError::Version),
    }
}

/// The method of the request that `input` begins with, once it is whole, even if the rest of the head is wrong or
/// missing: the answer to HEAD has no content, refusal or not (RFC 9112 section 6.3).
pub fn request_method(input: &[u8]) -> Option<Method> {
    let (_, line) = skip_empty_lines(input);
    let (method, _) = method(line).ok()??;
    Some(method)
}

/// The number of empty lines at the beginning of `input`, and what follows them.
pub(crate) fn skip_empty_lines(input: &[u8]) -> (usize, &[u8]) {
    let mut lines = 0;
    let mut rest = input;
    while let [b'\r', b'\n', tail @ ..] | [b'\n', tail @ ..] = rest {
        lines += 1;
        rest = tail;
    }
    (lines, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_TARGET: usize = 16;

    #[track_caller]
    fn check(input: &[u8], expected: Result<Option<(Method, Version)>, ParseError>) {
        let actual = parse(input, MAX_TARGET);
        let actual = actual.map(|line| line.map(|(line, _)| (line.method, line.version)));
        assert_eq!(actual, expected, "{}", input.escape_ascii());
    }

    #[test]
    fn methods() {
        for (name, method) in [
            ("GET", Method::Get),
            ("HEAD", Method::Head),
            ("OPTIONS", Method::Options),
            ("POST", Method::Post),
            ("PUT", Method::Put),
            ("DELETE", Method::Delete),
            ("PATCH", Method::Patch),
            ("TRACE", Method::Trace),
            ("get", Method::Other),
            ("Get", Method::Other),
            ("GETT", Method::Other),
            ("GE", Method::Other),
            ("PRI", Method::Other),
            ("PROPFIND", Method::Other),
            ("M-SEARCH", Method::Other),
            ("!#$%&'*+-.^_`|~09azAZ", Method::Other),
            (&"M".repeat(MAX_METHOD), Method::Other),
        ] {
            let line = format!("{name} / HTTP/1.1\r\n");
            check(line.as_bytes(), Ok(Some((method, Version::Http11))));
        }
        check(
            b"CONNECT a:1 HTTP/1.1\r\n",
            Ok(Some((Method::Connect, Version::Http11))),
        );
    }

    #[test]
    fn methods_that_are_refused() {
        for input in [
            &b" "[..],
            b" GET / HTTP/1.1\r\n",
            b"\tGET / HTTP/1.1\r\n",
            b"GE\x00T / HTTP/1.1\r\n",
            b"G\xc3\x89T / HTTP/1.1\r\n",
            b"GET\r\n",
            b"GET\n",
            b"GET\t/ HTTP/1.1\r\n",
            b"G(T / HTTP/1.1\r\n",
            b"\"GET\" / HTTP/1.1\r\n",
            b"GET/ HTTP/1.1\r\n",
            b"GET: / HTTP/1.1\r\n",
            b"{}",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"\0",
        ] {
            check(input, Err(ParseError::Method));
        }
        let long = "M".repeat(MAX_METHOD + 1);
        check(long.as_bytes(), Err(ParseError::MethodTooLong));
        check(
            format!("{long} / HTTP/1.1\r\n").as_bytes(),
            Err(ParseError::MethodTooLong),
        );
    }

    #[test]
    fn versions() {
        for (version, expected) in [
            ("HTTP/1.0", Version::Http10),
            ("HTTP/1.1", Version::Http11),
            ("HTTP/1.2", Version::Http11),
            ("HTTP/1.9", Version::Http11),
        ] {
            for end in ["\r\n", "\n", "\r\nHost", "\n\n"] {
                let line = format!("GET / {version}{end}");
                check(line.as_bytes(), Ok(Some((Method::Get, expected))));
            }
        }
        for version in [
            "HTTP/2.0", "HTTP/3.0", "HTTP/0.9", "HTTP/0.0", "HTTP/2.1", "HTTP/9.9",
        ] {
            let line = format!("GET / {version}\r\n");
            check(line.as_bytes(), Err(ParseError::VersionUnsupported));
        }
        check(
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            Err(ParseError::VersionUnsupported),
        );
        for version in [
            "",
            " ",
            "\r",
            "http/1.1",
            "Http/1.1",
            "HTTP",
            "HTTP/",
            "HTTP/1",
            "HTTP/1.",
            "HTTP/.1",
            "HTTP/11",
            "HTTP/1.10",
            "HTTP/1.01",
            "HTTP/01.1",
            "HTTP/10.1",
            "HTTP/1,1",
            "HTTP/1.x",
            "HTTP/x.1",
            "HTTP/+1.1",
            "HTTP/-1.1",
            "HTTP 1.1",
            "HTTP/ 1.1",
            "HTTP/1. 1",
            "HTTP/1.1 ",
            "HTTP/1.1\t",
            "HTTP/1.1\r",
            "\rHTTP/1.1",
            " HTTP/1.1",
            "HTTP/1.1 x",
            "HTTP/1.1;",
            "HTTPS/1.1",
            "HTCPCP/1.0",
            "ICY",
            "HTTP/1.1\0",
            "/x HTTP/1.1",
            "HTTP/\u{661}.1",
            "HTTP/1.1 HTTP/1.1",
            "HTTP/2.0 ",
        ] {
            let line = format!("GET / {version}\r\n");
            check(line.as_bytes(), Err(ParseError::Version));
        }
        // CR as the only line end, as some very old clients had it.
        check(b"GET / HTTP/1.1\rHost: a\r\r", Err(ParseError::Version));
    }

    #[test]
    fn targets_that_are_refused() {
        for input in [
            &b"GET  / HTTP/1.1\r\n"[..],
            b"GET /\0 HTTP/1.1\r\n",
            b"GET /\t HTTP/1.1\r\n",
            b"GET /\x01 HTTP/1.1\r\n",
            b"GET /\x1f HTTP/1.1\r\n",
            b"GET /\x7f HTTP/1.1\r\n",
            b"GET /# HTTP/1.1\r\n",
            b"GET /a#b HTTP/1.1\r\n",
            b"GET # HTTP/1.1\r\n",
            b"GET \t/ HTTP/1.1\r\n",
        ] {
            check(input, Err(ParseError::TargetByte));
        }
        for input in [
            &b"GET /\r\n"[..],
            b"GET /\n",
            b"GET \r\n",
            b"GET \n",
            b"GET /\rx",
        ] {
            check(input, Err(ParseError::VersionMissing));
        }
        check(b"GET /a b HTTP/1.1\r\n", Err(ParseError::Version));
    }

    #[test]
    fn every_byte_in_a_target() {
        for byte in 0..=u8::MAX {
            let line = [b"GET /", &[byte][..], b"x HTTP/1.1\r\n"].concat();
            let actual = parse(&line, MAX_TARGET);
            let expected = match byte {
                b' ' => Err(ParseError::Version),
                b'\r' | b'\n' => Err(ParseError::VersionMissing),
                0..0x20 | 0x7f | b'#' => Err(ParseError::TargetByte),
                _ => Ok(()),
            };
            assert_eq!(
                actual.map(|line| assert!(line.is_some())),
                expected,
                "{byte:#x}"
            );
        }
    }

    #[test]
    fn the_longest_line() {
        let target = format!("/{}", "x".repeat(MAX_TARGET - 1));
        let method = "M".repeat(MAX_METHOD);
        let line = format!("{method} {target} HTTP/1.1\r\n");
        assert_eq!(line.len(), longest(MAX_TARGET));
        check(line.as_bytes(), Ok(Some((Method::Other, Version::Http11))));
        for line in [
            format!("GET {target}x HTTP/1.1\r\n"),
            format!("GET {target}x"),
            format!("GET {target}/ HTTP/9"),
            format!("GET {target}x\0"),
        ] {
            check(line.as_bytes(), Err(ParseError::TargetTooLong));
        }
        check(
            format!("GET {target}\0").as_bytes(),
            Err(ParseError::TargetByte),
        );
        check(format!("GET {target}").as_bytes(), Ok(None));
        // A line of that length that has not ended is refused, whatever it is.
        for byte in [b'M', b'/', b' ', b'\r', b'\0', b'%', 0xff] {
            let line = [b"GET /".as_slice(), &vec![byte; longest(MAX_TARGET) - 5]].concat();
            assert!(parse(&line, MAX_TARGET).is_err(), "{byte:#x}");
            let line = vec![byte; longest(MAX_TARGET)];
            assert!(parse(&line, MAX_TARGET).is_err(), "{byte:#x}");
        }
    }

    #[test]
    fn what_has_not_ended_is_not_judged() {
        let line = b"GET /x?y HTTP/1.1\r\n";
        for end in 0..line.len() {
            check(&line[..end], Ok(None));
        }
        assert_eq!(
            parse(b"GET / HTTP/1.1\r\nrest", 16).unwrap().unwrap().1,
            b"rest"
        );
    }

    #[test]
    fn the_method_of_a_head_that_is_not_whole_or_not_valid() {
        for (input, expected) in [
            (&b"HEAD "[..], Some(Method::Head)),
            (b"\r\n\nHEAD / HTTP/9\r\n", Some(Method::Head)),
            (b"GET /\0", Some(Method::Get)),
            (b"head /", Some(Method::Other)),
            (b"HEAD", None),
            (b"HEAD\t/", None),
            (b" HEAD /", None),
            (b"", None),
        ] {
            assert_eq!(request_method(input), expected, "{}", input.escape_ascii());
        }
    }
}
