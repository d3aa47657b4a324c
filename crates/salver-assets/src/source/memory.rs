//! Files in memory, as a [`Source`]: for tests, and for trees that a program makes itself.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;

use crate::source::digest;
use crate::source::in_memory::{self, InMemoryFile, InMemoryFiles};
use crate::source::{KnownDigests, Metadata, Patience, Reader, Source, View, is_clean, new_device};
use crate::sync::Lock;

/// A [`Source`] of files in memory; directories exist where files are beneath them.
///
/// Content is sent as it lies here, whatever its length, and never copied. Up to
/// [`cache_max_file`](crate::Config::cache_max_file) the engine's cache holds it, too, and counts it
/// in full: once it is replaced or removed here, the cache alone keeps it in memory, until the
/// next request for it or until others need the room.
#[derive(Debug)]
pub struct MemorySource {
    tree: Lock<Arc<MemoryTree>>,
}

#[derive(Clone, Debug)]
struct MemoryTree {
    device: u64,
    files: BTreeMap<Vec<u8>, File>,
    versions: u64,
}

#[derive(Clone, Debug)]
struct File {
    metadata: Metadata,
    content: Bytes,
    known: KnownDigests,
}

impl Default for MemorySource {
    fn default() -> Self {
        let tree = MemoryTree {
            device: new_device(),
            files: BTreeMap::new(),
            versions: 0,
        };
        MemorySource {
            tree: Lock::new(Arc::new(tree)),
        }
    }
}

impl MemorySource {
    /// An empty tree.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a file at `path` (relative, `/` between segments), replacing what was there.
    /// `modified_unix_seconds` becomes its `Last-Modified`. Hashes the content, which is then not hashed when
    /// it is asked for. A file at a path that is not [clean](crate::source::is_clean) path is never found.
    pub fn insert(&self, path: &str, content: impl Into<Bytes>, modified_unix_seconds: i64) {
        let content = content.into();
        let known = KnownDigests {
            digest: digest::of_bytes(&content),
            decoded: None,
        };
        if path.is_empty() || !is_clean(path.as_bytes()) {
            return;
        }
        self.change(|tree| {
            tree.versions += 1;
            let (version, length) = (tree.versions, content.len());
            let metadata = in_memory::file(tree.device, version, length, modified_unix_seconds);
            let file = File {
                metadata,
                content,
                known,
            };
            tree.files.insert(path.as_bytes().to_vec(), file);
        });
    }

    /// Removes the file at `path`, if there is one.
    pub fn remove(&self, path: &str) {
        self.change(|tree| {
            tree.files.remove(path.as_bytes());
        });
    }

    fn change(&self, change: impl FnOnce(&mut MemoryTree)) {
        change(Arc::make_mut(&mut *self.tree.hold()));
    }
}

impl Source for MemorySource {
    fn view(&self, _: Patience) -> io::Result<Arc<dyn View>> {
        Ok(Arc::<MemoryTree>::clone(&self.tree.hold()))
    }
}

impl InMemoryFiles for MemoryTree {
    fn device(&self) -> u64 {
        self.device
    }

    fn find(&self, path: &[u8]) -> Option<InMemoryFile> {
        let file = self.files.get(path)?;
        Some(InMemoryFile {
            metadata: file.metadata,
            reader: Reader::Memory(file.content.clone()),
            known: file.known,
        })
    }

    fn beneath(&self, path: &[u8]) -> impl Iterator<Item = &[u8]> {
        let start = in_memory::prefix(path);
        self.files
            .range(start.clone()..)
            .map_while(move |(file, _)| file.strip_prefix(&*start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::conformance::{FILES, check, check_apart, check_changes};

    #[test]
    fn holds_to_what_every_source_must() {
        let make = || {
            let source = MemorySource::new();
            for (path, content) in FILES {
                source.insert(path, content, 0);
            }
            source.insert("gone", &b"x"[..], 0);
            source.remove("gone");
            // No view has anything at these.
            for path in ["", "a//b", "./c", "/d", "e/"] {
                source.insert(path, &b"x"[..], 0);
            }
            source
        };
        let source = make();
        check(&source).unwrap();
        check_apart(&source, &make()).unwrap();
        let put = |path: &str, content: Option<&[u8]>| match content {
            Some(content) => source.insert(path, content.to_vec(), 0),
            None => source.remove(path),
        };
        check_changes(&source, put).unwrap();
    }
}
