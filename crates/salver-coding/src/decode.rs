//! Decoding within a bound, as browsers do (RFC 7932, RFC 9659).

mod decoders;

use std::io::{self, Read};

use salver_semantics::ContentCoding;

pub use decoders::{DECODED, decode_with};

/// The bytes that are decoded at a time.
const CHUNK: usize = 64 * 1024;

/// The content that is coded in `coded`; `None` if it has more than `most` bytes, does not decode, has bytes behind
/// its end, or is in a coding that this build does not [decode](DECODED). No more than `most` bytes and one are made.
pub fn decode(coded: &[u8], coding: ContentCoding, most: usize) -> Option<Vec<u8>> {
    let mut decoded = Vec::new();
    let is_whole = all(&mut &*coded, coding, |decoder| {
        let limit = u64::try_from(most).unwrap_or(u64::MAX);
        let read = decoder
            .take(limit.saturating_add(1))
            .read_to_end(&mut decoded);
        read.is_ok() && decoded.len() <= most
    });
    is_whole.then_some(decoded)
}

/// True if all of `coded` decodes to `original`, and to nothing more. It is read no further than the first byte that
/// differs.
pub fn decodes_to(coded: &mut impl Read, coding: ContentCoding, original: &[u8]) -> bool {
    all(coded, coding, |decoder| is_equal(decoder, original))
}

/// True if `check` is content with what the decoder gives, and the coded stream is all that there is.
fn all(
    coded: &mut impl Read,
    coding: ContentCoding,
    check: impl FnOnce(&mut dyn Read) -> bool,
) -> bool {
    let mut counted = Counted {
        reader: coded,
        passed: 0,
    };
    match decode_with(&mut counted, coding, check) {
        Some((true, false)) => {}
        Some(_) | None => return false,
    }
    // Some decoders take nothing at all for an empty stream, and leave what trails one.
    counted.passed > 0 && matches!(counted.read(&mut [0]), Ok(0))
}

/// True if a reader gives these bytes and ends.
pub(crate) fn is_equal(reader: &mut dyn Read, mut expected: &[u8]) -> bool {
    let mut buffer = vec![0; CHUNK];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return expected.is_empty(),
            Ok(count) => {
                let found = buffer.get(..count).unwrap_or_default();
                let Some(rest) = expected.strip_prefix(found) else {
                    return false;
                };
                expected = rest;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}

/// A reader that counts the bytes that pass.
struct Counted<'a, R> {
    reader: &'a mut R,
    passed: usize,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.passed = self.passed.saturating_add(count);
        Ok(count)
    }
}

#[cfg(test)]
#[cfg(feature = "encode")]
mod tests;
