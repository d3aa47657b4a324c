//! Bytes to a request head (RFC 9112 sections 2 to 6).

use crate::error::{ParseError, Refusal};
use crate::fields::{self, Fields};
use crate::framing::{self, BodyLength};
use crate::limits::{FIELDS_AT_MOST, Limits};
use crate::request_line::{self, Method, RequestLine, Version};
use crate::target::Target;

/// Empty lines that are skipped before a request line (RFC 9112 section 2.2 asks for at least one).
pub(crate) const MAX_EMPTY_LINES: usize = 4;

/// Field lines for which the parser has room at once. A browser sends 12 to 20. Room for more is
/// made only when there are more: clearing it costs about as much as reading a small request.
const FIELDS_AT_FIRST: usize = 32;

/// A request without its content. It borrows from the bytes it was read from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestHead<'b> {
    /// The method.
    pub method: Method,
    /// What it asks about.
    pub target: Target<'b>,
    /// The version by which it is understood.
    pub version: Version,
    /// Whether the connection lasts beyond the answer (RFC 9112 section 9.3), as far as the client
    /// is concerned.
    pub persistent: bool,
    /// The fields that select and condition a representation.
    pub fields: Fields<'b>,
    /// What follows the head.
    pub body: BodyLength,
    /// Whether the client waits for `100 Continue` before it sends the body (RFC 9110 section
    /// 10.1.1). Never set without a body.
    pub expect_continue: bool,
}

impl RequestHead<'_> {
    /// The same request with no tie to the bytes it was read from: to be kept while its body is
    /// skipped.
    pub fn into_owned(self) -> OwnedRequestHead {
        let (asks_path, path, query) = match self.target {
            Target::Path { path, query } => (true, path.to_vec(), query.map(<[u8]>::to_vec)),
            Target::Asterisk | Target::Authority => (false, Vec::new(), None),
        };
        let head = RequestHead {
            method: self.method,
            target: match self.target {
                Target::Authority => Target::Authority,
                _ => Target::Asterisk,
            },
            version: self.version,
            persistent: self.persistent,
            fields: self.fields.into_owned(),
            body: self.body,
            expect_continue: self.expect_continue,
        };
        OwnedRequestHead {
            head,
            path: asks_path.then_some(path),
            query,
        }
    }
}

/// A request head that owns its bytes; see [`RequestHead::into_owned`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnedRequestHead {
    /// `target` holds only in the absence of `path`.
    head: RequestHead<'static>,
    path: Option<Vec<u8>>,
    query: Option<Vec<u8>>,
}

impl OwnedRequestHead {
    /// The request as it was read.
    pub fn borrow(&self) -> RequestHead<'_> {
        let target = match &self.path {
            Some(path) => Target::Path {
                path,
                query: self.query.as_deref(),
            },
            None => self.head.target,
        };
        RequestHead {
            target,
            fields: self.head.fields.reborrow(),
            ..self.head
        }
    }
}

/// Reads the head of a request from the beginning of `input`.
///
/// Returns the head and its length in bytes, the empty lines before it included; `None` if it has
/// not come whole yet. The outcome for some bytes never changes when more follow, except from `None`
/// to something. Nothing is allocated unless a field that is kept has several lines.
///
/// A lone LF is taken for a line end, as RFC 9112 section 2.2 allows; CR anywhere but before LF is
/// an error.
///
/// # Errors
/// Whatever RFC 9112 has a server refuse, with the status to send. The request line is judged
/// first, then the syntax of the field lines in their order, then Host, then the framing, then
/// Expect.
pub fn parse<'b>(
    input: &'b [u8],
    limits: &Limits,
) -> Result<Option<(RequestHead<'b>, usize)>, Refusal> {
    let (lines, rest) = skip_empty_lines(input);
    if lines > MAX_EMPTY_LINES {
        return Err(ParseError::EmptyLines.into());
    }
    match parse_head(rest, limits)? {
        Some((head, length)) => Ok(Some((head, input.len() - rest.len() + length))),
        None => Ok(None),
    }
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

/// As [`parse`], for bytes that begin with the request line.
pub(crate) fn parse_head<'b>(
    input: &'b [u8],
    limits: &Limits,
) -> Result<Option<(RequestHead<'b>, usize)>, ParseError> {
    // CR may yet become an empty line.
    match input {
        [] | [b'\r'] => return Ok(None),
        [b'\r', ..] => return Err(ParseError::LineEnd),
        _ => {}
    }
    // Nothing behind the limit is looked at: a head that is too long is the same head however much
    // of it has come.
    let window = input.get(..limits.max_head).unwrap_or(input);
    let incomplete = if window.len() < limits.max_head {
        Ok(None)
    } else {
        Err(ParseError::HeadTooLarge)
    };
    let Some((line, section)) = request_line::parse(window, limits.max_target)? else {
        return incomplete;
    };
    match parse_section(line, section, limits)? {
        Some((head, length)) => Ok(Some((head, window.len() - section.len() + length))),
        None => incomplete,
    }
}

/// Reads the field section: makes room for its lines, and for more only if they are needed.
fn parse_section<'b>(
    line: RequestLine<'b>,
    section: &'b [u8],
    limits: &Limits,
) -> Result<Option<(RequestHead<'b>, usize)>, ParseError> {
    let max_fields = limits.max_fields.min(FIELDS_AT_MOST);
    let mut room = [httparse::EMPTY_HEADER; FIELDS_AT_FIRST];
    let first = max_fields.min(FIELDS_AT_FIRST);
    let room = room.get_mut(..first).unwrap_or_default();
    match httparse::parse_headers(section, room) {
        Err(httparse::Error::TooManyHeaders) if max_fields > FIELDS_AT_FIRST => {
            let mut room = [httparse::EMPTY_HEADER; FIELDS_AT_MOST];
            let room = room.get_mut(..max_fields).unwrap_or_default();
            finish(line, httparse::parse_headers(section, room), limits)
        }
        parsed => finish(line, parsed, limits),
    }
}

/// Judges a field section as a whole.
fn finish<'b>(
    line: RequestLine<'b>,
    parsed: httparse::Result<(usize, &[httparse::Header<'b>])>,
    limits: &Limits,
) -> Result<Option<(RequestHead<'b>, usize)>, ParseError> {
    let httparse::Status::Complete((length, lines)) = parsed? else {
        return Ok(None);
    };
    let (control, fields) = fields::gather(lines);
    let RequestLine {
        method,
        target,
        version,
    } = line;
    control.check_host(version)?;
    let body = framing::body_length(&control, version, limits)?;
    let expect_continue = control.expects_continue(version)? && body != BodyLength::None;
    let persistent = control.is_persistent(version);
    let head = RequestHead {
        method,
        target,
        version,
        persistent,
        fields,
        body,
        expect_continue,
    };
    Ok(Some((head, length)))
}
