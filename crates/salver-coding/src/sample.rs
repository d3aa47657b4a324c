//! A sample of content whose type does not tell whether it is coded already.

use std::borrow::Cow;

use crate::worth::is_worth_it;

/// The length in bytes below which content counts as not coded: compressing it costs nothing, and a quick try says
/// little about it.
const LEAST: usize = 4096;

/// The bytes of each piece that is tried.
const PIECE: usize = 64 * 1024;

/// The level of Zstandard that the pieces are tried with.
const LEVEL: i32 = 1;

/// True if the bytes are compressed already, whatever their name says: pieces of the beginning, the middle and the
/// end don't get smaller in a quick coding.
pub fn looks_compressed(bytes: &[u8]) -> bool {
    if bytes.len() < LEAST {
        return false;
    }
    let pieces = pieces(bytes);
    zstd::bulk::compress(&pieces, LEVEL).is_ok_and(|coded| !is_worth_it(pieces.len(), coded.len()))
}

fn pieces(bytes: &[u8]) -> Cow<'_, [u8]> {
    if bytes.len() <= 3 * PIECE {
        return Cow::Borrowed(bytes);
    }
    let starts = [0, (bytes.len() - PIECE) / 2, bytes.len() - PIECE];
    let pieces = starts.map(|start| bytes.get(start..start + PIECE).unwrap_or_default());
    Cow::Owned(pieces.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that no coding makes shorter.
    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        };
        std::iter::repeat_with(next).take(length).collect()
    }

    #[test]
    fn what_gets_smaller_is_not_compressed() {
        let text = b"words and words, ".repeat(100_000);
        for length in [
            0,
            10,
            LEAST - 1,
            LEAST,
            3 * PIECE,
            3 * PIECE + 1,
            text.len(),
        ] {
            assert!(!looks_compressed(&text[..length]), "{length}");
        }
        for length in [LEAST, 3 * PIECE, 3 * PIECE + 1, 2_000_000] {
            assert!(looks_compressed(&noise(length)), "{length}");
        }
        assert!(!looks_compressed(&noise(LEAST - 1)));
    }

    #[test]
    fn a_head_in_words_does_not_hide_the_rest() {
        let mut bytes = b"Title: a picture\n".repeat(20);
        bytes.extend(noise(1_000_000));
        assert!(looks_compressed(&bytes));
        // Text behind a head of noise is found by the other pieces.
        let mut bytes = noise(PIECE);
        bytes.extend(b"words and words, ".repeat(100_000));
        assert!(!looks_compressed(&bytes));
    }
}
