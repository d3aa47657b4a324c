//! Content at hand, and what it costs to keep it there.

use bytes::Bytes;

use crate::source::Reader;

/// Content at hand.
#[derive(Clone, Debug, Default)]
pub(crate) struct CachedContent {
    pub(crate) bytes: Bytes,
    /// Bytes that keeping this costs. What a source has in memory counts in full: once the source
    /// has let go of it, the cache alone keeps it there. What is part of the program costs nothing.
    pub(crate) cost: usize,
}

impl CachedContent {
    /// Bytes that are in memory because somebody keeps them there.
    pub(crate) fn kept(bytes: Bytes) -> Self {
        let cost = bytes.len();
        CachedContent { bytes, cost }
    }

    /// Bytes of the program.
    pub(crate) fn of_program(bytes: &'static [u8]) -> Self {
        let bytes = Bytes::from_static(bytes);
        CachedContent { bytes, cost: 0 }
    }

    /// The content of an opened file, shared, if it is in memory.
    pub(crate) fn shared(reader: &Reader) -> Option<Self> {
        match reader {
            Reader::File(_) => None,
            Reader::Memory(bytes) => Some(CachedContent::counted(bytes.clone())),
            Reader::Static(bytes) => Some(CachedContent::embedded(bytes)),
        }
    }
}
