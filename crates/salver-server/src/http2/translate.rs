//! Between the words of HTTP/2 and those of the engine.

use bytes::Bytes;
use salver_assets::{Content, Method, Protocol, Request, ResponsePlan};
use salver_http2::{Lines, RenderedHead};

use crate::asking;
use crate::handler::{self, Peer, RequestBody};

/// The request as the engine reads it.
pub(super) fn request(asked: salver_http2::Request<'_>) -> (Request<'_>, Lines<'_>) {
    let request = Request {
        method: asking::method(asked.method),
        path: asked.path,
        query: asked.query,
        fields: asked.fields,
    };
    (request, asked.lines)
}

/// The request as handlers are given it.
pub(super) fn given(
    lines: &Lines<'_>,
    asked: &Request<'_>,
    content: Option<RequestBody>,
    peer: Option<Peer>,
) -> Option<http::Request<Bytes>> {
    handler::given(http::Version::HTTP_2, asked, lines.iter(), content, peer)
}

/// The answer to a request that the engine is not asked about.
pub(super) fn refused(asked: &salver_http2::Request<'_>) -> Option<ResponsePlan> {
    let (status, reason) = asked.refusal?;
    let mut plan = ResponsePlan::error(status, reason, vec![]);
    if asking::method(asked.method) == Method::Head {
        plan.content = Content::Empty;
    }
    Some(plan)
}

/// The head of a plan as it is rendered once; `None` for a head made for one answer alone.
pub(super) fn rendered(plan: &ResponsePlan) -> Option<&RenderedHead> {
    plan.rendered_heads()?
        .head(Protocol::Http2, || render(plan))
}

/// The head of a plan.
pub(super) fn render(plan: &ResponsePlan) -> RenderedHead {
    let fields = plan.fields().map(|(name, value)| (name, &**value));
    RenderedHead::new(plan.status, fields)
}
