//! The parts of a request that the engine reads, borrowed from its message.

use std::borrow::Cow;
use std::sync::Arc;

use salver_rules::{BasicAuth, Scheme};
use salver_semantics::{Method, RequestFields, is_this_machine};

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
    /// The parts that only rules ask for: see [`Step::NeedDetails`](crate::Step::NeedDetails).
    pub details: Option<&'a RequestDetails>,
    /// Whether it comes from a secure context.
    pub secure_context: SecureContext<'a>,
}

/// Whether a request comes from a secure context, as browsers have it (W3C Secure Contexts section 3.1): only there are
/// compression dictionaries used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecureContext<'a> {
    /// It does not, or nobody knows.
    #[default]
    Insecure,
    /// It came over TLS, or a proxy that is trusted says so.
    Secure,
    /// It came in the clear, for this host: it does if that is this machine.
    ByHost(&'a [u8]),
}

impl SecureContext<'_> {
    /// True if it is one.
    pub fn is_secure(self) -> bool {
        match self {
            SecureContext::Insecure => false,
            SecureContext::Secure => true,
            SecureContext::ByHost(host) => is_this_machine(host),
        }
    }

    /// The same without the host.
    fn into_owned(self) -> SecureContext<'static> {
        match self.is_secure() {
            true => SecureContext::Secure,
            false => SecureContext::Insecure,
        }
    }
}

/// The parts of a request that rules ask for, besides its path and query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestDetails {
    /// The scheme that it came by.
    pub scheme: Scheme,
    /// The host, with or without port; empty if it names none.
    pub host: Vec<u8>,
    /// The method as it was sent.
    pub method: Vec<u8>,
    /// The access of who asks, once it is known.
    pub access: Access,
    /// The fields: names in lower case, the lines of each joined.
    fields: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The access of a request, where rules want a password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// It is not known: the engine asks by [`NeedAccess`](crate::Step::NeedAccess).
    #[default]
    Unknown,
    /// The request is by one of these users.
    Granted(Arc<BasicAuth>),
    /// The request names no user, or a wrong password: 401.
    Denied,
    /// The client has tried too often: 429.
    Limited {
        /// The seconds after which it may try again.
        seconds: u64,
    },
    /// Too many passwords are being verified: 503.
    Overloaded,
    /// Nobody verifies passwords here: 403.
    Unsupported,
}

impl RequestDetails {
    /// The details of a request with these field lines.
    pub fn new<'l>(
        scheme: Scheme,
        host: &[u8],
        method: &[u8],
        lines: impl Iterator<Item = (&'l [u8], &'l [u8])>,
    ) -> Self {
        let mut fields: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for (name, value) in lines.filter(|(name, _)| !name.starts_with(b":")) {
            let name = name.to_ascii_lowercase();
            match fields.iter_mut().find(|(known, _)| *known == name) {
                None => fields.push((name, value.to_vec())),
                // RFC 9110 section 5.3.
                Some((_, known)) => {
                    known.extend_from_slice(b", ");
                    known.extend_from_slice(value);
                }
            }
        }
        RequestDetails {
            scheme,
            host: host.to_vec(),
            method: method.to_vec(),
            access: Access::Unknown,
            fields,
        }
    }

    /// The value of the field with this name, which is in lower case.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        let field = self
            .fields
            .iter()
            .find(|(known, _)| known == name.as_bytes());
        field.map(|(_, value)| &**value)
    }
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

    /// The same request without borrowed parts, and so without [details](Self::details), for one that has to wait.
    pub fn into_owned(self) -> Request<'static> {
        Request {
            method: self.method,
            path: Cow::Owned(self.path.into_owned()),
            query: self.query.map(|query| Cow::Owned(query.into_owned())),
            fields: self.fields.into_owned(),
            details: None,
            secure_context: self.secure_context.into_owned(),
        }
    }
}
