//! Pieces of blobs, as a deploy over the network sends them: many in one request, or many requests for one.
//!
//! ```text
//! 9f86d081… 1048576 0 65536
//! (65,536 bytes)
//! 60303ae2… 250 0 250
//! (250 bytes)
//! ```
//!
//! Before the bytes of a piece stands a line with the SHA-256 of its blob, the length of that, the offset of the piece
//! in it, and the number of bytes that follow.

use std::fmt;

use crate::files::digest::BlobDigest;

/// The longest line before the bytes of a piece, with its end.
const LONGEST_LINE: usize = 64 + 3 * 21 + 1;

/// A piece of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The blob that it is of.
    pub blob: BlobDigest,
    /// The length of that in bytes.
    pub length: u64,
    /// Where in the blob it begins.
    pub offset: u64,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// The error of bytes that are no pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceError;

impl fmt::Display for PieceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the content is no sequence of pieces: use `salver deploy` of this version")
    }
}

impl std::error::Error for PieceError {}

impl<'a> Piece<'a> {
    /// The most bytes that a piece has besides its own.
    pub const OVERHEAD: usize = LONGEST_LINE;

    /// Appends the piece.
    pub fn write(&self, to: &mut Vec<u8>) {
        let Piece {
            blob,
            length,
            offset,
            bytes,
        } = self;
        to.extend_from_slice(format!("{blob} {length} {offset} {}\n", bytes.len()).as_bytes());
        to.extend_from_slice(bytes);
    }

    /// The pieces in these bytes.
    pub fn all(bytes: &'a [u8]) -> impl Iterator<Item = Result<Piece<'a>, PieceError>> {
        let mut rest = bytes;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let read = read(rest);
            // Behind what is none there is none.
            rest = read.map_or(&[], |(_, behind)| behind);
            Some(read.map(|(piece, _)| piece).ok_or(PieceError))
        })
    }
}

/// The piece that bytes begin with, and those behind it.
fn read(bytes: &[u8]) -> Option<(Piece<'_>, &[u8])> {
    let line = bytes.get(..LONGEST_LINE.min(bytes.len()))?;
    let end = line.iter().position(|byte| *byte == b'\n')?;
    let line = std::str::from_utf8(line.get(..end)?).ok()?;
    let mut words = line.split(' ');
    let blob = BlobDigest::parse(words.next()?)?;
    let mut number = || {
        let word = words.next()?;
        let number = word.parse::<u64>().ok()?;
        (number.to_string() == word).then_some(number)
    };
    let (length, offset, count) = (number()?, number()?, number()?);
    if words.next().is_some() || offset.checked_add(count)? > length {
        return None;
    }
    let behind = bytes.get(end + 1..)?;
    let (bytes, behind) = behind.split_at_checked(usize::try_from(count).ok()?)?;
    let piece = Piece {
        blob,
        length,
        offset,
        bytes,
    };
    Some((piece, behind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pieces_are_read_as_they_were_written() {
        let of = |length, offset, bytes| Piece {
            blob: BlobDigest::of(b"x"),
            length,
            offset,
            bytes,
        };
        let pieces = [of(5, 0, &b"ab\ncd"[..]), of(0, 0, b""), of(9, 7, b"xy")];
        let mut bytes = Vec::new();
        pieces.iter().for_each(|piece| piece.write(&mut bytes));
        let read: Vec<_> = Piece::all(&bytes).map(Result::unwrap).collect();
        assert_eq!(read, pieces);
        assert_eq!(Piece::all(b"").count(), 0);
    }

    #[test]
    fn what_is_no_piece() {
        let blob = BlobDigest::of(b"x").to_string();
        for wrong in [
            "x".to_owned(),
            format!("{blob} 3 0 3\nab"),
            format!("{blob} 3 1 3\nabc"),
            format!("{blob} 3 0 03\nabc"),
            format!("{blob} 3 0 -3\nabc"),
            format!("{blob} 3 0\nabc"),
            format!("{blob} 3 0 3 1\nabc"),
            format!("{blob} 18446744073709551615 18446744073709551615 1\na"),
            format!("{} 3 0 3\nabc", blob.to_uppercase()),
        ] {
            let mut all = Piece::all(wrong.as_bytes());
            assert_eq!(all.next(), Some(Err(PieceError)), "{wrong}");
            assert_eq!(all.next(), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Piece::all(&bytes).count();
        }
    }
}
