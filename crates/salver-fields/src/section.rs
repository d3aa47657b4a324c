//! The field section of a request, checked line by line and made its head (RFC 9113 sections 8.2 and 8.3.1, RFC 9114
//! sections 4.2 and 4.3.1).

use std::borrow::Cow;

use salver_semantics::field::is_token;
use salver_semantics::{
    Authority, Method, Refusal, RequestFields, RequestLimits, authority, message,
};

use crate::line::FieldLine;
use crate::priority::Priority;
use crate::request::{FieldLines, Rejection, RequestHead, Span};

/// The overhead of a line, counted beside its bytes (RFC 9113 section 6.5.2, RFC 9114 section 4.2.2).
const LINE_OVERHEAD: usize = 32;

/// Buffers for reading a field section. One serves all connections of a thread in turn.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The section.
    pub section: FieldSection,
    /// The buffer in which a decoder puts strings together.
    pub text: Vec<u8>,
}

/// A field section that is being read: its lines as far as they are of use. Can be used for one section after the
/// other.
#[derive(Debug, Default)]
pub struct FieldSection {
    /// The bytes of the names and values that are kept.
    text: Vec<u8>,
    /// The spans of name and value: of the fields of [`RequestFields`], or of all lines.
    fields: Vec<(Span, Span)>,
    keeps_lines: bool,
    takes_protocol: bool,
    state: SectionState,
}

/// The state of a section after the lines so far.
#[derive(Debug, Default)]
struct SectionState {
    method: Option<Method>,
    has_scheme: bool,
    authority: Option<Span>,
    path: Option<PathValue>,
    /// True if there is a `:protocol`: CONNECT is an extended one (RFC 8441).
    has_protocol: bool,
    /// True after the first field, which no pseudo-field may follow.
    has_fields: bool,
    host: Option<Span>,
    content_length: Option<u64>,
    expects_continue: bool,
    priority: Priority,
    /// The number of lines that are no pseudo-fields.
    lines: usize,
    /// The size of all lines, with their overhead.
    size: usize,
    /// The first rejection, after which no further line is looked at.
    rejection: Option<Rejection>,
    /// The first refusal, which is the answer unless the section turns out to be malformed.
    refusal: Option<Refusal>,
}

/// The value of `:path`.
#[derive(Debug)]
enum PathValue {
    Kept(Span),
    TooLong,
}

/// The parts of a request target.
struct Target<'a> {
    path: &'a [u8],
    query: Option<&'a [u8]>,
    /// True if it holds a byte that none may hold.
    is_odd: bool,
}

impl<'a> Target<'a> {
    fn of_path(path: &'a [u8]) -> Self {
        Target {
            path,
            query: None,
            is_odd: false,
        }
    }

    fn split(target: &'a [u8]) -> Self {
        let is_odd = |byte: &u8| *byte <= b' ' || *byte == 0x7f || *byte == b'#';
        // Most have neither a query nor an odd byte, and are passed once.
        if !target.iter().any(|byte| *byte == b'?' || is_odd(byte)) {
            return Target::of_path(target);
        }
        let mut parts = target.splitn(2, |&byte| byte == b'?');
        Target {
            path: parts.next().unwrap_or_default(),
            query: parts.next(),
            is_odd: target.iter().any(is_odd),
        }
    }
}

const fn malformed(reason: &'static str) -> Rejection {
    Rejection::Malformed(reason)
}

impl FieldSection {
    /// Sets if all lines are kept, for [`RequestHead::lines`], or only what the head itself needs. At first they are
    /// not. Stays as it is when the section is [cleared](Self::clear).
    pub fn keep_lines(&mut self, keeps_lines: bool) {
        self.keeps_lines = keeps_lines;
    }

    /// Sets if `:protocol` is a pseudo-field, because the client has been told so (RFC 8441 section 3). At first it is not.
    /// Stays as it is when the section is [cleared](Self::clear).
    pub fn take_protocol(&mut self, takes_protocol: bool) {
        self.takes_protocol = takes_protocol;
    }

    /// Empties the section, whose memory stays for the next.
    pub fn clear(&mut self) {
        self.text.clear();
        self.fields.clear();
        self.state = SectionState::default();
    }

    /// Adds the next line. Of a section that is malformed or too large nothing more is kept.
    pub fn add(&mut self, limits: &RequestLimits, line: FieldLine<'_>) {
        let FieldLine { name, value, .. } = line;
        let pseudo = name.strip_prefix(b":");
        if self.state.rejection.is_none() {
            let added = match pseudo {
                Some(name) => self.add_pseudo_field(limits, name, &line),
                None => self.add_field(limits, &line),
            };
            self.state.rejection = added.err();
        } else if name == b":method" && self.state.method.is_none() {
            // The answer to HEAD has no content even if the request is malformed.
            self.state.method = Some(Method::from_token(value));
        }
    }

