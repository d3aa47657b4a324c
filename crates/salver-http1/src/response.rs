//! The heads of responses, rendered: status line and field section (RFC 9112 sections 4 and 5).

use crate::request_line::Version;
use salver_semantics::field::is_token;

/// The interim response that lets a client send its content (RFC 9110 section 15.2.1).
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The most bytes that [`RenderedHead::write`] appends beyond [`RenderedHead::len`] and `more`.
pub const TAIL_AT_MOST: usize = b"Connection: keep-alive\r\n\r\n".len();

/// The persistence of a connection, as a response announces it (RFC 9112 section 9).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Persistence {
    /// The connection lasts, as HTTP/1.1 has it by default: no field is needed.
    KeepAlive,
    /// The connection lasts, and a client of HTTP/1.0 is told so: `Connection: keep-alive`.
    KeepAliveExplicit,
    /// The connection ends: `Connection: close`.
    Close,
    /// The connection goes on in another protocol: `Connection: upgrade` (RFC 9110 section 7.8).
    Upgrade,
}

impl Persistence {
    /// The persistence to announce to a client of `version`, on a connection that lasts or doesn't.
    pub const fn new(version: Version, lasts: bool) -> Persistence {
        match (version, lasts) {
            (_, false) => Persistence::Close,
            (Version::Http11, true) => Persistence::KeepAlive,
            (Version::Http10, true) => Persistence::KeepAliveExplicit,
        }
    }

    /// The last field line, if there is one, and the empty line.
    const fn tail(self) -> &'static [u8] {
        match self {
            Persistence::KeepAlive => b"\r\n",
            Persistence::KeepAliveExplicit => b"Connection: keep-alive\r\n\r\n",
            Persistence::Close => b"Connection: close\r\n\r\n",
            Persistence::Upgrade => b"Connection: upgrade\r\n\r\n",
        }
    }
}

/// A response head that is rendered once and sent many times: status line, Date and fields,
/// without Connection and the empty line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RenderedHead {
    bytes: Box<[u8]>,
    /// The index in `bytes` of the 29 bytes of the date.
    date_at: usize,
}

const NO_DATE: &[u8; 29] = b"Thu, 01 Jan 1970 00:00:00 GMT";

impl RenderedHead {
    /// Renders a head. `fields` are written in their order; see [`write_head`] for what is done to
    /// values that could end a line. Date and Connection must not be among them.
    pub fn new<'a>(status: u16, fields: impl Iterator<Item = (&'a str, &'a [u8])>) -> RenderedHead {
        let mut bytes = Vec::with_capacity(256);
        let date_at = push_start(&mut bytes, status, NO_DATE);
        push_fields(&mut bytes, fields);
        RenderedHead {
            bytes: bytes.into_boxed_slice(),
            date_at,
        }
    }

    /// The length in bytes, without those that [`RenderedHead::write`] adds at the end.
    #[expect(clippy::len_without_is_empty, reason = "there is always a status line")]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The index of the 29 bytes of the date in the bytes that [`write`](Self::write) appends.
    pub fn date_at(&self) -> usize {
        self.date_at
    }

    /// Appends the whole head to `out`, empty line included. Nothing is allocated if `out` has room
    /// for [`len`](Self::len), `more` and [`TAIL_AT_MOST`] bytes.
    ///
    /// `date` is an IMF-fixdate (RFC 9110 section 5.6.7). `more` are further field lines, each with
    /// its CRLF.
    pub fn write(&self, out: &mut Vec<u8>, date: &[u8; 29], more: &[u8], connection: Persistence) {
        let start = out.len() + self.date_at;
        out.extend_from_slice(&self.bytes);
        if let Some(place) = out.get_mut(start..start + date.len()) {
            place.copy_from_slice(date);
        }
        out.extend_from_slice(more);
        out.extend_from_slice(connection.tail());
    }
}

/// Appends the head of a response to `out`: status line, Date, `fields` in their order, Connection if it is needed,
/// and the empty line.
///
/// No value can end its line or the head: CR, LF and NUL are replaced by SP (RFC 9110 section 5.5).
/// A field whose name is not a token is left out. `status` has three digits, `more` are further field lines, each with
/// its CRLF.
pub fn write_head<'a>(
    out: &mut Vec<u8>,
    status: u16,
    date: &[u8; 29],
    fields: impl Iterator<Item = (&'a str, &'a [u8])>,
    more: &[u8],
    connection: Persistence,
) {
    push_start(out, status, date);
    push_fields(out, fields);
    out.extend_from_slice(more);
    out.extend_from_slice(connection.tail());
}

/// Appends the status line and Date. Returns the index of the date.
fn push_start(out: &mut Vec<u8>, status: u16, date: &[u8; 29]) -> usize {
    out.extend_from_slice(b"HTTP/1.1 ");
    for unit in [100, 10, 1] {
        let digit = u8::try_from(status / unit % 10).unwrap_or_default();
        out.push(b'0' + digit);
    }
    // RFC 9112 section 4: the space is there even if the reason phrase is empty.
    out.push(b' ');
    out.extend_from_slice(reason_phrase(status).as_bytes());
    out.extend_from_slice(b"\r\nDate: ");
    let date_at = out.len();
    out.extend_from_slice(date);
    out.extend_from_slice(b"\r\n");
    date_at
}

