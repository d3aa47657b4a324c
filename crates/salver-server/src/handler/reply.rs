//! The replies of handlers.

use http::{HeaderMap, HeaderName, HeaderValue, Response};

use super::body::Body;

/// The reply of a handler.
#[derive(Debug)]
pub enum Reply {
    /// A response. `Date` is made for it, and `Content-Length` where its content is [whole](Body::whole) or knows its
    /// length; the fields of the connection (`Connection`, `Transfer-Encoding` and the like) are left out.
    Response(Response<Body>),
    /// A file, sent as if it had been requested.
    File {
        /// Its path as in a URL, but not percent-encoded: `/reports/2026.pdf`. Handlers are not asked about it. That
        /// of a directory is answered by a redirect to the path with its slash.
        path: String,
        /// Fields for the answer, each instead of those of its name; `Vary` in addition. The fields that describe the
        /// bytes sent (`Content-Length`, `Content-Range`, `Content-Encoding`) stay, and all fields of an error: of a
        /// file that is gone, say.
        fields: HeaderMap,
    },
    /// The answer that there is without the handler.
    Proceed,
}

impl Reply {
    /// A reply with a file: see [`Reply::File`]. For GET and HEAD conditions, ranges and codings of the request
    /// apply; other methods get the whole file.
    pub fn file(path: impl Into<String>) -> Self {
        Reply::File {
            path: path.into(),
            fields: HeaderMap::new(),
        }
    }

    /// The same reply with one more field, if it is a file or a response.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        match &mut self {
            Reply::Response(response) => response.headers_mut().append(name, value),
            Reply::File { fields, .. } => fields.append(name, value),
            Reply::Proceed => false,
        };
        self
    }
}

impl<B: Into<Body>> From<Response<B>> for Reply {
    fn from(response: Response<B>) -> Self {
        Reply::Response(response.map(Into::into))
    }
}