    /// Checks the size and grammar of a line, and keeps it if all are kept.
    fn check(&mut self, limits: &RequestLimits, line: &FieldLine<'_>) -> Result<(), Rejection> {
        let FieldLine {
            name,
            value,
            is_valid,
        } = *line;
        let too_large = |reason| {
            let status = 431;
            Err(Rejection::Refused(Refusal { status, reason }))
        };
        self.state.size += name.len() + value.len() + LINE_OVERHEAD;
        if self.state.size > limits.max_head {
            return too_large("The field section is too large");
        }
        if self.state.lines > limits.max_fields {
            return too_large("Too many field lines");
        }
        if !is_valid {
            return Err(malformed("A field name or value is invalid"));
        }
        if self.keeps_lines {
            self.keep_line(name, value);
        }
        Ok(())
    }

    fn add_pseudo_field(
        &mut self,
        limits: &RequestLimits,
        name: &[u8],
        line: &FieldLine<'_>,
    ) -> Result<(), Rejection> {
        self.check(limits, line)?;
        if self.state.has_fields {
            return Err(malformed("A pseudo-field stands behind a field"));
        }
        let value = line.value;
        let is_new = match name {
            b"method" => {
                if !is_token(value) {
                    return Err(malformed("The :method is not a token"));
                }
                let method = Method::from_token(value);
                self.state.method.replace(method).is_none()
            }
            b"scheme" => {
                if !is_web_scheme(value) {
                    self.refuse(400, "The scheme is not that of the web");
                }
                !std::mem::replace(&mut self.state.has_scheme, true)
            }
            b"path" => {
                let path = if value.len() > limits.max_target {
                    self.refuse(414, "The request target is too long");
                    PathValue::TooLong
                } else {
                    PathValue::Kept(self.keep(value))
                };
                self.state.path.replace(path).is_none()
            }
            b"authority" => {
                let span = self.keep(value);
                self.state.authority.replace(span).is_none()
            }
            b"protocol" if self.takes_protocol => {
                if !is_token(value) {
                    return Err(malformed("The :protocol is not a token"));
                }
                !std::mem::replace(&mut self.state.has_protocol, true)
            }
            // Unknown ones, `:status` among them.
            _ => return Err(malformed("A pseudo-field is not known")),
        };
        is_new
            .then_some(())
            .ok_or(malformed("A pseudo-field is repeated"))
    }

    fn add_field(&mut self, limits: &RequestLimits, line: &FieldLine<'_>) -> Result<(), Rejection> {
        self.state.has_fields = true;
        self.state.lines += 1;
        self.check(limits, line)?;
        if line.is_of_connection() {
            return Err(malformed("A field is one of the connection"));
        }
        let FieldLine { name, value, .. } = *line;
        match name {
            b"host" => {
                let span = self.keep(value);
                if self.state.host.replace(span).is_some() {
                    self.refuse(400, "The Host field is repeated");
                }
            }
            b"content-length" => match message::content_length(value) {
                Some(length) if self.state.content_length.is_none() => {
                    self.state.content_length = Some(length);
                    if length > limits.max_body {
                        self.refuse(413, "The content is too large");
                    }
                }
                _ => return Err(malformed("The Content-Length field is invalid or repeated")),
            },
            b"expect" => match message::expects_continue(value) {
                Some(expects) => self.state.expects_continue |= expects,
                None => self.refuse(417, "The only expectation that can be met is 100-continue"),
            },
            b"priority" => self.state.priority.add(value),
            _ if self.keeps_lines => {}
            _ => {
                if RequestFields::have(name) {
                    self.keep_line(name, value);
                }
            }
        }
        Ok(())
    }

    fn keep_line(&mut self, name: &[u8], value: &[u8]) {
        let name = self.keep(name);
        let value = self.keep(value);
        self.fields.push((name, value));
    }

    fn keep(&mut self, value: &[u8]) -> Span {
        let start = self.text.len();
        self.text.extend_from_slice(value);
        start..self.text.len()
    }

    /// Notes a refusal; the first one stands.
    fn refuse(&mut self, status: u16, reason: &'static str) {
        self.state.refusal.get_or_insert(Refusal { status, reason });
    }

    fn text(&self, span: &Span) -> &[u8] {
        self.text.get(span.clone()).unwrap_or_default()
    }

    /// The method as soon as it has come, though the section is malformed: the answer to HEAD has no content (RFC
    /// 9110 section 9.3.2).
    pub fn method(&self) -> Option<Method> {
        self.state.method
    }

    /// The memory of an [owned](RequestHead::into_owned) head in bytes, about: its fields may be kept by themselves
    /// and as lines.
    pub fn held(&self) -> usize {
        self.text.len() * 2
    }

