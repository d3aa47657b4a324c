//! One release as a tree.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::io;
use std::ops::Bound;
use std::sync::Arc;

use salver_assets::digest::KnownDigests;
use salver_assets::source::{
    FileVersion, Identity, Kind, Metadata, Opened, Reader, Timestamp, VersionedName,
};
use salver_assets::{Patience, View};
use sha2::{Digest as _, Sha256};

use super::Blobs;
use super::kept::{KeptFiles, kept_files};
use crate::error::Error;
use crate::files::current::Current;
use crate::files::journal::Journal;
use crate::files::layout::relative_blob;
use crate::files::manifest::{Manifest, ManifestFile};
use crate::files::preview::{Preview, PreviewName};
use crate::files::release_id::ReleaseId;
use crate::store::Store;

/// The time of what has none.
const NEVER: Timestamp = Timestamp {
    seconds: 0,
    nanoseconds: 0,
};

/// A [`View`] of a release at one moment of its store: of the one that was current then, or of another.
#[derive(Debug)]
pub(super) struct ReleaseView {
    store: Arc<StoreState>,
    manifest: Arc<Manifest>,
    /// The files of other releases that it shows, too.
    kept: KeptFiles,
    /// The device number of all that it holds.
    device: u64,
}

/// What a store held from one change of it to the next.
#[derive(Debug)]
pub(super) struct StoreState {
    pub(super) current: Current,
    /// All releases, sorted.
    ids: Vec<ReleaseId>,
    /// Those of them that were never more than previews.
    alone: HashSet<ReleaseId>,
    previews: Vec<Preview>,
    blobs: Blobs,
}

impl StoreState {
    /// True if it had this release, and that is to be shown at this moment.
    pub(super) fn shows(&self, id: &ReleaseId, now_unix_seconds: i64) -> bool {
        let of_preview =
            |preview: &Preview| preview.release == *id && !preview.has_expired(now_unix_seconds);
        self.ids.binary_search(id).is_ok()
            && (!self.alone.contains(id) || self.previews.iter().any(of_preview))
    }

    /// The release of a preview that is to be shown at this moment.
    pub(super) fn preview(&self, name: &PreviewName, now_unix_seconds: i64) -> Option<&ReleaseId> {
        let preview = self.previews.iter().find(|preview| preview.name == *name)?;
        (!preview.has_expired(now_unix_seconds)).then_some(&preview.release)
    }
}

impl ReleaseView {
    /// The current release, and what others have under fingerprinted names.
    pub(super) fn read(
        store: &Store,
        current: Current,
        blobs: Blobs,
        device: u64,
    ) -> Result<Self, Error> {
        let manifest = store.manifest(&current.release)?;
        let ids = store.ids()?;
        let alone = Journal::read(&store.layout)?.previews_alone();
        let mut previews = Vec::new();
        for preview in store.each_preview()? {
            match preview {
                Ok(preview) => previews.push(preview),
                // It takes nothing from the others.
                Err(error) => tracing::warn!("{error}"),
            }
        }
        Ok(ReleaseView {
            kept: kept_files(store, (&ids, &alone), &current.release, &manifest),
            store: Arc::new(StoreState {
                current,
                ids,
                alone,
                previews,
                blobs,
            }),
            manifest: Arc::new(manifest),
            device,
        })
    }

    /// A release as it was when it was made, at the moment of this view.
    pub(super) fn of_release(&self, manifest: Arc<Manifest>) -> Self {
        ReleaseView {
            store: Arc::clone(&self.store),
            manifest,
            kept: KeptFiles::new(),
            device: self.device,
        }
    }

    pub(super) fn store(&self) -> &StoreState {
        &self.store
    }

