//! The request line (RFC 9112 section 3).
//!
//! httparse could read it, but takes neither HTTP/1.2 nor a target that is not UTF-8, and doesn't
//! tell what is wrong. The pass over the target is needed anyway: `#` has to be found.

use salver_semantics::field::is_token;

use crate::error::ParseError;
use crate::target::Target;

/// The protocol version by which a request is understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1, and every later HTTP/1.x: RFC 9110 section 2.5 has a recipient process a message
    /// of a higher minor version as the highest one it knows.
    Http11,
}

/// A request method (RFC 9110 section 9.3, RFC 5789). Methods are case-sensitive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Method {
    /// GET.
    Get,
    /// HEAD.
    Head,
    /// OPTIONS.
    Options,
    /// POST: known, to be answered with 405.
    Post,
    /// PUT: known, to be answered with 405.
    Put,
    /// DELETE: known, to be answered with 405.
    Delete,
    /// PATCH: known, to be answered with 405.
    Patch,
    /// CONNECT: known, to be answered with 405.
    Connect,
    /// TRACE: known, to be answered with 405.
    Trace,
    /// Any other token, `get` included: to be answered with 501.
    Other,
}

impl Method {
    fn from_token(token: &[u8]) -> Method {
        match token {
            b"GET" => Method::Get,
            b"HEAD" => Method::Head,
            b"OPTIONS" => Method::Options,
            b"POST" => Method::Post,
            b"PUT" => Method::Put,
            b"DELETE" => Method::Delete,
            b"PATCH" => Method::Patch,
            b"CONNECT" => Method::Connect,
            b"TRACE" => Method::Trace,
            _ => Method::Other,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RequestLine<'b> {
    pub(crate) method: Method,
    pub(crate) target: Target<'b>,
    pub(crate) version: Version,
}

/// The longest method that is looked at, in bytes.
const MAX_METHOD: usize = 64;

/// `HTTP/1.1` and CRLF.
const VERSION_AND_END: usize = 10;

/// A line that has not ended within this many bytes is refused by [`parse`].
pub(crate) fn longest(max_target: usize) -> usize {
    max_target.saturating_add(MAX_METHOD + 1 + 1 + VERSION_AND_END)
}

/// What a part of the line says, and the bytes behind it; `None` if it has not come whole.
type Part<'b, T> = Result<Option<(T, &'b [u8])>, ParseError>;

/// What stands before a byte, that byte, and what follows it.
type Divided<'b> = (&'b [u8], u8, &'b [u8]);

/// Reads the request line that `input` begins with. `Some` comes with what follows the line, `None`
/// says that the line has not ended yet.
///
/// The first byte that is wrong decides, however much follows it: the outcome doesn't depend on how
/// the bytes were divided into reads.
pub(crate) fn parse(input: &[u8], max_target: usize) -> Part<'_, RequestLine<'_>> {
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
    let target = Target::parse(method, target)?;
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

fn method(input: &[u8]) -> Part<'_, Method> {
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

/// Any byte but controls, SP and `#` is let through: RFC 3986 allows fewer, but what a path means
/// is decided once, where it is decoded.
fn target(input: &[u8], max_target: usize) -> Part<'_, &[u8]> {
    let ends = |byte: u8| byte <= b' ' || byte == b'#' || byte == 0x7f;
    match divide(input, max_target, ends) {
        Ok(Some((target, b' ', rest))) if !target.is_empty() => Ok(Some((target, rest))),
        // `GET /` alone is a simple request of HTTP/0.9.
        Ok(Some((_, b'\r' | b'\n', _))) => Err(ParseError::VersionMissing),
        Ok(Some(_)) => Err(ParseError::TargetByte),
        Ok(None) => Ok(None),
        Err(()) => Err(ParseError::TargetTooLong),
    }
}

fn version(input: &[u8]) -> Part<'_, Version> {
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
