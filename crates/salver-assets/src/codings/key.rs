//! The keys of made codings: by what an engine knows of a file, and by all of its content.

use salver_semantics::ContentCoding;

use crate::source::digest::Digest;

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
    pub(crate) coding: ContentCoding,
}

/// A coding of content by its SHA-256, which sites, processes and times share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ContentKey {
    pub(crate) sha256: [u8; 32],
    pub(crate) coding: ContentCoding,
}
