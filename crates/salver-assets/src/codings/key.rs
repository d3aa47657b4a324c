//! The keys of made codings: by what an engine knows of a file, and by all of its content.

use salver_semantics::{ContentCoding, DictionaryCoding};

use crate::source::digest::Digest;

/// What is made of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum MadeAs {
    /// The content in this coding.
    Coded(ContentCoding),
    /// The content in this coding against a dictionary.
    Delta(DictionaryCoding, DictionaryKey),
    /// The content as it is, kept as a dictionary for later versions.
    Dictionary,
}

/// A dictionary: content by its SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DictionaryKey {
    pub(crate) sha256: [u8; 32],
    /// Its length in bytes.
    pub(crate) length: u64,
}

impl From<ContentCoding> for MadeAs {
    fn from(coding: ContentCoding) -> Self {
        MadeAs::Coded(coding)
    }
}

/// A coding of content that one site has.
///
/// The digest is no defence against who makes two contents of the same digest on purpose, and sites may belong to
/// people who do not trust each other: so no site takes what another has by this key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CodingKey {
    pub(crate) site: u32,
    pub(crate) digest: Digest,
    /// The length of the content in bytes.
    pub(crate) length: u64,
    pub(crate) made: MadeAs,
}

/// A coding of content by its SHA-256, which sites, processes and times share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ContentKey {
    pub(crate) sha256: [u8; 32],
    pub(crate) made: MadeAs,
}
