//! The heads of answers.

use crate::frame::{DATA, HEADERS};
use crate::{qpack, varint};

/// `100 Continue` (RFC 9110 section 15.2.1): the client may send the content.
pub const CONTINUE: &[u8] = b"\x01\x04\0\0\xff\0";

/// The static table's name of Date, for a literal value of 29 bytes.
const DATE: [u8; 2] = [0b0101_0110, 29];

/// Field lines that were encoded once, to be appended to many heads.
#[derive(Clone, Debug, Default)]
pub struct Fields(Vec<u8>);

impl Fields {
    /// Encodes them. Names may be in any case; they leave in small letters, as they must (RFC 9114
    /// section 4.2).
    pub fn new<'a>(fields: impl Iterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut lines = Vec::new();
        for (name, value) in fields {
            write_field(&mut lines, name, value);
        }
        Fields(lines)
    }
}

/// A head that was encoded once, without its date.
#[derive(Clone, Debug)]
pub struct RenderedHead(Vec<u8>);

impl RenderedHead {
    /// Encodes the head of an answer with this status and these fields.
    pub fn new<'a>(status: u16, fields: impl Iterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut section = Vec::new();
        begin(&mut section, status, fields);
        RenderedHead(section)
    }

    /// Appends the frame with the head: its fields, the date and `more`.
    pub fn write(&self, out: &mut Vec<u8>, date: &[u8; 29], more: &Fields) {
        end(out, &self.0, date, more);
    }
}

/// Appends the frame with a head that is made for one answer.
pub fn write_head<'a>(
    out: &mut Vec<u8>,
    status: u16,
    date: &[u8; 29],
    fields: impl Iterator<Item = (&'a str, &'a [u8])>,
    more: &Fields,
) {
    let mut section = Vec::new();
    begin(&mut section, status, fields);
    end(out, &section, date, more);
}

/// Appends what goes before content of so many bytes, which are one frame however many they are.
pub fn write_data_header(out: &mut Vec<u8>, length: u64) {
    varint::write(out, DATA);
    varint::write(out, length);
}

fn begin<'a>(out: &mut Vec<u8>, status: u16, fields: impl Iterator<Item = (&'a str, &'a [u8])>) {
    qpack::begin(out);
    qpack::write(out, b":status", status.to_string().as_bytes());
    for (name, value) in fields {
        write_field(out, name, value);
    }
}

fn write_field(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    qpack::write(out, name.to_ascii_lowercase().as_bytes(), value);
}

fn end(out: &mut Vec<u8>, section: &[u8], date: &[u8; 29], more: &Fields) {
    let length = section.len() + DATE.len() + date.len() + more.0.len();
    varint::write(out, HEADERS);
    varint::write(out, u64::try_from(length).unwrap_or(u64::MAX));
    out.extend_from_slice(section);
    out.extend_from_slice(&DATE);
    out.extend_from_slice(date);
    out.extend_from_slice(&more.0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Frames, Part};

    /// The lines of one frame with a head.
    fn lines(mut bytes: &[u8]) -> Vec<(String, String)> {
        let (mut frames, mut payload) = (Frames::default(), Vec::new());
        let begin = frames.next(&mut bytes);
        assert!(
            matches!(begin, Some(Part::Begin { kind: HEADERS, .. })),
            "{begin:?}"
        );
        while let Some(Part::Payload(part)) = frames.next(&mut bytes) {
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
        let fields = || [("Content-Type", &b"text/css"[..]), ("ETag", b"\"a\"")].into_iter();
        let more = Fields::new([("Strict-Transport-Security", &b"max-age=1"[..])].into_iter());
        let (mut rendered, mut made) = (Vec::new(), Vec::new());
        RenderedHead::new(200, fields()).write(&mut rendered, date, &more);
        write_head(&mut made, 200, date, fields(), &more);
        assert_eq!(rendered, made);
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
        assert_eq!(lines(&made), expected);
        let mut unusual = Vec::new();
        write_head(&mut unusual, 416, date, [].into_iter(), &Fields::default());
        assert_eq!(lines(&unusual)[0], (":status".to_owned(), "416".to_owned()));
        assert_eq!(lines(CONTINUE), [(":status".to_owned(), "100".to_owned())]);
    }

    #[test]
    fn content_has_its_length_before_it() {
        let mut out = Vec::new();
        write_data_header(&mut out, 5);
        write_data_header(&mut out, 20_000_000_000);
        assert_eq!(out, b"\0\x05\0\xc0\0\0\x04\xa8\x17\xc8\0");
    }
}
