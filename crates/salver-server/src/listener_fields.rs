//! The fields that a listener adds to every answer.

use salver_assets::Field;

/// The fields of a listener, not of a file: `Strict-Transport-Security`, `Alt-Svc`. Rendered for each protocol when
/// the server starts.
#[derive(Debug, Default)]
pub(crate) struct ListenerFields {
    /// The fields as lines of HTTP/1.1, each with its CRLF.
    lines: Vec<u8>,
    /// The fields as a part of a field block of HTTP/2.
    block: Box<[u8]>,
}

impl ListenerFields {
    /// Renders these fields; their values are valid field values.
    pub(crate) fn new(fields: &[Field]) -> Self {
        let mut lines = Vec::new();
        for (name, value) in fields {
            lines.extend_from_slice(name.as_bytes());
            lines.extend_from_slice(b": ");
            lines.extend_from_slice(value);
            lines.extend_from_slice(b"\r\n");
        }
        let block = fields.iter().map(|(name, value)| (*name, &**value));
        ListenerFields {
            block: salver_http2::render_fields(block),
            lines,
        }
    }

    /// The fields as a part of a field block of HTTP/2.
    pub(crate) fn block(&self) -> &[u8] {
        &self.block
    }

    /// The fields as lines of HTTP/1.1.
    pub(crate) fn lines(&self) -> &[u8] {
        &self.lines
    }
}
