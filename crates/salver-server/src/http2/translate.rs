//! The heads of answers as HTTP/2 has them.

use salver_assets::{Protocol, ResponsePlan};
use salver_http2::RenderedHead;

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
