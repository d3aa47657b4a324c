//! The store as a server reads it.

mod blobs;
mod bucket_blobs;
mod directory;
mod kept;
mod manifests;
mod release;
#[cfg(test)]
mod tests;
mod verified;
mod view;
mod watch;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use salver_assets::{Patience, Source, View};

use crate::bucket::Bucket;
use crate::error::Error;
use crate::store::Store;
use directory::DirectoryReleases;
use manifests::Manifests;
pub use release::ReleaseSource;
use view::ReleaseView;
use watch::Watch;

/// A [`Source`] of the current release of a store, and of what older and newer ones have under fingerprinted names.
///
/// A look is one read of `current`, which says if anything has changed; the rest is in memory, so that no file is looked
/// at to know what there is, and none is hashed. Content is sent from the blobs by descriptor. All of a view is of one
/// release, whatever becomes current meanwhile.
///
/// **A bucket is watched.** A thread, which the first view starts, asks for `current` by one conditional request, as often
/// as is said, and that is all that is asked while nothing changes. No view waits for it once there is a release, and
/// where the bucket does not answer, what is held stays. A name with a fingerprint that nobody knows has it asked at once,
/// ten times a second at most: another node may have sent the page that names it a moment ago. Who is told of a change by
/// somebody has it asked at once, too ([`look_now`](Self::look_now)).
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
    /// The manifests of releases that were asked for.
    manifests: Arc<Manifests>,
    releases: Releases,
}

/// What knows the current release.
#[derive(Debug)]
enum Releases {
    /// Reads it when it is asked.
    Directory(DirectoryReleases),
    /// Has a thread that looks.
    Bucket(Watch),
}

impl StoreSource {
    /// Opens the store at `path`. Where there is nothing yet, or an empty directory, there is no tree until a first deploy
    /// has made it. With `revalidate` zero every view looks at `current`; else a look serves a moment, so that many at
    /// once do not cost as many.
    ///
    /// # Errors
    /// There is something else than a store.
    pub fn open(path: &Path, revalidate: Duration) -> Result<Self, Error> {
        let store = Store::open_or_awaited(path)?;
        let manifests = Arc::new(Manifests::few());
        let releases = DirectoryReleases::new(store.clone(), Arc::clone(&manifests), revalidate);
        Ok(StoreSource {
            store,
            manifests,
            releases: Releases::Directory(releases),
        })
    }

    /// The store that there is in a bucket, or is going to be. Nothing is asked yet, and no thread started. What becomes
    /// current is seen within `revalidate`; with zero every view asks.
    pub fn open_bucket(bucket: Arc<dyn Bucket>, revalidate: Duration) -> Self {
        let store = Store::awaited_in(Arc::clone(&bucket));
        let manifests = Arc::new(Manifests::many());
        let watch = Watch::new(store.clone(), Arc::clone(&manifests), bucket, revalidate);
        StoreSource {
            store,
            manifests,
            releases: Releases::Bucket(watch),
        }
    }

    /// The path of the store, absolute, or the URL of its bucket.
    pub fn path(&self) -> &Path {
        self.store.path()
    }

    /// Has a bucket asked at once which release is current, because somebody says that it has changed: that only shortens
    /// the time until the next look. It may be called for every event that comes: looks have 20 ms between them, and one
    /// begins after the last call. Nobody waits for it, and a directory is looked at as ever.
    pub fn look_now(&self) {
        match &self.releases {
            Releases::Directory(_) => {}
            Releases::Bucket(watch) => watch.look_now(),
        }
    }

    /// True if no release is current yet, as far as a directory says: a bucket is not asked.
    pub fn has_no_release(&self) -> bool {
        match &self.releases {
            Releases::Directory(_) => self.store.current().is_ok_and(|current| current.is_none()),
            Releases::Bucket(_) => false,
        }
    }

    /// A view of the current release.
    fn current_view(&self, patience: Patience) -> io::Result<Arc<ReleaseView>> {
        match &self.releases {
            Releases::Directory(releases) => releases.current_view(patience),
            Releases::Bucket(watch) => watch.current_view(patience),
        }
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
