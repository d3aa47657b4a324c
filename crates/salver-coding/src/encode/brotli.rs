//! Brotli (RFC 7932).

use std::io::{self, Read};

use brotli::enc::{BrotliEncoderParams, StandardAlloc};

use crate::effort::Effort;

/// The bytes that are handed to the encoder, or taken from it, at a time.
const BUFFER: usize = 64 * 1024;

/// RFC 7932: windows of 2^10 to 2^24 bytes. Smaller than this nobody gains.
const WINDOWS: std::ops::RangeInclusive<u32> = 16..=24;

/// The smallest window that has so many bytes: clients set it aside to decode. Sixteen bytes of it are never used.
pub(super) fn window(length: usize) -> u32 {
    let bits = usize::BITS - length.saturating_add(15).leading_zeros();
    bits.clamp(*WINDOWS.start(), *WINDOWS.end())
}

pub(super) fn encode(reader: &mut impl Read, length: usize, effort: Effort) -> io::Result<Vec<u8>> {
    let params = BrotliEncoderParams {
        quality: match effort {
            Effort::Quick => 4,
            Effort::Best | Effort::Extreme => 11,
        },
        lgwin: i32::try_from(window(length)).unwrap_or(22),
        size_hint: length,
        ..Default::default()
    };
    let (mut input, mut output) = (vec![0; BUFFER], vec![0; BUFFER]);
    let mut coded = Vec::new();
    let alloc = StandardAlloc::default();
    brotli::enc::BrotliCompressCustomAlloc(
        reader,
        &mut coded,
        &mut input,
        &mut output,
        &params,
        alloc,
    )?;
    Ok(coded)
}
