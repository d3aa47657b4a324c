//! Decoding against a dictionary, within a bound, as browsers do (RFC 9842).

use std::fmt;
use std::io::Read;

use super::{Dictionary, magic, zstd_window_limit};
use crate::DictionaryCoding;
use crate::decode::is_equal;

/// The reason why a coding against a dictionary is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DictionaryError {
    /// It does not begin as the coding does.
    Head,
    /// It was made against another dictionary, by the digest that it names.
    Dictionary,
    /// Its stream does not decode, wants a window that no client has, is cut, or has bytes behind its end.
    Stream,
    /// Its content is longer than the bound.
    TooLong,
}

impl fmt::Display for DictionaryError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            DictionaryError::Head => "it does not begin as its coding does",
            DictionaryError::Dictionary => "it was made against another dictionary",
            DictionaryError::Stream => "its stream does not decode",
            DictionaryError::TooLong => "its content is too long",
        })
    }
}

impl std::error::Error for DictionaryError {}

/// The content that is coded in `coded` against a dictionary. No more than `most` bytes and one are made.
///
/// # Errors
/// If no client that has the dictionary would decode it, or it has more than `most` bytes.
pub fn decode_with_dictionary(
    coded: &[u8],
    dictionary: &Dictionary<'_>,
    coding: DictionaryCoding,
    most: usize,
) -> Result<Vec<u8>, DictionaryError> {
    let mut decoded = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    all(coded, dictionary, coding, |decoder| {
        match decoder.take(limit).read_to_end(&mut decoded) {
            Ok(_) if decoded.len() > most => Err(DictionaryError::TooLong),
            Ok(_) => Ok(()),
            Err(_) => Err(DictionaryError::Stream),
        }
    })?;
    Ok(decoded)
}

/// True if all of `coded` decodes to `original` against a dictionary, and to nothing more.
pub fn decodes_to_with_dictionary(
    coded: &[u8],
    dictionary: &Dictionary<'_>,
    coding: DictionaryCoding,
    original: &[u8],
) -> bool {
    let decoded = all(coded, dictionary, coding, |decoder| {
        match is_equal(decoder, original) {
            true => Ok(()),
            false => Err(DictionaryError::Stream),
        }
    });
    decoded.is_ok()
}

/// Has `read` read what a stream decodes to. The stream is all that there is behind the head.
fn all(
    coded: &[u8],
    dictionary: &Dictionary<'_>,
    coding: DictionaryCoding,
    read: impl FnOnce(&mut dyn Read) -> Result<(), DictionaryError>,
) -> Result<(), DictionaryError> {
    let rest = coded
        .strip_prefix(magic(coding))
        .ok_or(DictionaryError::Head)?;
    let (digest, stream) = rest
        .split_first_chunk::<32>()
        .ok_or(DictionaryError::Head)?;
    if digest != dictionary.sha256() {
        return Err(DictionaryError::Dictionary);
    }
    let behind = match coding {
        DictionaryCoding::Brotli => brotli(stream, dictionary.bytes(), read)?,
        DictionaryCoding::Zstd => zstd(stream, dictionary.bytes(), read)?,
    };
    // Some decoders take nothing at all for an empty stream, and leave what trails one.
    match behind == 0 && !stream.is_empty() {
        true => Ok(()),
        false => Err(DictionaryError::Stream),
    }
}

/// Has `read` read what a Brotli stream decodes to; the number of bytes behind its end.
fn brotli(
    mut stream: &[u8],
    dictionary: &[u8],
    read: impl FnOnce(&mut dyn Read) -> Result<(), DictionaryError>,
) -> Result<usize, DictionaryError> {
    // RFC 9841 section 3.1 has windows beyond 2^24 begin so; clients of RFC 9842 need not have them.
    if stream.first().is_none_or(|first| first & 0x7f == 0x11) {
        return Err(DictionaryError::Stream);
    }
    // Given one byte at a time, the decoder takes none beyond the end of its stream.
    let mut decoder = brotli_decompressor::Decompressor::new(&mut stream, 1);
    if !decoder.attach_dictionary(dictionary.to_vec().into()) {
        return Err(DictionaryError::Dictionary);
    }
    read(&mut decoder)?;
    drop(decoder);
    Ok(stream.len())
}

/// Has `read` read what a Zstandard frame decodes to; the number of bytes behind its end.
fn zstd(
    stream: &[u8],
    dictionary: &[u8],
    read: impl FnOnce(&mut dyn Read) -> Result<(), DictionaryError>,
) -> Result<usize, DictionaryError> {
    let decoder = zstd::stream::read::Decoder::with_ref_prefix(stream, dictionary);
    // Of several frames only the first one has the prefix.
    let mut decoder = decoder.map_err(|_| DictionaryError::Stream)?.single_frame();
    decoder
        .window_log_max(zstd_window_limit(dictionary.len()))
        .map_err(|_| DictionaryError::Stream)?;
    read(&mut decoder)?;
    Ok(decoder.finish().len())
}
