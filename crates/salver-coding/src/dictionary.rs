//! Content codings against a dictionary that the client has (RFC 9842): `dcb` and `dcz`.
//!
//! A dictionary is any bytes, as a rule the former version of what is coded; its format is raw, never one that was
//! trained. A coding begins with the SHA-256 of its dictionary.

mod decode;
mod encode;

use salver_semantics::DictionaryCoding;
use salver_semantics::dictionary::{AVAILABLE_LENGTH, available_dictionary};
use sha2::{Digest, Sha256};

pub use decode::{DictionaryError, decode_with_dictionary, decodes_to_with_dictionary};
pub use encode::{DICTIONARY_METHOD, dictionary_peak_memory, encode_with_dictionary};

/// The bytes before the digest (RFC 9842 section 4).
const BROTLI_MAGIC: &[u8] = b"\xffDCB";

/// The bytes before the digest (RFC 9842 section 5): a frame of 32 bytes that decoders skip (RFC 8878 section 3.1.2).
const ZSTD_MAGIC: &[u8] = b"\x5e\x2a\x4d\x18\x20\x00\x00\x00";

/// What all streams of a coding begin with; the digest follows.
fn magic(coding: DictionaryCoding) -> &'static [u8] {
    match coding {
        DictionaryCoding::Brotli => BROTLI_MAGIC,
        DictionaryCoding::Zstd => ZSTD_MAGIC,
    }
}

/// A dictionary: bytes that both sides have, and their SHA-256.
#[derive(Clone, Copy, Debug)]
pub struct Dictionary<'a> {
    bytes: &'a [u8],
    sha256: [u8; 32],
}

impl<'a> Dictionary<'a> {
    /// The dictionary of these bytes, whose digest is computed.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::with_sha256(bytes, Sha256::digest(bytes).into())
    }

    /// The dictionary of these bytes, whose SHA-256 is known. If it is another one no client will decode what is made.
    pub fn with_sha256(bytes: &'a [u8], sha256: [u8; 32]) -> Self {
        Dictionary { bytes, sha256 }
    }

    /// Its bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The value of `Available-Dictionary` (RFC 9842 section 2.2) of a client that has it.
    pub fn available(&self) -> [u8; AVAILABLE_LENGTH] {
        available_dictionary(&self.sha256)
    }

    /// The SHA-256 of its bytes, by which clients name it (`Available-Dictionary`).
    pub fn sha256(&self) -> &[u8; 32] {
        &self.sha256
    }
}

/// The largest window of `dcz`, as a power of two (RFC 9842 section 5): clients take 8 MiB, or 1.25 times the length of
/// the dictionary where that is more, and 128 MiB at most.
fn zstd_window_limit(dictionary: usize) -> u32 {
    const LEAST: usize = 8 << 20;
    const MOST: usize = 128 << 20;
    let limit = dictionary.saturating_add(dictionary / 4).clamp(LEAST, MOST);
    limit.ilog2()
}

#[cfg(test)]
mod tests;
