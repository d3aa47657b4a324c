//! The heads of answers, rendered for HTTP/3.

use salver_assets::{Protocol, ResponsePlan};
use salver_http3::{RenderedFields, RenderedHead};

use crate::rendered_responses::field_lines;

/// Appends the head of a plan, from its rendered form where there is one.
pub(super) fn push_head(
    out: &mut Vec<u8>,
    plan: &ResponsePlan,
    date: &[u8; 29],
    listener_fields: &RenderedFields,
) {
    let render = || RenderedHead::new(plan.status, field_lines(plan));
    let prepared = plan.rendered_heads();
    match prepared.and_then(|prepared| prepared.head(Protocol::Http3, render)) {
        Some(head) => head.write(out, date, listener_fields),
        None => render().write(out, date, listener_fields),
    }
}
