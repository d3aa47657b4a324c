//! The frames of a stream (RFC 9114 section 7.1).

use crate::varint;

// Frame types (RFC 9114 section 7.2, RFC 9218 section 7.2).
pub(crate) const DATA: u64 = 0x00;
pub(crate) const HEADERS: u64 = 0x01;
pub(crate) const CANCEL_PUSH: u64 = 0x03;
pub(crate) const SETTINGS: u64 = 0x04;
pub(crate) const PUSH_PROMISE: u64 = 0x05;
pub(crate) const GOAWAY: u64 = 0x07;
pub(crate) const MAX_PUSH_ID: u64 = 0x0d;
pub(crate) const PRIORITY_UPDATE: u64 = 0xf0700;
pub(crate) const PRIORITY_UPDATE_OF_PUSH: u64 = 0xf0701;

/// True for the frame types of HTTP/2 that must not be used (RFC 9114 section 7.2.8).
pub(crate) fn is_reserved(kind: u64) -> bool {
    matches!(kind, 0x02 | 0x06 | 0x08 | 0x09)
}

/// The longest frame header in bytes: a type and a length of eight bytes each.
const HEADER: usize = 16;

/// The parser that divides a stream into frames.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// The header of a frame, as far as it has been received.
    header: [u8; HEADER],
    have: usize,
    /// The bytes of payload still to come.
    left: u64,
}

/// A part of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FramePart<'a> {
    /// A frame begins.
    Begin { kind: u64, length: u64 },
    /// A piece of the payload of the frame that has begun.
    Payload(&'a [u8]),
}

impl Frames {
    /// The next part; `None` when the input is used up.
    pub(crate) fn next<'a>(&mut self, input: &mut &'a [u8]) -> Option<FramePart<'a>> {
        if self.left > 0 && !input.is_empty() {
            let most = usize::try_from(self.left).unwrap_or(usize::MAX);
            let (payload, rest) = input.split_at(most.min(input.len()));
            *input = rest;
            self.left -= u64::try_from(payload.len()).unwrap_or(self.left);
            return Some(FramePart::Payload(payload));
        }
        if self.have == 0
            && let Some((kind, length, rest)) = header(input)
        {
            *input = rest;
            self.left = length;
            return Some(FramePart::Begin { kind, length });
        }
        // In pieces: byte by byte, which a peer that sends so pays for as well.
        while let [byte, rest @ ..] = *input {
            *input = rest;
            if let Some(slot) = self.header.get_mut(self.have) {
                *slot = *byte;
                self.have += 1;
            }
            let have = self.header.get(..self.have).unwrap_or_default();
            if let Some((kind, length, _)) = header(have) {
                self.have = 0;
                self.left = length;
                return Some(FramePart::Begin { kind, length });
            }
        }
        None
    }

    /// True if the last frame is whole and no other has begun.
    pub(crate) fn is_between(&self) -> bool {
        self.left == 0 && self.have == 0
    }

    /// True if the frame that has begun is whole.
    pub(crate) fn is_whole(&self) -> bool {
        self.left == 0
    }
}

/// The type and length of a frame, and the input behind its header.
fn header(input: &[u8]) -> Option<(u64, u64, &[u8])> {
    let (kind, rest) = varint::read(input)?;
    let (length, rest) = varint::read(rest)?;
    Some((kind, length, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn divided(pieces: &[&[u8]]) -> (Vec<(u64, Vec<u8>)>, bool) {
        let (mut frames, mut found) = (Frames::default(), Vec::new());
        for mut piece in pieces.iter().copied() {
            while let Some(part) = frames.next(&mut piece) {
                match part {
                    FramePart::Begin { kind, .. } => found.push((kind, Vec::new())),
                    FramePart::Payload(bytes) => found.last_mut().unwrap().1.extend(bytes),
                }
            }
            assert!(piece.is_empty());
        }
        (found, frames.is_between())
    }

    proptest! {
        #[test]
        fn however_they_are_divided(
            frames in prop::collection::vec((0..1u64 << 40, prop::collection::vec(any::<u8>(), 0..100)), 0..5),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
        ) {
            let mut stream = Vec::new();
            for (kind, payload) in &frames {
                varint::write(&mut stream, *kind);
                varint::write(&mut stream, payload.len() as u64);
                stream.extend(payload);
            }
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|ends| &stream[ends[0]..ends[1]]).collect();
            prop_assert_eq!(divided(&pieces), (frames, true));
            if let Some((last, rest)) = stream.split_last() {
                let _ = last;
                prop_assert!(!divided(&[rest]).1 || rest.is_empty());
            }
        }
    }
}
