//! Digests of content: SHA-256, which names a blob, and the engine's own, of which entity tags are made.

use std::fmt;
use std::io::{self, Read};

use salver_assets::digest::{Digest, of_reader};
use sha2::{Digest as _, Sha256};

use crate::error::Stopped;
use crate::event::{Event, Listener};

/// The SHA-256 of a blob, by which it is named.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobDigest([u8; 32]);

impl BlobDigest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        BlobDigest(Sha256::digest(bytes).into())
    }

    /// The digest that is written so: 64 hexadecimal digits in lower case.
    pub fn parse(text: &str) -> Option<Self> {
        let mut digest = [0; 32];
        if text.len() != 64 {
            return None;
        }
        for (byte, pair) in digest.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let &[high, low] = pair else { return None };
            *byte = nibble(high)? << 4 | nibble(low)?;
        }
        Some(BlobDigest(digest))
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for BlobDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BlobDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What reading a file once says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hashes {
    pub(crate) blob: BlobDigest,
    pub(crate) engine: Digest,
    pub(crate) length: u64,
}

impl Hashes {
    /// Reads all that `reader` gives; each part that passes is told.
    ///
    /// # Errors
    /// Those of `reader`; [`Stopped`] if the listener says so.
    pub(crate) fn read(reader: impl Read, listener: &mut Listener<'_>) -> io::Result<Self> {
        let mut tap = Tap {
            reader,
            listener,
            hasher: Sha256::new(),
            length: 0,
        };
        let engine = of_reader(&mut tap)?;
        Ok(Hashes {
            blob: BlobDigest(tap.hasher.finalize().into()),
            engine,
            length: tap.length,
        })
    }
}

/// A reader that hashes what passes.
struct Tap<'a, 'b, R> {
    reader: R,
    listener: &'a mut Listener<'b>,
    hasher: Sha256,
    length: u64,
}

impl<R: Read> Read for Tap<'_, '_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.hasher.update(buffer.get(..count).unwrap_or_default());
        let passed = u64::try_from(count).unwrap_or(u64::MAX);
        self.length = self.length.saturating_add(passed);
        match (self.listener)(Event::Done(passed)) {
            true => Ok(count),
            false => Err(io::Error::other(Stopped)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_as_it_is_written() {
        // FIPS 180-4: of the empty message.
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(BlobDigest::of(b"").to_string(), empty);
        assert_eq!(BlobDigest::parse(empty), Some(BlobDigest::of(b"")));
        for wrong in [
            "",
            empty.get(1..).unwrap(),
            &empty.to_uppercase(),
            &empty.replace('e', "g"),
        ] {
            assert_eq!(BlobDigest::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn reading_gives_both_digests_and_can_be_ended() {
        let bytes = vec![7; 300_000];
        let mut told = 0;
        let hashes = Hashes::read(&*bytes, &mut |event| {
            if let Event::Done(count) = event {
                told += count;
            }
            true
        });
        let hashes = hashes.unwrap();
        assert_eq!(hashes.blob, BlobDigest::of(&bytes));
        assert_eq!(hashes.engine, salver_assets::digest::of_bytes(&bytes));
        assert_eq!((hashes.length, told), (300_000, 300_000));
        let ended = Hashes::read(&*bytes, &mut |_| false).unwrap_err();
        assert!(Stopped::is(&ended));
    }
}
