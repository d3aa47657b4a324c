//! The parts of a request that the engine reads, borrowed from its message.

use std::borrow::Cow;

use salver_semantics::{Method, RequestFields};

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

    /// The bytes of its path, its query and its fields.
    pub fn length(&self) -> usize {
        let query = self.query.as_ref().map_or(0, |query| query.len());
        self.path.len() + query + self.fields.length()
    }

    /// The same request without borrowed parts, for one that has to wait.
    pub fn into_owned(self) -> Request<'static> {
        Request {
            method: self.method,
            path: Cow::Owned(self.path.into_owned()),
            query: self.query.map(|query| Cow::Owned(query.into_owned())),
            fields: self.fields.into_owned(),
        }
    }
}
