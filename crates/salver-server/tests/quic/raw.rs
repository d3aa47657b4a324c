//! Streams of HTTP/3 byte by byte, for what no honest client sends.

use quinn::{ReadToEndError, RecvStream, SendStream, VarInt};
use salver_fields::{integer, string};

use super::within;

/// HTTP/3's error codes (RFC 9114 section 8.1).
pub(crate) const H3_NO_ERROR: u64 = 0x100;
pub(crate) const H3_INTERNAL_ERROR: u64 = 0x102;
pub(crate) const H3_CLOSED_CRITICAL_STREAM: u64 = 0x104;
pub(crate) const H3_FRAME_UNEXPECTED: u64 = 0x105;
pub(crate) const H3_FRAME_ERROR: u64 = 0x106;
pub(crate) const H3_EXCESSIVE_LOAD: u64 = 0x107;
pub(crate) const H3_MISSING_SETTINGS: u64 = 0x10a;
pub(crate) const H3_REQUEST_CANCELLED: u64 = 0x10c;
pub(crate) const H3_REQUEST_INCOMPLETE: u64 = 0x10d;
pub(crate) const H3_MESSAGE_ERROR: u64 = 0x10e;

/// A frame shorter than 16 KiB.
pub(crate) fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).unwrap() | 0x4000;
    [&[kind], &length.to_be_bytes()[..], payload].concat()
}

/// A HEADERS frame with these lines, none of them from a table.
pub(crate) fn headers(lines: &[(&str, &str)]) -> Vec<u8> {
    let mut section = vec![0, 0];
    for (name, value) in lines {
        string(&mut section, 0x20, 7, name);
        string(&mut section, 0, 127, value);
    }
    frame(1, &section)
}

fn string(out: &mut Vec<u8>, first: u8, most: u8, text: &str) {
    if text.len() < usize::from(most) {
        out.push(first | u8::try_from(text.len()).unwrap());
    } else {
        out.push(first | most);
        let mut rest = text.len() - usize::from(most);
        while rest >= 128 {
            out.push(u8::try_from(rest % 128).unwrap() | 128);
            rest /= 128;
        }
        out.push(u8::try_from(rest).unwrap());
    }
    out.extend_from_slice(text.as_bytes());
}

/// GET of a path, with more lines.
pub(crate) fn get(path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let lines = [
        (":method", "GET"),
        (":scheme", "https"),
        (":authority", super::HOST),
        (":path", path),
    ];
    headers(&[&lines[..], more].concat())
}

/// Sends all of `stream` and its end.
pub(crate) async fn send(quic: &quinn::Connection, stream: &[u8]) -> (SendStream, RecvStream) {
    let (mut send, receive) = within(quic.open_bi()).await.unwrap();
    // The answer may come, and the rest be refused, before all is sent.
    let _ = within(send.write_all(stream)).await;
    let _ = send.finish();
    (send, receive)
}

/// What comes back: the status and the content, or the code with which the stream was reset.
pub(crate) async fn outcome(mut receive: RecvStream) -> Result<(u16, Vec<u8>), Option<u64>> {
    let bytes = match within(receive.read_to_end(1 << 24)).await {
        Ok(bytes) => bytes,
        Err(ReadToEndError::Read(quinn::ReadError::Reset(code))) => {
            return Err(Some(code.into_inner()));
        }
        Err(_) => return Err(None),
    };
    let (kind, rest) = varint(&bytes);
    assert_eq!(kind, 1, "a head: {bytes:?}");
    let (length, rest) = varint(rest);
    let (section, rest) = rest.split_at(length);
    // At most one frame with content.
    let content = match rest {
        [] => vec![],
        [0, rest @ ..] => varint(rest).1.to_vec(),
        _ => panic!("not content: {rest:?}"),
    };
    Ok((status(section), content))
}

/// An integer of QUIC (RFC 9000 section 16), and what follows it.
fn varint(bytes: &[u8]) -> (usize, &[u8]) {
    let (integer, rest) = bytes.split_at(1 << (bytes[0] >> 6));
    let first = usize::from(integer[0] & 0x3f);
    let add = |value: usize, byte: &u8| value << 8 | usize::from(*byte);
    (integer[1..].iter().fold(first, add), rest)
}

/// The status with which a field section without a dynamic table begins.
fn status(section: &[u8]) -> u16 {
    // RFC 9204 appendix A.
    let known = [
        (25, 200),
        (26, 304),
        (27, 404),
        (28, 503),
        (63, 100),
        (64, 204),
        (65, 206),
        (67, 400),
        (68, 403),
        (71, 500),
    ];
    let line = &section[2..];
    if line[0] & 0xc0 == 0xc0 {
        let (index, _) = integer::read(line, 6).unwrap();
        let (_, status) = known.iter().find(|(at, _)| *at == index).unwrap();
        return *status;
    }
    let (index, rest) = integer::read(line, 4).unwrap();
    assert_eq!(index, 24, "the name of :status: {line:?}");
    let mut text = Vec::new();
    string::read(rest, 7, &mut text).unwrap();
    std::str::from_utf8(&text).unwrap().parse().unwrap()
}

/// With which code the server closes the connection.
pub(crate) async fn closed(quic: &quinn::Connection) -> Option<u64> {
    match within(quic.closed()).await {
        quinn::ConnectionError::ApplicationClosed(close) => Some(close.error_code.into_inner()),
        _ => None,
    }
}

/// Opens the control stream with these bytes.
pub(crate) async fn control(quic: &quinn::Connection, bytes: &[u8]) -> SendStream {
    let mut stream = within(quic.open_uni()).await.unwrap();
    within(stream.write_all(bytes)).await.unwrap();
    stream
}

/// An error code for a stream.
pub(crate) fn code(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap()
}
