//! The heads of answers, rendered for HTTP/2.

use salver_assets::{Protocol, ResponsePlan};
use salver_http2::RenderedHead;

use crate::rendered_responses::field_lines;

/// The head of a plan, rendered once; `None` for a head made for one answer alone.
pub(super) fn rendered_head(plan: &ResponsePlan) -> Option<&RenderedHead> {
    plan.rendered_heads()?
        .head(Protocol::Http2, || render_head(plan))
}

/// The head of a plan.
pub(super) fn render_head(plan: &ResponsePlan) -> RenderedHead {
    RenderedHead::new(plan.status, field_lines(plan))
}
