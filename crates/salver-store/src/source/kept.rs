//! What other releases than the current one are still asked for: files whose names carry a fingerprint, or seem to.

use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;

use salver_semantics::{HashPlaces, IMMUTABLE, cache_control, may_be_fingerprinted};

use super::manifests::Manifests;
use crate::files::manifest::{Manifest, ManifestFile};
use crate::files::release_id::ReleaseId;
use crate::store::Store;

/// The most files that are kept in mind; those of the oldest releases are left out.
const MOST: usize = 1_000_000;

/// The names beside a file that are looked at, where its own leaves a doubt, as many as by the engine.
const NAMES: usize = 256;

/// Files of other releases by path, so that those whose paths begin alike stand together.
pub(super) type KeptFiles = BTreeMap<Box<[u8]>, ManifestFile>;

/// The files that the current release does not have, of the newest release that has them. What was never more than a
/// preview, as those `alone` were, is no part of the site.
pub(super) fn kept_files(
    (store, manifests): (&Store, &Manifests),
    (ids, alone): (&[ReleaseId], &HashSet<ReleaseId>),
    current: &ReleaseId,
    manifest: &Manifest,
) -> KeptFiles {
    let mut kept = KeptFiles::new();
    let others = ids.iter().rev();
    for id in others.filter(|id| *id != current && !alone.contains(*id)) {
        let other = match manifests.pass(store, id) {
            Ok(other) => other,
            // One that is damaged or was pruned a moment ago takes nothing from the current one.
            Err(error) => {
                tracing::warn!("{error}");
                continue;
            }
        };
        let mut directory = Directory::new(manifest, &other);
        for file in other.files() {
            if kept.len() == MOST {
                return kept;
            }
            let is_wanted = manifest.find(&file.path).is_none() && !kept.contains_key(&file.path);
            if is_wanted && directory.may_be_fingerprinted(&file.path) {
                kept.insert(file.path.clone(), file.clone());
            }
        }
    }
    kept
}

/// True if a file at this path, which a release does not have, would be the same for ever under its name.
pub(super) fn seems_fingerprinted(manifest: &Manifest, path: &[u8]) -> bool {
    Directory::new(manifest, manifest).may_be_fingerprinted(path)
}

/// The names in the directory that was asked for last: files that stand in one come one after the other.
struct Directory<'a> {
    current: &'a Manifest,
    other: &'a Manifest,
    path: Vec<u8>,
    names: Option<(Vec<Vec<u8>>, HashPlaces)>,
}

impl<'a> Directory<'a> {
    fn new(current: &'a Manifest, other: &'a Manifest) -> Self {
        let (path, names) = (Vec::new(), None);
        Directory {
            current,
            other,
            path,
            names,
        }
    }

    /// True if a file of the other release is the same for ever under its name, by the rule of `Cache-Control`, or
    /// likely is: a chunk that is missed breaks a page, and another file that is taken for one is there a while longer.
    fn may_be_fingerprinted(&mut self, path: &[u8]) -> bool {
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        let directory = path.get(..path.len() - name.len()).unwrap_or_default();
        let directory = directory.strip_suffix(b"/").unwrap_or(directory);
        if self.path != directory {
            self.path = directory.to_vec();
            self.names = None;
        }
        let (names, places) = self.names.get_or_insert_with(|| {
            let names = self.other.names(directory, NAMES);
            // A build of two files or three says little alone.
            let mut all = self.current.names(directory, NAMES);
            all.extend_from_slice(&names);
            all.sort_unstable();
            all.dedup();
            let places = HashPlaces::of(all.iter().map(|name| &**name));
            (names, places)
        });
        let value = match cache_control(path, || Ok::<_, Infallible>(names.clone())) {
            Ok(value) => value,
            Err(never) => match never {},
        };
        value == IMMUTABLE || may_be_fingerprinted(path, places)
    }
}
