//! What one frame of a server must be by itself (RFC 9113 sections 4 and 6).

use crate::http2::frame::{Frame, flag, kind, setting};

/// We never allow more than the initial SETTINGS_MAX_FRAME_SIZE.
const MAX_PAYLOAD: usize = 16_384;

/// Whether a frame is one that a server may send, as far as it shows by itself.
pub(crate) fn check_frame(frame: &Frame) -> Result<(), String> {
    let length = frame.payload.len();
    let wrong = |what: &str| Err(format!("{what}: {frame:?}"));
    if length > MAX_PAYLOAD {
        return Err(format!("a frame of {length} bytes: kind {}", frame.kind));
    }
    if frame.stream > 0x7fff_ffff {
        return wrong("the reserved bit is set");
    }
    let known = match frame.kind {
        kind::DATA => flag::END_STREAM | flag::PADDED,
        kind::HEADERS => flag::END_STREAM | flag::END_HEADERS | flag::PADDED | flag::PRIORITY,
        kind::SETTINGS | kind::PING => flag::ACK,
        kind::CONTINUATION => flag::END_HEADERS,
        kind::GOAWAY | kind::RST_STREAM | kind::WINDOW_UPDATE => 0,
        kind::PUSH_PROMISE => return wrong("PUSH_PROMISE, though push is switched off"),
        kind::PRIORITY | kind::PRIORITY_UPDATE => return wrong("only a client sends this"),
        // Extensions are for the receiver to ignore (RFC 9113 section 5.5).
        _ => return Ok(()),
    };
    if frame.flags & !known != 0 {
        return wrong("a flag that is not defined");
    }
    let on_stream = frame.stream != 0;
    let right_stream = match frame.kind {
        kind::SETTINGS | kind::PING | kind::GOAWAY => !on_stream,
        kind::WINDOW_UPDATE => true,
        _ => on_stream,
    };
    if !right_stream {
        return wrong("on the wrong stream");
    }
    let right_length = match frame.kind {
        kind::PING => length == 8,
        kind::RST_STREAM | kind::WINDOW_UPDATE => length == 4,
        kind::GOAWAY => length >= 8,
        kind::SETTINGS if frame.has(flag::ACK) => length == 0,
        kind::SETTINGS => length.is_multiple_of(6),
        _ => true,
    };
    if !right_length {
        return wrong("of a wrong length");
    }
    if frame.kind == kind::WINDOW_UPDATE
        && matches!(frame.number(0), None | Some(0 | 0x8000_0000..))
    {
        return wrong("an increment that is none");
    }
    Ok(())
}

/// The pairs of a SETTINGS frame, if a server may say them (RFC 9113 section 6.5.2).
pub(crate) fn read_settings(frame: &Frame) -> Result<Vec<(u16, u32)>, String> {
    let mut pairs = Vec::new();
    for pair in frame.payload.chunks_exact(6) {
        let &[a, b, c, d, e, f] = pair else { continue };
        let (identifier, value) = (u16::from_be_bytes([a, b]), u32::from_be_bytes([c, d, e, f]));
        let right = match identifier {
            setting::ENABLE_PUSH => value == 0,
            setting::INITIAL_WINDOW_SIZE => value <= 0x7fff_ffff,
            setting::MAX_FRAME_SIZE => (16_384..=0xff_ffff).contains(&value),
            _ => true,
        };
        if !right {
            return Err(format!("setting {identifier} is {value}"));
        }
        pairs.push((identifier, value));
    }
    Ok(pairs)
}

/// What a DATA or HEADERS frame holds, without its padding and its priority.
pub(crate) fn content(frame: &Frame) -> Result<&[u8], String> {
    let mut rest = frame.payload.as_slice();
    let wrong = || format!("padding without sense: {frame:?}");
    if frame.has(flag::PADDED) {
        let (padding, behind) = rest.split_first().ok_or_else(wrong)?;
        let length = behind
            .len()
            .checked_sub(usize::from(*padding))
            .ok_or_else(wrong)?;
        let (own, zeros) = behind.split_at_checked(length).ok_or_else(wrong)?;
        if zeros.iter().any(|byte| *byte != 0) {
            return Err(wrong());
        }
        rest = own;
    }
    if frame.kind == kind::HEADERS && frame.has(flag::PRIORITY) {
        rest = rest.get(5..).ok_or_else(wrong)?;
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let frame = Frame::new(kind, flags, stream, payload);
        assert!(check_frame(&frame).is_err(), "{frame:?}");
    }

    #[test]
    fn frames_by_themselves() {
        for frame in [
            Frame::settings(&[(setting::MAX_FRAME_SIZE, 16_384)]),
            Frame::new(kind::SETTINGS, flag::ACK, 0, []),
            Frame::headers(1, vec![0x88], true),
            Frame::window_update(0, 1),
            Frame::reset(1, 0),
            Frame::new(0xa, 0xff, 0, []),
        ] {
            assert_eq!(check_frame(&frame), Ok(()), "{frame:?}");
        }
        refused(kind::DATA, 0, 0, b"a");
        refused(kind::DATA, flag::END_HEADERS, 1, b"a");
        refused(kind::DATA, 0, 1, &[0; MAX_PAYLOAD + 1]);
        refused(kind::DATA, 0, 0x8000_0001, b"a");
        refused(kind::SETTINGS, 0, 1, b"");
        refused(kind::SETTINGS, 0, 0, b"12345");
        refused(kind::SETTINGS, flag::ACK, 0, b"123456");
        refused(kind::PING, 0, 0, b"1234567");
        refused(kind::RST_STREAM, 0, 1, b"12345");
        refused(kind::WINDOW_UPDATE, 0, 1, &[0, 0, 0, 0]);
        refused(kind::WINDOW_UPDATE, 0, 1, &[0x80, 0, 0, 1]);
        refused(kind::GOAWAY, 0, 0, &[0; 7]);
        refused(kind::PUSH_PROMISE, 0, 1, &[0; 8]);
    }

    #[test]
    fn settings_of_a_server() {
        let read = |pair| read_settings(&Frame::settings(&[pair]));
        assert_eq!(read((3, 100)), Ok(vec![(3, 100)]));
        assert!(read((setting::ENABLE_PUSH, 1)).is_err());
        assert!(read((setting::INITIAL_WINDOW_SIZE, 0x8000_0000)).is_err());
        assert!(read((setting::MAX_FRAME_SIZE, 16_383)).is_err());
    }

    #[test]
    fn padding() {
        let padded = |payload: &[u8]| {
            let frame = Frame::new(kind::DATA, flag::PADDED, 1, payload);
            content(&frame).map(<[u8]>::to_vec)
        };
        assert_eq!(padded(&[2, b'a', 0, 0]), Ok(b"a".to_vec()));
        assert_eq!(padded(&[0]), Ok(Vec::new()));
        assert!(padded(&[]).is_err());
        assert!(padded(&[2, 0]).is_err());
        assert!(padded(&[1, b'a', 1]).is_err());
    }
}
