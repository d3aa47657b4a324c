//! Field lines to a request (RFC 9113 sections 8.2 and 8.3.1, RFC 9114 sections 4.2 and 4.3.1).

use std::borrow::Cow;

use salver_semantics::field::is_token;
use salver_semantics::{
    Authority, Method, Refusal, RequestFields, RequestLimits, authority, message,
};

use crate::line::FieldLine;
use crate::priority::Priority;
use crate::request::{Lines, Place, Rejection, RequestHead};

/// What RFC 9113 section 6.5.2 and RFC 9114 section 4.2.2 count for a line besides its bytes.
const LINE: usize = 32;

/// What is used while a field section is read, and can serve all connections of a thread in turn.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The section.
    pub section: FieldSection,
    /// Where a decoder puts strings together.
    pub text: Vec<u8>,
}

/// The lines of one field section, as far as they are of use. Can be used for one after the other.
#[derive(Debug, Default)]
pub struct FieldSection {
    /// Names and values that are kept.
    text: Vec<u8>,
    /// Name and value of the fields of [`RequestFields`], or of all lines.
    fields: Vec<(Place, Place)>,
    keeps_lines: bool,
    seen: Seen,
}

/// What the lines so far amount to.
#[derive(Debug, Default)]
struct Seen {
    method: Option<Method>,
    has_scheme: bool,
    authority: Option<Place>,
    path: Option<Path>,
    /// No further pseudo-field may come.
    has_fields: bool,
    host: Option<Place>,
    content_length: Option<u64>,
    expects_continue: bool,
    priority: Priority,
    /// Lines that are no pseudo-fields.
    lines: usize,
    /// Of all lines.
    size: usize,
    /// Why no further line is looked at.
    rejection: Option<Rejection>,
    /// The first thing that is said by a status, unless the section turns out to be malformed.
    refusal: Option<Refusal>,
}

/// A `:path`.
#[derive(Debug)]
enum Path {
    Kept(Place),
    TooLong,
}

const fn malformed(reason: &'static str) -> Rejection {
    Rejection::Malformed(reason)
}

impl FieldSection {
    /// Whether all lines are kept, for [`RequestHead::lines`]; if not, only what the head itself needs is.
    /// At first they are not. Stays as it is when the section is [cleared](Self::clear).
    pub fn keep_lines(&mut self, keeps_lines: bool) {
        self.keeps_lines = keeps_lines;
    }

    /// Forgets the lines, but not the memory that they took.
    pub fn clear(&mut self) {
        self.text.clear();
        self.fields.clear();
        self.seen = Seen::default();
    }

    /// Takes the next line. Of a section that is malformed or too large nothing more is kept.
    pub fn add(&mut self, limits: &RequestLimits, line: FieldLine<'_>) {
        let FieldLine { name, value, .. } = line;
        let pseudo = name.strip_prefix(b":");
        if self.seen.rejection.is_none() {
            let added = match pseudo {
                Some(name) => self.add_pseudo_field(limits, name, &line),
                None => self.add_field(limits, &line),
            };
            self.seen.rejection = added.err();
        } else if name == b":method" && self.seen.method.is_none() {
            // Whatever is wrong, the answer to HEAD has no content.
            self.seen.method = Some(Method::from_token(value));
        }
    }

    /// Checks and counts a line, and keeps it if all are kept.
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
        self.seen.size += name.len() + value.len() + LINE;
        if self.seen.size > limits.max_head {
            return too_large("The field section is too large");
        }
        if self.seen.lines > limits.max_fields {
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
        if self.seen.has_fields {
            return Err(malformed("A pseudo-field stands behind a field"));
        }
        let value = line.value;
        let is_new = match name {
            b"method" => {
                if !is_token(value) {
                    return Err(malformed("The :method is not a token"));
                }
                let method = Method::from_token(value);
                self.seen.method.replace(method).is_none()
            }
            b"scheme" => {
                if !is_web_scheme(value) {
                    self.refuse(400, "The scheme is not that of the web");
                }
                !std::mem::replace(&mut self.seen.has_scheme, true)
            }
            b"path" => {
                let path = if value.len() > limits.max_target {
                    self.refuse(414, "The request target is too long");
                    Path::TooLong
                } else {
                    Path::Kept(self.keep(value))
                };
                self.seen.path.replace(path).is_none()
            }
            b"authority" => {
                let place = self.keep(value);
                self.seen.authority.replace(place).is_none()
            }
            // `:status` and `:protocol` among them.
            _ => return Err(malformed("A pseudo-field is not known")),
        };
        is_new
            .then_some(())
            .ok_or(malformed("A pseudo-field is repeated"))
    }

