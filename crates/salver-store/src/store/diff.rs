//! The difference of two releases.

use crate::error::Error;
use crate::files::manifest::ManifestFile;
use crate::files::release_id::ReleaseId;
use crate::store::Store;

/// What differs between two releases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// What differs, sorted by path.
    pub changes: Vec<Change>,
}

/// A path at which two releases differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path.
    pub path: Box<[u8]>,
    /// The length in the first, if it is there.
    pub before: Option<u64>,
    /// The length in the second, if it is there.
    pub after: Option<u64>,
}

impl Change {
    /// The word for it.
    pub fn name(&self) -> &'static str {
        match (self.before, self.after) {
            (None, _) => "added",
            (_, None) => "removed",
            (Some(_), Some(_)) => "changed",
        }
    }
}

impl Store {
    /// What differs between two releases, by content.
    ///
    /// # Errors
    /// One of them is not there, or damaged.
    pub fn diff(&self, one: &ReleaseId, other: &ReleaseId) -> Result<Diff, Error> {
        let (one, other) = (self.manifest(one)?, self.manifest(other)?);
        let change =
            |path: &[u8], before: Option<&ManifestFile>, after: Option<&ManifestFile>| Change {
                path: path.into(),
                before: before.map(|file| file.length),
                after: after.map(|file| file.length),
            };
        let mut changes = Vec::new();
        for file in one.files() {
            let after = other.find(&file.path);
            if after.is_none_or(|after| after.blob != file.blob) {
                changes.push(change(&file.path, Some(file), after));
            }
        }
        let added = other
            .files()
            .iter()
            .filter(|file| one.find(&file.path).is_none());
        changes.extend(added.map(|file| change(&file.path, None, Some(file))));
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(Diff { changes })
    }
}
