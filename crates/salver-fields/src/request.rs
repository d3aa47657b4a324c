//! The head of a request, and the rejection of a section that makes none.

use std::borrow::Cow;
use std::ops::Range;

use salver_semantics::{Method, Refusal, RequestFields};

use crate::priority::Priority;

/// A range of bytes in the text of a field section.
pub(crate) type Span = Range<usize>;

/// The head of a request: its control data and fields. It borrows from the section that it was read from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestHead<'s> {
    /// The method.
    pub method: Method,
    /// The path as it was received, beginning with `/`; `*` for the server itself, and for CONNECT. Holds no `?`, no
    /// `#`, no control and no space; any byte from 0x80 on may be there.
    pub path: Cow<'s, [u8]>,
    /// The query, without its `?`.
    pub query: Option<Cow<'s, [u8]>>,
    /// The host that the request is for, with its port if it has one: `:authority`, else Host.
    pub authority: Cow<'s, [u8]>,
    /// The fields that select and condition a representation.
    pub fields: RequestFields<'s>,
    /// All lines of the section, if they are [kept](crate::FieldSection::keep_lines).
    pub lines: FieldLines<'s>,
    /// The priority of the answer.
    pub priority: Priority,
    /// The length of the content in bytes, if the client announces it.
    pub content_length: Option<u64>,
    /// True if the client waits for `100 Continue` before it sends content (RFC 9110 section 10.1.1).
    pub expects_continue: bool,
}

impl RequestHead<'_> {
    /// The same head, borrowing nothing.
    pub fn into_owned(self) -> RequestHead<'static> {
        RequestHead {
            method: self.method,
            path: Cow::Owned(self.path.into_owned()),
            query: self.query.map(|query| Cow::Owned(query.into_owned())),
            authority: Cow::Owned(self.authority.into_owned()),
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
pub struct FieldLines<'s> {
    pub(crate) text: Cow<'s, [u8]>,
    pub(crate) spans: Cow<'s, [(Span, Span)]>,
}

impl FieldLines<'_> {
    /// Name and value of each line; names of pseudo-fields begin with a colon.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let text = |span: &Span| self.text.get(span.clone()).unwrap_or_default();
        self.spans
            .iter()
            .map(move |(name, value)| (text(name), text(value)))
    }

    fn into_owned(self) -> FieldLines<'static> {
        FieldLines {
            text: Cow::Owned(self.text.into_owned()),
            spans: Cow::Owned(self.spans.into_owned()),
        }
    }
}

/// The rejection of a field section that makes no request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rejection {
    /// The message is malformed (RFC 9113 section 8.1.1, RFC 9114 section 4.1.2), with the reason for people. Each
    /// protocol decides what becomes of the stream.
    Malformed(&'static str),
    /// The request is refused by a status.
    Refused(Refusal),
}
