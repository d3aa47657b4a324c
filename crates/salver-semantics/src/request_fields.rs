//! The request fields that decide which representation is sent, and whether.

use std::borrow::Cow;

pub use crate::field::is;
use crate::origin_fields::OriginFields;

/// A field value: the lines of one name joined with `, ` (RFC 9110 section 5.3), without the
/// whitespace around it. `None` if there is no such line; borrowed if there is one.
type Value<'b> = Option<Cow<'b, [u8]>>;

/// The request fields that select and condition a representation. Names are RFC 9110's.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RequestFields<'b> {
    /// Accept-Encoding (RFC 9110 section 12.5.3).
    pub accept_encoding: Value<'b>,
    /// If-Match (RFC 9110 section 13.1.1).
    pub if_match: Value<'b>,
    /// If-None-Match (RFC 9110 section 13.1.2).
    pub if_none_match: Value<'b>,
    /// If-Modified-Since (RFC 9110 section 13.1.3).
    pub if_modified_since: Value<'b>,
    /// If-Unmodified-Since (RFC 9110 section 13.1.4).
    pub if_unmodified_since: Value<'b>,
    /// If-Range (RFC 9110 section 13.1.5).
    pub if_range: Value<'b>,
    /// Range (RFC 9110 section 14.2).
    pub range: Value<'b>,
    /// Available-Dictionary (RFC 9842 section 2.2).
    pub available_dictionary: Value<'b>,
    /// Where it comes from.
    pub origin: OriginFields,
}

impl<'b> RequestFields<'b> {
    /// The slot for the value of the field `name`, in whatever case the name is; `None` if it is
    /// none of these. The length goes first, so that most names are compared with nothing.
    #[inline]
    pub fn slot(&mut self, name: &[u8]) -> Option<&mut Value<'b>> {
        Some(match name.len() {
            5 if is(name, b"range") => &mut self.range,
            8 if is(name, b"if-match") => &mut self.if_match,
            8 if is(name, b"if-range") => &mut self.if_range,
            13 if is(name, b"if-none-match") => &mut self.if_none_match,
            15 if is(name, b"accept-encoding") => &mut self.accept_encoding,
            17 if is(name, b"if-modified-since") => &mut self.if_modified_since,
            19 if is(name, b"if-unmodified-since") => &mut self.if_unmodified_since,
            20 if is(name, b"available-dictionary") => &mut self.available_dictionary,
            _ => return None,
        })
    }

    /// True if the field `name` is one of these.
    pub fn have(name: &[u8]) -> bool {
        RequestFields::default().slot(name).is_some() || OriginFields::have(name)
    }

    /// Adds a line of the field `name`, if it is one of these.
    pub fn add(&mut self, name: &[u8], line: &'b [u8]) {
        match self.slot(name) {
            Some(value) => add_line(value, line),
            None => {
                self.origin.add(name, line);
            }
        }
    }
}

impl RequestFields<'_> {
    /// The same fields with no tie to the bytes they were read from.
    pub fn into_owned(self) -> RequestFields<'static> {
        self.map(|value| Cow::Owned(value.to_vec()))
    }

    /// The same fields, borrowed from these.
    pub fn reborrow(&self) -> RequestFields<'_> {
        self.map(Cow::Borrowed)
    }

    /// The bytes of all values.
    pub fn length(&self) -> usize {
        let mut length = 0;
        self.map(|value| {
            length += value.len();
            Cow::Borrowed(value)
        });
        length
    }

    fn map<'a, 'c>(&'a self, mut each: impl FnMut(&'a [u8]) -> Cow<'c, [u8]>) -> RequestFields<'c> {
        let mut each = |value: &'a Value<'_>| value.as_deref().map(&mut each);
        RequestFields {
            accept_encoding: each(&self.accept_encoding),
            if_match: each(&self.if_match),
            if_none_match: each(&self.if_none_match),
            if_modified_since: each(&self.if_modified_since),
            if_unmodified_since: each(&self.if_unmodified_since),
            if_range: each(&self.if_range),
            range: each(&self.range),
            available_dictionary: each(&self.available_dictionary),
            origin: self.origin,
        }
    }
}

/// Adds a line to the value of its field: lines of one name are one value (RFC 9110 section 5.3).
#[inline]
pub fn add_line<'b>(value: &mut Value<'b>, line: &'b [u8]) {
    match value {
        None => *value = Some(Cow::Borrowed(line)),
        Some(first) => join(first, line),
    }
}

#[cold]
fn join(first: &mut Cow<'_, [u8]>, line: &[u8]) {
    let first = first.to_mut();
    first.extend_from_slice(b", ");
    first.extend_from_slice(line);
}
