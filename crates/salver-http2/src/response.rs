//! The heads of responses, rendered as field blocks.

use crate::hpack::{push_line, push_status};

/// A field block that is rendered once and sent on any connection: `:status`, Date and fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RenderedHead {
    bytes: Box<[u8]>,
    /// The index in `bytes` of the 29 bytes of the date.
    date_at: usize,
}

/// The name `date` by its index in the static table, as a literal that is not indexed, and the length of the value.
const DATE: [u8; 3] = [0x0f, 33 - 15, 29];

impl RenderedHead {
    /// Renders a head. Date must not be among the fields, nor any that belongs to a connection
    /// (RFC 9113 section 8.2.2); names may have capitals, which are written small.
    pub fn new<'a>(status: u16, fields: impl Iterator<Item = (&'a str, &'a [u8])>) -> RenderedHead {
        let mut bytes = Vec::with_capacity(256);
        push_status(&mut bytes, status);
        bytes.extend_from_slice(&DATE);
        let date_at = bytes.len();
        bytes.extend_from_slice(&[b'0'; 29]);
        push_fields(&mut bytes, fields);
        RenderedHead {
            bytes: bytes.into_boxed_slice(),
            date_at,
        }
    }

    /// The length in bytes.
    #[expect(clippy::len_without_is_empty, reason = "there is always a status")]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Appends the block with its date: an IMF-fixdate (RFC 9110 section 5.6.7).
    pub(crate) fn write(&self, out: &mut Vec<u8>, date: &[u8; 29]) {
        let start = out.len() + self.date_at;
        out.extend_from_slice(&self.bytes);
        if let Some(place) = out.get_mut(start..start + date.len()) {
            place.copy_from_slice(date);
        }
    }
}

/// Renders fields as a part of a field block, to go behind a [`RenderedHead`].
pub fn render_fields<'a>(fields: impl Iterator<Item = (&'a str, &'a [u8])>) -> Box<[u8]> {
    let mut bytes = Vec::new();
    push_fields(&mut bytes, fields);
    bytes.into_boxed_slice()
}

fn push_fields<'a>(out: &mut Vec<u8>, fields: impl Iterator<Item = (&'a str, &'a [u8])>) {
    for (name, value) in fields {
        push_line(out, name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpack::Decoder;

    #[test]
    fn a_head_comes_back_with_its_date() {
        let fields = [
            ("Content-Length", &b"5"[..]),
            ("X-Own", b"\"a\""),
            ("ETag", b"\"b\""),
        ];
        let head = RenderedHead::new(206, fields.into_iter());
        let mut out = b"before".to_vec();
        head.write(&mut out, b"Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(out.len(), 6 + head.len());
        out.extend(render_fields([("Alt-Svc", &b"h3"[..])].into_iter()));
        let mut lines = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let mut decoder = Decoder::new();
        let decoded = decoder.decode(&out[6..], &mut Vec::new(), |line| {
            assert!(line.is_valid);
            lines.push(format!("{}: {}", text(line.name), text(line.value)));
        });
        decoded.unwrap();
        assert_eq!(
            lines,
            [
                ":status: 206",
                "date: Sun, 06 Nov 1994 08:49:37 GMT",
                "content-length: 5",
                "x-own: \"a\"",
                "etag: \"b\"",
                "alt-svc: h3",
            ]
        );
    }
}
