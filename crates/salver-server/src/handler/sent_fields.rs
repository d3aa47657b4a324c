//! The fields that a handler gives and the server sends.

use bytes::Bytes;
use http::HeaderMap;
use salver_assets::OwnField;

/// The fields of `headers` that are sent, without `but`.
pub(super) fn fields(headers: &HeaderMap, but: &[&str]) -> Vec<OwnField> {
    let all = headers.iter();
    let sent = all.filter(|(name, _)| is_sent(name.as_str(), but));
    sent.map(|(name, value)| {
        let value = Bytes::copy_from_slice(value.as_bytes());
        (name.as_str().into(), value)
    })
    .collect()
}

/// True if a field with this name is sent that a handler gives, where those in `but` are not.
pub(super) fn is_sent(name: &str, but: &[&str]) -> bool {
    name != "date" && !belongs_to_connection(name) && !but.contains(&name)
}

/// True for the fields of one connection, not of a message (RFC 9110 section 7.6.1).
pub(super) fn belongs_to_connection(name: &str) -> bool {
    matches!(
        name,
        "connection" | "keep-alive" | "proxy-connection" | "te" | "transfer-encoding" | "upgrade"
    )
}
