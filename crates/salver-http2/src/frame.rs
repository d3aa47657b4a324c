//! Frames (RFC 9113 sections 4 and 6): their headers, both ways, and the small ones whole.

use crate::error::ErrorCode;

/// The client's connection preface (section 3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The length of a frame header in bytes.
pub(crate) const HEADER: usize = 9;

/// The longest payload that is received, and that is sent (the initial `SETTINGS_MAX_FRAME_SIZE`). A longer one would
/// only let one stream hold up the others.
pub(crate) const LONGEST: usize = 16 * 1024;

/// The largest window (section 6.9.1), and stream identifier.
pub(crate) const MOST: u32 = 0x7fff_ffff;

/// Frame types (section 6, RFC 9218 section 7.1).
pub(crate) mod kind {
    pub(crate) const DATA: u8 = 0;
    pub(crate) const HEADERS: u8 = 1;
    pub(crate) const PRIORITY: u8 = 2;
    pub(crate) const RST_STREAM: u8 = 3;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const PUSH_PROMISE: u8 = 5;
    pub(crate) const PING: u8 = 6;
    pub(crate) const GOAWAY: u8 = 7;
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    pub(crate) const CONTINUATION: u8 = 9;
    pub(crate) const PRIORITY_UPDATE: u8 = 0x10;
}

/// Frame flags (section 6).
pub(crate) mod flag {
    pub(crate) const ACK: u8 = 1;
    pub(crate) const END_STREAM: u8 = 1;
    pub(crate) const END_HEADERS: u8 = 4;
    pub(crate) const PADDED: u8 = 8;
    pub(crate) const PRIORITY: u8 = 0x20;
}

/// Settings (section 6.5.2, RFC 9218 section 2.1).
pub(crate) mod setting {
    pub(crate) const HEADER_TABLE_SIZE: u16 = 1;
    pub(crate) const ENABLE_PUSH: u16 = 2;
    pub(crate) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;
    pub(crate) const MAX_FRAME_SIZE: u16 = 5;
    pub(crate) const MAX_HEADER_LIST_SIZE: u16 = 6;
    pub(crate) const ENABLE_CONNECT_PROTOCOL: u16 = 8;
    pub(crate) const NO_RFC7540_PRIORITIES: u16 = 9;
}

/// A whole frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The first frame of `input`, and its length with its header; `None` if it is incomplete.
    ///
    /// # Errors
    /// `FRAME_SIZE_ERROR` as soon as a header announces too much.
    pub(crate) fn read(input: &'a [u8]) -> Result<Option<(usize, Frame<'a>)>, ErrorCode> {
        let Some(([a, b, c, kind, flags, stream @ ..], rest)) = input.split_first_chunk::<HEADER>()
        else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([0, *a, *b, *c]);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > LONGEST {
            return Err(ErrorCode::FRAME_SIZE_ERROR);
        }
        let frame = |payload| Frame {
            kind: *kind,
            flags: *flags,
            // Section 4.1: the reserved bit is ignored.
            stream: u32::from_be_bytes(*stream) & MOST,
            payload,
        };
        let payload = rest.get(..length);
        Ok(payload.map(|payload| (HEADER + length, frame(payload))))
    }

    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The payload of DATA or HEADERS without padding (section 6.1).
    ///
    /// # Errors
    /// `PROTOCOL_ERROR` if there is more padding than payload; `FRAME_SIZE_ERROR` if the length of the padding is
    /// missing.
    pub(crate) fn unpadded(&self) -> Result<&'a [u8], ErrorCode> {
        if !self.has(flag::PADDED) {
            return Ok(self.payload);
        }
        let (&padding, rest) = self
            .payload
            .split_first()
            .ok_or(ErrorCode::FRAME_SIZE_ERROR)?;
        let length = rest.len().checked_sub(usize::from(padding));
        length
            .and_then(|length| rest.get(..length))
            .ok_or(ErrorCode::PROTOCOL_ERROR)
    }

    /// The payload as one 32-bit number.
    ///
    /// # Errors
    /// `FRAME_SIZE_ERROR`.
    pub(crate) fn number(&self) -> Result<u32, ErrorCode> {
        let bytes = self.payload.as_array();
        bytes
            .map(|bytes| u32::from_be_bytes(*bytes))
            .ok_or(ErrorCode::FRAME_SIZE_ERROR)
    }
}

/// Appends the header of a frame whose payload has `length` bytes, at most [`LONGEST`].
pub(crate) fn push_header(out: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    let [.., a, b, c] = length.to_be_bytes();
    let [d, e, f, g] = stream.to_be_bytes();
    out.extend_from_slice(&[a, b, c, kind, flags, d, e, f, g]);
}

/// Appends SETTINGS (section 6.5).
pub(crate) fn push_settings(out: &mut Vec<u8>, settings: &[(u16, u32)]) {
    push_header(out, settings.len() * 6, kind::SETTINGS, 0, 0);
    for (name, value) in settings {
        out.extend_from_slice(&name.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// Appends a frame of one number: `RST_STREAM` or `WINDOW_UPDATE` (sections 6.4 and 6.9).
pub(crate) fn push_number(out: &mut Vec<u8>, kind: u8, stream: u32, number: u32) {
    push_header(out, 4, kind, 0, stream);
    out.extend_from_slice(&number.to_be_bytes());
}

/// Appends GOAWAY (section 6.8).
pub(crate) fn push_goaway(out: &mut Vec<u8>, last: u32, code: ErrorCode) {
    push_header(out, 8, kind::GOAWAY, 0, 0);
    out.extend_from_slice(&last.to_be_bytes());
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// The stream that a priority of RFC 7540 depends on.
pub(crate) fn depends_on(payload: &[u8]) -> Option<u32> {
    let bytes = payload.first_chunk()?;
    Some(u32::from_be_bytes(*bytes) & MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_both_ways_and_in_pieces() {
        let mut bytes = Vec::new();
        push_header(&mut bytes, 3, kind::PING, flag::ACK, 0x8000_0005);
        bytes.extend(b"abcd");
        for end in 0..HEADER + 3 {
            assert!(Frame::read(&bytes[..end]).unwrap().is_none(), "{end}");
        }
        let (length, frame) = Frame::read(&bytes).unwrap().unwrap();
        assert_eq!(
            (length, frame.kind, frame.stream),
            (HEADER + 3, kind::PING, 5)
        );
        assert!(frame.has(flag::ACK) && !frame.has(flag::PADDED));
        assert_eq!(frame.payload, b"abc");
        let mut long = Vec::new();
        push_header(&mut long, LONGEST + 1, 99, 0, 1);
        assert!(matches!(
            Frame::read(&long),
            Err(ErrorCode::FRAME_SIZE_ERROR)
        ));
    }

    #[test]
    fn padding() {
        for (payload, expected) in [
            (&b"\x00abc"[..], Ok(&b"abc"[..])),
            (b"\x01abc", Ok(b"ab")),
            (b"\x03abc", Ok(b"")),
            (b"\x04abc", Err(ErrorCode::PROTOCOL_ERROR)),
            (b"", Err(ErrorCode::FRAME_SIZE_ERROR)),
        ] {
            let frame = Frame {
                kind: kind::DATA,
                flags: flag::PADDED,
                stream: 1,
                payload,
            };
            assert_eq!(frame.unpadded(), expected);
            let plain = Frame { flags: 0, ..frame };
            assert_eq!(plain.unpadded(), Ok(payload));
        }
    }
}
