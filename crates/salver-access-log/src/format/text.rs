//! The formats of text: Common, Combined, and Combined with more behind it.

use crate::digits;
use crate::entry::{
    AGENT_AT_MOST, HOST_AT_MOST, LoggedRequest, LoggedResponse, METHOD_AT_MOST, PATH_AT_MOST,
    REFERER_AT_MOST, USER_AT_MOST,
};
use crate::escape;
use crate::rendered_second::RenderedSecond;

/// Appends a line of Common, but for its end.
pub(super) fn common(
    request: &LoggedRequest<'_>,
    response: &LoggedResponse<'_>,
    second: &RenderedSecond,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(request.client.as_bytes());
    if request.user.is_empty() {
        out.extend_from_slice(&second.of_nobody);
    } else {
        out.extend_from_slice(b" - ");
        escape::user(out, request.user, USER_AT_MOST);
        out.push(b' ');
        out.extend_from_slice(&second.bracketed);
        out.extend_from_slice(b" \"");
    }
    request_line(request, out);
    let [a, b, c] = digits::decimal(response.status.into());
    out.extend_from_slice(&[b'"', b' ', a, b, c, b' ']);
    digits::push(out, response.sent);
}

/// Appends what was asked. What was no request is `-`, as other servers have it.
fn request_line(request: &LoggedRequest<'_>, out: &mut Vec<u8>) {
    if request.method.is_empty() {
        return out.push(b'-');
    }
    // The parts of a request line are words: a space within one could forge the next.
    if request.method == b"GET" {
        out.extend_from_slice(b"GET ");
    } else {
        escape::word(out, request.method, METHOD_AT_MOST);
        out.push(b' ');
    }
    escape::word(out, request.path, PATH_AT_MOST);
    if let Some(query) = request.query {
        out.push(b'?');
        if !query.is_empty() {
            escape::word(out, query, PATH_AT_MOST);
        }
    }
    let [a, b, c, d, e, f, g, h] = *request.protocol.name();
    out.extend_from_slice(&[b' ', a, b, c, d, e, f, g, h]);
}

/// Appends what Combined has behind a line of Common.
pub(super) fn client_fields(request: &LoggedRequest<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b" \"");
    quoted_or_dash(out, request.referer, REFERER_AT_MOST);
    out.extend_from_slice(b"\" \"");
    quoted_or_dash(out, request.user_agent, AGENT_AT_MOST);
    out.push(b'"');
}

/// Appends what Extended has behind a line of Combined.
pub(super) fn extension(
    request: &LoggedRequest<'_>,
    response: &LoggedResponse<'_>,
    out: &mut Vec<u8>,
) {
    out.push(b' ');
    escape::word(out, request.host, HOST_AT_MOST);
    out.push(b' ');
    digits::push_seconds(out, response.duration);
    out.push(b' ');
    escape::word(out, response.coding.as_bytes(), METHOD_AT_MOST);
    out.push(b' ');
    let cache = response.cache.map_or("-", |cache| cache.word());
    out.extend_from_slice(cache.as_bytes());
    out.push(b' ');
    out.extend_from_slice(&request.request_id.hex());
}

fn quoted_or_dash(out: &mut Vec<u8>, text: &[u8], most: usize) {
    match text {
        [] => out.push(b'-'),
        _ => escape::quoted(out, text, most),
    }
}
