//! The hashes of the pieces of a long blob, so that a part of it can be compared before all of it is there.
//!
//! ```text
//! salver-hashes 1
//! length 2621440
//! 9f86d081…
//! 60303ae2…
//! 3f9a1c2b…
//! end 2c26b46b…
//! ```
//!
//! A piece has [`PIECE`] bytes, the last one what is left. The last line has the SHA-256 of all before it.

use crate::files::digest::BlobDigest;

/// The length of a piece in bytes.
pub(crate) const PIECE: u64 = 1024 * 1024;

/// The longest such file that is read, in bytes: of 256 GiB.
pub(crate) const MOST_BYTES: u64 = 17 * 1024 * 1024;

/// The hashes of the pieces of a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PieceHashes {
    length: u64,
    hashes: Vec<BlobDigest>,
}

impl PieceHashes {
    /// True if a blob of this length has such hashes: another one is compared as a whole.
    pub(crate) fn are_wanted(length: u64) -> bool {
        length > PIECE
    }

    /// Those of no bytes, to which pieces are added.
    pub(crate) fn new() -> Self {
        PieceHashes {
            length: 0,
            hashes: Vec::new(),
        }
    }

    /// Those of these bytes.
    #[cfg(test)]
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut hashes = PieceHashes::new();
        hashes.add(bytes);
        hashes
    }

    /// Adds whole pieces, or those at the end.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let piece = usize::try_from(PIECE).unwrap_or(usize::MAX);
        self.hashes.extend(bytes.chunks(piece).map(BlobDigest::of));
        let count = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.length = self.length.saturating_add(count);
    }

    /// The length of the blob.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The number of its pieces.
    pub(crate) fn count(&self) -> usize {
        self.hashes.len()
    }

    /// The hash of the piece with this number.
    pub(crate) fn get(&self, number: usize) -> Option<BlobDigest> {
        self.hashes.get(number).copied()
    }

    pub(crate) fn to_text(&self) -> String {
        let mut text = format!("salver-hashes 1\nlength {}\n", self.length);
        for hash in &self.hashes {
            text.push_str(&format!("{hash}\n"));
        }
        let sum = BlobDigest::of(text.as_bytes());
        format!("{text}end {sum}\n")
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().skip(1);
        let length: u64 = lines.next()?.strip_prefix("length ")?.parse().ok()?;
        let count = usize::try_from(length.div_ceil(PIECE)).ok()?;
        let hashes = lines.take(count).map(BlobDigest::parse);
        let hashes = PieceHashes {
            length,
            hashes: hashes.collect::<Option<_>>()?,
        };
        // One state has one text, the sum included.
        (hashes.count() == count && hashes.to_text() == text).then_some(hashes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn they_are_read_as_they_were_written_and_nothing_else_is() {
        let piece = usize::try_from(PIECE).unwrap();
        let bytes = vec![7; 2 * piece + 17];
        let mut hashes = PieceHashes::new();
        hashes.add(bytes.get(..piece).unwrap());
        hashes.add(bytes.get(piece..).unwrap());
        assert_eq!(hashes, PieceHashes::of(&bytes));
        assert_eq!((hashes.count(), hashes.length()), (3, 2 * PIECE + 17));
        assert_eq!(hashes.get(2), Some(BlobDigest::of(&[7; 17])));
        assert_eq!(hashes.get(3), None);
        let text = hashes.to_text();
        assert_eq!(PieceHashes::parse(&text), Some(hashes));
        for at in 0..text.len() {
            assert_eq!(PieceHashes::parse(text.get(..at).unwrap()), None, "{at}");
        }
        for wrong in [
            text.replace("hashes 1", "hashes 2"),
            text.replace("length 2", "length 3"),
            text.replace("length 2", "length 02"),
            format!("{text}\n"),
        ] {
            assert_eq!(PieceHashes::parse(&wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = PieceHashes::parse(&text);
        }
    }
}
