//! Content of files that is in memory: in the cache, or no longer in it and still on its way to clients.
//!
//! A client that takes its time keeps the content of its answer in memory although the cache has let go of
//! it. The cache does not count that any more; this does. When there is too much of it, further content is
//! sent from its file instead of being read whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

/// The sum of the lengths of all content in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContentMemory(Arc<AtomicUsize>);

impl ContentMemory {
    /// Counts content until its last holder drops it.
    pub(crate) fn count(&self, content: Vec<u8>) -> Bytes {
        self.0.fetch_add(content.len(), Ordering::Relaxed);
        Bytes::from_owner(CountedContent {
            content,
            all: Arc::clone(&self.0),
        })
    }

    /// Counts this many bytes more until what is returned is dropped.
    pub(crate) fn charge(&self, bytes: usize) -> ContentCharge {
        self.0.fetch_add(bytes, Ordering::Relaxed);
        ContentCharge {
            bytes,
            all: Arc::clone(&self.0),
        }
    }

    /// The bytes of all content that is held.
    pub(crate) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Bytes that count as content although they are none that could be sent.
#[derive(Debug)]
pub(crate) struct ContentCharge {
    bytes: usize,
    all: Arc<AtomicUsize>,
}

impl Drop for ContentCharge {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

struct CountedContent {
    content: Vec<u8>,
    all: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for CountedContent {
    fn as_ref(&self) -> &[u8] {
        &self.content
    }
}

impl Drop for CountedContent {
    fn drop(&mut self) {
        self.all.fetch_sub(self.content.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_counts_until_the_last_who_has_it_lets_go() {
        let memory = ContentMemory::default();
        let content = memory.count(vec![1; 10]);
        let part = content.slice(3..5);
        drop(content);
        assert_eq!((memory.bytes(), &part[..]), (10, &[1, 1][..]));
        let charge = memory.charge(5);
        assert_eq!(memory.bytes(), 15);
        drop((part, charge));
        assert_eq!(memory.bytes(), 0);
    }
}
