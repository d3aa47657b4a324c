//! JSON: one object a line. What there was not has no member.

use crate::digits;
use crate::entry::{
    AGENT_AT_MOST, HOST_AT_MOST, LoggedRequest, LoggedResponse, METHOD_AT_MOST, PATH_AT_MOST,
    REFERER_AT_MOST, USER_AT_MOST,
};
use crate::escape;
use crate::rendered_second::RenderedSecond;

/// Appends an object.
pub(super) fn object(
    request: &LoggedRequest<'_>,
    response: &LoggedResponse<'_>,
    second: &RenderedSecond,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(b"{\"timestamp\":\"");
    out.extend_from_slice(&second.iso);
    let [a, b, c] = digits::decimal(request.started.subsec_millis().into());
    out.extend_from_slice(&[b'.', a, b, c, b'Z']);
    out.extend_from_slice(b"\",\"client\":{\"address\":\"");
    out.extend_from_slice(request.client.as_bytes());
    out.extend_from_slice(b"\"}");
    let user = request.user;
    text(out, b",\"user\":{\"name\":\"", user, USER_AT_MOST, b"\"}");
    text(
        out,
        b",\"server\":{\"address\":\"",
        request.host,
        HOST_AT_MOST,
        b"\"}",
    );
    out.extend_from_slice(b",\"http\":{\"request\":{\"id\":\"");
    out.extend_from_slice(&request.request_id.hex());
    out.push(b'"');
    let method = request.method;
    text(out, b",\"method\":\"", method, METHOD_AT_MOST, b"\"");
    text(
        out,
        b",\"header\":{\"referer\":\"",
        request.referer,
        REFERER_AT_MOST,
        b"\"}",
    );
    out.push(b'}');
    response_member(response, out);
    if !request.path.is_empty() {
        let path = request.path;
        text(out, b",\"url\":{\"path\":\"", path, PATH_AT_MOST, b"\"");
        if let Some(query) = request.query {
            out.extend_from_slice(b",\"query\":\"");
            escape::json(out, query, PATH_AT_MOST);
            out.push(b'"');
        }
        out.push(b'}');
    }
    out.extend_from_slice(b",\"network\":{\"protocol\":{\"version\":\"");
    out.extend_from_slice(request.protocol.version());
    out.extend_from_slice(b"\"}}");
    text(
        out,
        b",\"user_agent\":{\"original\":\"",
        request.user_agent,
        AGENT_AT_MOST,
        b"\"}",
    );
    if let Some(trace) = &request.trace {
        out.extend_from_slice(b",\"trace_id\":\"");
        out.extend_from_slice(&trace.trace_id_hex());
        out.extend_from_slice(b"\",\"parent_id\":\"");
        out.extend_from_slice(&trace.parent_id_hex());
        out.push(b'"');
    }
    of_server(response, out);
    out.push(b'}');
}

/// Appends the member `response` of `http`, and all that is behind it there.
fn response_member(response: &LoggedResponse<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"response\":{\"status_code\":");
    // A number of JSON has no zeros before it.
    digits::push(out, response.status.into());
    out.extend_from_slice(b",\"body\":{\"size\":");
    digits::push(out, response.sent);
    out.push(b'}');
    let coding = response.coding.as_bytes();
    text(
        out,
        b",\"header\":{\"content-encoding\":\"",
        coding,
        METHOD_AT_MOST,
        b"\"}",
    );
    out.extend_from_slice(b"},\"server\":{\"request\":{\"duration\":");
    digits::push_seconds(out, response.duration);
    out.extend_from_slice(b"}}}");
}

/// Appends what is told of the server.
fn of_server(response: &LoggedResponse<'_>, out: &mut Vec<u8>) {
    match (response.cache, response.site) {
        (None, []) => {}
        (None, site) => text(out, b",\"salver\":{\"site\":\"", site, HOST_AT_MOST, b"\"}"),
        (Some(cache), site) => {
            out.extend_from_slice(b",\"salver\":{\"cache\":\"");
            out.extend_from_slice(cache.word().as_bytes());
            out.push(b'"');
            text(out, b",\"site\":\"", site, HOST_AT_MOST, b"\"");
            out.push(b'}');
        }
    }
}

/// A member with text, unless there is none. Inline, so that the lengths of what stands around it are known.
#[inline(always)]
fn text(out: &mut Vec<u8>, before: &[u8], value: &[u8], most: usize, after: &[u8]) {
    if !value.is_empty() {
        out.extend_from_slice(before);
        escape::json(out, value, most);
        out.extend_from_slice(after);
    }
}
