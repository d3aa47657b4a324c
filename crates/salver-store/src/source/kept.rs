//! What other releases than the current one are still asked for: files whose names carry a fingerprint.

use std::collections::BTreeMap;
use std::convert::Infallible;

use salver_semantics::{IMMUTABLE, cache_control};

use crate::error::Error;
use crate::files::manifest::{Manifest, ManifestFile};
use crate::files::release_id::ReleaseId;
use crate::store::Store;

/// The most files that are kept in mind; those of the oldest releases are left out.
const MOST: usize = 1_000_000;

/// The names beside a file that are looked at, where its own leaves a doubt, as many as by the engine.
const NAMES: usize = 256;

/// Files of other releases by path, so that those whose paths begin alike stand together.
pub(super) type KeptFiles = BTreeMap<Box<[u8]>, ManifestFile>;

/// The files that the current release does not have, of the newest release that has them.
pub(super) fn kept_files(
    store: &Store,
    current: &ReleaseId,
    manifest: &Manifest,
) -> Result<KeptFiles, Error> {
    let mut kept = KeptFiles::new();
    for id in store.ids()?.iter().rev().filter(|id| *id != current) {
        let other = match store.manifest(id) {
            Ok(other) => other,
            // One that is damaged or was pruned a moment ago takes nothing from the current one.
            Err(error) => {
                tracing::warn!("{error}");
                continue;
            }
        };
        let mut directory = Names::default();
        for file in other.files() {
            if kept.len() == MOST {
                return Ok(kept);
            }
            let is_wanted = manifest.find(&file.path).is_none() && !kept.contains_key(&file.path);
            if is_wanted && directory.is_fingerprinted(&other, &file.path) {
                kept.insert(file.path.clone(), file.clone());
            }
        }
    }
    Ok(kept)
}

/// The names in the directory that was asked for last: files that stand in one come one after the other.
#[derive(Default)]
struct Names {
    directory: Vec<u8>,
    names: Option<Vec<Vec<u8>>>,
}

impl Names {
    /// True if a file of this release is the same for ever under its name, by the rule of `Cache-Control`.
    fn is_fingerprinted(&mut self, manifest: &Manifest, path: &[u8]) -> bool {
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        let directory = path.get(..path.len() - name.len()).unwrap_or_default();
        let directory = directory.strip_suffix(b"/").unwrap_or(directory);
        let beside = || {
            if self.directory != directory {
                self.directory = directory.to_vec();
                self.names = None;
            }
            let names = self
                .names
                .get_or_insert_with(|| manifest.names(directory, NAMES));
            Ok::<_, Infallible>(names.clone())
        };
        match cache_control(path, beside) {
            Ok(value) => value == IMMUTABLE,
            Err(never) => match never {},
        }
    }
}
