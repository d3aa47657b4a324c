//! Encoding and verifying content, by `salver-coding`.

use salver_coding::{Compressibility, CompressibleTypes, Dictionary, Effort, EncodeError};
use salver_semantics::{ContentCoding, DictionaryCoding};
use sha2::{Digest, Sha256};

use crate::codings::key::MadeAs;

/// The codings that this build makes, in the order in which they are made for who takes several alike: as a rule of
/// two the first is shorter.
pub(crate) const MADE: &[ContentCoding] = &ContentCoding::CODED;

/// The codings against a dictionary that this build makes, in the order in which they are made.
pub(crate) const MADE_AGAINST_DICTIONARY: &[DictionaryCoding] = &DictionaryCoding::ALL;

/// The version of how codings are made.
pub(crate) const METHOD: u32 = salver_coding::METHOD;

/// The version of how codings against a dictionary are made.
pub(crate) const DICTIONARY_METHOD: u32 = salver_coding::DICTIONARY_METHOD;

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
pub(crate) fn memory(length: u64, made: &MadeAs) -> u64 {
    let Ok(bytes) = usize::try_from(length) else {
        return u64::MAX;
    };
    match made {
        MadeAs::Coded(coding) => salver_coding::peak_memory(*coding, Effort::Best, bytes),
        MadeAs::Delta(coding, dictionary) => match usize::try_from(dictionary.length) {
            Ok(before) => salver_coding::dictionary_peak_memory(*coding, bytes, before)
                .saturating_add(dictionary.length),
            Err(_) => u64::MAX,
        },
        MadeAs::Dictionary => length,
    }
}

/// The SHA-256 of content; `None` once it is not wanted, which is asked before each block, and may rest.
pub(crate) fn sha256(content: &[u8], is_wanted: &dyn Fn() -> bool) -> Option<[u8; 32]> {
    const BLOCK: usize = 256 * 1024;
    let mut hash = Sha256::new();
    for block in content.chunks(BLOCK) {
        if !is_wanted() {
            return None;
        }
        hash.update(block);
    }
    Some(hash.finalize().into())
}

/// True if `coded` decodes to exactly `content`, against a dictionary if it was made against one.
pub(crate) fn is_of(coded: &[u8], made: &MadeAs, content: &[u8], dictionary: &[u8]) -> bool {
    match made {
        MadeAs::Coded(coding) => salver_coding::decodes_to(&mut &*coded, *coding, content),
        MadeAs::Delta(coding, key) => {
            let dictionary = Dictionary::with_sha256(dictionary, key.sha256);
            salver_coding::decodes_to_with_dictionary(coded, &dictionary, *coding, content)
        }
        MadeAs::Dictionary => coded == content,
    }
}

/// Encodes content as small as it gets, against `dictionary` if it is to be, and decodes it again. `is_wanted` is asked
/// before each block, and may rest.
pub(crate) fn encode(
    content: &[u8],
    made: &MadeAs,
    dictionary: &[u8],
    is_wanted: &dyn Fn() -> bool,
) -> Encoded {
    let coded = match made {
        MadeAs::Coded(_) if salver_coding::looks_compressed(content) => {
            return Encoded::NotWorthIt;
        }
        MadeAs::Coded(coding) => salver_coding::encode(content, *coding, Effort::Best, is_wanted),
        MadeAs::Delta(coding, key) => {
            let dictionary = Dictionary::with_sha256(dictionary, key.sha256);
            salver_coding::encode_with_dictionary(content, &dictionary, *coding, is_wanted)
        }
        // It is kept as it is.
        MadeAs::Dictionary => return Encoded::NotWorthIt,
    };
    let coded = match coded {
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
    if !is_of(&coded, made, content, dictionary) {
        tracing::error!("a coding does not decode to its original and is not sent: report this");
        return Encoded::NotWorthIt;
    }
    Encoded::To(coded)
}
