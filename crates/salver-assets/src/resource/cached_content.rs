//! The content of a representation in memory, and what it costs to keep it there.

use std::sync::Arc;

use bytes::Bytes;

use crate::cache::anonymous_content::AnonymousContent;
use crate::codings::table::MadeContent;
use crate::source::Reader;

/// Content in memory, shared by reference.
#[derive(Clone, Debug, Default)]
pub(crate) struct CachedContent {
    /// The bytes; none if they lie in an anonymous file.
    pub(crate) bytes: Bytes,
    pub(crate) anonymous: Option<Arc<AnonymousContent>>,
    /// The bytes that keeping it costs. Content that a source has in memory counts in full: once the source
    /// has let go of it, the cache alone keeps it there. Content that is part of the program costs nothing.
    pub(crate) cost: usize,
}

impl CachedContent {
    /// Content that costs its length.
    pub(crate) fn counted(bytes: Bytes) -> Self {
        let cost = bytes.len();
        CachedContent {
            bytes,
            cost,
            ..CachedContent::default()
        }
    }

    /// The content of a coding that was made, which costs its length.
    pub(crate) fn made(content: MadeContent) -> Self {
        match content {
            MadeContent::Memory(bytes) => CachedContent::counted(bytes),
            MadeContent::Anonymous(content) => CachedContent {
                cost: usize::try_from(content.length()).unwrap_or(usize::MAX),
                anonymous: Some(content),
                ..CachedContent::default()
            },
        }
    }

    /// Content that is part of the program, and costs nothing.
    pub(crate) fn embedded(bytes: &'static [u8]) -> Self {
        let bytes = Bytes::from_static(bytes);
        CachedContent {
            bytes,
            ..CachedContent::default()
        }
    }

    /// The content of an opened file, shared, if it is in memory.
    pub(crate) fn from_reader(reader: &Reader) -> Option<Self> {
        match reader {
            Reader::File(_) | Reader::Stored(_) | Reader::Remote(_) => None,
            Reader::Memory(bytes) => Some(CachedContent::counted(bytes.clone())),
            Reader::Static(bytes) => Some(CachedContent::embedded(bytes)),
        }
    }
}
