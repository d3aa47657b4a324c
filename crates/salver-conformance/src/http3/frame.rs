//! Frames of HTTP/3 (RFC 9114 section 7) and the integers they begin with (RFC 9000 section 16).

use crate::answer::Answer;
use crate::carried::Carried;
use crate::http3::qpack;

/// Frame types.
pub(crate) const DATA: u64 = 0;
pub(crate) const HEADERS: u64 = 1;
pub(crate) const SETTINGS: u64 = 4;
pub(crate) const GOAWAY: u64 = 7;
/// Those that may not come from a server on a stream of a request: CANCEL_PUSH, SETTINGS,
/// PUSH_PROMISE (we allow no push), GOAWAY and MAX_PUSH_ID, and the types of HTTP/2 that have
/// none here (sections 7.2 and 11.2.1).
const FORBIDDEN: [u64; 9] = [2, 3, SETTINGS, 5, 6, GOAWAY, 8, 9, 13];

/// Writes an integer.
pub(crate) fn put_integer(out: &mut Vec<u8>, value: u64) {
    if value < 1 << 6 {
        out.push(u8::try_from(value).unwrap_or_default());
    } else if value < 1 << 14 {
        let value = u16::try_from(value).unwrap_or_default() | 0x4000;
        out.extend_from_slice(&value.to_be_bytes());
    } else {
        let value = u32::try_from(value).unwrap_or_default() | 0x8000_0000;
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// Takes an integer off the front of `bytes`; `None` if it is not whole.
pub(crate) fn take_integer(bytes: &mut &[u8]) -> Option<u64> {
    let length = 1_usize << (bytes.first()? >> 6);
    let (own, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    let value = own
        .iter()
        .fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    // The two bits that say the length.
    Some(value & (u64::MAX >> (66 - 8 * length.min(8))))
}

/// Writes a frame.
pub(crate) fn put(out: &mut Vec<u8>, kind: u64, payload: &[u8]) {
    put_integer(out, kind);
    put_integer(out, u64::try_from(payload.len()).unwrap_or_default());
    out.extend_from_slice(payload);
}

/// Takes a frame off the front of `bytes`; `None` if it is not whole.
pub(crate) fn take<'a>(bytes: &mut &'a [u8]) -> Option<(u64, &'a [u8])> {
    let mut rest = *bytes;
    let kind = take_integer(&mut rest)?;
    let length = usize::try_from(take_integer(&mut rest)?).ok()?;
    let (payload, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some((kind, payload))
}

/// All that a request sends on its stream.
pub(crate) fn request(request: &Carried) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, HEADERS, &qpack::literal(&request.fields));
    if !request.content.is_empty() {
        put(&mut out, DATA, &request.content);
    }
    if !request.trailers.is_empty() {
        put(&mut out, HEADERS, &qpack::literal(&request.trailers));
    }
    out
}

/// Gives the frames of a whole stream to its answer.
pub(crate) fn read_answer(answer: &mut Answer, mut bytes: &[u8]) -> Result<(), String> {
    while !bytes.is_empty() {
        let (kind, payload) = take(&mut bytes).ok_or("the stream ended within a frame")?;
        match kind {
            HEADERS => answer.take_section(&qpack::read(payload)?)?,
            DATA => answer.take_content(payload)?,
            kind if FORBIDDEN.contains(&kind) => {
                return Err(format!(
                    "a frame of type {kind:#x} on the stream of a request"
                ));
            }
            // Section 9: others are for the receiver to ignore.
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_the_standard() {
        // RFC 9000 appendix A.1
        for (bytes, value) in [
            (
                &b"\xc2\x19\x7c\x5e\xff\x14\xe8\x8c"[..],
                151_288_809_941_952_652,
            ),
            (b"\x9d\x7f\x3e\x7d", 494_878_333),
            (b"\x7b\xbd", 15_293),
            (b"\x25", 37),
        ] {
            let mut rest = bytes;
            assert_eq!((take_integer(&mut rest), rest), (Some(value), &[][..]));
            if value < 1 << 30 {
                let mut out = Vec::new();
                put_integer(&mut out, value);
                assert_eq!(out, bytes);
            }
        }
        assert_eq!(take_integer(&mut &b"\x9d\x7f"[..]), None);
    }

    /// `part` is in the error; empty if there is none.
    fn check(frames: &[(u64, &[u8])], part: &str) {
        let mut bytes = Vec::new();
        for (kind, payload) in frames {
            put(&mut bytes, *kind, payload);
        }
        let mut answer = Answer::to(&Carried::default().with(":method", "GET"));
        match read_answer(&mut answer, &bytes).and_then(|()| answer.take_end()) {
            Ok(()) => assert_eq!(part, "", "{frames:?} passed"),
            Err(error) => assert!(!part.is_empty() && error.contains(part), "{error}"),
        }
    }

    #[test]
    fn streams() {
        let head = qpack::literal(&vec![
            (b":status".to_vec(), b"200".to_vec()),
            (b"content-length".to_vec(), b"4".to_vec()),
        ]);
        let head = (HEADERS, head.as_slice());
        check(&[head, (DATA, b"ab"), (0x21, b"grease"), (DATA, b"cd")], "");
        check(&[head, (DATA, b"abc")], "3 bytes");
        check(&[(DATA, b"abcd")], "DATA before HEADERS");
        check(&[], "without an answer");
        check(&[head, (SETTINGS, b"")], "type 0x4");
        check(&[head, (8, b"")], "type 0x8");
    }
}
