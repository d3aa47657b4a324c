//! Trees in memory: files by path, and the directories that follow from them.

use std::io;

use crate::source::{
    Identity, Kind, KnownDigests, Metadata, Opened, Patience, Reader, Timestamp, View,
};

/// A file in memory.
pub(crate) struct InMemoryFile {
    pub(crate) metadata: Metadata,
    pub(crate) reader: Reader,
    pub(crate) known: KnownDigests,
}

/// Files in memory, by path: a [`View`].
pub(crate) trait InMemoryFiles: Send + Sync {
    /// The device number of all files and directories.
    fn device(&self) -> u64;

    /// The file at `path`.
    fn find(&self, path: &[u8]) -> Option<InMemoryFile>;

    /// The paths beneath the directory at `path`, relative to it and sorted.
    fn beneath(&self, path: &[u8]) -> impl Iterator<Item = &[u8]>;
}

impl<F: InMemoryFiles> View for F {
    fn stat(&self, path: &[u8], _: Patience) -> io::Result<Metadata> {
        if let Some(file) = self.find(path) {
            return Ok(file.metadata);
        }
        if path.is_empty() || self.beneath(path).next().is_some() {
            return Ok(directory(self.device()));
        }
        Err(io::ErrorKind::NotFound.into())
    }

    fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened> {
        let Some(file) = self.find(path) else {
            self.stat(path, patience)?;
            return Err(io::ErrorKind::InvalidInput.into());
        };
        Ok(Opened {
            metadata: file.metadata,
            reader: file.reader,
            local: true,
        })
    }

    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        if self.stat(path, Patience::MayWait)?.kind != Kind::Directory {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(names(self.beneath(path)))
    }

    fn known(&self, path: &[u8]) -> Option<KnownDigests> {
        self.find(path).map(|file| file.known)
    }
}

/// The time of files that have none.
const NEVER: Timestamp = Timestamp {
    seconds: 0,
    nanoseconds: 0,
};

/// The metadata of a file. No other may have this device and this inode: what is put in its place later is
/// another file, so that it never changes.
pub(crate) fn file(device: u64, inode: u64, length: usize, modified_unix_seconds: i64) -> Metadata {
    Metadata {
        kind: Kind::File,
        identity: Identity {
            inode,
            length: u64::try_from(length).unwrap_or(u64::MAX),
            modified: Timestamp {
                seconds: modified_unix_seconds,
                nanoseconds: 0,
            },
            ..directory(device).identity
        },
    }
}

/// The metadata of a directory.
fn directory(device: u64) -> Metadata {
    let identity = Identity {
        device,
        inode: 0,
        length: 0,
        modified: NEVER,
        changed: NEVER,
    };
    let kind = Kind::Directory;
    Metadata { kind, identity }
}

/// The prefix of the paths of all files beneath the directory at `path`.
pub(crate) fn prefix(path: &[u8]) -> Vec<u8> {
    match path {
        b"" => Vec::new(),
        path => [path, b"/"].concat(),
    }
}

/// The first segments of sorted paths, each once: the names in their directory.
fn names<'a>(paths: impl Iterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let first = |path: &'a [u8]| path.split(|&byte| byte == b'/').next().unwrap_or_default();
    let mut names: Vec<&[u8]> = paths.map(first).collect();
    names.dedup();
    names.into_iter().map(<[u8]>::to_vec).collect()
}
