//! The heads of responses, rendered as frames.

use crate::frame::{DATA, HEADERS};
use crate::{qpack, varint};

/// The interim response that lets a client send its content (RFC 9110 section 15.2.1).
pub const CONTINUE: &[u8] = b"\x01\x04\0\0\xff\0";

/// The name `date` by its index in the static table, for a literal value of 29 bytes.
const DATE: [u8; 2] = [0b0101_0110, 29];

/// Field lines that are rendered once and appended to many heads.
#[derive(Clone, Debug, Default)]
pub struct RenderedFields(Vec<u8>);

impl RenderedFields {
    /// Renders fields. Names may have capitals, which are written small (RFC 9114 section 4.2).
    pub fn new<'a>(fields: impl Iterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut lines = Vec::new();
        for (name, value) in fields {
            write_field(&mut lines, name, value);
        }
        RenderedFields(lines)
    }
}

/// The head of a response that is rendered once and sent many times, without its date.
#[derive(Clone, Debug)]
pub struct RenderedHead(Vec<u8>);

impl RenderedHead {
    /// Renders the head of a response with this status and these fields.
    pub fn new<'a>(status: u16, fields: impl Iterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut section = Vec::new();
        qpack::begin(&mut section);
        qpack::write(&mut section, b":status", status.to_string().as_bytes());
        for (name, value) in fields {
            write_field(&mut section, name, value);
        }
        RenderedHead(section)
    }

    /// Appends the HEADERS frame: the head, the date and `more`.
    pub fn write(&self, out: &mut Vec<u8>, date: &[u8; 29], more: &RenderedFields) {
        let length = self.0.len() + DATE.len() + date.len() + more.0.len();
        varint::write(out, HEADERS);
        varint::write(out, u64::try_from(length).unwrap_or(u64::MAX));
        out.extend_from_slice(&self.0);
        out.extend_from_slice(&DATE);
        out.extend_from_slice(date);
        out.extend_from_slice(&more.0);
    }
}

/// Appends the HEADERS frame of a trailer section, behind all content. Names may have capitals, which are written small;
/// pseudo-fields must not be among them (RFC 9114 section 4.3).
pub fn write_trailers<'a>(out: &mut Vec<u8>, fields: impl Iterator<Item = (&'a str, &'a [u8])>) {
    let mut section = Vec::new();
    qpack::begin(&mut section);
    for (name, value) in fields {
        write_field(&mut section, name, value);
    }
    varint::write(out, HEADERS);
    varint::write(out, u64::try_from(section.len()).unwrap_or(u64::MAX));
    out.extend_from_slice(&section);
}

/// Appends the header of a DATA frame of `length` bytes of content: all that there is, or a piece of it.
pub fn write_data_header(out: &mut Vec<u8>, length: u64) {
    varint::write(out, DATA);
    varint::write(out, length);
}

fn write_field(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    qpack::write(out, name.to_ascii_lowercase().as_bytes(), value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{FramePart, Frames};

    /// The lines of one frame with a head.
    fn lines(mut bytes: &[u8]) -> Vec<(String, String)> {
        let (mut frames, mut payload) = (Frames::default(), Vec::new());
        let begin = frames.next(&mut bytes);
        assert!(
            matches!(begin, Some(FramePart::Begin { kind: HEADERS, .. })),
            "{begin:?}"
        );
        while let Some(FramePart::Payload(part)) = frames.next(&mut bytes) {
            payload.extend(part);
        }
        assert!(frames.is_between());
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let mut lines = Vec::new();
        let decoded = qpack::decode(&payload, &mut Vec::new(), |line| {
            assert!(line.is_valid);
            lines.push((text(line.name), text(line.value)));
        });
        decoded.unwrap();
        lines
    }

    #[test]
    fn a_head_has_its_status_first_and_a_date() {
        let date = b"Sun, 06 Nov 1994 08:49:37 GMT";
        let fields = [("Content-Type", &b"text/css"[..]), ("ETag", b"\"a\"")];
        let more =
            RenderedFields::new([("Strict-Transport-Security", &b"max-age=1"[..])].into_iter());
        let mut rendered = Vec::new();
        RenderedHead::new(200, fields.into_iter()).write(&mut rendered, date, &more);
        let expected = [
            (":status", "200"),
            ("content-type", "text/css"),
            ("etag", "\"a\""),
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("strict-transport-security", "max-age=1"),
        ];
        let expected: Vec<_> = expected
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect();
        assert_eq!(lines(&rendered), expected);
        let mut unusual = Vec::new();
        let head = RenderedHead::new(416, [].into_iter());
        head.write(&mut unusual, date, &RenderedFields::default());
        assert_eq!(lines(&unusual)[0], (":status".to_owned(), "416".to_owned()));
        assert_eq!(lines(CONTINUE), [(":status".to_owned(), "100".to_owned())]);
    }

    #[test]
    fn trailers_have_neither_a_status_nor_a_date() {
        let mut out = Vec::new();
        write_trailers(&mut out, [("Grpc-Status", &b"0"[..])].into_iter());
        assert_eq!(lines(&out), [("grpc-status".to_owned(), "0".to_owned())]);
        let mut out = Vec::new();
        write_trailers(&mut out, [].into_iter());
        assert!(lines(&out).is_empty());
    }

    #[test]
    fn content_has_its_length_before_it() {
        let mut out = Vec::new();
        write_data_header(&mut out, 5);
        write_data_header(&mut out, 20_000_000_000);
        assert_eq!(out, b"\0\x05\0\xc0\0\0\x04\xa8\x17\xc8\0");
    }
}
