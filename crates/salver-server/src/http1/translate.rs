//! Translation between the types of HTTP/1.1 and those of the engine and of handlers.

use std::time::Instant;

use http::{HeaderMap, HeaderValue};
use salver_access_log::Protocol;
use salver_assets::{Content, Request, RequestDetails, RequestPath, ResponsePlan, SecureContext};
use salver_http1::{
    BodyLength, CHUNKED, Persistence, RawHead, RequestHead, RequestTarget, Version, write_head,
};
use salver_semantics::field::list;

use crate::access_log::ConnectionLog;
use crate::access_log::asked::{Asked, RequestLine};
use crate::access_log::record::{Begun, LogRecord};
use crate::dispatch::scheme;
use crate::handler::{self, Digits, Peer, RequestBody, WholeAnswer};
use crate::listener_fields::ListenerFields;
use crate::rendered_responses::{field_lines, rendered_head};
use crate::send_buffer::SendBuffer;

/// The request for the engine.
pub(super) fn engine_request(head: RequestHead<'_>) -> Request<'_> {
    let (path, query) = match head.target {
        RequestTarget::Path { path, query } => (path, query),
        RequestTarget::Asterisk | RequestTarget::Authority => (&b"*"[..], None),
    };
    Request {
        method: head.method,
        path: path.into(),
        query: query.map(Into::into),
        fields: head.fields,
        details: None,
        secure_context: SecureContext::Insecure,
    }
}

/// The record of a request for this authority, which was read at this moment, for the metrics and the access log.
#[inline]
pub(super) fn log_record(
    log: &ConnectionLog,
    head: &RequestHead<'_>,
    authority: Option<&[u8]>,
    at: Instant,
) -> LogRecord {
    let mut record = log.begin(Begun {
        protocol: match head.version {
            Version::Http10 => Protocol::Http10,
            Version::Http11 => Protocol::Http11,
        },
        method: head.method,
        at,
        content: match head.body {
            BodyLength::Sized(length) => length,
            BodyLength::None | BodyLength::Chunked => 0,
        },
    });
    if log.has_lines() {
        let (path, query) = match head.target {
            RequestTarget::Path { path, query } => (path, query),
            RequestTarget::Asterisk => (&b"*"[..], None),
            RequestTarget::Authority => (authority.unwrap_or_default(), None),
        };
        let asked = Asked {
            line: RequestLine {
                method: head.raw.method_token(),
                path,
                query,
            },
            host: authority,
            noted: head.raw.noted(),
        };
        log.read(&mut record, &asked, || head.raw.field_lines());
    }
    record
}

/// The details of a request, for rules that ask for them.
pub(super) fn request_details(raw: RawHead<'_>, over_tls: bool) -> RequestDetails {
    let host = raw.authority().unwrap_or_default();
    RequestDetails::new(
        scheme(over_tls),
        host,
        raw.method_token(),
        raw.field_lines(),
    )
}

/// The request for handlers. `offered` becomes the protocols that its client offers to go on in.
pub(super) fn to_http_request(
    version: Version,
    (raw, authority): (RawHead<'_>, Option<&[u8]>),
    asked: &Request<'_>,
    path: Option<&RequestPath<'_>>,
    content_and_spare: (Option<RequestBody>, HeaderMap),
    (peer, offered): (Option<Peer>, &mut Option<HeaderValue>),
) -> Option<http::Request<RequestBody>> {
    let http_version = match version {
        Version::Http10 => http::Version::HTTP_10,
        Version::Http11 => http::Version::HTTP_11,
    };
    let method = (&b":method"[..], raw.method_token());
    let authority = authority.map(|authority| (&b":authority"[..], authority));
    let mut has_upgrade = false;
    // Most requests have none: they are not gone through twice.
    let lines = raw
        .field_lines()
        .inspect(|(name, _)| has_upgrade |= name.eq_ignore_ascii_case(b"upgrade"));
    let lines = std::iter::once(method).chain(authority).chain(lines);
    let request =
        handler::to_http_request(http_version, asked, path, lines, content_and_spare, peer);
    if has_upgrade {
        *offered = offered_protocols(version, raw);
    }
    request
}

/// Appends the head of a plan, from its rendered form where there is one.
pub(super) fn push_head(
    send_buffer: &mut SendBuffer,
    plan: &ResponsePlan,
    date: &[u8; 29],
    listener_fields: &ListenerFields,
    persistence: Persistence,
) {
    let (rendered, more) = (rendered_head(plan), listener_fields.lines());
    send_buffer.write(|buffer| match rendered {
        Some(head) => head.write(buffer, date, more, persistence),
        None => {
            let fields = field_lines(plan);
            write_head(buffer, plan.status, date, fields, more, persistence);
        }
    });
}

/// Appends a whole answer of a handler, head and content.
pub(super) fn push_whole(
    send_buffer: &mut SendBuffer,
    answer: &WholeAnswer,
    date: &[u8; 29],
    listener_fields: &ListenerFields,
    persistence: Persistence,
) {
    let mut digits = Digits::default();
    let (fields, more) = (answer.fields(&mut digits), listener_fields.lines());
    send_buffer.write(|buffer| {
        write_head(buffer, answer.status(), date, fields, more, persistence);
    });
    if let Some(content) = answer.content() {
        send_buffer.push(content);
    }
}

/// Appends the head of an answer whose content is streamed, in chunks or not.
pub(super) fn push_streamed_head(
    send_buffer: &mut SendBuffer,
    plan: &ResponsePlan,
    date: &[u8; 29],
    listener_fields: &ListenerFields,
    (persistence, is_chunked): (Persistence, bool),
) {
    let fields = field_lines(plan).chain(is_chunked.then_some(CHUNKED));
    let more = listener_fields.lines();
    send_buffer.write(|buffer| write_head(buffer, plan.status, date, fields, more, persistence));
}

/// True if the client takes trailers: it says so in TE (RFC 9110 section 10.1.4).
pub(super) fn takes_trailers(raw: RawHead<'_>) -> bool {
    let mut fields = raw.field_lines();
    fields.any(|(name, value)| {
        let mut members = list(value);
        name.eq_ignore_ascii_case(b"te")
            && members.any(|member| member.eq_ignore_ascii_case(b"trailers"))
    })
}

/// The protocols that the client offers to go on in, if it does (RFC 9110 section 7.8): over HTTP/1.1, with a request that has
/// no content.
fn offered_protocols(version: Version, raw: RawHead<'_>) -> Option<HeaderValue> {
    if version == Version::Http10 {
        return None;
    }
    let named = |name: &'static [u8]| {
        let fields = raw.field_lines();
        fields.filter_map(move |(field, value)| field.eq_ignore_ascii_case(name).then_some(value))
    };
    let mut protocols = named(b"upgrade");
    let offered = protocols.next()?;
    let mut options = named(b"connection").flat_map(list);
    // One who says it twice is not understood, and answered as ever.
    let is_clear = protocols.next().is_none() && !offered.is_empty();
    let is_offered = is_clear && options.any(|option| option.eq_ignore_ascii_case(b"upgrade"));
    is_offered.then(|| HeaderValue::from_bytes(offered).ok())?
}

/// Appends content that is in memory; other content is sent by `transmit.rs`.
pub(super) fn push_content(send_buffer: &mut SendBuffer, plan: &ResponsePlan) {
    if let Content::Memory(bytes) = &plan.content {
        send_buffer.push(bytes);
    }
}
