//! The store as a server reads it.

mod kept;
mod release;
#[cfg(test)]
mod tests;
mod view;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use salver_assets::source::{StoredFile, new_device};
use salver_assets::{Patience, Resolver, Source, Symlinks, View};
use salver_os::Directory;

use crate::error::Error;
use crate::files::current::{Current, MOST_BYTES};
use crate::files::layout::CURRENT;
use crate::files::manifest::Manifest;
use crate::files::release_id::ReleaseId;
use crate::store::Store;
pub use release::ReleaseSource;
use view::ReleaseView;

/// The time for which a look at `current` serves further ones.
const LOOKED_FOR: Duration = Duration::from_millis(10);

/// A [`Source`] of the current release of a store, and of what older and newer ones have under fingerprinted names.
///
/// A look is one read of `current`, which says if anything has changed; the rest is in memory, so that no file is looked
/// at to know what there is, and none is hashed. Content is sent from the blobs by descriptor. All of a view is of one
/// release, whatever becomes current meanwhile.
///
/// **Nobody gets a 404 for yesterday's chunk.** What the current release does not have, but another one that is kept, is
/// found there, the newest first, if its name carries a fingerprint ([`is_fingerprinted`](salver_semantics::is_fingerprinted)),
/// or seems to ([`may_be_fingerprinted`](salver_semantics::may_be_fingerprinted)): then what has this name is the same for
/// ever. HTML is always that of the current release.
///
/// **Damage is seen.** A blob that is missing, or has another length than it should, is an error. What is read into
/// memory before it is sent is compared with its digest besides; what the kernel sends is not.
#[derive(Debug)]
pub struct StoreSource {
    store: Store,
    device: u64,
    look_after: Duration,
    latest: Mutex<Option<(Arc<ReleaseView>, Instant)>>,
    /// Held by who reads manifests, so that one does it for all.
    reading: Mutex<()>,
    /// The manifests of other releases that were asked for, the last one last.
    manifests: Mutex<Vec<(ReleaseId, Arc<Manifest>)>>,
}

impl StoreSource {
    /// Opens the store at `path`. Where there is nothing yet, or an empty directory, there is no tree until a first deploy
    /// has made it. With `revalidate` zero every view looks at `current`; else a look serves a moment, so that many at
    /// once do not cost as many.
    ///
    /// # Errors
    /// There is something else than a store.
    pub fn open(path: &Path, revalidate: Duration) -> Result<Self, Error> {
        Ok(StoreSource {
            store: Store::open_or_awaited(path)?,
            device: new_device(),
            look_after: (revalidate / 4).min(LOOKED_FOR),
            latest: Mutex::new(None),
            reading: Mutex::new(()),
            manifests: Mutex::new(Vec::new()),
        })
    }

    /// The path of the store, absolute.
    pub fn path(&self) -> &Path {
        self.store.path()
    }

    /// True if no release is current yet.
    pub fn has_no_release(&self) -> bool {
        self.store.current().is_ok_and(|current| current.is_none())
    }

    fn latest(&self) -> MutexGuard<'_, Option<(Arc<ReleaseView>, Instant)>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The view that is known, if it is of `current`.
    fn known(&self, current: &Current, now: Instant) -> Option<Arc<ReleaseView>> {
        let mut latest = self.latest();
        let (view, looked) = latest.as_mut()?;
        (view.store().current == *current).then(|| {
            *looked = now;
            Arc::clone(view)
        })
    }

    /// A view of the current release.
    fn current_view(&self, patience: Patience) -> io::Result<Arc<ReleaseView>> {
        let now = Instant::now();
        if let Some((view, looked)) = &*self.latest()
            && now.duration_since(*looked) < self.look_after
        {
            return Ok(Arc::clone(view));
        }
        let blobs = Blobs::open(self.store.path(), patience)?;
        let current = blobs.current(patience)?;
        if let Some(view) = self.known(&current, now) {
            return Ok(view);
        }
        if patience == Patience::MustNotWait {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody else has read it meanwhile, or it has changed again.
        let current = blobs.current(patience)?;
        if let Some(view) = self.known(&current, now) {
            return Ok(view);
        }
        let view = ReleaseView::read(&self.store, current, blobs, self.device);
        let view = Arc::new(view.map_err(into_io)?);
        tracing::info!(
            "{:?}: release {} is current",
            self.store.path(),
            view.store().current.release
        );
        *self.latest() = Some((Arc::clone(&view), now));
        drop(reading);
        Ok(view)
    }
}

impl Source for StoreSource {
    fn view(&self, patience: Patience) -> io::Result<Arc<dyn View>> {
        let view: Arc<dyn View> = self.current_view(patience)?;
        Ok(view)
    }
}

fn into_io(error: Error) -> io::Error {
    match error {
        Error::Io(_, error) => error,
        other => io::Error::new(io::ErrorKind::InvalidData, other.to_string()),
    }
}

/// The directory of a store, from which files are opened by the patience of who asks. No link in it is followed.
#[derive(Debug)]
struct Blobs {
    directory: Directory,
    path: PathBuf,
}

impl Blobs {
    fn open(path: &Path, patience: Patience) -> io::Result<Self> {
        let directory = Directory::open(path, Symlinks::None, Resolver::Kernel, patience)?;
        let path = path.to_owned();
        Ok(Blobs { directory, path })
    }

    /// What `current` says.
    fn current(&self, patience: Patience) -> io::Result<Current> {
        // None before the first deploy: a tree that is not there.
        let opened = self.directory.open_file(CURRENT.as_bytes(), patience)?;
        let mut bytes = vec![0; usize::try_from(MOST_BYTES).unwrap_or(usize::MAX)];
        let count = match patience {
            Patience::MayWait => salver_os::read_at(&opened.file, &mut bytes, 0),
            Patience::MustNotWait => salver_os::read_resident(&opened.file, &mut bytes, 0),
        }?;
        bytes.truncate(count);
        let text = String::from_utf8(bytes).ok();
        let current = text.and_then(|text| Current::parse(&text));
        current.ok_or_else(|| {
            let what = "`current` names no release: `salver rollback STORE ID` names one anew";
            io::Error::new(io::ErrorKind::InvalidData, what)
        })
    }

    /// Opens the blob at this path within the store.
    fn open_blob(
        &self,
        path: &str,
        patience: Patience,
    ) -> io::Result<(Arc<StoredFile>, u64, bool)> {
        let opened = self.directory.open_file(path.as_bytes(), patience)?;
        let identity = opened.metadata.identity;
        let file = StoredFile::new(Arc::new(opened.file), identity);
        Ok((Arc::new(file), identity.length, opened.local))
    }
}