    /// All lines, if they are [kept](Self::keep_lines).
    pub fn lines(&self) -> FieldLines<'_> {
        match self.keeps_lines {
            true => FieldLines {
                text: Cow::Borrowed(&self.text),
                spans: Cow::Borrowed(&self.fields),
            },
            false => FieldLines::default(),
        }
    }

    /// The head of the request.
    ///
    /// # Errors
    /// [`Rejection`] if the lines make none.
    pub fn request(&self) -> Result<RequestHead<'_>, Rejection> {
        let state = &self.state;
        if let Some(rejection) = state.rejection {
            return Err(rejection);
        }
        let method = state.method.ok_or(malformed("The :method is missing"))?;
        let target = self.target(method)?;
        let refusal = state.refusal.or_else(|| {
            target.is_odd.then_some(Refusal {
                status: 400,
                reason: "The request target holds an invalid byte",
            })
        });
        if let Some(refusal) = refusal.or_else(|| self.check_authority()) {
            return Err(Rejection::Refused(refusal));
        }
        Ok(RequestHead {
            method,
            path: Cow::Borrowed(target.path),
            query: target.query.map(Cow::Borrowed),
            authority: Cow::Borrowed(self.authority()),
            fields: self.request_fields(),
            lines: self.lines(),
            priority: state.priority,
            content_length: state.content_length,
            expects_continue: state.expects_continue,
        })
    }

    /// The request target (RFC 9113 section 8.3.1; section 8.5 for CONNECT, RFC 8441 section 4 for an extended one), empty
    /// if it is too long.
    fn target(&self, method: Method) -> Result<Target<'_>, Rejection> {
        let state = &self.state;
        let target = match (method, &state.path) {
            (Method::Connect, Some(path)) if state.has_protocol && state.has_scheme => path,
            _ if state.has_protocol => {
                return Err(malformed(
                    "A :protocol stands beside CONNECT, a :scheme and a :path",
                ));
            }
            (Method::Connect, None) if !state.has_scheme && state.authority.is_some() => {
                return Ok(Target::of_path(b"*"));
            }
            (Method::Connect, _) => {
                return Err(malformed(
                    "CONNECT has an :authority, no :scheme and no :path",
                ));
            }
            (_, Some(path)) if state.has_scheme => path,
            _ => return Err(malformed("The :scheme or the :path is missing")),
        };
        let target = match target {
            PathValue::Kept(span) => Target::split(self.text(span)),
            PathValue::TooLong => return Ok(Target::of_path(b"")),
        };
        match target.path {
            [b'/', ..] => Ok(target),
            b"*" if method == Method::Options && target.query.is_none() => Ok(target),
            _ => Err(malformed(
                "The request target has no valid form for this method",
            )),
        }
    }

    /// The authority: that of the pseudo-field, else of Host.
    fn authority(&self) -> &[u8] {
        let span = self.state.authority.as_ref().or(self.state.host.as_ref());
        span.map(|span| self.text(span)).unwrap_or_default()
    }

    /// Checks the authority (RFC 9113 section 8.3.1): http and https have one, in `:authority` or in Host, and if
    /// both are there they are the same.
    fn check_authority(&self) -> Option<Refusal> {
        let bad = |reason| {
            let status = 400;
            Some(Refusal { status, reason })
        };
        let text = |span: &Option<Span>| span.as_ref().map(|span| self.text(span));
        let name = match (text(&self.state.authority), text(&self.state.host)) {
            (Some(one), Some(other)) if !one.eq_ignore_ascii_case(other) => {
                return bad("The Host field differs from :authority");
            }
            (Some(name), _) | (None, Some(name)) => name,
            (None, None) => return bad("The :authority is missing"),
        };
        let is_valid = match self.state.method {
            // RFC 9110 section 9.3.6: 400 without a port.
            Some(Method::Connect) if !self.state.has_protocol => {
                Authority::parse(name).is_some_and(|name| name.has_port)
            }
            _ => authority::is_simple(name) || Authority::parse(name).is_some(),
        };
        match is_valid {
            true => None,
            false => bad("The :authority is invalid"),
        }
    }

    /// The fields that the engine reads, the lines of one name joined (RFC 9110 section 5.3).
    fn request_fields(&self) -> RequestFields<'_> {
        let mut fields = RequestFields::default();
        for (name, value) in &self.fields {
            fields.add(self.text(name), self.text(value));
        }
        fields
    }

    /// Checks the section as trailers, which have no pseudo-fields (RFC 9113 section 8.1, RFC 9114 section 4.3).
    ///
    /// # Errors
    /// [`Rejection`] if they are malformed or too large.
    pub fn check_trailers(&self) -> Result<(), Rejection> {
        let state = &self.state;
        match state.rejection {
            Some(rejection) => Err(rejection),
            None if state.method.is_some()
                || state.has_scheme
                || state.has_protocol
                || state.path.is_some()
                || state.authority.is_some() =>
            {
                Err(malformed("The trailer section holds a pseudo-field"))
            }
            None => Ok(()),
        }
    }
}

/// True for the schemes of the web (RFC 9110 section 4.2).
fn is_web_scheme(scheme: &[u8]) -> bool {
    let is_usual = matches!(scheme, b"https" | b"http");
    is_usual || scheme.eq_ignore_ascii_case(b"https") || scheme.eq_ignore_ascii_case(b"http")
}

#[cfg(test)]
mod tests;
