//! Between the words of HTTP/3 and those of the engine.

use salver_assets::{Protocol, Request, ResponsePlan};
use salver_http3::{Fields, RenderedHead, RequestHead, Target, write_head};

use crate::asking;

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

/// Appends the head of a plan, from its rendered form where there is one.
pub(super) fn push_head(out: &mut Vec<u8>, plan: &ResponsePlan, date: &[u8; 29], front: &Fields) {
    let fields = || plan.fields().iter().map(|(name, value)| (*name, &**value));
    let render = || RenderedHead::new(plan.status, fields());
    let prepared = plan.prepared();
    match prepared.and_then(|prepared| prepared.head(Protocol::Http3, render)) {
        Some(head) => head.write(out, date, front),
        None => write_head(out, plan.status, date, fields(), front),
    }
}
