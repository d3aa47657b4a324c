//! Field lines to a request (RFC 9113 section 8.3.1).

use std::borrow::Cow;
use std::ops::Range;

use salver_semantics::{Authority, Method, RequestFields, authority, message};

use crate::hpack::Line;
use crate::limits::Limits;
use crate::priority::Priority;

/// A request whose head, and whose content if there was any, has come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request<'s> {
    /// What is to be done.
    pub method: Method,
    /// The path as it came, beginning with `/`; `*` for the server itself, and for CONNECT.
    pub path: Cow<'s, [u8]>,
    /// What follows the first `?`, without it.
    pub query: Option<Cow<'s, [u8]>>,
    /// The fields that select and condition a representation.
    pub fields: RequestFields<'s>,
    /// All lines of its head, if they are [kept](crate::Limits::for_program).
    pub lines: Lines<'s>,
    /// Something is wrong with it that is said by a status: that, and a sentence for people.
    pub refusal: Option<(u16, &'static str)>,
}

/// Field lines in their order, those of pseudo-fields among them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lines<'s> {
    text: Cow<'s, [u8]>,
    places: Cow<'s, [(Place, Place)]>,
}

impl Lines<'_> {
    /// Name and value of each line; names of pseudo-fields begin with a colon.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let text = |place: &Place| self.text.get(place.clone()).unwrap_or_default();
        self.places
            .iter()
            .map(move |(name, value)| (text(name), text(value)))
    }

    fn into_owned(self) -> Lines<'static> {
        Lines {
            text: Cow::Owned(self.text.into_owned()),
            places: Cow::Owned(self.places.into_owned()),
        }
    }
}

impl Request<'_> {
    /// The same request, borrowing nothing.
    pub(crate) fn into_owned(self) -> Request<'static> {
        Request {
            method: self.method,
            path: Cow::Owned(self.path.into_owned()),
            query: self.query.map(|query| Cow::Owned(query.into_owned())),
            fields: self.fields.into_owned(),
            lines: self.lines.into_owned(),
            refusal: self.refusal,
        }
    }
}

/// The message is malformed: a stream error (RFC 9113 section 8.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Malformed;

/// A place in [`Head::text`].
type Place = Range<usize>;

/// The lines of one field section, as far as anybody reads them. Used for one after the other.
#[derive(Debug, Default)]
pub(crate) struct Head {
    /// The values that are kept.
    text: Vec<u8>,
    method: Option<Method>,
    path: Option<Place>,
    authority: Option<Place>,
    host: Option<Place>,
    /// Name and value of the fields of [`RequestFields`], or of all lines.
    fields: Vec<(Place, Place)>,
    has_all: bool,
    has_scheme: bool,
    content_length: Option<u64>,
    pub(crate) expects_continue: bool,
    /// The Priority field, joined.
    priority: Option<Place>,
    lines: usize,
    size: usize,
    /// No further pseudo-field may come.
    has_fields: bool,
    malformed: bool,
    refusal: Option<(u16, &'static str)>,
}

impl Head {
    /// Bytes of memory that the request takes on its own, about: its fields may be kept by themselves and
    /// as lines.
    pub(crate) fn held(&self) -> usize {
        self.text.len() * 2
    }

    /// Forgets everything but its memory.
    pub(crate) fn clear(&mut self) {
        let (mut text, mut fields) = (
            std::mem::take(&mut self.text),
            std::mem::take(&mut self.fields),
        );
        text.clear();
        fields.clear();
        *self = Head {
            text,
            fields,
            ..Head::default()
        };
    }

    /// Takes one line.
    pub(crate) fn add(&mut self, limits: &Limits, line: Line<'_>) {
        let Line { name, value, valid } = line;
        self.lines += 1;
        // RFC 9113 section 6.5.2.
        self.size += name.len() + value.len() + 32;
        if self.lines > limits.request.max_fields {
            self.refuse(431, "Too many field lines");
        } else if self.size > limits.request.max_head {
            self.refuse(431, "The field section is too large");
        }
        if !valid {
            self.malformed = true;
        }
        if self.malformed {
            return;
        }
        if limits.for_program && self.refusal.is_none() {
            self.has_all = true;
            self.keep_line(name, value);
        }
        if let Some(name) = name.strip_prefix(b":") {
            self.malformed = self.has_fields || self.add_pseudo(limits, name, value).is_err();
            return;
        }
        self.has_fields = true;
        // Where there is too much, nothing more is kept.
        if self.refusal.is_none() {
            self.add_field(name, value);
        }
    }

    fn add_pseudo(&mut self, limits: &Limits, name: &[u8], value: &[u8]) -> Result<(), Malformed> {
        let is_new = match name {
            b"method" => {
                let is_new = self.method.is_none();
                if !salver_semantics::field::is_token(value) {
                    return Err(Malformed);
                }
                self.method = Some(Method::from_token(value));
                is_new
            }
            b"scheme" => {
                if !message::is_web_scheme(value) {
                    self.refuse(400, "The scheme is not that of the web");
                }
                !std::mem::replace(&mut self.has_scheme, true)
            }
            b"path" if value.len() > limits.request.max_target => {
                self.refuse(414, "The request target is too long");
                self.path.replace(0..0).is_none()
            }
            b"path" => {
                let place = self.keep(value);
                self.path.replace(place).is_none()
            }
            b"authority" => {
                let place = self.keep(value);
                self.authority.replace(place).is_none()
            }
            // Section 8.3: others are malformed, `:status` and `:protocol` among them.
            _ => false,
        };
        is_new.then_some(()).ok_or(Malformed)
    }

