//! The releases of a store in a directory: `current` is read by who asks, and what was read serves a moment.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use salver_assets::source::{Reader, StoredFile, new_device};
use salver_assets::{Patience, Resolver, Symlinks};
use salver_os::Directory;

use super::blobs::{Blobs, OpenBlob};
use super::into_io;
use super::manifests::Manifests;
use super::view::ReleaseView;
use crate::files::current::{Current, MOST_LINE_BYTES};
use crate::files::layout::CURRENT;
use crate::store::Store;

/// The time for which a look at `current` serves further ones.
const LOOKED_FOR: Duration = Duration::from_millis(10);

/// The releases of a store in a directory.
#[derive(Debug)]
pub(super) struct DirectoryReleases {
    store: Store,
    manifests: Arc<Manifests>,
    device: u64,
    look_after: Duration,
    latest: Mutex<Option<(Arc<ReleaseView>, Instant)>>,
    /// Held by who reads a release, so that one does it for all.
    reading: Mutex<()>,
}

impl DirectoryReleases {
    pub(super) fn new(store: Store, manifests: Arc<Manifests>, revalidate: Duration) -> Self {
        DirectoryReleases {
            store,
            manifests,
            device: new_device(),
            look_after: (revalidate / 4).min(LOOKED_FOR),
            latest: Mutex::new(None),
            reading: Mutex::new(()),
        }
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
    pub(super) fn current_view(&self, patience: Patience) -> io::Result<Arc<ReleaseView>> {
        let now = Instant::now();
        if let Some((view, looked)) = &*self.latest()
            && now.duration_since(*looked) < self.look_after
        {
            return Ok(Arc::clone(view));
        }
        let blobs = DirectoryBlobs::open(self.store.path(), patience)?;
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
        let blobs = Box::new(blobs);
        let view = ReleaseView::read(&self.store, &self.manifests, current, blobs, self.device);
        let view = Arc::new(view.map_err(into_io)?);
        view.is_announced(&self.store);
        *self.latest() = Some((Arc::clone(&view), now));
        drop(reading);
        Ok(view)
    }
}

/// The directory of a store, from which files are opened by the patience of who asks. No link in it is followed.
#[derive(Debug)]
pub(super) struct DirectoryBlobs {
    directory: Directory,
    path: PathBuf,
}

impl DirectoryBlobs {
    fn open(path: &Path, patience: Patience) -> io::Result<Self> {
        let directory = Directory::open(path, Symlinks::None, Resolver::Kernel, patience)?;
        let path = path.to_owned();
        Ok(DirectoryBlobs { directory, path })
    }

    /// What `current` says.
    fn current(&self, patience: Patience) -> io::Result<Current> {
        // None before the first deploy: a tree that is not there.
        let opened = self.directory.open_file(CURRENT.as_bytes(), patience)?;
        let mut bytes = vec![0; usize::try_from(MOST_LINE_BYTES).unwrap_or(usize::MAX)];
        let count = match patience {
            Patience::MayWait => salver_os::read_at(&opened.file, &mut bytes, 0),
            Patience::MustNotWait => salver_os::read_resident(&opened.file, &mut bytes, 0),
        }?;
        bytes.truncate(count);
        let current = Current::parse(&bytes).map(|(current, _)| current);
        current.ok_or_else(|| {
            let what = "`current` names no release: `salver rollback STORE ID` names one anew";
            io::Error::new(io::ErrorKind::InvalidData, what)
        })
    }
}

impl Blobs for DirectoryBlobs {
    fn open_blob(&self, name: &str, patience: Patience) -> io::Result<OpenBlob> {
        let opened = self.directory.open_file(name.as_bytes(), patience)?;
        let identity = opened.metadata.identity;
        let file = StoredFile::new(Arc::new(opened.file), identity);
        Ok(OpenBlob {
            reader: Reader::Stored(Arc::new(file)),
            length: identity.length,
            local: opened.local,
        })
    }

    fn has_changed(&self, current: &Current, patience: Patience) -> io::Result<bool> {
        match self.current(patience) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(error),
            now => Ok(now.is_ok_and(|now| now != *current)),
        }
    }

    fn place(&self) -> &Path {
        &self.path
    }
}
