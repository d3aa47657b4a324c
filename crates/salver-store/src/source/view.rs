//! One release as a tree.

use std::cmp::Reverse;
use std::io;
use std::ops::Bound;

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
use crate::files::layout::relative_blob;
use crate::files::manifest::{Manifest, ManifestFile};
use crate::store::Store;

/// The time of what has none.
const NEVER: Timestamp = Timestamp {
    seconds: 0,
    nanoseconds: 0,
};

/// A [`View`] of the release that was current at one moment.
#[derive(Debug)]
pub(super) struct ReleaseView {
    current: Current,
    manifest: Manifest,
    kept: KeptFiles,
    blobs: Blobs,
    /// The device number of all that it holds.
    device: u64,
}

impl ReleaseView {
    pub(super) fn read(
        store: &Store,
        current: Current,
        blobs: Blobs,
        device: u64,
    ) -> Result<Self, Error> {
        let manifest = store.manifest(&current.release)?;
        Ok(ReleaseView {
            kept: kept_files(store, &current.release, &manifest)?,
            current,
            manifest,
            blobs,
            device,
        })
    }

    pub(super) fn current(&self) -> &Current {
        &self.current
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
        match self.blobs.current(patience) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => error,
            // The release was pruned a moment ago: whoever asks looks again.
            Ok(current) if current != self.current => io::ErrorKind::NotFound.into(),
            Ok(_) | Err(_) => {
                let path = self.blobs.path.join(path);
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
        let (stored, length, local) = match self.blobs.open_blob(&blob, patience) {
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
