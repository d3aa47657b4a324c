//! Encoding against a dictionary: the same bytes and dictionary make the same coded bytes.

use std::io::{self, Read};

use super::{Dictionary, magic, zstd_window_limit};
use crate::DictionaryCoding;
use crate::encode::{Blocks, EncodeError, brotli, finish, peak_memory};
use crate::{ContentCoding, Effort};

/// The version of what [`encode_with_dictionary`] makes, for keys of caches: it is raised whenever something else is made
/// of the same bytes and dictionary.
pub const DICTIONARY_METHOD: u32 = 1;

/// `bytes` in `coding` against a dictionary, as small as it gets.
///
/// `wanted` is asked before each block of 64 KiB that an encoder takes; once it returns false the work ends.
///
/// # Errors
/// If it is no longer wanted, if there is no memory, or if the encoder does not take the dictionary: one that is empty,
/// or of 48 MiB or more for Brotli.
pub fn encode_with_dictionary(
    bytes: &[u8],
    dictionary: &Dictionary<'_>,
    coding: DictionaryCoding,
    wanted: &dyn Fn() -> bool,
) -> Result<Vec<u8>, EncodeError> {
    if !wanted() {
        return Err(EncodeError::Cancelled);
    }
    let mut coded = magic(coding).to_vec();
    coded.extend_from_slice(dictionary.sha256());
    let mut blocks = Blocks { bytes, wanted };
    let made = match (coding, dictionary.bytes()) {
        (_, []) => Err(io::ErrorKind::InvalidInput.into()),
        (DictionaryCoding::Brotli, before) => {
            brotli::encode_after(&mut blocks, bytes.len(), before, coded)
        }
        (DictionaryCoding::Zstd, before) => zstd(&mut blocks, bytes.len(), before, coded),
    };
    finish(made, wanted)
}

/// Appends to `coded` a frame whose content has `before` before it, as a raw prefix.
fn zstd(
    reader: &mut impl Read,
    length: usize,
    before: &[u8],
    coded: Vec<u8>,
) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::stream::write::Encoder::with_ref_prefix(coded, 19, before)?;
    encoder.window_log(zstd_window(length, before.len()))?;
    encoder.set_pledged_src_size(u64::try_from(length).ok())?;
    io::copy(reader, &mut encoder)?;
    encoder.finish()
}

/// The smallest window that has dictionary and content, within what clients take. Decoders set aside no more of it than the
/// content is long.
pub(super) fn zstd_window(length: usize, dictionary: usize) -> u32 {
    const LEAST: u32 = 10;
    let all = length.saturating_add(dictionary);
    let bits = usize::BITS - all.saturating_sub(1).leading_zeros();
    bits.clamp(LEAST, zstd_window_limit(dictionary))
}

/// An estimate of the bytes that [`encode_with_dictionary`] takes for content and a dictionary of so many, beside both:
/// rather too many than too few.
pub fn dictionary_peak_memory(coding: DictionaryCoding, length: usize, dictionary: usize) -> u64 {
    const MIB: u64 = 1 << 20;
    let before = u64::try_from(dictionary).unwrap_or(u64::MAX);
    match coding {
        // Two tables of places in the dictionary, one of them while they are sorted.
        DictionaryCoding::Brotli => peak_memory(ContentCoding::Brotli, Effort::Best, length)
            .saturating_add(before.saturating_mul(10))
            .saturating_add(4 * MIB),
        // Tables as for content that has the dictionary before it, and a window.
        DictionaryCoding::Zstd => {
            let all = length.saturating_add(dictionary);
            let window = 1_u64 << zstd_window(length, dictionary);
            peak_memory(ContentCoding::Zstd, Effort::Best, all).saturating_add(3 * window + 4 * MIB)
        }
    }
}
