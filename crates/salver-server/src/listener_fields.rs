//! What a listener adds to every answer that leaves through it.

use bytes::Bytes;

/// A field name and value.
pub(crate) type Field = (&'static str, Bytes);

/// The fields that belong to a listener, not to what is served: `Strict-Transport-Security`,
/// `Alt-Svc`. One value per listener, made when the server starts.
#[derive(Debug, Default)]
pub(crate) struct Front {
    fields: Vec<Field>,
    /// The same as field lines of HTTP/1.1, each with its CRLF.
    lines: Vec<u8>,
    /// The same as a part of a field block of HTTP/2.
    block: Box<[u8]>,
}

impl Front {
    /// A front that adds these fields; their values are valid field values.
    pub(crate) fn new(fields: Vec<Field>) -> Self {
        let mut lines = Vec::new();
        for (name, value) in &fields {
            lines.extend_from_slice(name.as_bytes());
            lines.extend_from_slice(b": ");
            lines.extend_from_slice(value);
            lines.extend_from_slice(b"\r\n");
        }
        let block = fields.iter().map(|(name, value)| (*name, &**value));
        Front {
            block: salver_http2::render_fields(block),
            fields,
            lines,
        }
    }

    /// The fields.
    pub(crate) fn fields(&self) -> &[Field] {
        &self.fields
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
