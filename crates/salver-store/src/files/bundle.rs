//! The bundle that follows the lines of `current` in a bucket: the manifest of the release, and what is new in it and short.
//!
//! ```text
//! salver-manifest 1
//! (the other lines of the manifest)
//! 9f86d081… 250 0 250
//! (250 bytes)
//! ```
//!
//! A node has it with the answer that tells of the switch. Without it the manifest and each file would be a request more, of
//! every node and all at the moment after a deploy. Contents are [pieces](super::pieces), each the whole of a blob.

use crate::files::digest::BlobDigest;
use crate::files::manifest::{self, Manifest};
use crate::files::pieces::Piece;
use crate::files::release_id::ReleaseId;

/// The longest bundle, in bytes.
pub(crate) const MOST_BYTES: usize = LONGEST_MANIFEST + MOST_CONTENT_BYTES;

/// The longest manifest of one, in bytes: that of some 800 files.
const LONGEST_MANIFEST: usize = 128 * 1024;

/// The most bytes of the contents of one, with the lines before them.
const MOST_CONTENT_BYTES: usize = 128 * 1024;

/// The least bytes of a line of a manifest.
const SHORTEST_LINE: usize = 100;

/// Contents of blobs.
pub(crate) type BlobContents = Vec<(BlobDigest, Vec<u8>)>;

/// What a switch brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bundle {
    pub(crate) manifest: Manifest,
    pub(crate) contents: BlobContents,
}

impl Bundle {
    /// The bytes of it; none if the manifest is too long for one.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        // Of a large release no text is made in vain.
        let is_small = self.manifest.files().len() <= LONGEST_MANIFEST / SHORTEST_LINE;
        let text = is_small.then(|| self.manifest.to_text());
        let Some(text) = text.filter(|text| text.len() <= LONGEST_MANIFEST) else {
            return Vec::new();
        };
        let mut bytes = text.into_bytes();
        for (blob, content) in &self.contents {
            let piece = Piece {
                blob: *blob,
                length: u64::try_from(content.len()).unwrap_or(u64::MAX),
                offset: 0,
                bytes: content,
            };
            piece.write(&mut bytes);
        }
        bytes
    }

    /// The bundle in these bytes, if it is one of this release, and each content is what its name says.
    pub(crate) fn parse(bytes: &[u8], release: &ReleaseId) -> Option<Self> {
        let (manifest, pieces) = bytes.split_at_checked(manifest::length_of(bytes)?)?;
        let manifest = Manifest::parse(std::str::from_utf8(manifest).ok()?).ok()?;
        let mut contents = BlobContents::new();
        for piece in Piece::all(pieces) {
            let piece = piece.ok()?;
            let is_whole = u64::try_from(piece.bytes.len()) == Ok(piece.length);
            if !is_whole || BlobDigest::of(piece.bytes) != piece.blob {
                return None;
            }
            contents.push((piece.blob, piece.bytes.to_vec()));
        }
        let is_its = manifest.is_named(release);
        is_its.then_some(Bundle { manifest, contents })
    }

    /// Those of these blobs, each with its length, whose contents a bundle brings: the shortest, so that they are many.
    pub(crate) fn shortest(mut blobs: Vec<(BlobDigest, u64)>) -> Vec<(BlobDigest, u64)> {
        blobs.sort_by_key(|(_, length)| *length);
        let mut left = MOST_CONTENT_BYTES;
        let count = blobs.iter().take_while(|(_, length)| {
            let length = usize::try_from(*length).unwrap_or(usize::MAX);
            let rest = left.checked_sub(length.saturating_add(Piece::OVERHEAD));
            left = rest.unwrap_or(0);
            rest.is_some()
        });
        let count = count.count();
        blobs.truncate(count);
        blobs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::manifest::ManifestFile;
    use proptest::prelude::*;
    use salver_assets::digest::KnownDigests;

    fn manifest(files: usize, longest_name: usize) -> Manifest {
        let file = |number: usize| ManifestFile {
            path: format!("{number:0>longest_name$}").into_bytes().into(),
            blob: BlobDigest::of(b""),
            known: KnownDigests {
                digest: 0,
                decoded: None,
            },
            length: 0,
            modified_unix_seconds: 1_764_000_000,
            media_type: "text/plain".into(),
        };
        Manifest::new(1_764_000_000, (0..files).map(file).collect())
    }

    fn contents(of: &[&[u8]]) -> BlobContents {
        let content = |bytes: &&[u8]| (BlobDigest::of(bytes), bytes.to_vec());
        of.iter().map(content).collect()
    }

    #[test]
    fn it_is_read_as_it_was_written_and_nothing_else_is() {
        let contents = contents(&[b"one\nend of it\n", b"", &[0xff, 0, 0x80]]);
        let manifest = manifest(3, 5);
        let release = manifest.id();
        let end = manifest.to_text().len();
        let bundle = Bundle { manifest, contents };
        let bytes = bundle.to_bytes();
        assert_eq!(Bundle::parse(&bytes, &release).as_ref(), Some(&bundle));
        let other = ReleaseId::new(1_764_000_000, &BlobDigest::of(b"other"));
        assert_eq!(Bundle::parse(&bytes, &other), None);
        for at in 0..bytes.len() {
            let (mut cut, mut changed) = (bytes.clone(), bytes.clone());
            cut.truncate(at);
            changed[at] ^= 1;
            assert_eq!(Bundle::parse(&changed, &release), None, "{at}");
            // Cut off between two contents it brings less.
            let read = Bundle::parse(&cut, &release);
            let is_prefix = |read: Bundle| bundle.contents.starts_with(&read.contents);
            assert!(read.is_none_or(|read| at >= end && is_prefix(read)), "{at}");
        }
    }

    #[test]
    fn a_short_manifest_is_in_it() {
        let check = |files: usize, longest_name: usize, expected: bool| {
            let bundle = Bundle {
                manifest: manifest(files, longest_name),
                contents: BlobContents::new(),
            };
            let bytes = bundle.to_bytes();
            assert_eq!(!bytes.is_empty(), expected, "{files} {longest_name}");
            assert!(bytes.len() <= LONGEST_MANIFEST);
        };
        check(0, 1, true);
        check(800, 20, true);
        check(1000, 20, false);
        check(LONGEST_MANIFEST, 1, false);
        check(30, 4000, true);
        check(33, 4000, false);
    }

    #[test]
    fn as_many_short_contents_as_there_is_room_for() {
        let check = |lengths: &[u64], expected: &[u64]| {
            let blob = |length: &u64| (BlobDigest::of(&length.to_le_bytes()), *length);
            let blobs = lengths.iter().map(blob).collect();
            let taken = Bundle::shortest(blobs).into_iter();
            let taken: Vec<u64> = taken.map(|(_, length)| length).collect();
            assert_eq!(taken, expected, "{lengths:?}");
        };
        let most = u64::try_from(MOST_CONTENT_BYTES - Piece::OVERHEAD).unwrap();
        check(&[], &[]);
        check(&[3, 1, 2], &[1, 2, 3]);
        check(&[most], &[most]);
        check(&[most + 1, u64::MAX], &[]);
        check(&[most, 0], &[0]);
        check(&[100_000, 90_000, 20_000], &[20_000, 90_000]);
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let release = ReleaseId::new(0, &BlobDigest::of(b""));
            let text = [b"salver-manifest 1\nend \n", &*bytes].concat();
            let _ = (Bundle::parse(&bytes, &release), Bundle::parse(&text, &release));
        }
    }
}
