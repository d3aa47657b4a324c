//! Frames of HTTP/2 (RFC 9113 sections 4.1 and 6).

/// Frame types (RFC 9113 section 6, RFC 9218 section 7.1).
#[expect(missing_docs, reason = "the names are the standard's")]
pub mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const PRIORITY: u8 = 2;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH_PROMISE: u8 = 5;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
    pub const PRIORITY_UPDATE: u8 = 16;
}

/// Flags; some frame types share a bit.
#[expect(missing_docs, reason = "the names are the standard's")]
pub mod flag {
    pub const ACK: u8 = 1;
    pub const END_STREAM: u8 = 1;
    pub const END_HEADERS: u8 = 4;
    pub const PADDED: u8 = 8;
    pub const PRIORITY: u8 = 32;
}

/// Settings (RFC 9113 section 6.5.2).
#[expect(missing_docs, reason = "the names are the standard's")]
pub mod setting {
    pub const HEADER_TABLE_SIZE: u16 = 1;
    pub const ENABLE_PUSH: u16 = 2;
    pub const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub const INITIAL_WINDOW_SIZE: u16 = 4;
    pub const MAX_FRAME_SIZE: u16 = 5;
    pub const MAX_HEADER_LIST_SIZE: u16 = 6;
}

/// Error codes (RFC 9113 section 7).
#[expect(missing_docs, reason = "the names are the standard's")]
pub mod code {
    pub const NO_ERROR: u32 = 0;
    pub const PROTOCOL_ERROR: u32 = 1;
    pub const FLOW_CONTROL_ERROR: u32 = 3;
    pub const FRAME_SIZE_ERROR: u32 = 6;
    pub const REFUSED_STREAM: u32 = 7;
    pub const CANCEL: u32 = 8;
    pub const COMPRESSION_ERROR: u32 = 9;
    pub const ENHANCE_YOUR_CALM: u32 = 11;
}

/// Bytes before the payload.
pub(crate) const HEAD: usize = 9;

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The type; see [`kind`].
    pub kind: u8,
    /// The flags; see [`flag`].
    pub flags: u8,
    /// The stream; 0 is the connection.
    pub stream: u32,
    /// What follows the nine bytes of the frame's head.
    pub payload: Vec<u8>,
}

impl Frame {
    /// A frame of any kind, right or wrong.
    pub fn new(kind: u8, flags: u8, stream: u32, payload: impl Into<Vec<u8>>) -> Self {
        Self {
            kind,
            flags,
            stream,
            payload: payload.into(),
        }
    }

    /// SETTINGS with these pairs (RFC 9113 section 6.5).
    #[must_use]
    pub fn settings(pairs: &[(u16, u32)]) -> Self {
        let mut payload = Vec::new();
        for (identifier, value) in pairs {
            payload.extend_from_slice(&identifier.to_be_bytes());
            payload.extend_from_slice(&value.to_be_bytes());
        }
        Self::new(kind::SETTINGS, 0, 0, payload)
    }

    /// WINDOW_UPDATE of a stream, or of the connection (RFC 9113 section 6.9).
    #[must_use]
    pub fn window_update(stream: u32, increment: u32) -> Self {
        Self::new(kind::WINDOW_UPDATE, 0, stream, increment.to_be_bytes())
    }

    /// RST_STREAM (RFC 9113 section 6.4).
    #[must_use]
    pub fn reset(stream: u32, code: u32) -> Self {
        Self::new(kind::RST_STREAM, 0, stream, code.to_be_bytes())
    }

    /// HEADERS whose section is complete.
    #[must_use]
    pub fn headers(stream: u32, block: Vec<u8>, ends: bool) -> Self {
        let end = if ends { flag::END_STREAM } else { 0 };
        Self::new(kind::HEADERS, flag::END_HEADERS | end, stream, block)
    }

    /// The bytes on the connection.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = u32::try_from(self.payload.len()).unwrap_or(u32::MAX);
        let mut out = Vec::with_capacity(HEAD + self.payload.len());
        out.extend_from_slice(length.to_be_bytes().get(1..).unwrap_or_default());
        out.extend_from_slice(&[self.kind, self.flags]);
        out.extend_from_slice(&self.stream.to_be_bytes());
        out.extend_from_slice(&self.payload);
        out
    }

    /// Takes one frame off the front of `bytes`; `None` if it is not whole yet.
    pub(crate) fn take(bytes: &mut Vec<u8>) -> Option<Self> {
        let &[a, b, c, kind, flags, d, e, f, g] = bytes.first_chunk::<HEAD>()?;
        let length = usize::try_from(u32::from_be_bytes([0, a, b, c])).ok()?;
        if bytes.len() < HEAD + length {
            return None;
        }
        let rest = bytes.split_off(HEAD + length);
        let whole = std::mem::replace(bytes, rest);
        Some(Self {
            kind,
            flags,
            stream: u32::from_be_bytes([d, e, f, g]),
            payload: whole.get(HEAD..).unwrap_or_default().to_vec(),
        })
    }

    /// The number that four bytes of the payload hold.
    #[must_use]
    pub fn number(&self, at: usize) -> Option<u32> {
        let bytes = self.payload.get(at..)?.first_chunk()?;
        Some(u32::from_be_bytes(*bytes))
    }

    /// The flag is set.
    #[must_use]
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_their_bytes() {
        let first = Frame::settings(&[(setting::INITIAL_WINDOW_SIZE, 70_000)]);
        let second = Frame::headers(3, vec![0x82], true);
        let mut bytes = first.to_bytes();
        assert_eq!(bytes.first_chunk(), Some(&[0, 0, 6, 4, 0, 0, 0, 0, 0]));
        bytes.extend_from_slice(&second.to_bytes());
        bytes.push(0);
        assert_eq!(Frame::take(&mut bytes), Some(first));
        assert_eq!(Frame::take(&mut bytes), Some(second));
        assert_eq!((Frame::take(&mut bytes), bytes), (None, vec![0]));
    }
}
