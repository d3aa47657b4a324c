//! The formats of text: Common, Combined, and Combined with more behind it.

use crate::digits;
use crate::entry::{
    AGENT_AT_MOST, Entry, HOST_AT_MOST, METHOD_AT_MOST, PATH_AT_MOST, REFERER_AT_MOST, USER_AT_MOST,
};
use crate::escape;
use crate::rendered_second::RenderedSecond;

pub(super) fn common(entry: &Entry<'_>, second: &RenderedSecond, out: &mut Vec<u8>) {
    out.extend_from_slice(entry.client.as_bytes());
    out.extend_from_slice(b" - ");
    escape::user(out, entry.user, USER_AT_MOST);
    out.push(b' ');
    out.extend_from_slice(&second.bracketed);
    out.extend_from_slice(b" \"");
    // What was no request is `-`, as other servers have it.
    if entry.method.is_empty() {
        out.push(b'-');
    } else {
        // The parts of a request line are words: a space within one could forge the next.
        escape::word(out, entry.method, METHOD_AT_MOST);
        out.push(b' ');
        escape::word(out, entry.path, PATH_AT_MOST);
        if let Some(query) = entry.query {
            out.push(b'?');
            if !query.is_empty() {
                escape::word(out, query, PATH_AT_MOST);
            }
        }
        out.push(b' ');
        out.extend_from_slice(entry.protocol.name());
    }
    out.extend_from_slice(b"\" ");
    out.extend_from_slice(&digits::decimal::<3>(entry.status.into()));
    out.push(b' ');
    digits::push(out, entry.sent);
}

pub(super) fn combined(entry: &Entry<'_>, second: &RenderedSecond, out: &mut Vec<u8>) {
    common(entry, second, out);
    out.extend_from_slice(b" \"");
    quoted_or_dash(out, entry.referer, REFERER_AT_MOST);
    out.extend_from_slice(b"\" \"");
    quoted_or_dash(out, entry.user_agent, AGENT_AT_MOST);
    out.push(b'"');
}

pub(super) fn extended(entry: &Entry<'_>, second: &RenderedSecond, out: &mut Vec<u8>) {
    combined(entry, second, out);
    out.push(b' ');
    escape::word(out, entry.host, HOST_AT_MOST);
    out.push(b' ');
    digits::push_seconds(out, entry.duration);
    out.push(b' ');
    escape::word(out, entry.coding.as_bytes(), METHOD_AT_MOST);
    out.push(b' ');
    let cache = entry.cache.map_or("-", |cache| cache.word());
    out.extend_from_slice(cache.as_bytes());
    out.push(b' ');
    out.extend_from_slice(&entry.request_id.hex());
}

fn quoted_or_dash(out: &mut Vec<u8>, text: &[u8], most: usize) {
    match text {
        [] => out.push(b'-'),
        _ => escape::quoted(out, text, most),
    }
}
