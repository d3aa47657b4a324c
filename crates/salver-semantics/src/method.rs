//! Request methods (RFC 9110 section 9).

/// A request method (RFC 9110 section 9.3, RFC 5789). Methods are case-sensitive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Method {
    /// GET.
    #[default]
    Get,
    /// HEAD.
    Head,
    /// OPTIONS.
    Options,
    /// POST: known, to be answered with 405.
    Post,
    /// PUT: known, to be answered with 405.
    Put,
    /// DELETE: known, to be answered with 405.
    Delete,
    /// PATCH: known, to be answered with 405.
    Patch,
    /// CONNECT: known, to be answered with 405.
    Connect,
    /// TRACE: known, to be answered with 405.
    Trace,
    /// Any other token, `get` included: to be answered with 501.
    Other,
}

impl Method {
    /// The method that a token names.
    pub fn from_token(token: &[u8]) -> Method {
        match token {
            b"GET" => Method::Get,
            b"HEAD" => Method::Head,
            b"OPTIONS" => Method::Options,
            b"POST" => Method::Post,
            b"PUT" => Method::Put,
            b"DELETE" => Method::Delete,
            b"PATCH" => Method::Patch,
            b"CONNECT" => Method::Connect,
            b"TRACE" => Method::Trace,
            _ => Method::Other,
        }
    }

    /// The token of the method; empty for those that are not known.
    pub const fn token(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Options => "OPTIONS",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
            Method::Patch => "PATCH",
            Method::Connect => "CONNECT",
            Method::Trace => "TRACE",
            Method::Other => "",
        }
    }

    /// True for the methods that files have an answer to; those of all others are 405 (Method Not Allowed) and
    /// 501 (Not Implemented).
    pub const fn is_served(self) -> bool {
        matches!(self, Method::Get | Method::Head | Method::Options)
    }
}
