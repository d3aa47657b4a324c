//! The blobs of a store in a bucket: what is read of them is compared with their names.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use salver_assets::Patience;
use salver_assets::source::Reader;

use super::blobs::{Blobs, OpenBlob, ReleaseWatch};
use super::verified::VerifiedContent;
use crate::bucket::Bucket;
use crate::files::bundle::BlobContents;
use crate::files::current::Current;
use crate::files::digest::BlobDigest;
use crate::files::layout::{self, BLOBS, digest_of};
use crate::files::piece_hashes::{MOST_BYTES, PieceHashes};

/// The length up to which content is compared with its hash by who must not wait: what takes longer is left to those
/// who may.
const HASHED_AT_ONCE: usize = 64 * 1024;

/// The most pieces of blobs whose hashes are kept in mind: 8 MiB of hashes.
const MOST_PIECES: usize = 262_144;

/// The most switches whose contents are kept in mind, 128 KiB of each at most: a rollback, which brings none, is one to what
/// came lately.
const MOST_BUNDLES: usize = 8;

/// Hashes of pieces, the last one that was asked for last; `None` of blobs that have none.
type KnownHashes = Vec<(BlobDigest, Option<Arc<PieceHashes>>)>;

/// The blobs of a bucket. Clones share what they know.
#[derive(Clone, Debug)]
pub(super) struct BucketBlobs {
    bucket: Arc<dyn Bucket>,
    place: Arc<PathBuf>,
    hashes: Arc<Mutex<KnownHashes>>,
    /// The contents that came with switches, each compared with its name; those of the last one last.
    brought: Arc<Mutex<Vec<HashMap<BlobDigest, Bytes>>>>,
    /// Gone once nobody serves the store any more.
    watch: Option<Weak<dyn ReleaseWatch>>,
}

impl BucketBlobs {
    pub(super) fn new(bucket: Arc<dyn Bucket>) -> Self {
        let place = Arc::new(PathBuf::from(bucket.place()));
        BucketBlobs {
            bucket,
            place,
            hashes: Arc::default(),
            brought: Arc::default(),
            watch: None,
        }
    }

    /// The same at a moment of this watch.
    pub(super) fn of(&self, watch: Weak<dyn ReleaseWatch>) -> Self {
        BucketBlobs {
            watch: Some(watch),
            ..self.clone()
        }
    }

    /// Takes contents that came with a switch, each of which is what its name says.
    pub(super) fn bring(&self, contents: BlobContents) {
        if contents.is_empty() {
            return;
        }
        let contents = contents.into_iter();
        let contents = contents.map(|(blob, content)| (blob, content.into()));
        let contents = contents.collect();
        let mut brought = self.brought();
        // A look that has failed is made again.
        if brought.last() == Some(&contents) {
            return;
        }
        let excess = (brought.len() + 1).saturating_sub(MOST_BUNDLES);
        let gone: Vec<_> = brought.drain(..excess).collect();
        brought.push(contents);
        drop(brought);
        drop(gone);
    }

    /// The content of a blob that came with a switch.
    fn brought_one(&self, blob: &BlobDigest) -> Option<Bytes> {
        let brought = self.brought();
        let found = brought.iter().rev().find_map(|bundle| bundle.get(blob));
        found.cloned()
    }

    fn brought(&self) -> MutexGuard<'_, Vec<HashMap<BlobDigest, Bytes>>> {
        self.brought.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hashes of the pieces of a blob; `None` if there are none.
    fn hashes(
        &self,
        blob: &BlobDigest,
        patience: Patience,
    ) -> io::Result<Option<Arc<PieceHashes>>> {
        let known = || self.hashes.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut known = known();
            if let Some(at) = known.iter().position(|(other, _)| other == blob) {
                let found = known.remove(at);
                let hashes = found.1.clone();
                known.push(found);
                return Ok(hashes);
            }
        }
        if patience == Patience::MustNotWait {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let object = self.bucket.get(&layout::hashes(blob), MOST_BYTES)?;
        let text = object.and_then(|object| String::from_utf8(object.content).ok());
        // What is damaged says nothing.
        let hashes = text
            .and_then(|text| PieceHashes::parse(&text))
            .map(Arc::new);
        let mut known = known();
        known.push((*blob, hashes.clone()));
        let weight =
            |hashes: &Option<Arc<PieceHashes>>| hashes.as_ref().map_or(1, |hashes| hashes.count());
        let mut all: usize = known.iter().map(|(_, hashes)| weight(hashes)).sum();
        while all > MOST_PIECES && known.len() > 1 {
            all = all.saturating_sub(weight(&known.remove(0).1));
        }
        Ok(hashes)
    }

    fn damage(&self, name: &str) -> io::Error {
        self.bucket.forget(name);
        let what = format!(
            "{:?} has another content than its name says: `salver fsck` says what else is damaged",
            self.place.join(name)
        );
        io::Error::new(io::ErrorKind::InvalidData, what)
    }
}

impl Blobs for BucketBlobs {
    fn open_blob(&self, name: &str, patience: Patience) -> io::Result<OpenBlob> {
        let within = name
            .strip_prefix(BLOBS)
            .and_then(|rest| rest.strip_prefix('/'));
        let Some(blob) = within.and_then(digest_of) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        if let Some(content) = self.brought_one(&blob) {
            return Ok(OpenBlob {
                length: u64::try_from(content.len()).unwrap_or(u64::MAX),
                reader: Reader::Memory(content),
                local: true,
            });
        }
        let (length, reader) = self.bucket.open(name, patience)?;
        let reader = match reader {
            Reader::Memory(content) => {
                if content.len() > HASHED_AT_ONCE && patience == Patience::MustNotWait {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                match BlobDigest::of(&content) == blob {
                    true => Reader::Memory(content),
                    false => return Err(self.damage(name)),
                }
            }
            Reader::Remote(content) => match self.hashes(&blob, patience)? {
                Some(hashes) if hashes.length() == length => {
                    let name = format!("{:?}", self.place.join(name));
                    let verified = VerifiedContent::new(content, hashes, name);
                    Reader::Remote(Arc::new(verified))
                }
                // Who has made it knew none.
                Some(_) | None => Reader::Remote(content),
            },
            other => other,
        };
        Ok(OpenBlob {
            reader,
            length,
            // What is in memory is had at once, and the rest is known not to be.
            local: true,
        })
    }

    fn has_changed(&self, current: &Current, patience: Patience) -> io::Result<bool> {
        let Some(watch) = self.watch() else {
            return Ok(false);
        };
        if watch.newer(current).is_none() {
            watch.look_for(patience)?;
        }
        Ok(watch.newer(current).is_some())
    }

    fn place(&self) -> &Path {
        &self.place
    }

    fn watch(&self) -> Option<Arc<dyn ReleaseWatch>> {
        let watch = self.watch.as_ref()?.upgrade()?;
        Some(watch)
    }
}
