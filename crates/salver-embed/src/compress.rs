//! Compression at best quality, and whether that is worth it.

use std::io::{self, Write};

use salver_assets::ContentCoding;

/// Raise it whenever [`compress`] makes something else of the same bytes: what earlier versions made
/// is then made anew.
pub(crate) const METHOD: u32 = 1;

/// RFC 7932: windows of 2^10 to 2^24 bytes. Smaller than this nobody gains.
const WINDOWS: std::ops::RangeInclusive<u32> = 16..=24;

/// `bytes` in `coding`, as small as it gets.
///
/// # Errors
/// If there is no memory.
pub(crate) fn compress(bytes: &[u8], coding: ContentCoding) -> io::Result<Vec<u8>> {
    match coding {
        ContentCoding::Identity => Ok(bytes.to_vec()),
        ContentCoding::Brotli => {
            // The smallest window that has all: clients set it aside to decode.
            let window = usize::BITS - bytes.len().leading_zeros();
            let window = window.clamp(*WINDOWS.start(), *WINDOWS.end());
            let params = brotli::enc::BrotliEncoderParams {
                quality: 11,
                lgwin: i32::try_from(window).unwrap_or(22),
                size_hint: bytes.len(),
                ..Default::default()
            };
            let mut coded = Vec::new();
            brotli::BrotliCompress(&mut &*bytes, &mut coded, &params)?;
            Ok(coded)
        }
        // Its window has 8 MiB at most, which is what clients must take (RFC 9659).
        ContentCoding::Zstd => zstd::bulk::compress(bytes, 19),
        ContentCoding::Gzip => {
            let best = flate2::Compression::best();
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), best);
            encoder.write_all(bytes)?;
            encoder.finish()
        }
    }
}

/// Less than a twentieth, or than 64 bytes, is not worth the fields that go with a coding.
pub(crate) fn is_worth_it(length: usize, coded: usize) -> bool {
    coded.saturating_add((length / 20).max(64)) <= length
}

/// The length in bytes below which files are compressed without trying: it costs nothing, and a quick try
/// says little about them.
const TRY_FROM: usize = 4096;

/// True if the bytes are compressed already, whatever the name says.
pub(crate) fn is_compressed(bytes: &[u8]) -> bool {
    bytes.len() >= TRY_FROM
        && zstd::bulk::compress(bytes, 1).is_ok_and(|coded| !is_worth_it(bytes.len(), coded.len()))
}