fn push_fields<'a>(out: &mut Vec<u8>, fields: impl Iterator<Item = (&'a str, &'a [u8])>) {
    for (name, value) in fields {
        if !is_token(name.as_bytes()) {
            continue;
        }
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        let start = out.len();
        out.extend_from_slice(value);
        // Copied whole, then looked at: each of both is a loop over many bytes at a time.
        for byte in out.get_mut(start..).unwrap_or_default() {
            let ends = matches!(*byte, b'\r' | b'\n' | b'\0');
            *byte = if ends { b' ' } else { *byte };
        }
        out.extend_from_slice(b"\r\n");
    }
}

/// The field that announces the chunked transfer coding.
pub const CHUNKED: (&str, &[u8]) = ("Transfer-Encoding", b"chunked");

/// The bytes behind the data of a chunk.
pub const CHUNK_END: &[u8] = b"\r\n";

/// Appends the beginning of a chunk with `length` bytes of data, behind which [`CHUNK_END`] stands (RFC 9112 section
/// 7.1). A chunk without data would be the last one: nothing is appended for it, and neither is to be sent.
pub fn write_chunk_begin(out: &mut Vec<u8>, length: usize) {
    if length > 0 {
        out.extend_from_slice(format!("{length:x}\r\n").as_bytes());
    }
}

/// Appends the last chunk and the trailer section, which end the body (RFC 9112 section 7.1.2). As in [`write_head`] no
/// value can end its line, and a field whose name is not a token is left out.
pub fn write_last_chunk<'a>(
    out: &mut Vec<u8>,
    trailers: impl Iterator<Item = (&'a str, &'a [u8])>,
) {
    out.extend_from_slice(b"0\r\n");
    push_fields(out, trailers);
    out.extend_from_slice(b"\r\n");
}

