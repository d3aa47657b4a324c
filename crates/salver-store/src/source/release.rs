//! Any release of a store as a server reads it, for who wants to see another one than the current.

use std::io;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::SystemTime;

use salver_assets::{Patience, Source, View};

use super::view::ReleaseView;
use super::{StoreSource, into_io};
use crate::files::manifest::{MOST_FILES, Manifest};
use crate::files::preview::PreviewName;
use crate::files::release_id::ReleaseId;
use crate::files::time::unix_seconds;

/// The most manifests that are kept in mind of releases that are not current.
const MOST_MANIFESTS: usize = 8;

/// A [`Source`] of one release as it was when it was made: of its files alone. Where there is no such release, or no longer,
/// there is no tree. A preview is whichever release it has at the moment, until it expires.
#[derive(Debug)]
pub struct ReleaseSource {
    store: Arc<StoreSource>,
    name: ReleaseName,
}

/// A name by which a release can be asked for.
#[derive(Debug)]
enum ReleaseName {
    Id(ReleaseId),
    Preview(PreviewName),
}

impl StoreSource {
    /// The release or preview with this name, whether there is one or not; `None` if it can be no name of one. Touches no
    /// file.
    pub fn release(self: &Arc<Self>, name: &str) -> Option<ReleaseSource> {
        let id = ReleaseId::parse(name).map(ReleaseName::Id);
        let name = id.or_else(|| PreviewName::parse(name).map(ReleaseName::Preview))?;
        Some(ReleaseSource {
            name,
            store: Arc::clone(self),
        })
    }

    /// A view of a release at the moment of the view of the current one.
    fn release_view(
        &self,
        current: &ReleaseView,
        id: &ReleaseId,
        patience: Patience,
    ) -> io::Result<Arc<dyn View>> {
        let manifest = match current.store().current.release == *id {
            true => Arc::clone(current.manifest()),
            false => self.manifest(id, patience)?,
        };
        Ok(Arc::new(current.of_release(manifest)))
    }

    /// The manifest of a release, read unless it was lately.
    fn manifest(&self, id: &ReleaseId, patience: Patience) -> io::Result<Arc<Manifest>> {
        if let Some(known) = self.known_manifest(id) {
            return Ok(known);
        }
        if patience == Patience::MustNotWait {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody else has read it meanwhile.
        if let Some(known) = self.known_manifest(id) {
            return Ok(known);
        }
        if !self.store.has(id) {
            // It was pruned a moment ago.
            return Err(io::ErrorKind::NotFound.into());
        }
        let manifest = Arc::new(self.store.manifest(id).map_err(into_io)?);
        let gone = {
            let mut manifests = self.manifests();
            manifests.push((id.clone(), Arc::clone(&manifest)));
            let excess = excess(manifests.iter().map(|(_, manifest)| manifest.files().len()));
            manifests.drain(..excess).collect::<Vec<_>>()
        };
        drop(gone);
        drop(reading);
        Ok(manifest)
    }

    fn known_manifest(&self, id: &ReleaseId) -> Option<Arc<Manifest>> {
        let mut manifests = self.manifests();
        let at = manifests.iter().position(|(known, _)| known == id)?;
        let found = manifests.remove(at);
        let manifest = Arc::clone(&found.1);
        manifests.push(found);
        Some(manifest)
    }

    fn manifests(&self) -> MutexGuard<'_, Vec<(ReleaseId, Arc<Manifest>)>> {
        self.manifests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of manifests, oldest first, that are too many, by how many files each has. The last one stays.
fn excess(lengths: impl DoubleEndedIterator<Item = usize> + ExactSizeIterator) -> usize {
    let (count, mut files, mut kept) = (lengths.len(), 0_usize, 0);
    for length in lengths.rev().take(MOST_MANIFESTS) {
        files = files.saturating_add(length);
        if kept > 0 && files > MOST_FILES {
            break;
        }
        kept += 1;
    }
    count - kept
}

impl Source for ReleaseSource {
    fn view(&self, patience: Patience) -> io::Result<Arc<dyn View>> {
        let current = self.store.current_view(patience)?;
        let (store, now) = (current.store(), unix_seconds(SystemTime::now()));
        let id = match &self.name {
            ReleaseName::Id(id) => Some(id),
            ReleaseName::Preview(name) => store.preview(name, now),
        };
        let id = id.filter(|id| store.shows(id, now));
        let id = id.ok_or(io::ErrorKind::NotFound)?;
        self.store.release_view(&current, id, patience)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_manifests_of_few_files_are_kept_in_mind() {
        let check = |lengths: &[usize], expected| {
            assert_eq!(excess(lengths.iter().copied()), expected, "{lengths:?}");
        };
        check(&[], 0);
        check(&[MOST_FILES + 1], 0);
        check(&[1, MOST_FILES], 1);
        check(&[1, MOST_FILES - 1], 0);
        check(&[MOST_FILES, 1, 1], 1);
        check(&[1; MOST_MANIFESTS], 0);
        check(&[1; MOST_MANIFESTS + 3], 3);
    }
}
