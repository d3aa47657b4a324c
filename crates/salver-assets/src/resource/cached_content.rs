//! The content of a representation in memory, and what it costs to keep it there.

use bytes::Bytes;

use crate::source::Reader;

/// Content in memory, shared by reference.
#[derive(Clone, Debug, Default)]
pub(crate) struct CachedContent {
    pub(crate) bytes: Bytes,
    /// The bytes that keeping it costs. Content that a source has in memory counts in full: once the source
    /// has let go of it, the cache alone keeps it there. Content that is part of the program costs nothing.
    pub(crate) cost: usize,
}

impl CachedContent {
    /// Content that costs its length.
    pub(crate) fn counted(bytes: Bytes) -> Self {
        let cost = bytes.len();
        CachedContent { bytes, cost }
    }

    /// Content that is part of the program, and costs nothing.
    pub(crate) fn embedded(bytes: &'static [u8]) -> Self {
        let bytes = Bytes::from_static(bytes);
        CachedContent { bytes, cost: 0 }
    }

    /// The content of an opened file, shared, if it is in memory.
    pub(crate) fn from_reader(reader: &Reader) -> Option<Self> {
        match reader {
            Reader::File(_) | Reader::Stored(_) => None,
            Reader::Memory(bytes) => Some(CachedContent::counted(bytes.clone())),
            Reader::Static(bytes) => Some(CachedContent::embedded(bytes)),
        }
    }
}
