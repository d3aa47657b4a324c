//! The blobs of a store as they are opened for who serves them.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use salver_assets::source::Reader;
use salver_assets::{Patience, View};

use crate::files::current::Current;

/// A blob that is open.
#[derive(Debug)]
pub(super) struct OpenBlob {
    pub(super) reader: Reader,
    /// Its length as it lies there.
    pub(super) length: u64,
    /// True if reading it waits for nobody else.
    pub(super) local: bool,
}

/// The blobs of a store, at one moment of it.
pub(super) trait Blobs: fmt::Debug + Send + Sync {
    /// Opens the blob of this name within the store. What is in memory already is what its name says.
    ///
    /// # Errors
    /// `InvalidData` if it has another content; those of the place.
    fn open_blob(&self, name: &str, patience: Patience) -> io::Result<OpenBlob>;

    /// True if `current` says something else than this by now.
    ///
    /// # Errors
    /// `WouldBlock` if that would wait and must not.
    fn has_changed(&self, current: &Current, patience: Patience) -> io::Result<bool>;

    /// The path or URL of the store.
    fn place(&self) -> &Path;

    /// The watch by which newer releases can be had; `None` where each view is of the newest.
    fn watch(&self) -> Option<Arc<dyn ReleaseWatch>> {
        None
    }
}

/// The watch of a store whose views may be of another release than that which is current by now.
pub(super) trait ReleaseWatch: fmt::Debug + Send + Sync {
    /// The release that is known to be current, if it is another than this.
    fn newer(&self, than: &Current) -> Option<Arc<dyn NewerRelease>>;

    /// The release that is current by a look which begins from now on; `None` if nobody can look.
    ///
    /// # Errors
    /// `WouldBlock` if that would wait and must not.
    fn look_for(&self, patience: Patience) -> io::Result<Option<Arc<dyn NewerRelease>>>;
}

/// A release that became current after another.
pub(super) trait NewerRelease: View {
    /// True if it has a file at this path, or one that is kept.
    fn has(&self, path: &[u8]) -> bool;
}
