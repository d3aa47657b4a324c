//! The answers of handlers: a plan as the engine makes them, and content that is streamed in the place of the plan's.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Context;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, UPGRADE};
use http::{HeaderMap, Response, response};
use salver_assets::{Method, ResponsePlan};
use salver_semantics::message;

use super::body::{Body, BodyKind, StreamedBody};
use super::sent_fields::fields;
use super::streamed_content::StreamedContent;
use super::upgrade_kind::UpgradeKind;
use super::whole_answer::WholeAnswer;

/// The longest streamed content that is sent as whole content if it is here at once, in bytes: head and content leave
/// together then.
const AT_ONCE: usize = 64 * 1024;

/// An answer: its plan, and the content if a handler streams it.
pub(crate) struct Answer {
    pub(crate) plan: ResponsePlan,
    /// The content in the place of the plan's, which is empty then.
    pub(crate) streamed: Option<Box<StreamedContent>>,
    /// The kind of the upgrade that the answer accepts.
    pub(crate) upgrade: Option<UpgradeKind>,
}

impl From<ResponsePlan> for Answer {
    fn from(plan: ResponsePlan) -> Self {
        Answer {
            plan,
            streamed: None,
            upgrade: None,
        }
    }
}

/// The answer of a handler's response to a request with this method, planned: see [`whole_or_planned`].
///
/// # Errors
/// The response is none that can be sent, for this reason.
pub(crate) fn answer(
    response: Response<Body>,
    method: Method,
    context: &mut Context<'_>,
) -> Result<Answer, String> {
    let answer = whole_or_planned(response, method, context)?;
    Ok(answer.unwrap_or_else(|whole| whole.into_plan().into()))
}

/// The answer of a handler's response to a request with this method, or else the response itself, if its content is
/// whole. Streamed content is polled once.
///
/// # Errors
/// The response is none that can be sent, for this reason.
pub(crate) fn whole_or_planned(
    response: Response<Body>,
    method: Method,
    context: &mut Context<'_>,
) -> Result<Result<Answer, WholeAnswer>, String> {
    let (head, body) = response.into_parts();
    let kind = match body.into_kind() {
        BodyKind::Upgraded(kind, body) => return upgraded(&head, kind, body).map(Ok),
        kind => kind,
    };
    if head.status.is_informational() {
        return Err("a handler answered 1xx, which is no answer".to_owned());
    }
    let status = head.status.as_u16();
    let body = match kind {
        BodyKind::Whole(bytes) => {
            let whole = WholeAnswer::new(head.status, head.headers, bytes, method);
            return Ok(Err(whole));
        }
        BodyKind::Streamed(body) | BodyKind::Upgraded(_, body) => body,
    };
    let hint = catch_unwind(AssertUnwindSafe(|| body.length().exact()));
    let exact = hint.map_err(|_| "the content of a handler's answer panicked")?;
    let said = announced_length(&head.headers)?;
    // RFC 9110 sections 8.6, 9.3.2 and 15.4.5: HEAD and 304 may tell of content that is not there.
    let length = match (method, status) {
        (_, 204) => None,
        (Method::Head, _) | (_, 304) => said.or(exact.filter(|length| *length > 0)),
        _ => said.or(exact),
    };
    let plan = || {
        let fields = fields(&head.headers, &["content-length"]);
        ResponsePlan::of_length(status, fields, length)
    };
    let mut content = StreamedContent::new(body, length);
    if method == Method::Head || matches!(status, 204 | 304) {
        return Ok(Ok(plan().into()));
    }
    if said.zip(exact).is_some_and(|(said, exact)| said != exact) {
        return Err("a handler's answer has another Content-Length than its content".to_owned());
    }
    let here = content.take_whole(context, AT_ONCE);
    Ok(match here.map_err(|error| error.to_string())? {
        Some(bytes) => Err(WholeAnswer::new(head.status, head.headers, bytes, method)),
        None => Ok(Answer {
            plan: plan(),
            streamed: Some(Box::new(content)),
            upgrade: None,
        }),
    })
}

/// The answer that accepts an upgrade, behind which the other protocol is spoken.
fn upgraded(
    head: &response::Parts,
    kind: UpgradeKind,
    body: StreamedBody,
) -> Result<Answer, String> {
    if !kind.is_accepted_by(head.status) {
        return Err("a handler accepted an upgrade by a status that refuses it".to_owned());
    }
    // RFC 9110 sections 8.6 and 15.2.2: there is no content, and nothing says how long it is.
    let mut fields = fields(&head.headers, &["content-length", "trailer"]);
    if kind == UpgradeKind::Switch {
        let protocols = head.headers.get_all(UPGRADE).iter();
        fields.extend(protocols.map(|protocol| {
            let protocol = Bytes::copy_from_slice(protocol.as_bytes());
            ("Upgrade".into(), protocol)
        }));
    }
    Ok(Answer {
        plan: ResponsePlan::of_length(head.status.as_u16(), fields, None),
        streamed: Some(Box::new(StreamedContent::new(body, None))),
        upgrade: Some(kind),
    })
}

/// The length that a response announces.
fn announced_length(headers: &HeaderMap) -> Result<Option<u64>, &'static str> {
    // Of as few fields as answers have, to go through them costs less than a hash.
    let mut fields = headers.iter();
    let mut values = std::iter::from_fn(|| fields.find(|(name, _)| **name == CONTENT_LENGTH));
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some((_, value)), None) => match message::content_length(value.as_bytes()) {
            Some(length) => Ok(Some(length)),
            None => Err("a handler's answer has a Content-Length that is no length"),
        },
        (Some(_), Some(_)) => Err("a handler's answer has several Content-Lengths"),
    }
}

/// A file's answer with the fields of a [`Reply::File`](super::Reply::File). An error keeps its own fields: its text is no video, and not
/// to be cached for a year.
pub(crate) fn with_fields(plan: ResponsePlan, more: &HeaderMap) -> ResponsePlan {
    let said = [
        "content-length",
        "content-range",
        "content-encoding",
        "trailer",
    ];
    let mut more = fields(more, &said);
    if plan.status >= 400 {
        more.retain(|(name, _)| {
            let mut own = plan.fields();
            &**name == "vary" || !own.any(|(own, _)| own.eq_ignore_ascii_case(name))
        });
    }
    plan.with_fields(more)
}