    pub(super) fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }

    /// The file at a path: of this release, or kept of another.
    fn find(&self, path: &[u8]) -> Option<&ManifestFile> {
        self.manifest.find(path).or_else(|| {
            let kept = self.kept.get(path)?;
            // What this release has at a path is what is there.
            (!self.is_directory(path)).then_some(kept)
        })
    }

    fn is_directory(&self, path: &[u8]) -> bool {
        path.is_empty() || !self.manifest.beneath(path).0.is_empty()
    }

    /// The identity of a file: that of this content at this path, in whichever release it is.
    fn identity(&self, file: &ManifestFile) -> Identity {
        let mut hasher = Sha256::new();
        hasher.update(file.blob.as_bytes());
        hasher.update(&file.path);
        let hash: [u8; 32] = hasher.finalize().into();
        let mut inode = [0; 8];
        for (to, from) in inode.iter_mut().zip(hash) {
            *to = from;
        }
        Identity {
            // Number 0 is that of directories.
            inode: u64::from_le_bytes(inode) | 1,
            length: file.length,
            modified: Timestamp {
                seconds: file.modified_unix_seconds,
                nanoseconds: 0,
            },
            ..self.directory()
        }
    }

    fn directory(&self) -> Identity {
        Identity {
            device: self.device,
            inode: 0,
            length: 0,
            modified: NEVER,
            changed: NEVER,
        }
    }

    /// What it means that a blob is not there, or not what it should be.
    fn damage(&self, path: &str, what: &str, patience: Patience) -> io::Error {
        match self.store.blobs.current(patience) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => error,
            // The release was pruned a moment ago: whoever asks looks again.
            Ok(current) if current != self.store.current => io::ErrorKind::NotFound.into(),
            Ok(_) | Err(_) => {
                let path = self.store.blobs.path.join(path);
                let what = format!("{path:?} {what}: `salver fsck` says what else is damaged");
                io::Error::new(io::ErrorKind::InvalidData, what)
            }
        }
    }
}

impl View for ReleaseView {
    fn stat(&self, path: &[u8], _: Patience) -> io::Result<Metadata> {
        if let Some(file) = self.find(path) {
            return Ok(Metadata {
                kind: Kind::File,
                identity: self.identity(file),
            });
        }
        match self.is_directory(path) {
            true => Ok(Metadata {
                kind: Kind::Directory,
                identity: self.directory(),
            }),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened> {
        let Some(file) = self.find(path) else {
            self.stat(path, patience)?;
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let blob = relative_blob(&file.blob);
        let (stored, length, local) = match self.store.blobs.open_blob(&blob, patience) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(self.damage(&blob, "is missing", patience));
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                return Err(self.damage(&blob, "is no file", patience));
            }
            Err(error) => return Err(error),
        };
        if length != file.length {
            let what = format!("has {length} bytes instead of {}", file.length);
            return Err(self.damage(&blob, &what, patience));
        }
        Ok(Opened {
            metadata: Metadata {
                kind: Kind::File,
                identity: self.identity(file),
            },
            reader: Reader::Stored(stored),
            local,
        })
    }

    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.names(path, usize::MAX)
    }

    fn names(&self, path: &[u8], most: usize) -> io::Result<Vec<Vec<u8>>> {
        if self.stat(path, Patience::MayWait)?.kind != Kind::Directory {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let mut names = self.manifest.names(path, most);
        names.sort();
        names.dedup();
        Ok(names)
    }

    fn known(&self, path: &[u8]) -> Option<KnownDigests> {
        self.find(path).map(|file| file.known)
    }

    fn versions(&self, path: &[u8], name: VersionedName<'_>) -> Option<Vec<FileVersion>> {
        let slash = path.iter().rposition(|&byte| byte == b'/');
        let directory = path.get(..slash.map_or(0, |at| at + 1))?;
        let prefix = [directory, name.before].concat();
        let is_version = |file: &&ManifestFile| {
            let rest = file.path.get(directory.len()..).unwrap_or_default();
            !rest.contains(&b'/') && name.has(rest)
        };
        let from = (Bound::Included(&*prefix), Bound::Unbounded);
        let kept = self.kept.range::<[u8], _>(from).map(|(_, file)| file);
        let kept = kept.take_while(|file| file.path.starts_with(&prefix));
        let mut found: Vec<&ManifestFile> = self
            .manifest
            .beginning_with(&prefix)
            .iter()
            .chain(kept)
            .filter(is_version)
            .collect();
        found.sort_by_key(|file| Reverse(file.modified_unix_seconds));
        let version = |file: &ManifestFile| FileVersion {
            path: file.path.to_vec(),
            sha256: *file.blob.as_bytes(),
            length: file.length,
        };
        Some(found.into_iter().map(version).collect())
    }
}
