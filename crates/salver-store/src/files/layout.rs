//! Where what lies in a store.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::files::digest::BlobDigest;
use crate::files::preview::PreviewName;
use crate::files::release_id::ReleaseId;

/// The name of the file that names the form of the store, and what it says.
pub(crate) const FORMAT: (&str, &str) = ("salver-store", "salver-store 1\n");

/// The name of the file that names the current release.
pub(crate) const CURRENT: &str = "current";

/// The directories of a store.
pub(crate) const DIRECTORIES: [&str; 4] = [BLOBS, MANIFESTS, NEW, PREVIEWS];
const BLOBS: &str = "blobs";
const MANIFESTS: &str = "manifests";
const NEW: &str = "new";
const PREVIEWS: &str = "previews";

/// The directory of notes on codings, which the first deploy that waits for them makes.
#[cfg(feature = "compress")]
const CODINGS: &str = "codings";

/// The directory of blobs that come piece by piece, which the first deploy over the network makes.
const INCOMING: &str = "incoming";

/// The name of the file whose lock is that of the store.
pub(crate) const LOCK: &str = "lock";

const JOURNAL: &str = "journal";

/// The paths of a store.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) root: PathBuf,
}

impl Layout {
    pub(crate) fn format(&self) -> PathBuf {
        self.root.join(FORMAT.0)
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.root.join(LOCK)
    }

    pub(crate) fn current(&self) -> PathBuf {
        self.root.join(CURRENT)
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.root.join(JOURNAL)
    }

    pub(crate) fn manifests(&self) -> PathBuf {
        self.root.join(MANIFESTS)
    }

    pub(crate) fn manifest(&self, id: &ReleaseId) -> PathBuf {
        self.manifests().join(id.as_str())
    }

    pub(crate) fn previews(&self) -> PathBuf {
        self.root.join(PREVIEWS)
    }

    pub(crate) fn preview(&self, name: &PreviewName) -> PathBuf {
        self.previews().join(name.as_str())
    }

    pub(crate) fn blobs(&self) -> PathBuf {
        self.root.join(BLOBS)
    }

    pub(crate) fn blob(&self, digest: &BlobDigest) -> PathBuf {
        self.root.join(relative_blob(digest))
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

    /// The directory of notes on what codings there are of blobs.
    #[cfg(feature = "compress")]
    pub(crate) fn all_codings(&self) -> PathBuf {
        self.root.join(CODINGS)
    }

    /// The note on what codings there are of a blob.
    #[cfg(feature = "compress")]
    pub(crate) fn codings(&self, digest: &BlobDigest) -> PathBuf {
        self.root.join(relative(CODINGS, digest))
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

/// The path of a blob relative to the store.
pub(crate) fn relative_blob(digest: &BlobDigest) -> String {
    relative(BLOBS, digest)
}

fn relative(above: &str, digest: &BlobDigest) -> String {
    let name = digest.to_string();
    let (directory, rest) = name.split_at_checked(2).unwrap_or_default();
    format!("{above}/{directory}/{rest}")
}

/// The digest of the blob with this name in the directory of this name.
pub(crate) fn digest_of(directory: &Path, name: &str) -> Option<BlobDigest> {
    let start = directory.file_name()?.to_str()?;
    (start.len() == 2).then_some(())?;
    BlobDigest::parse(&format!("{start}{name}"))
}
