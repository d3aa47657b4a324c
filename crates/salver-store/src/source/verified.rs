//! Content of a long blob that comes piece by piece, each of which is compared with its hash before anybody gets a byte of
//! it.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use salver_assets::Patience;
use salver_assets::source::RemoteContent;

use crate::files::digest::BlobDigest;
use crate::files::piece_hashes::{PIECE, PieceHashes};

/// The content of a blob.
#[derive(Debug)]
pub(super) struct VerifiedContent {
    content: Arc<dyn RemoteContent>,
    hashes: Arc<PieceHashes>,
    /// The pieces that have proved to be right: further bytes of them are of the same version of the object.
    are_right: Vec<AtomicBool>,
    /// What an error names.
    name: String,
}

impl VerifiedContent {
    pub(super) fn new(
        content: Arc<dyn RemoteContent>,
        hashes: Arc<PieceHashes>,
        name: String,
    ) -> Self {
        let are_right = (0..hashes.count()).map(|_| AtomicBool::new(false));
        VerifiedContent {
            are_right: are_right.collect(),
            content,
            hashes,
            name,
        }
    }

    fn is_right(&self, number: u64) -> bool {
        let number = usize::try_from(number).ok();
        let piece = number.and_then(|number| self.are_right.get(number));
        piece.is_some_and(|piece| piece.load(Ordering::Relaxed))
    }

    /// A piece, compared with its hash.
    fn piece(&self, number: u64) -> io::Result<Vec<u8>> {
        let start = number.saturating_mul(PIECE);
        let length = self.hashes.length().saturating_sub(start).min(PIECE);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let offset = start + u64::try_from(filled).unwrap_or(0);
            match self.content.read_at(rest, offset, Patience::MayWait)? {
                0 => break,
                count => filled += count,
            }
        }
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        if self.hashes.get(place) != Some(BlobDigest::of(&bytes)) {
            let what = format!(
                "{} has another content than its name says: `salver fsck` says what else is damaged",
                self.name
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        if let Some(piece) = self.are_right.get(place) {
            piece.store(true, Ordering::Relaxed);
        }
        Ok(bytes)
    }
}

impl RemoteContent for VerifiedContent {
    fn read_at(&self, buffer: &mut [u8], offset: u64, patience: Patience) -> io::Result<usize> {
        if offset >= self.hashes.length() || buffer.is_empty() {
            return Ok(0);
        }
        let (number, within) = (offset / PIECE, offset % PIECE);
        let left = usize::try_from(PIECE - within).unwrap_or(usize::MAX);
        let most = buffer.len().min(left);
        let buffer = buffer.get_mut(..most).unwrap_or_default();
        if self.is_right(number) {
            return self.content.read_at(buffer, offset, patience);
        }
        // It has to be had as a whole, and to hash it takes a moment.
        if patience == Patience::MustNotWait {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let piece = self.piece(number)?;
        let from = usize::try_from(within).unwrap_or(usize::MAX);
        let bytes = piece.get(from..).unwrap_or_default();
        let count = bytes.len().min(buffer.len());
        let (to, from) = (buffer.get_mut(..count), bytes.get(..count));
        if let (Some(to), Some(from)) = (to, from) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }

    fn is_in_memory(&self, range: &Range<u64>) -> bool {
        let Some(last) = range.end.checked_sub(1).filter(|last| *last >= range.start) else {
            return true;
        };
        let mut pieces = range.start / PIECE..=last / PIECE;
        pieces.all(|number| self.is_right(number)) && self.content.is_in_memory(range)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Content in memory that gives few bytes at a time.
    #[derive(Debug)]
    struct Bytes(Mutex<Vec<u8>>);

    impl RemoteContent for Bytes {
        fn read_at(&self, buffer: &mut [u8], offset: u64, _: Patience) -> io::Result<usize> {
            let bytes = self.0.lock().unwrap();
            let rest = bytes.get(usize::try_from(offset).unwrap()..).unwrap();
            let count = rest.len().min(buffer.len()).min(300_000);
            buffer[..count].copy_from_slice(&rest[..count]);
            Ok(count)
        }

        fn is_in_memory(&self, _: &Range<u64>) -> bool {
            true
        }
    }

    #[test]
    fn nobody_gets_a_byte_of_a_piece_that_is_wrong() {
        let piece = usize::try_from(PIECE).unwrap();
        let right: Vec<u8> = (0..2 * piece + 100)
            .map(|at| u8::try_from(at % 251).unwrap())
            .collect();
        let hashes = Arc::new(PieceHashes::of(&right));
        let mut wrong = right.clone();
        wrong[2 * piece - 1] ^= 1;
        let bytes = Arc::new(Bytes(Mutex::new(wrong)));
        let content = VerifiedContent::new(bytes.clone(), hashes, "it".to_owned());
        let read = |offset: usize, patience| {
            let mut buffer = vec![0; 1000];
            let offset = u64::try_from(offset).unwrap();
            let count = content.read_at(&mut buffer, offset, patience);
            count
                .map(|count| buffer[..count].to_vec())
                .map_err(|error| error.kind())
        };
        let (wait, not) = (Patience::MayWait, Patience::MustNotWait);
        assert_eq!(read(0, not), Err(io::ErrorKind::WouldBlock));
        assert!(!content.is_in_memory(&(0..1)));
        assert_eq!(read(5, wait), Ok(right[5..1005].to_vec()));
        assert_eq!(read(7, not), Ok(right[7..1007].to_vec()));
        assert!(content.is_in_memory(&(0..PIECE)) && !content.is_in_memory(&(0..PIECE + 1)));
        // Up to the end of what is known to be right.
        assert_eq!(read(piece - 10, not), Ok(right[piece - 10..piece].to_vec()));
        assert_eq!(read(piece, wait), Err(io::ErrorKind::InvalidData));
        assert_eq!(
            read(2 * piece + 1, wait),
            Ok(right[2 * piece + 1..].to_vec())
        );
        assert_eq!(read(right.len(), wait), Ok(Vec::new()));
        bytes.0.lock().unwrap()[2 * piece - 1] ^= 1;
        assert_eq!(read(piece, wait), Ok(right[piece..piece + 1000].to_vec()));
    }
}
