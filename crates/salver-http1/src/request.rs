//! The parser of request heads (RFC 9112 sections 2 to 6).

use std::borrow::Cow;

use salver_semantics::{Method, Refusal, RequestFields};

use crate::error::ParseError;
use crate::fields::{ControlFields, KeptFields};
use crate::framing::{self, BodyLength};
use crate::limits::{FIELDS_AT_MOST, Limits};
use crate::raw_head::RawHead;
use crate::request_line::{self, RequestLine, Version};
use crate::section;
use crate::target::RequestTarget;

/// The number of empty lines that are skipped before a request line (RFC 9112 section 2.2 asks for at least one).
pub(crate) const MAX_EMPTY_LINES: usize = 4;

/// The head of a request. It borrows from the bytes that it was read from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestHead<'b> {
    /// The method.
    pub method: Method,
    /// The request target.
    pub target: RequestTarget<'b>,
    /// The version by which the request is understood.
    pub version: Version,
    /// True if the connection lasts beyond the answer (RFC 9112 section 9.3), as far as the client is concerned.
    pub persistent: bool,
    /// The fields that select and condition a representation.
    pub fields: RequestFields<'b>,
    /// The length of the body.
    pub body: BodyLength,
    /// True if the client waits for `100 Continue` before it sends the body (RFC 9110 section 10.1.1); false without
    /// a body.
    pub expect_continue: bool,
    /// The head as it was received.
    pub raw: RawHead<'b>,
}

impl RequestHead<'_> {
    /// A blank head to write into.
    #[inline]
    pub(crate) fn blank() -> Self {
        RequestHead {
            method: Method::Other,
            target: RequestTarget::Asterisk,
            version: Version::Http10,
            persistent: false,
            fields: RequestFields::default(),
            body: BodyLength::None,
            expect_continue: false,
            raw: RawHead::default(),
        }
    }

    /// The same head, borrowing nothing: to be kept while the body is received.
    pub fn into_owned(self) -> OwnedRequestHead {
        let (asks_path, path, query) = match self.target {
            RequestTarget::Path { path, query } => (true, path.to_vec(), query.map(<[u8]>::to_vec)),
            RequestTarget::Asterisk | RequestTarget::Authority => (false, Vec::new(), None),
        };
        let head = RequestHead {
            method: self.method,
            target: match self.target {
                RequestTarget::Authority => RequestTarget::Authority,
                _ => RequestTarget::Asterisk,
            },
            version: self.version,
            persistent: self.persistent,
            fields: self.fields.into_owned(),
            body: self.body,
            expect_continue: self.expect_continue,
            raw: RawHead::default(),
        };
        OwnedRequestHead {
            head,
            raw: self.raw.bytes.to_vec(),
            path: asks_path.then_some(path),
            query,
        }
    }
}

/// The head of a request that owns its bytes; see [`RequestHead::into_owned`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnedRequestHead {
    /// `target` holds only in the absence of `path`, and `raw` is elsewhere.
    head: RequestHead<'static>,
    raw: Vec<u8>,
    path: Option<Vec<u8>>,
    query: Option<Vec<u8>>,
}

impl OwnedRequestHead {
    /// The head as it was read.
    pub fn borrow(&self) -> RequestHead<'_> {
        let target = match &self.path {
            Some(path) => RequestTarget::Path {
                path,
                query: self.query.as_deref(),
            },
            None => self.head.target,
        };
        RequestHead {
            target,
            fields: self.head.fields.reborrow(),
            raw: RawHead::again(&self.raw),
            ..self.head
        }
    }
}