    fn add_field(&mut self, name: &[u8], value: &[u8]) {
        self.malformed |= message::is_of_connection(name, value);
        match name {
            b"host" => {
                let place = self.keep(value);
                if self.host.replace(place).is_some() {
                    self.refuse(400, "The Host field is repeated");
                }
            }
            b"content-length" => match message::content_length(value) {
                length @ Some(_) if self.content_length.is_none() => self.content_length = length,
                _ => self.malformed = true,
            },
            b"expect" => match message::expects_continue(value) {
                Some(expects) => self.expects_continue |= expects,
                None => self.refuse(417, "The only expectation that can be met is 100-continue"),
            },
            b"priority" => {
                // Lines of one name are one value (RFC 9110 section 5.3).
                let start = self.text.len();
                if let Some(before) = self.priority.take() {
                    self.text.extend_from_within(before);
                    self.text.push(b',');
                }
                self.text.extend_from_slice(value);
                self.priority = Some(start..self.text.len());
            }
            _ => {
                if !self.has_all && RequestFields::default().slot(name).is_some() {
                    self.keep_line(name, value);
                }
            }
        }
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
        self.refusal.get_or_insert((status, reason));
    }

    fn text(&self, place: &Place) -> &[u8] {
        self.text.get(place.clone()).unwrap_or_default()
    }

    /// Length of the content as Content-Length says.
    pub(crate) fn content_length(&self) -> Option<u64> {
        self.content_length
    }

    pub(crate) fn priority(&self) -> Priority {
        let value = self.priority.as_ref().map(|place| self.text(place));
        value.map(Priority::parse).unwrap_or_default()
    }

    /// Whether the lines make a trailer section: without pseudo-fields (section 8.1).
    pub(crate) fn is_trailers(&self) -> bool {
        let pseudo = self.method.is_some()
            || self.has_scheme
            || self.path.is_some()
            || self.authority.is_some();
        !self.malformed && !pseudo
    }

    /// The request that the lines make.
    ///
    /// # Errors
    /// [`Malformed`].
    pub(crate) fn request(&self) -> Result<Request<'_>, Malformed> {
        let method = self.method.filter(|_| !self.malformed).ok_or(Malformed)?;
        let path = self.path.as_ref().map(|place| self.text(place));
        let path = match (method, path) {
            // Section 8.5: CONNECT has neither, and an authority.
            (Method::Connect, None) if !self.has_scheme && self.authority.is_some() => b"*",
            (Method::Connect, _) => return Err(Malformed),
            (_, Some(path)) if self.has_scheme => path,
            _ => return Err(Malformed),
        };
        let question = path.iter().position(|&byte| byte == b'?');
        let (path, query) = match question.and_then(|at| path.split_at_checked(at)) {
            Some((path, query)) => (path, query.strip_prefix(b"?")),
            None => (path, None),
        };
        let too_long = self.refusal.is_some_and(|(status, _)| status == 414);
        let has_form = match path {
            [b'/', ..] => true,
            b"*" => matches!(method, Method::Options | Method::Connect) && query.is_none(),
            _ => too_long,
        };
        if !has_form {
            return Err(Malformed);
        }
        let is_odd = |byte: &u8| *byte <= b' ' || *byte == 0x7f || *byte == b'#';
        let mut odd = path.iter().chain(query.unwrap_or_default());
        let refusal = self.refusal.or_else(|| {
            let reason = "The request target is empty or holds an invalid byte";
            odd.any(is_odd).then_some((400, reason))
        });
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
        Ok(Request {
            method,
            path: Cow::Borrowed(path),
            query: query.map(Cow::Borrowed),
            fields,
            lines: match self.has_all {
                true => Lines {
                    text: Cow::Borrowed(&self.text),
                    places: Cow::Borrowed(&self.fields),
                },
                false => Lines::default(),
            },
            refusal: refusal.or_else(|| self.check_authority()),
        })
    }

    /// RFC 9113 section 8.3.1: http and https have an authority, in `:authority` or in Host, and if
    /// both are there they are the same.
    fn check_authority(&self) -> Option<(u16, &'static str)> {
        let text = |place: &Option<Place>| place.as_ref().map(|place| self.text(place));
        let name = match (text(&self.authority), text(&self.host)) {
            (Some(one), Some(other)) if !one.eq_ignore_ascii_case(other) => {
                return Some((400, "The Host field differs from :authority"));
            }
            (Some(name), _) | (None, Some(name)) => name,
            (None, None) => return Some((400, "The :authority is missing")),
        };
        let is_valid = match self.method {
            // RFC 9110 section 9.3.6: 400 without a port.
            Some(Method::Connect) => Authority::parse(name).is_some_and(|name| name.has_port),
            _ => authority::is_simple(name) || Authority::parse(name).is_some(),
        };
        (!is_valid).then_some((400, "The :authority is invalid"))
    }
}

#[cfg(test)]
mod tests;
