//! Where what lies in a store.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use crate::error::Error;
use crate::files::current;
use crate::files::digest::BlobDigest;
use crate::files::durable::read_bytes;
use crate::files::preview::PreviewName;
use crate::files::release_id::ReleaseId;

/// The name of the file that names the form of the store, and what it says.
pub(crate) const FORMAT: (&str, &str) = ("salver-store", "salver-store 1\n");

/// The longest file that says so, in bytes.
pub(crate) const MOST_FORMAT_BYTES: u64 = 64;

/// The name of the file that names the current release.
pub(crate) const CURRENT: &str = "current";

/// The directories of a store.
pub(crate) const DIRECTORIES: [&str; 4] = [BLOBS, MANIFESTS, NEW, PREVIEWS];
pub(crate) const BLOBS: &str = "blobs";
pub(crate) const MANIFESTS: &str = "manifests";
const NEW: &str = "new";
pub(crate) const PREVIEWS: &str = "previews";

/// The directory of notes on codings, which the first deploy that waits for them makes.
#[cfg(feature = "compress")]
pub(crate) const CODINGS: &str = "codings";

/// The directory of hashes of the pieces of long blobs, in a bucket.
pub(crate) const HASHES: &str = "hashes";

/// The directory of blobs that come piece by piece, which the first deploy over the network makes.
const INCOMING: &str = "incoming";

/// The name of the file whose lock is that of the store.
pub(crate) const LOCK: &str = "lock";

/// The name of the file that says what was done.
pub(crate) const JOURNAL: &str = "journal";

/// The paths of a store in a directory.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) root: PathBuf,
}

impl Layout {
    /// The path of what has this name in a store.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn format(&self) -> PathBuf {
        self.root.join(FORMAT.0)
    }

    /// The content of `current`; `None` if there is none.
    pub(crate) fn read_current(&self) -> Result<Option<Vec<u8>>, Error> {
        read_bytes(&self.path(CURRENT), current::MOST_BYTES)
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.root.join(LOCK)
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.root.join(JOURNAL)
    }

    pub(crate) fn blobs(&self) -> PathBuf {
        self.root.join(BLOBS)
    }

    pub(crate) fn blob(&self, digest: &BlobDigest) -> PathBuf {
        self.root.join(blob(digest))
    }

    /// True if a store can be made here: there is nothing, or no more than what a deploy that was killed here has left.
    /// What somebody else's directory holds is not ours to add to.
    ///
    /// # Errors
    /// The directory cannot be listed, or is none.
    pub(crate) fn is_vacant(&self) -> Result<bool, Error> {
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
            Err(error) => return Err(Error::at(&self.root)(error)),
        };
        for entry in entries {
            let name = entry.map_err(Error::at(&self.root))?.file_name();
            let is_ours = |known: &str| name.to_str() == Some(known);
            if !is_ours(LOCK) && !DIRECTORIES.into_iter().any(is_ours) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The directory of blobs that come piece by piece, and are not whole yet.
    pub(crate) fn incoming(&self) -> PathBuf {
        self.root.join(INCOMING)
    }

    /// The directory of files that are not whole yet. Whatever is in it can go.
    pub(crate) fn unfinished(&self) -> PathBuf {
        self.root.join(NEW)
    }
}

/// The name of the manifest of a release within a store.
pub(crate) fn manifest(id: &ReleaseId) -> String {
    format!("{MANIFESTS}/{id}")
}

/// The name of the file of a preview within a store.
pub(crate) fn preview(name: &PreviewName) -> String {
    format!("{PREVIEWS}/{name}")
}

/// The name of a blob within a store.
pub(crate) fn blob(digest: &BlobDigest) -> String {
    by_digest(BLOBS, digest)
}

/// The name within a store of the note on what codings there are of a blob.
#[cfg(feature = "compress")]
pub(crate) fn codings(digest: &BlobDigest) -> String {
    by_digest(CODINGS, digest)
}

/// The name within a store of the hashes of the pieces of a blob.
pub(crate) fn hashes(digest: &BlobDigest) -> String {
    by_digest(HASHES, digest)
}

fn by_digest(above: &str, digest: &BlobDigest) -> String {
    let name = digest.to_string();
    let (directory, rest) = name.split_at_checked(2).unwrap_or_default();
    format!("{above}/{directory}/{rest}")
}

/// The digest that a name beneath a directory of such files says: `ab/cdef…`.
pub(crate) fn digest_of(name: &str) -> Option<BlobDigest> {
    let (start, rest) = name.split_once('/')?;
    (start.len() == 2).then_some(())?;
    BlobDigest::parse(&format!("{start}{rest}"))
}
