//! Trees in memory: files by path, and the directories that follow from them.

use std::io;

use crate::source::{Identity, Kind, Metadata, Opened, Reader, Timestamp};

/// Files in memory, by path.
pub(crate) trait InMemoryFiles {
    /// The device number of all files and directories.
    fn device(&self) -> u64;

    /// The file at `path`.
    fn find(&self, path: &[u8]) -> Option<(Metadata, Reader)>;

    /// The paths beneath the directory at `path`, relative to it and sorted.
    fn beneath(&self, path: &[u8]) -> impl Iterator<Item = &[u8]>;
}

/// As [`View::stat`](crate::View::stat).
pub(crate) fn stat(files: &impl InMemoryFiles, path: &[u8]) -> io::Result<Metadata> {
    if let Some((metadata, _)) = files.find(path) {
        return Ok(metadata);
    }
    if path.is_empty() || files.beneath(path).next().is_some() {
        return Ok(directory(files.device()));
    }
    Err(io::ErrorKind::NotFound.into())
}

/// As [`View::open`](crate::View::open).
pub(crate) fn open(files: &impl InMemoryFiles, path: &[u8]) -> io::Result<Opened> {
    let Some((metadata, reader)) = files.find(path) else {
        stat(files, path)?;
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let local = true;
    Ok(Opened {
        metadata,
        reader,
        local,
    })
}

/// As [`View::list`](crate::View::list).
pub(crate) fn list(files: &impl InMemoryFiles, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    if stat(files, path)?.kind != Kind::Directory {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(names(files.beneath(path)))
}

/// The time of files that have none.
const NEVER: Timestamp = Timestamp {
    seconds: 0,
    nanoseconds: 0,
};

/// The metadata of a file. No other may have this device and this inode: what is put in its place later is
/// another file, so that it never changes.
pub(crate) fn file(device: u64, inode: u64, length: usize, modified_unix_seconds: i64) -> Metadata {
    let identity = Identity {
        device,
        inode,
        length: u64::try_from(length).unwrap_or(u64::MAX),
        modified: Timestamp {
            seconds: modified_unix_seconds,
            nanoseconds: 0,
        },
        changed: NEVER,
    };
    let kind = Kind::File;
    Metadata { kind, identity }
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
