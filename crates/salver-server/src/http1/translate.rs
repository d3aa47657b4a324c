//! Between the words of HTTP/1.1 and those of the engine.

use bytes::Bytes;
use salver_assets::{Content, Request, RequestPath, ResponsePlan};
use salver_http1::{Persistence, RawHead, RequestHead, Target, Version, write_head};

use crate::asking;
use crate::front::Front;
use crate::handler::{self, Peer, RequestBody};
use crate::outbox::Outbox;
use crate::ready::{fields, rendered};

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
    version: Version,
    raw: RawHead<'_>,
    asked: &Request<'_>,
    path: Option<&RequestPath<'_>>,
    content: Option<RequestBody>,
    peer: Option<Peer>,
) -> Option<http::Request<Bytes>> {
    let version = match version {
        Version::Http10 => http::Version::HTTP_10,
        Version::Http11 => http::Version::HTTP_11,
    };
    let method = (&b":method"[..], raw.method_token());
    let authority = raw
        .authority()
        .map(|authority| (&b":authority"[..], authority));
    let lines = std::iter::once(method)
        .chain(authority)
        .chain(raw.field_lines());
    handler::given(version, asked, path, lines, content, peer)
}

/// Appends the head of a plan, from its rendered form where there is one.
pub(super) fn push_head(
    outbox: &mut Outbox,
    plan: &ResponsePlan,
    date: &[u8; 29],
    front: &Front,
    persistence: Persistence,
) {
    let rendered = rendered(plan);
    outbox.write(|buffer| match rendered {
        Some(head) => head.write(buffer, date, front.lines(), persistence),
        None => {
            let fields =
                fields(plan).chain(front.fields().iter().map(|(name, value)| (*name, &**value)));
            write_head(buffer, plan.status, date, fields, persistence);
        }
    });
}

/// Appends content that is in memory; other content is sent by `transmit.rs`.
pub(super) fn push_content(outbox: &mut Outbox, plan: &ResponsePlan) {
    if let Content::Memory(bytes) = &plan.content {
        outbox.push(bytes);
    }
}