/// The reason phrase of a status code, as IANA has registered it; empty for others, and for those that are used no more.
pub const fn reason_phrase(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        102 => "Processing",
        103 => "Early Hints",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        207 => "Multi-Status",
        208 => "Already Reported",
        226 => "IM Used",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        423 => "Locked",
        424 => "Failed Dependency",
        425 => "Too Early",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        506 => "Variant Also Negotiates",
        507 => "Insufficient Storage",
        508 => "Loop Detected",
        511 => "Network Authentication Required",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::{BodyBuffer, BodyDecoder};
    use crate::framing::BodyLength;
    use crate::limits::Limits;
    use proptest::prelude::*;

    const DATE: &[u8; 29] = b"Sun, 06 Nov 1994 08:49:37 GMT";

    type Lines<'a> = &'a [(&'a str, &'a [u8])];

    fn unprepared(status: u16, fields: Lines<'_>, connection: Persistence) -> Vec<u8> {
        let mut out = b"before".to_vec();
        write_head(
            &mut out,
            status,
            DATE,
            fields.iter().copied(),
            b"",
            connection,
        );
        out
    }

    fn prepared(status: u16, fields: Lines<'_>, connection: Persistence) -> Vec<u8> {
        let head = RenderedHead::new(status, fields.iter().copied());
        assert_eq!(head.len(), head.bytes.len());
        let mut out = b"before".to_vec();
        out.reserve_exact(head.len() + TAIL_AT_MOST);
        let room = out.capacity();
        head.write(&mut out, DATE, b"", connection);
        assert_eq!(out.capacity(), room, "nothing was allocated");
        assert!(out.starts_with(b"before"));
        out
    }

    #[test]
    fn a_chunked_body_is_read_back() {
        let pieces: [&[u8]; 4] = [b"a", b"", &[b'x'; 300], b"\r\n0\r\n\r\n"];
        let mut out = Vec::new();
        for piece in pieces {
            write_chunk_begin(&mut out, piece.len());
            if !piece.is_empty() {
                out.extend_from_slice(piece);
                out.extend_from_slice(CHUNK_END);
            }
        }
        let trailers: Lines<'_> = &[("A", b"b\r\nC: d"), ("no token", b"x")];
        write_last_chunk(&mut out, trailers.iter().copied());
        let mut decoder = BodyDecoder::new(BodyLength::Chunked, &Limits::default());
        let mut buffer = BodyBuffer::default();
        let read = decoder.read(&out, Some(&mut buffer));
        assert_eq!(read, Ok((out.len(), true)));
        assert_eq!(buffer.content, pieces.concat());
        assert_eq!(buffer.trailers, b"A: b  C: d\r\n");
    }

    #[track_caller]
    fn check(status: u16, fields: Lines<'_>, connection: Persistence, expected: &str) {
        let expected = format!("before{expected}");
        for out in [
            unprepared(status, fields, connection),
            prepared(status, fields, connection),
        ] {
            assert_eq!(
                out.escape_ascii().to_string(),
                expected.as_bytes().escape_ascii().to_string()
            );
        }
    }

    #[test]
    fn heads() {
        check(
            200,
            &[("Content-Length", b"3"), ("ETag", b"\"x\"")],
            Persistence::KeepAlive,
            "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
             Content-Length: 3\r\nETag: \"x\"\r\n\r\n",
        );
        check(
            304,
            &[],
            Persistence::KeepAliveExplicit,
            "HTTP/1.1 304 Not Modified\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
             Connection: keep-alive\r\n\r\n",
        );
        check(
            505,
            &[("Content-Length", b"0")],
            Persistence::Close,
            "HTTP/1.1 505 HTTP Version Not Supported\r\n\
             Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 0\r\n\
             Connection: close\r\n\r\n",
        );
        check(
            101,
            &[("Upgrade", b"websocket")],
            Persistence::Upgrade,
            "HTTP/1.1 101 Switching Protocols\r\n\
             Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nUpgrade: websocket\r\n\
             Connection: upgrade\r\n\r\n",
        );
        // No reason phrase, but its space.
        check(
            299,
            &[("X", b"")],
            Persistence::KeepAlive,
            "HTTP/1.1 299 \r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nX: \r\n\r\n",
        );
    }

    #[test]
    fn nothing_splits_a_response() {
        for (value, expected) in [
            (&b"a\r\nSet-Cookie: b"[..], "a  Set-Cookie: b"),
            (b"\r\n\r\n<html>", "    <html>"),
            (b"a\nb\rc\0d", "a b c d"),
            (b"tab\tand \xff stay", "tab\tand \u{fffd} stay"),
        ] {
            let out = unprepared(200, &[("X", value)], Persistence::KeepAlive);
            let out = String::from_utf8_lossy(&out).into_owned();
            assert!(
                out.ends_with(&format!("GMT\r\nX: {expected}\r\n\r\n")),
                "{out:?}"
            );
        }
        for name in ["", "A\r\nB", "A B", "A:", "A\n", "\0", "\u{e4}"] {
            let out = unprepared(200, &[(name, b"x"), ("Y", b"y")], Persistence::KeepAlive);
            assert!(out.ends_with(b"GMT\r\nY: y\r\n\r\n"), "{name:?}");
        }
    }

    #[test]
    fn persistence_is_said_where_it_is_not_the_default() {
        for (version, lasts, expected) in [
            (Version::Http11, true, "\r\n"),
            (Version::Http11, false, "Connection: close\r\n\r\n"),
            (Version::Http10, true, "Connection: keep-alive\r\n\r\n"),
            (Version::Http10, false, "Connection: close\r\n\r\n"),
        ] {
            let persistence = Persistence::new(version, lasts);
            assert_eq!(persistence.tail(), expected.as_bytes());
            assert!(persistence.tail().len() <= TAIL_AT_MOST);
        }
    }

    #[test]
    fn continue_is_a_whole_head() {
        assert_eq!(CONTINUE, b"HTTP/1.1 100 Continue\r\n\r\n");
        assert_eq!(reason_phrase(100), "Continue");
    }

    #[test]
    fn reason_phrases_are_phrases() {
        for status in 0..=u16::MAX {
            let phrase = reason_phrase(status);
            assert!(
                phrase
                    .bytes()
                    .all(|byte| matches!(byte, b' ' | b'-') || byte.is_ascii_alphabetic())
            );
        }
        // Refusals, and what handlers of programs answer.
        for status in [
            400, 413, 414, 417, 431, 501, 505, 201, 202, 207, 402, 422, 425, 451, 507,
        ] {
            assert_ne!(reason_phrase(status), "", "{status}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_fields_make_one_head(
            status in 100u16..600,
            fields in proptest::collection::vec(
                ("[!-9;-~ \r\n]{0,8}", proptest::collection::vec(any::<u8>(), 0..40)),
                0..8,
            ),
            connection in prop_oneof![
                Just(Persistence::KeepAlive),
                Just(Persistence::KeepAliveExplicit),
                Just(Persistence::Close),
            ],
        ) {
            let fields: Vec<(&str, &[u8])> =
                fields.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
            let out = unprepared(status, &fields, connection);
            prop_assert_eq!(&out, &prepared(status, &fields, connection));
            let lines = fields.iter().filter(|(name, _)| is_token(name.as_bytes())).count();
            let expected = 3 + lines + usize::from(connection != Persistence::KeepAlive);
            prop_assert_eq!(out.windows(2).filter(|end| end == b"\r\n").count(), expected);
            prop_assert_eq!(out.iter().filter(|byte| b"\r\n\0".contains(byte)).count(), 2 * expected);
            let end = out.windows(4).position(|end| end == b"\r\n\r\n");
            prop_assert_eq!(end, Some(out.len() - 4));
        }
    }
}
