//! The head of a request over HTTP/2 and HTTP/3 in the types of the engine.

use std::borrow::Cow;

use salver_assets::rules::Scheme;
use salver_assets::{Method, Request, RequestDetails, SecureContext};
use salver_fields::{FieldLines, RequestHead};

/// The parts of the head of HTTP/2 and HTTP/3 that the engine reads rarely.
pub(crate) struct MoreOfHead<'h> {
    /// The field lines, if they are kept.
    pub(crate) lines: FieldLines<'h>,
    authority: Cow<'h, [u8]>,
}

impl MoreOfHead<'_> {
    /// The authority that the request is for.
    pub(crate) fn authority(&self) -> &[u8] {
        &self.authority
    }

    /// The protocol of an extended CONNECT (RFC 8441).
    pub(crate) fn protocol(&self) -> Option<&[u8]> {
        let mut lines = self.lines.iter();
        lines.find_map(|(name, value)| (name == b":protocol").then_some(value))
    }

    /// The details of the request, for rules that ask for them.
    pub(crate) fn details(&self, over_tls: bool, method: Method) -> RequestDetails {
        let mut lines = self.lines.iter();
        let token = lines.find_map(|(name, value)| (name == b":method").then_some(value));
        let token = match self.protocol() {
            None => token.unwrap_or(method.token().as_bytes()),
            // As over HTTP/1.1, where the same is asked by GET.
            Some(_) => Method::Get.token().as_bytes(),
        };
        RequestDetails::new(scheme(over_tls), &self.authority, token, self.lines.iter())
    }
}

/// The scheme of a connection's requests.
pub(crate) fn scheme(over_tls: bool) -> Scheme {
    match over_tls {
        true => Scheme::Https,
        false => Scheme::Http,
    }
}

/// The request for the engine, made of the head of HTTP/2 and HTTP/3, and the rest of that.
pub(crate) fn engine_request(head: RequestHead<'_>) -> (Request<'_>, MoreOfHead<'_>) {
    let request = Request {
        method: head.method,
        path: head.path,
        query: head.query,
        fields: head.fields,
        details: None,
        secure_context: SecureContext::Insecure,
    };
    let more = MoreOfHead {
        lines: head.lines,
        authority: head.authority,
    };
    (request, more)
}
