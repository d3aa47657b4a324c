//! The contents of the cache, listed page by page.

use std::collections::BTreeMap;
use std::sync::Arc;

use salver_semantics::ContentCoding;

use crate::engine::Engine;
use crate::events::ResourceKind;
use crate::path::path_of_key;
use crate::resource::entry::CacheEntry;
use crate::resource::representation::Representation;

/// Some entries of a cache, in the order of their keys.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CacheContents {
    /// The entries.
    pub entries: Vec<CachedResource>,
    /// True if there are more behind them.
    pub has_more: bool,
}

/// An entry of a cache.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CachedResource {
    /// Its key, by which the next page is asked for. It begins with the path.
    pub key: Arc<[u8]>,
    /// Its path, decoded.
    pub path: Vec<u8>,
    /// The kind of what is there.
    pub kind: ResourceKind,
    /// The memory that it takes, content and bookkeeping, in bytes.
    pub bytes: usize,
    /// The representations that it can be sent in, the original first.
    pub representations: Vec<CachedRepresentation>,
}

/// A representation of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CachedRepresentation {
    /// Its content coding.
    pub coding: ContentCoding,
    /// Its length in bytes.
    pub length: u64,
    /// True if its content is in memory.
    pub in_memory: bool,
}

impl Engine {
    /// Up to `most` entries of its part of the cache whose paths begin with `prefix`, those behind the key `after`. It walks over
    /// all entries and takes no lock: not for an event loop.
    pub fn cache_contents(
        &self,
        prefix: &[u8],
        after: Option<&[u8]>,
        most: usize,
    ) -> CacheContents {
        let mut first: BTreeMap<Arc<[u8]>, Arc<CacheEntry>> = BTreeMap::new();
        let mut has_more = false;
        self.shared.pool.memory.visit(|key, entry| {
            if !self.shared.has(entry) {
                return;
            }
            let key = key.path();
            let is_asked = path_of_key(key).0.starts_with(prefix);
            if !is_asked || after.is_some_and(|after| **key <= *after) {
                return;
            }
            let is_behind =
                first.len() == most && first.last_key_value().is_some_and(|(last, _)| last <= key);
            if is_behind {
                has_more = true;
                return;
            }
            first.insert(Arc::clone(key), Arc::clone(entry));
            if first.len() > most {
                first.pop_last();
                has_more = true;
            }
        });
        let entries = first.into_values().map(|entry| of_entry(&entry));
        CacheContents {
            entries: entries.collect(),
            has_more,
        }
    }
}

fn of_entry(entry: &CacheEntry) -> CachedResource {
    let representation = |of: &Arc<Representation>| CachedRepresentation {
        coding: of.coding.plain(),
        length: of.length(),
        in_memory: of.content.is_some(),
    };
    let representations = entry.resource.representations();
    let list = representations.map(|of| of.list.iter().map(representation).collect());
    CachedResource {
        key: Arc::clone(entry.key.path()),
        path: path_of_key(&entry.key).0.to_vec(),
        kind: entry.resource.kind(),
        bytes: entry.weight,
        representations: list.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, MemorySource, Mount};

    #[test]
    fn entries_page_by_page_in_order() {
        let source = MemorySource::new();
        for name in ["a.css", "b/c.js", "b/d.js", "e.txt", "<b>\u{202e}.txt"] {
            source.insert(name, name.as_bytes().to_vec(), 1);
        }
        let engine = Engine::new(Config {
            mounts: vec![Mount::tree("/", Arc::new(source))],
            ..Config::default()
        });
        let engine = engine.unwrap();
        engine.prewarm();
        let names = |page: &CacheContents| {
            let paths = page.entries.iter().map(|one| one.path.clone());
            paths
                .map(|path| String::from_utf8(path).unwrap())
                .collect::<Vec<_>>()
        };
        let all = engine.cache_contents(b"/", None, 100);
        let expected = ["/<b>\u{202e}.txt", "/a.css", "/b/c.js", "/b/d.js", "/e.txt"];
        assert_eq!(names(&all), expected);
        assert!(!all.has_more);
        let one = &all.entries[1];
        assert_eq!(one.kind, ResourceKind::File);
        assert!(one.bytes > 5);
        let identity = CachedRepresentation {
            coding: ContentCoding::Identity,
            length: 5,
            in_memory: true,
        };
        assert_eq!(one.representations, [identity]);
        // Pages of any size have the same in the same order.
        for size in 1..6 {
            let mut found = Vec::new();
            let mut after = None;
            loop {
                let page = engine.cache_contents(b"/", after.as_deref(), size);
                assert!(page.entries.len() <= size);
                found.extend(names(&page));
                after = page.entries.last().map(|last| last.key.to_vec());
                if !page.has_more {
                    break;
                }
            }
            assert_eq!(found, expected, "{size}");
        }
        assert_eq!(
            names(&engine.cache_contents(b"/b/", None, 9)),
            expected[2..4]
        );
        assert!(engine.cache_contents(b"/x", None, 9).entries.is_empty());
    }
}
