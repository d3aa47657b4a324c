//! Uploads to a bucket: many at once, since each waits for the network.

use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

use super::Contents;
use super::objects::BucketObjects;
use crate::bucket::PutCondition;
use crate::error::Error;
use crate::files::digest::BlobDigest;
use crate::files::layout;
use crate::files::piece_hashes::{PIECE, PieceHashes};

/// The requests that are under way at once, of those that carry little.
pub(crate) const AT_ONCE: usize = 16;

/// The uploads that are under way at once of what is longer than [`SHORT`]: a part of each is in memory, and each has its
/// time for that on a slow line.
pub(super) const LONG_AT_ONCE: usize = 4;

/// The length up to which content is short, in bytes.
pub(super) const SHORT: u64 = 256 * 1024;

/// The length of a part of what is longer, in bytes: the least that S3 takes.
const PART: u64 = 5 * 1024 * 1024;

/// The most parts that an object has, as S3 has it.
const MOST_PARTS: u64 = 10_000;

/// Uploads the content of a blob; gives its length. What has changed since it was looked at is not put.
pub(super) fn upload(
    objects: &BucketObjects,
    contents: &dyn Contents,
    (blob, length): (&BlobDigest, u64),
) -> Result<u64, Error> {
    let name = layout::blob(blob);
    let (mut failure, mut is_same, mut hashes) = (None, true, PieceHashes::new());
    let read = contents.read(blob, &mut |reader| {
        let mut parts = Parts {
            reader,
            blob,
            left: length,
            part: PART.max(length.div_ceil(MOST_PARTS).next_multiple_of(PIECE)),
            hasher: Sha256::new(),
            hashes: PieceHashes::new(),
            is_same: true,
        };
        let put = match length <= PART {
            true => parts
                .next()
                .and_then(|part| {
                    let bytes = part.unwrap_or_default();
                    objects.bucket().put(&name, bytes, &PutCondition::Always)
                })
                .map(drop),
            false => objects.bucket().put_parts(&name, &mut || parts.next()),
        };
        let put = put.map_err(Error::at(&objects.within(&name)));
        (is_same, hashes) = (parts.is_same, parts.hashes);
        failure = put.err();
        match failure.is_some() {
            true => Err(io::ErrorKind::Other.into()),
            false => Ok(()),
        }
    });
    if !is_same {
        return Err(contents.changed(blob));
    }
    match failure {
        Some(error) => Err(error),
        None => read,
    }?;
    put_hashes(objects, blob, &hashes)?;
    Ok(length)
}

/// Puts the hashes of the pieces of a blob beside it, if it is long.
pub(super) fn put_hashes(
    objects: &BucketObjects,
    blob: &BlobDigest,
    hashes: &PieceHashes,
) -> Result<(), Error> {
    match PieceHashes::are_wanted(hashes.length()) {
        true => objects.put(&layout::hashes(blob), hashes.to_text().as_bytes()),
        false => Ok(()),
    }
}

/// The parts of a blob that is read, the last of which comes once all has proved to be what its name says.
struct Parts<'a> {
    reader: &'a mut dyn Read,
    blob: &'a BlobDigest,
    left: u64,
    part: u64,
    hasher: Sha256,
    hashes: PieceHashes,
    is_same: bool,
}

impl Parts<'_> {
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        // Of nothing there is one part.
        if self.part == 0 {
            return Ok(None);
        }
        let wanted = self.left.min(self.part);
        let mut bytes = Vec::with_capacity(usize::try_from(wanted).unwrap_or(0));
        let is_last = wanted == self.left;
        // Of the last one so that more is seen.
        let most = if is_last { wanted + 1 } else { wanted };
        (&mut *self.reader).take(most).read_to_end(&mut bytes)?;
        self.hasher.update(&bytes);
        self.hashes.add(&bytes);
        self.left -= wanted;
        let is_whole = u64::try_from(bytes.len()).is_ok_and(|length| length == wanted);
        if is_last {
            self.part = 0;
        }
        let is_named = || *self.hasher.clone().finalize() == *self.blob.as_bytes();
        self.is_same = is_whole && (!is_last || is_named());
        match self.is_same {
            true => Ok(Some(bytes)),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_comes_only_if_all_is_right() {
        let check = |content: &[u8], name: &[u8], length: u64, expected: &[Option<usize>]| {
            let blob = BlobDigest::of(name);
            let mut reader = content;
            let mut parts = Parts {
                reader: &mut reader,
                blob: &blob,
                left: length,
                part: 4,
                hasher: Sha256::new(),
                hashes: PieceHashes::new(),
                is_same: true,
            };
            let mut found = Vec::new();
            loop {
                match parts.next() {
                    Ok(Some(part)) => found.push(Some(part.len())),
                    Ok(None) => break,
                    Err(_) => {
                        found.push(None);
                        break;
                    }
                }
            }
            assert_eq!(found, expected, "{content:?}");
        };
        check(b"", b"", 0, &[Some(0)]);
        check(b"abcdef", b"abcdef", 6, &[Some(4), Some(2)]);
        check(b"abcd", b"abcd", 4, &[Some(4)]);
        check(b"abcdefgh", b"abcdefgh", 8, &[Some(4), Some(4)]);
        check(b"abcdxx", b"abcdef", 6, &[Some(4), None]);
        check(b"abc", b"abcdef", 6, &[None]);
        check(b"abcdefg", b"abcdef", 6, &[Some(4), None]);
    }
}