    fn add_field(&mut self, limits: &RequestLimits, line: &FieldLine<'_>) -> Result<(), Rejection> {
        self.seen.has_fields = true;
        self.seen.lines += 1;
        self.check(limits, line)?;
        if line.is_of_connection() {
            return Err(malformed("A field is one of the connection"));
        }
        let FieldLine { name, value, .. } = *line;
        match name {
            b"host" => {
                let place = self.keep(value);
                if self.seen.host.replace(place).is_some() {
                    self.refuse(400, "The Host field is repeated");
                }
            }
            b"content-length" => match message::content_length(value) {
                Some(length) if self.seen.content_length.is_none() => {
                    self.seen.content_length = Some(length);
                    if length > limits.max_body {
                        self.refuse(413, "The content is too large");
                    }
                }
                _ => return Err(malformed("The Content-Length field is invalid or repeated")),
            },
            b"expect" => match message::expects_continue(value) {
                Some(expects) => self.seen.expects_continue |= expects,
                None => self.refuse(417, "The only expectation that can be met is 100-continue"),
            },
            b"priority" => self.seen.priority.add(value),
            _ if self.keeps_lines => {}
            _ => {
                if RequestFields::default().slot(name).is_some() {
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

    fn keep(&mut self, value: &[u8]) -> Place {
        let start = self.text.len();
        self.text.extend_from_slice(value);
        start..self.text.len()
    }

    /// The first refusal stands.
    fn refuse(&mut self, status: u16, reason: &'static str) {
        self.seen.refusal.get_or_insert(Refusal { status, reason });
    }

    fn text(&self, place: &Place) -> &[u8] {
        self.text.get(place.clone()).unwrap_or_default()
    }

    /// The method, if it has come: the answer to HEAD has no content, whatever else is wrong (RFC 9110
    /// section 9.3.2).
    pub fn method(&self) -> Option<Method> {
        self.seen.method
    }

    /// Bytes of memory that an [owned](RequestHead::into_owned) head takes, about: its fields may be kept by
    /// themselves and as lines.
    pub fn held(&self) -> usize {
        self.text.len() * 2
    }

    /// The request that the lines make.
    ///
    /// # Errors
    /// Why they make none.
    pub fn request(&self) -> Result<RequestHead<'_>, Rejection> {
        let seen = &self.seen;
        if let Some(rejection) = seen.rejection {
            return Err(rejection);
        }
        let method = seen.method.ok_or(malformed("The :method is missing"))?;
        let (path, query) = self.target(method)?;
        let refusal = seen.refusal.or_else(|| {
            let is_odd = |byte: &u8| *byte <= b' ' || *byte == 0x7f || *byte == b'#';
            let mut target = path.iter().chain(query.unwrap_or_default());
            target.any(is_odd).then_some(Refusal {
                status: 400,
                reason: "The request target holds an invalid byte",
            })
        });
        if let Some(refusal) = refusal.or_else(|| self.check_authority()) {
            return Err(Rejection::Refused(refusal));
        }
        Ok(RequestHead {
            method,
            path: Cow::Borrowed(path),
            query: query.map(Cow::Borrowed),
            fields: self.request_fields(),
            lines: match self.keeps_lines {
                true => Lines {
                    text: Cow::Borrowed(&self.text),
                    places: Cow::Borrowed(&self.fields),
                },
                false => Lines::default(),
            },
            priority: seen.priority,
            content_length: seen.content_length,
            expects_continue: seen.expects_continue,
        })
    }

    /// Path and query (RFC 9113 section 8.3.1; section 8.5 for CONNECT). Of a target that is too long
    /// they are empty.
    fn target(&self, method: Method) -> Result<(&[u8], Option<&[u8]>), Rejection> {
        let seen = &self.seen;
        let target = match (method, &seen.path) {
            (Method::Connect, None) if !seen.has_scheme && seen.authority.is_some() => {
                return Ok((b"*", None));
            }
            (Method::Connect, _) => {
                return Err(malformed(
                    "CONNECT has an :authority, no :scheme and no :path",
                ));
            }
            (_, Some(path)) if seen.has_scheme => path,
            _ => return Err(malformed("The :scheme or the :path is missing")),
        };
        let target = match target {
            Path::Kept(place) => self.text(place),
            Path::TooLong => return Ok((b"", None)),
        };
        let question = target.iter().position(|&byte| byte == b'?');
        let (path, query) = match question.and_then(|at| target.split_at_checked(at)) {
            Some((path, query)) => (path, query.strip_prefix(b"?")),
            None => (target, None),
        };
        match path {
            [b'/', ..] => Ok((path, query)),
            b"*" if method == Method::Options && query.is_none() => Ok((path, query)),
            _ => Err(malformed(
                "The request target has no valid form for this method",
            )),
        }
    }

    /// RFC 9113 section 8.3.1: http and https have an authority, in `:authority` or in Host, and if
    /// both are there they are the same.
    fn check_authority(&self) -> Option<Refusal> {
        let bad = |reason| {
            let status = 400;
            Some(Refusal { status, reason })
        };
        let text = |place: &Option<Place>| place.as_ref().map(|place| self.text(place));
        let name = match (text(&self.seen.authority), text(&self.seen.host)) {
            (Some(one), Some(other)) if !one.eq_ignore_ascii_case(other) => {
                return bad("The Host field differs from :authority");
            }
            (Some(name), _) | (None, Some(name)) => name,
            (None, None) => return bad("The :authority is missing"),
        };
        let is_valid = match self.seen.method {
            // RFC 9110 section 9.3.6: 400 without a port.
            Some(Method::Connect) => Authority::parse(name).is_some_and(|name| name.has_port),
            _ => authority::is_simple(name) || Authority::parse(name).is_some(),
        };
        match is_valid {
            true => None,
            false => bad("The :authority is invalid"),
        }
    }

    /// The lines of one name joined (RFC 9110 section 5.3).
    fn request_fields(&self) -> RequestFields<'_> {
        let mut fields = RequestFields::default();
        for (name, value) in &self.fields {
            if let Some(slot) = fields.slot(self.text(name)) {
                let value = self.text(value);
                match slot {
                    None => *slot = Some(Cow::Borrowed(value)),
                    Some(first) => {
                        let first = first.to_mut();
                        first.extend_from_slice(b", ");
                        first.extend_from_slice(value);
                    }
                }
            }
        }
        fields
    }

    /// The lines as trailers: these have no pseudo-fields (RFC 9113 section 8.1, RFC 9114 section 4.3).
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn check_trailers(&self) -> Result<(), Rejection> {
        let seen = &self.seen;
        match seen.rejection {
            Some(rejection) => Err(rejection),
            None if seen.method.is_some()
                || seen.has_scheme
                || seen.path.is_some()
                || seen.authority.is_some() =>
            {
                Err(malformed("The trailer section holds a pseudo-field"))
            }
            None => Ok(()),
        }
    }
}

/// Whether a request for this scheme can be meant for a server of the web (RFC 9110 section 4.2).
fn is_web_scheme(scheme: &[u8]) -> bool {
    scheme.eq_ignore_ascii_case(b"https") || scheme.eq_ignore_ascii_case(b"http")
}

#[cfg(test)]
mod tests;