/// Reads the head of a request from the beginning of `input`.
///
/// Returns the head and its length in bytes, the empty lines before it included; `None` if the head is incomplete.
/// The outcome for some bytes never changes when more follow, except from `None` to a head or an error. Nothing is
/// allocated unless a field that is kept has several lines.
///
/// A lone LF is taken for a line end, as RFC 9112 section 2.2 allows; CR anywhere but before LF is
/// an error.
///
/// # Errors
/// [`Refusal`] with the status to send, for all that RFC 9112 has a server refuse. The request line is judged first,
/// then the syntax of the field lines in their order, then Host, then the framing, then Expect.
pub fn parse<'b>(
    input: &'b [u8],
    limits: &Limits,
) -> Result<Option<(RequestHead<'b>, usize)>, Refusal> {
    let (lines, rest) = request_line::skip_empty_lines(input);
    if lines > MAX_EMPTY_LINES {
        return Err(ParseError::EmptyLines.into());
    }
    let mut head = RequestHead::blank();
    let length = parse_head(rest, limits, &mut head)?;
    Ok(length.map(|length| (head, input.len() - rest.len() + length)))
}

/// As [`parse`], for bytes that begin with the request line. Returns the length of the head, which
/// is written into `head`: it is large, and to move it costs about as much as to read it.
///
/// If the head is incomplete, or there is an error, `head` must not be used.
#[inline(never)]
pub(crate) fn parse_head<'b>(
    input: &'b [u8],
    limits: &Limits,
    head: &mut RequestHead<'b>,
) -> Result<Option<usize>, ParseError> {
    // CR may yet become an empty line.
    match input {
        [] | [b'\r'] => return Ok(None),
        [b'\r', ..] => return Err(ParseError::LineEnd),
        _ => {}
    }
    // Nothing behind the limit is read: the outcome for a head that is too long does not depend on how much of it has
    // been received.
    let window = input.get(..limits.max_head).unwrap_or(input);
    let incomplete = || {
        if window.len() < limits.max_head {
            Ok(None)
        } else {
            Err(ParseError::HeadTooLarge)
        }
    };
    let Some((line, section)) = request_line::parse(window, limits.max_target)? else {
        return incomplete();
    };
    let mut control = ControlFields::default();
    let mut kept = KeptFields {
        control: &mut control,
        fields: &mut head.fields,
        noted: &mut head.raw.noted,
    };
    let max_fields = limits.max_fields.min(FIELDS_AT_MOST);
    let length = section::parse(section, max_fields, |name, value| kept.add(name, value))?;
    let Some(length) = length else {
        return incomplete();
    };
    let RequestLine {
        method,
        target,
        version,
    } = line;
    control.check_host(version)?;
    head.method = method;
    head.target = target;
    head.version = version;
    head.body = framing::body_length(&control, version, limits)?;
    head.expect_continue = control.expects_continue(version)? && head.body != BodyLength::None;
    head.persistent = control.is_persistent(version);
    let length = window.len() - section.len() + length;
    head.raw.bytes = window.get(..length).unwrap_or_default();
    head.raw.host = match control.host {
        Some(Cow::Borrowed(host)) => Some(host),
        _ => None,
    };
    Ok(Some(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn head<'b>(input: &'b [u8], limits: &Limits) -> RequestHead<'b> {
        let (head, length) = parse(input, limits).unwrap().unwrap();
        assert_eq!(length, input.len());
        head
    }

    #[track_caller]
    fn check(input: &[u8], limits: &Limits, expected: Result<bool, u16>) {
        let actual = parse(input, limits).map(|head| head.is_some());
        let actual = actual.map_err(|refusal| refusal.status);
        assert_eq!(actual, expected, "{}", input.escape_ascii());
    }

    #[test]
    fn a_whole_request() {
        let input = b"\r\nGET /a?b HTTP/1.1\r\nHost: a\r\nAccept-Encoding:\t br, gzip \r\n\
            If-None-Match: \"1\"\r\nIf-None-Match: \"2\"\r\nContent-Length: 3\r\n\
            Expect: 100-continue\r\nConnection: close\r\n\r\n";
        let expected = RequestHead {
            method: Method::Get,
            target: RequestTarget::Path {
                path: b"/a",
                query: Some(b"b"),
            },
            version: Version::Http11,
            persistent: false,
            fields: RequestFields {
                accept_encoding: Some(Cow::Borrowed(b"br, gzip")),
                if_none_match: Some(Cow::Borrowed(b"\"1\", \"2\"")),
                ..RequestFields::default()
            },
            body: BodyLength::Sized(3),
            expect_continue: true,
            raw: RawHead::again(&input[2..]),
        };
        let head = head(input, &Limits::default());
        assert_eq!(head, expected);
        assert!(matches!(
            head.fields.accept_encoding,
            Some(Cow::Borrowed(_))
        ));
        let next = [input.as_slice(), b"xyzGET /"].concat();
        let pipelined = parse(&next, &Limits::default());
        assert_eq!(pipelined, Ok(Some((expected, input.len()))));
    }

    #[test]
    fn all_field_lines_are_there() {
        let input = b"PROPFIND /a HTTP/1.1\r\nHost: a\nReferer:\t12:30 \r\nEmpty:\r\n\r\n";
        let head = head(input, &Limits::default());
        assert_eq!(head.raw.method_token(), b"PROPFIND");
        let expected: [(&[u8], &[u8]); 3] =
            [(b"Host", b"a"), (b"Referer", b"12:30"), (b"Empty", b"")];
        assert!(head.raw.field_lines().eq(expected));
        assert_eq!(head.raw.noted().referer, Some(b"12:30".as_slice()));
        let owned = head.clone().into_owned();
        assert!(owned.borrow().raw.field_lines().eq(expected));
    }

    #[test]
    fn the_authority_is_that_of_the_target_or_of_the_field() {
        let check = |input: &str, expected: Option<&str>| {
            let head = head(input.as_bytes(), &Limits::default());
            let owned = head.clone().into_owned();
            for raw in [head.raw, owned.borrow().raw] {
                assert_eq!(raw.authority(), crate::authority(input.as_bytes()));
                assert_eq!(raw.authority(), expected.map(str::as_bytes), "{input}");
            }
        };
        check("GET / HTTP/1.1\r\nHost:\t a:1 \r\n\r\n", Some("a:1"));
        check("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", Some("b"));
        check("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", Some("a"));
        check("CONNECT a:1 HTTP/1.1\r\nHost: b:1\r\n\r\n", Some("b:1"));
        check("GET / HTTP/1.0\r\n\r\n", None);
    }

    #[test]
    fn owned_heads_say_the_same() {
        for input in [
            &b"GET /a?b HTTP/1.1\r\nHost: a\r\nRange: bytes=0-\r\nIf-Range: \"x\"\r\n\r\n"[..],
            b"HEAD /a HTTP/1.0\r\n\r\n",
            b"PUT /? HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
            b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n",
        ] {
            let head = head(input, &Limits::default());
            assert_eq!(head.clone().into_owned().borrow(), head);
        }
    }

    #[test]
    fn expect_continue_needs_a_body() {
        for (input, expected) in [
            (
                &b"GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n"[..],
                false,
            ),
            (
                b"GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n",
                false,
            ),
            (
                b"GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
                true,
            ),
            (
                b"GET / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
                false,
            ),
            (
                b"GET / HTTP/1.0\r\nExpect: else\r\nContent-Length: 1\r\n\r\n",
                false,
            ),
            (
                b"GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\
                  Transfer-Encoding: chunked\r\n\r\n",
                true,
            ),
        ] {
            let head = head(input, &Limits::default());
            assert_eq!(head.expect_continue, expected, "{}", input.escape_ascii());
        }
    }

    #[test]
    fn head_length_is_bounded() {
        let limits = Limits {
            max_head: 64,
            max_target: 16,
            max_fields: 8,
            max_body: 1,
        };
        let fitting = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(32));
        assert_eq!(fitting.len(), 64);
        head(fitting.as_bytes(), &limits);
        let too_long = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(33));
        check(too_long.as_bytes(), &limits, Err(431));
        for end in 0..64 {
            check(&fitting.as_bytes()[..end], &limits, Ok(false));
            check(&too_long.as_bytes()[..end], &limits, Ok(false));
        }
        check(&too_long.as_bytes()[..64], &limits, Err(431));
        // An error within the limit goes first, one behind it is not seen.
        check(too_long.replace("X:", "X :").as_bytes(), &limits, Err(400));
        let hidden = [&too_long.as_bytes()[..64], b"\0"].concat();
        check(&hidden, &limits, Err(431));
        // The empty lines before the request line don't count.
        check(format!("\r\n\r\n{fitting}").as_bytes(), &limits, Ok(true));
        // Limits that contradict each other refuse, and nothing else.
        let limits = Limits {
            max_head: 16,
            ..limits
        };
        check(b"GET /aaaaaaaaaaaaaaaa", &limits, Err(431));
        check(
            b"G",
            &Limits {
                max_head: 0,
                ..limits
            },
            Err(431),
        );
        check(
            b"",
            &Limits {
                max_head: 0,
                ..limits
            },
            Ok(false),
        );
    }

    #[test]
    fn field_lines_are_counted() {
        let request = |lines: usize| {
            format!(
                "GET / HTTP/1.1\r\nHost: a\r\n{}\r\n",
                "X: y\r\n".repeat(lines - 1)
            )
        };
        for (max_fields, at_most) in [
            (1, 1),
            (2, 2),
            (31, 31),
            (32, 32),
            (33, 33),
            (100, 100),
            (128, 128),
            (1000, 128),
        ] {
            let limits = Limits {
                max_fields,
                ..Limits::default()
            };
            check(request(at_most).as_bytes(), &limits, Ok(true));
            check(request(at_most + 1).as_bytes(), &limits, Err(431));
        }
        let none = Limits {
            max_fields: 0,
            ..Limits::default()
        };
        check(b"GET / HTTP/1.0\r\n\r\n", &none, Ok(true));
        check(b"GET / HTTP/1.0\r\nA: b\r\n\r\n", &none, Err(431));
    }

    #[test]
    fn every_byte_in_a_field_value() {
        // At each place, for the parser looks at many bytes at once.
        for byte in 0..=u8::MAX {
            for before in 0..40 {
                let before = "x".repeat(before);
                let line = [b"A: ", before.as_bytes(), &[byte], b"yzyzyzyzyzyzyzyzyzy"].concat();
                let input = [b"GET / HTTP/1.0\r\n", line.as_slice(), b"\r\n\r\n"].concat();
                let expected = match byte {
                    b'\t' | b' '..=b'~' | 0x80.. => Ok(true),
                    // A line end: the next line has no colon.
                    _ => Err(400),
                };
                check(&input, &Limits::default(), expected);
            }
        }
    }

    #[test]
    fn every_byte_in_a_field_name() {
        for byte in 0..=u8::MAX {
            for before in 0..40 {
                let before = "x".repeat(before);
                let line = [before.as_bytes(), &[byte], b"yzyzyzyzyzyzyzyz:"].concat();
                let input = [b"GET / HTTP/1.0\r\n", line.as_slice(), b"\r\n\r\n"].concat();
                let is_name = salver_semantics::field::is_token(&[byte])
                    || (byte == b':' && !before.is_empty());
                // At the start of a line, LF ends the head; what follows is not looked at.
                let expected = if is_name || (byte == b'\n' && before.is_empty()) {
                    Ok(true)
                } else {
                    Err(400)
                };
                check(&input, &Limits::default(), expected);
            }
        }
    }

    #[test]
    fn empty_lines() {
        let request = "GET / HTTP/1.0\r\n\r\n";
        for end in ["\r\n", "\n"] {
            let lines = end.repeat(MAX_EMPTY_LINES);
            head(format!("{lines}{request}").as_bytes(), &Limits::default());
            check(lines.as_bytes(), &Limits::default(), Ok(false));
            check(
                format!("{lines}{end}").as_bytes(),
                &Limits::default(),
                Err(400),
            );
            check(
                format!("{lines}{end}{request}").as_bytes(),
                &Limits::default(),
                Err(400),
            );
        }
        for input in ["\r\r\n", "\rG", " \r\n", "\t\r\n", "\0\r\n", "\r\n "] {
            check(
                format!("{input}{request}").as_bytes(),
                &Limits::default(),
                Err(400),
            );
        }
        check(b"\r", &Limits::default(), Ok(false));
    }
}
