//! Manifests that were read, so that they are read once: they never change.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use salver_assets::Patience;

use super::into_io;
use crate::error::Error;
use crate::files::manifest::{MOST_FILES, Manifest};
use crate::files::release_id::ReleaseId;
use crate::store::Store;

/// The most manifests that are kept in mind of a store whose disk has them, too.
const FEW: usize = 8;

/// The most manifests that are kept in mind of a store that is asked over a network.
const MANY: usize = 1024;

/// Manifests of releases that were asked for, within bounds.
#[derive(Debug)]
pub(super) struct Manifests {
    most: usize,
    /// The last one that was asked for last.
    known: Mutex<Vec<(ReleaseId, Arc<Manifest>)>>,
    /// Held by who reads one, so that one does it for all.
    reading: Mutex<()>,
}

impl Manifests {
    /// Those of a store on a disk.
    pub(super) fn few() -> Self {
        Manifests {
            most: FEW,
            known: Mutex::default(),
            reading: Mutex::default(),
        }
    }

    /// Those of a store in a bucket.
    pub(super) fn many() -> Self {
        Manifests {
            most: MANY,
            ..Manifests::few()
        }
    }

    /// The manifest of a release, read unless it was lately.
    ///
    /// # Errors
    /// `NotFound` if there is none; `WouldBlock` if it would wait and must not.
    pub(super) fn find(
        &self,
        store: &Store,
        id: &ReleaseId,
        patience: Patience,
    ) -> io::Result<Arc<Manifest>> {
        if let Some(known) = self.known_one(id) {
            return Ok(known);
        }
        if patience == Patience::MustNotWait {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody else has read it meanwhile.
        if let Some(known) = self.known_one(id) {
            return Ok(known);
        }
        if !store.has(id).map_err(into_io)? {
            // It was pruned a moment ago.
            return Err(io::ErrorKind::NotFound.into());
        }
        let manifest = Arc::new(store.manifest(id).map_err(into_io)?);
        self.keep(id, &manifest);
        drop(reading);
        Ok(manifest)
    }

    /// The manifest of a release of which many are wanted one after the other: from a disk it is read and let go.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub(super) fn pass(&self, store: &Store, id: &ReleaseId) -> Result<Arc<Manifest>, Error> {
        if let Some(known) = self.known_one(id) {
            return Ok(known);
        }
        let manifest = Arc::new(store.manifest(id)?);
        if self.most > FEW {
            self.keep(id, &manifest);
        }
        Ok(manifest)
    }

    /// Keeps the manifest of a release that nobody had to ask for.
    pub(super) fn bring(&self, id: &ReleaseId, manifest: Manifest) {
        if self.known_one(id).is_none() {
            self.keep(id, &Arc::new(manifest));
        }
    }

    fn keep(&self, id: &ReleaseId, manifest: &Arc<Manifest>) {
        let gone = {
            let mut known = self.known();
            known.push((id.clone(), Arc::clone(manifest)));
            let lengths = known.iter().map(|(_, manifest)| manifest.files().len());
            let excess = excess(lengths, self.most);
            known.drain(..excess).collect::<Vec<_>>()
        };
        drop(gone);
    }

    fn known_one(&self, id: &ReleaseId) -> Option<Arc<Manifest>> {
        let mut known = self.known();
        let at = known.iter().position(|(other, _)| other == id)?;
        let found = known.remove(at);
        let manifest = Arc::clone(&found.1);
        known.push(found);
        Some(manifest)
    }

    fn known(&self) -> MutexGuard<'_, Vec<(ReleaseId, Arc<Manifest>)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of manifests, oldest first, that are too many, by how many files each has. The last one stays.
fn excess(
    lengths: impl DoubleEndedIterator<Item = usize> + ExactSizeIterator,
    most: usize,
) -> usize {
    let (count, mut files, mut kept) = (lengths.len(), 0_usize, 0);
    for length in lengths.rev().take(most) {
        files = files.saturating_add(length);
        if kept > 0 && files > MOST_FILES {
            break;
        }
        kept += 1;
    }
    count - kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_manifests_of_few_files_are_kept_in_mind() {
        let check = |lengths: &[usize], expected| {
            assert_eq!(
                excess(lengths.iter().copied(), FEW),
                expected,
                "{lengths:?}"
            );
        };
        check(&[], 0);
        check(&[MOST_FILES + 1], 0);
        check(&[1, MOST_FILES], 1);
        check(&[1, MOST_FILES - 1], 0);
        check(&[MOST_FILES, 1, 1], 1);
        check(&[1; FEW], 0);
        check(&[1; FEW + 3], 3);
    }
}
