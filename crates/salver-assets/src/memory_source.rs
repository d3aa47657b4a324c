//! Files in memory as a [`Source`]: for tests, and for trees that a program makes itself.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;

use crate::source::{Identity, Kind, Metadata, Opened, Patience, Reader, Source, Timestamp, View};
use crate::sync::Lock;

/// A tree of files in memory; directories exist where files are beneath them.
#[derive(Debug, Default)]
pub struct MemorySource {
    tree: Lock<Arc<Tree>>,
}

#[derive(Clone, Debug, Default)]
struct Tree {
    files: BTreeMap<Vec<u8>, (Identity, Bytes)>,
    versions: u64,
}

impl MemorySource {
    /// An empty tree.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a file at `path` (relative, `/` between segments), replacing what was there.
    /// `modified_unix_seconds` becomes its `Last-Modified`.
    pub fn insert(&self, path: &str, content: impl Into<Bytes>, modified_unix_seconds: i64) {
        let content = content.into();
        let modified = Timestamp {
            seconds: modified_unix_seconds,
            nanoseconds: 0,
        };
        self.change(|tree| {
            tree.versions += 1;
            let identity = Identity {
                device: 0,
                inode: tree.versions,
                length: u64::try_from(content.len()).unwrap_or(u64::MAX),
                modified,
                changed: modified,
            };
            tree.files
                .insert(path.as_bytes().to_vec(), (identity, content));
        });
    }

    /// Removes the file at `path`, if there is one.
    pub fn remove(&self, path: &str) {
        self.change(|tree| {
            tree.files.remove(path.as_bytes());
        });
    }

    fn change(&self, change: impl FnOnce(&mut Tree)) {
        change(Arc::make_mut(&mut *self.tree.hold()));
    }
}

impl Source for MemorySource {
    fn view(&self, _: Patience) -> io::Result<Arc<dyn View>> {
        Ok(Arc::<Tree>::clone(&self.tree.hold()))
    }
}

impl Tree {
    /// The paths beneath the directory at `path`, relative to it.
    fn beneath(&self, path: &[u8]) -> impl Iterator<Item = &[u8]> {
        let start = match path {
            b"" => Vec::new(),
            path => [path, b"/"].concat(),
        };
        self.files
            .range(start.clone()..)
            .map_while(move |(file, _)| file.strip_prefix(&*start))
    }
}

impl View for Tree {
    fn stat(&self, path: &[u8], _: Patience) -> io::Result<Metadata> {
        if let Some((identity, _)) = self.files.get(path) {
            return Ok(Metadata {
                kind: Kind::File,
                identity: *identity,
            });
        }
        if path.is_empty() || self.beneath(path).next().is_some() {
            let epoch = Timestamp {
                seconds: 0,
                nanoseconds: 0,
            };
            let identity = Identity {
                device: 0,
                inode: 0,
                length: 0,
                modified: epoch,
                changed: epoch,
            };
            return Ok(Metadata {
                kind: Kind::Directory,
                identity,
            });
        }
        Err(io::ErrorKind::NotFound.into())
    }

    fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened> {
        match self.files.get(path) {
            Some((identity, content)) => Ok(Opened {
                metadata: Metadata {
                    kind: Kind::File,
                    identity: *identity,
                },
                reader: Reader::Memory(content.clone()),
                local: true,
            }),
            None => {
                self.stat(path, patience)?;
                Err(io::ErrorKind::InvalidInput.into())
            }
        }
    }

    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        if self.stat(path, Patience::MayWait)?.kind != Kind::Directory {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let first = |rest: &[u8]| {
            rest.split(|&b| b == b'/')
                .next()
                .unwrap_or_default()
                .to_vec()
        };
        let mut names: Vec<_> = self.beneath(path).map(first).collect();
        names.dedup();
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::conformance;

    #[test]
    fn holds_to_what_every_source_must() {
        let source = MemorySource::new();
        for (path, content) in conformance::FILES {
            source.insert(path, content, 0);
        }
        source.insert("gone", &b"x"[..], 0);
        source.remove("gone");
        conformance::check(&source).unwrap();
    }
}
