//! Between the words of HTTP/3 and those of the engine.

use std::net::SocketAddr;

use bytes::Bytes;
use salver_assets::{Protocol, Request, ResponsePlan};
use salver_http3::{FieldSection, Fields, RenderedHead, RequestHead, Target, write_head};

use crate::asking;
use crate::handler::{self, Peer, RequestBody};

/// The request as the engine reads it.
pub(super) fn request(head: RequestHead<'_>) -> Request<'_> {
    let method = asking::method(head.method);
    let (path, query) = match head.target {
        Target::Path { path, query } => (path, query),
        Target::Asterisk | Target::Authority => (&b"*"[..], None),
    };
    Request {
        method,
        path: path.into(),
        query: query.map(Into::into),
        fields: head.fields,
    }
}

/// The request as handlers are given it.
pub(super) fn given(
    section: &FieldSection,
    asked: &Request<'_>,
    content: Option<RequestBody>,
    address: SocketAddr,
) -> Option<http::Request<Bytes>> {
    let peer = Peer {
        address,
        over_tls: true,
    };
    handler::given(
        http::Version::HTTP_3,
        asked,
        section.iter(),
        content,
        Some(peer),
    )
}

/// Appends the head of a plan, from its rendered form where there is one.
pub(super) fn push_head(out: &mut Vec<u8>, plan: &ResponsePlan, date: &[u8; 29], front: &Fields) {
    let fields = || plan.fields().map(|(name, value)| (name, &**value));
    let render = || RenderedHead::new(plan.status, fields());
    let prepared = plan.rendered_heads();
    match prepared.and_then(|prepared| prepared.head(Protocol::Http3, render)) {
        Some(head) => head.write(out, date, front),
        None => write_head(out, plan.status, date, fields(), front),
    }
}
