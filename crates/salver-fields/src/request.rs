//! A request's head, and why there is none.

use std::borrow::Cow;
use std::ops::Range;

use salver_semantics::{Method, Refusal, RequestFields};

use crate::priority::Priority;

/// A place in the text that a field section keeps.
pub(crate) type Place = Range<usize>;

/// A request without its content. It borrows from the section that it was read from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestHead<'s> {
    /// The method.
    pub method: Method,
    /// The path as it came, beginning with `/`; `*` for the server itself, and for CONNECT. Holds no `?`,
    /// no `#`, no control and no space; any byte from 0x80 on may be there.
    pub path: Cow<'s, [u8]>,
    /// What follows the first `?`, without it.
    pub query: Option<Cow<'s, [u8]>>,
    /// The fields that select and condition a representation.
    pub fields: RequestFields<'s>,
    /// All lines of the section, if they are [kept](crate::FieldSection::keep_lines).
    pub lines: Lines<'s>,
    /// How urgent the answer is.
    pub priority: Priority,
    /// Length of the content in bytes, if the client says it.
    pub content_length: Option<u64>,
    /// Whether the client waits for `100 Continue` before it sends content (RFC 9110 section 10.1.1).
    pub expects_continue: bool,
}

impl RequestHead<'_> {
    /// The same head, borrowing nothing.
    pub fn into_owned(self) -> RequestHead<'static> {
        RequestHead {
            method: self.method,
            path: Cow::Owned(self.path.into_owned()),
            query: self.query.map(|query| Cow::Owned(query.into_owned())),
            fields: self.fields.into_owned(),
            lines: self.lines.into_owned(),
            priority: self.priority,
            content_length: self.content_length,
            expects_continue: self.expects_continue,
        }
    }
}

/// Field lines in their order, those of pseudo-fields among them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lines<'s> {
    pub(crate) text: Cow<'s, [u8]>,
    pub(crate) places: Cow<'s, [(Place, Place)]>,
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

/// Why a field section is no request that can be answered as it asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rejection {
    /// The message is malformed (RFC 9113 section 8.1.1, RFC 9114 section 4.1.2), and this is what is
    /// wrong, for people. What becomes of the stream is the protocol's to say.
    Malformed(&'static str),
    /// The answer is a status that says what is wrong.
    Refused(Refusal),
}
