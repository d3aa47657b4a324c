//! JSON: one object a line. What there was not has no member.

use crate::digits;
use crate::entry::{
    AGENT_AT_MOST, Entry, HOST_AT_MOST, METHOD_AT_MOST, PATH_AT_MOST, REFERER_AT_MOST, USER_AT_MOST,
};
use crate::escape;
use crate::rendered_second::RenderedSecond;

pub(super) fn object(entry: &Entry<'_>, second: &RenderedSecond, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"timestamp\":\"");
    out.extend_from_slice(&second.iso);
    let [a, b, c] = digits::decimal(entry.started.subsec_millis().into());
    out.extend_from_slice(&[b'.', a, b, c, b'Z']);
    out.extend_from_slice(b"\",\"client\":{\"address\":\"");
    out.extend_from_slice(entry.client.as_bytes());
    out.extend_from_slice(b"\"}");
    text(
        out,
        b",\"user\":{\"name\":\"",
        entry.user,
        USER_AT_MOST,
        b"\"}",
    );
    text(
        out,
        b",\"server\":{\"address\":\"",
        entry.host,
        HOST_AT_MOST,
        b"\"}",
    );
    out.extend_from_slice(b",\"http\":{");
    request(entry, out);
    response(entry, out);
    out.extend_from_slice(b",\"server\":{\"request\":{\"duration\":");
    digits::push_seconds(out, entry.duration);
    out.extend_from_slice(b"}}}");
    if !entry.path.is_empty() {
        text(
            out,
            b",\"url\":{\"path\":\"",
            entry.path,
            PATH_AT_MOST,
            b"\"",
        );
        if let Some(query) = entry.query {
            out.extend_from_slice(b",\"query\":\"");
            escape::json(out, query, PATH_AT_MOST);
            out.push(b'"');
        }
        out.push(b'}');
    }
    out.extend_from_slice(b",\"network\":{\"protocol\":{\"version\":\"");
    out.extend_from_slice(entry.protocol.version());
    out.extend_from_slice(b"\"}}");
    text(
        out,
        b",\"user_agent\":{\"original\":\"",
        entry.user_agent,
        AGENT_AT_MOST,
        b"\"}",
    );
    match (entry.cache, entry.site) {
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
    if let Some(trace) = &entry.trace {
        out.extend_from_slice(b",\"trace_id\":\"");
        out.extend_from_slice(&trace.trace_id_hex());
        out.extend_from_slice(b"\",\"parent_id\":\"");
        out.extend_from_slice(&trace.parent_id_hex());
        out.push(b'"');
    }
    out.push(b'}');
}

/// The member `request` of `http`.
fn request(entry: &Entry<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\"request\":{\"id\":\"");
    out.extend_from_slice(&entry.request_id.hex());
    out.push(b'"');
    text(out, b",\"method\":\"", entry.method, METHOD_AT_MOST, b"\"");
    let referer = entry.referer;
    text(
        out,
        b",\"header\":{\"referer\":\"",
        referer,
        REFERER_AT_MOST,
        b"\"}",
    );
    out.push(b'}');
}

/// The member `response` of `http`.
fn response(entry: &Entry<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"response\":{\"status_code\":");
    // A number of JSON has no zeros before it.
    digits::push(out, entry.status.into());
    out.extend_from_slice(b",\"body\":{\"size\":");
    digits::push(out, entry.sent);
    out.push(b'}');
    let coding = entry.coding.as_bytes();
    text(
        out,
        b",\"header\":{\"content-encoding\":\"",
        coding,
        METHOD_AT_MOST,
        b"\"}",
    );
    out.push(b'}');
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
