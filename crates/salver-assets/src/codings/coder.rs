//! Encoding and verifying content, by `salver-coding`.

use salver_coding::{Compressibility, CompressibleTypes, Effort, EncodeError};
use salver_semantics::ContentCoding;
use sha2::{Digest, Sha256};

/// The codings that this build makes, in the order in which they are made for who takes several alike: as a rule of
/// two the first is shorter.
pub(crate) const MADE: &[ContentCoding] = &ContentCoding::CODED;

/// The version of how codings are made.
pub(crate) const METHOD: u32 = salver_coding::METHOD;

/// The length below which nothing is worth it, in bytes.
const LEAST: u64 = 128;

/// What an encoder has made.
pub(crate) enum Encoded {
    /// A coding that was decoded to its original again.
    To(Vec<u8>),
    /// None that saves enough.
    NotWorthIt,
    /// Nothing: it was no longer wanted, or there was no memory.
    Cancelled,
}

/// True if content of this type and length may get smaller. Of types that do not tell, the content will.
pub(crate) fn may_get_smaller(types: &CompressibleTypes, media_type: &str, length: u64) -> bool {
    length >= LEAST && types.of_type(media_type) != Compressibility::No
}

/// The memory that coding content of this length takes at most, with what comes in and goes out, in bytes.
pub(crate) fn memory(length: u64, coding: ContentCoding) -> u64 {
    let Ok(length) = usize::try_from(length) else {
        return u64::MAX;
    };
    salver_coding::peak_memory(coding, Effort::Best, length)
}

/// The SHA-256 of content.
pub(crate) fn sha256(content: &[u8]) -> [u8; 32] {
    Sha256::digest(content).into()
}

/// True if `coded` decodes to exactly `content`.
pub(crate) fn is_of(coded: &[u8], coding: ContentCoding, content: &[u8]) -> bool {
    salver_coding::decodes_to(&mut &*coded, coding, content)
}

/// Encodes content as small as it gets, and decodes it again. `is_wanted` is asked before each block, and may rest.
pub(crate) fn encode(
    content: &[u8],
    coding: ContentCoding,
    is_wanted: &dyn Fn() -> bool,
) -> Encoded {
    if salver_coding::looks_compressed(content) {
        return Encoded::NotWorthIt;
    }
    let coded = match salver_coding::encode(content, coding, Effort::Best, is_wanted) {
        Ok(coded) => coded,
        Err(EncodeError::Cancelled) => return Encoded::Cancelled,
        Err(EncodeError::Failed(error)) => {
            tracing::warn!("a coding could not be made: {error}");
            return Encoded::Cancelled;
        }
    };
    if !salver_coding::is_worth_it(content.len(), coded.len()) {
        return Encoded::NotWorthIt;
    }
    if !is_of(&coded, coding, content) {
        tracing::error!("a coding does not decode to its original and is not sent: report this");
        return Encoded::NotWorthIt;
    }
    Encoded::To(coded)
}
