//! The request fields that decide which representation is sent, and whether.

use std::borrow::Cow;

/// A field value: the lines of one name joined with `, ` (RFC 9110 section 5.3), without the
/// whitespace around it. `None` if there is no such line; borrowed if there is one.
type Value<'b> = Option<Cow<'b, [u8]>>;

/// The request fields that select and condition a representation. Names are RFC 9110's.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RequestFields<'b> {
    /// Accept-Encoding (RFC 9110 section 12.5.3).
    pub accept_encoding: Option<Cow<'b, [u8]>>,
    /// If-Match (RFC 9110 section 13.1.1).
    pub if_match: Option<Cow<'b, [u8]>>,
    /// If-None-Match (RFC 9110 section 13.1.2).
    pub if_none_match: Option<Cow<'b, [u8]>>,
    /// If-Modified-Since (RFC 9110 section 13.1.3).
    pub if_modified_since: Option<Cow<'b, [u8]>>,
    /// If-Unmodified-Since (RFC 9110 section 13.1.4).
    pub if_unmodified_since: Option<Cow<'b, [u8]>>,
    /// If-Range (RFC 9110 section 13.1.5).
    pub if_range: Option<Cow<'b, [u8]>>,
    /// Range (RFC 9110 section 14.2).
    pub range: Option<Cow<'b, [u8]>>,
}

impl RequestFields<'_> {
    /// The same fields with no tie to the bytes they were read from.
    pub fn into_owned(self) -> RequestFields<'static> {
        let own = |value: Value<'_>| value.map(|value| Cow::Owned(value.into_owned()));
        RequestFields {
            accept_encoding: own(self.accept_encoding),
            if_match: own(self.if_match),
            if_none_match: own(self.if_none_match),
            if_modified_since: own(self.if_modified_since),
            if_unmodified_since: own(self.if_unmodified_since),
            if_range: own(self.if_range),
            range: own(self.range),
        }
    }

    /// The same fields, borrowed from these.
    pub fn reborrow(&self) -> RequestFields<'_> {
        fn borrow<'a>(value: &'a Value<'_>) -> Value<'a> {
            value.as_deref().map(Cow::Borrowed)
        }
        RequestFields {
            accept_encoding: borrow(&self.accept_encoding),
            if_match: borrow(&self.if_match),
            if_none_match: borrow(&self.if_none_match),
            if_modified_since: borrow(&self.if_modified_since),
            if_unmodified_since: borrow(&self.if_unmodified_since),
            if_range: borrow(&self.if_range),
            range: borrow(&self.range),
        }
    }
}
