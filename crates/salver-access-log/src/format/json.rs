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
    out.extend_from_slice(b"\",\"client.address\":\"");
    out.extend_from_slice(entry.client.as_bytes());
    out.push(b'"');
    let text = |out: &mut Vec<u8>, key: &[u8], value: &[u8], most: usize| {
        if !value.is_empty() {
            out.extend_from_slice(key);
            escape::json(out, value, most);
            out.push(b'"');
        }
    };
    text(out, b",\"user.name\":\"", entry.user, USER_AT_MOST);
    text(out, b",\"server.address\":\"", entry.host, HOST_AT_MOST);
    text(
        out,
        b",\"http.request.method\":\"",
        entry.method,
        METHOD_AT_MOST,
    );
    text(out, b",\"url.path\":\"", entry.path, PATH_AT_MOST);
    if let Some(query) = entry.query {
        out.extend_from_slice(b",\"url.query\":\"");
        escape::json(out, query, PATH_AT_MOST);
        out.push(b'"');
    }
    out.extend_from_slice(b",\"network.protocol.version\":\"");
    out.extend_from_slice(entry.protocol.version());
    out.extend_from_slice(b"\",\"http.response.status_code\":");
    // A number of JSON has no zeros before it.
    digits::push(out, entry.status.into());
    out.extend_from_slice(b",\"http.response.body.size\":");
    digits::push(out, entry.sent);
    out.extend_from_slice(b",\"http.server.request.duration\":");
    digits::push_seconds(out, entry.duration);
    let coding = entry.coding.as_bytes();
    text(
        out,
        b",\"http.response.header.content-encoding\":\"",
        coding,
        METHOD_AT_MOST,
    );
    if let Some(cache) = entry.cache {
        text(
            out,
            b",\"salver.cache\":\"",
            cache.word().as_bytes(),
            METHOD_AT_MOST,
        );
    }
    out.extend_from_slice(b",\"salver.request_id\":\"");
    out.extend_from_slice(&entry.request_id.hex());
    out.push(b'"');
    if let Some(trace) = &entry.trace {
        out.extend_from_slice(b",\"trace_id\":\"");
        out.extend_from_slice(&trace.trace_id_hex());
        out.extend_from_slice(b"\",\"parent_id\":\"");
        out.extend_from_slice(&trace.parent_id_hex());
        out.push(b'"');
    }
    text(
        out,
        b",\"http.request.header.referer\":\"",
        entry.referer,
        REFERER_AT_MOST,
    );
    text(
        out,
        b",\"user_agent.original\":\"",
        entry.user_agent,
        AGENT_AT_MOST,
    );
    text(out, b",\"salver.site\":\"", entry.site, HOST_AT_MOST);
    out.push(b'}');
}
