//! The parts of a request that the engine reads, borrowed from whatever carried it.

use std::borrow::Cow;

/// What is asked to be done with the target (RFC 9110 section 9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// GET.
    #[default]
    Get,
    /// HEAD: as GET, without the content.
    Head,
    /// OPTIONS.
    Options,
    /// A method that exists but does nothing here: 405.
    NotAllowed,
    /// A method that nobody here knows: 501.
    NotImplemented,
}

/// The field values that decide the answer. Lines of one name are joined with `, `
/// (RFC 9110 section 5.3); values are without surrounding white space.
#[derive(Clone, Debug, Default)]
pub struct RequestFields<'a> {
    /// `Accept-Encoding`
    pub accept_encoding: Option<Cow<'a, [u8]>>,
    /// `If-Match`
    pub if_match: Option<Cow<'a, [u8]>>,
    /// `If-None-Match`
    pub if_none_match: Option<Cow<'a, [u8]>>,
    /// `If-Modified-Since`
    pub if_modified_since: Option<Cow<'a, [u8]>>,
    /// `If-Unmodified-Since`
    pub if_unmodified_since: Option<Cow<'a, [u8]>>,
    /// `If-Range`
    pub if_range: Option<Cow<'a, [u8]>>,
    /// `Range`
    pub range: Option<Cow<'a, [u8]>>,
}

/// A request as the engine sees it.
#[derive(Clone, Debug, Default)]
pub struct Request<'a> {
    /// The method.
    pub method: Method,
    /// The path component of the target as it came: percent-encoded, not normalised.
    /// `*` for OPTIONS of the server as a whole.
    pub path: Cow<'a, [u8]>,
    /// The query as it came, without its `?`.
    pub query: Option<Cow<'a, [u8]>>,
    /// The fields.
    pub fields: RequestFields<'a>,
}

impl<'a> Request<'a> {
    /// A GET of `path` without any field.
    pub fn get(path: &'a [u8]) -> Self {
        Request {
            path: Cow::Borrowed(path),
            ..Request::default()
        }
    }

    /// The same request, borrowing nothing: for one that has to wait.
    pub fn into_owned(self) -> Request<'static> {
        fn own(value: Option<Cow<'_, [u8]>>) -> Option<Cow<'static, [u8]>> {
            value.map(|value| Cow::Owned(value.into_owned()))
        }
        Request {
            method: self.method,
            path: Cow::Owned(self.path.into_owned()),
            query: own(self.query),
            fields: RequestFields {
                accept_encoding: own(self.fields.accept_encoding),
                if_match: own(self.fields.if_match),
                if_none_match: own(self.fields.if_none_match),
                if_modified_since: own(self.fields.if_modified_since),
                if_unmodified_since: own(self.fields.if_unmodified_since),
                if_range: own(self.fields.if_range),
                range: own(self.fields.range),
            },
        }
    }
}
