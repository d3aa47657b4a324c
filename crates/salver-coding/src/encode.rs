//! Encoding: the same bytes, coding and effort make the same coded bytes.

pub(crate) mod brotli;
mod gzip;
mod memory;
mod zlib;
#[cfg_attr(not(feature = "zopfli"), path = "encode/zopfli/absent.rs")]
mod zopfli;
mod zstd;

use std::fmt;
use std::io::{self, Read};

use salver_semantics::ContentCoding;

use crate::effort::Effort;
pub use memory::peak_memory;

/// The version of what [`encode`] makes, for keys of caches: it is raised whenever something else is made of the same
/// bytes.
pub const METHOD: u32 = 4;

/// The most bytes that an encoder takes before it asks whether its result is still wanted.
const BLOCK: usize = 64 * 1024;

/// The reason why nothing was made.
#[derive(Debug)]
pub enum EncodeError {
    /// It was no longer wanted.
    Cancelled,
    /// The encoder failed, as a rule for want of memory.
    Failed(io::Error),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeError::Cancelled => formatter.write_str("it is no longer wanted"),
            EncodeError::Failed(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for EncodeError {}

/// `bytes` in `coding`, as small as the effort allows; those of identity as they are.
///
/// `wanted` is asked before each block of 64 KiB that an encoder takes; once it returns false the work ends. What an
/// encoder has taken it finishes first: some hundred KiB of Brotli and Zstandard, a million bytes of
/// gzip by Zopfli, all of it by libdeflate.
///
/// # Errors
/// If it is no longer wanted, or there is no memory.
pub fn encode(
    bytes: &[u8],
    coding: ContentCoding,
    effort: Effort,
    wanted: &dyn Fn() -> bool,
) -> Result<Vec<u8>, EncodeError> {
    if !wanted() {
        return Err(EncodeError::Cancelled);
    }
    let made = match coding {
        ContentCoding::Identity => Ok(bytes.to_vec()),
        ContentCoding::Brotli => brotli::encode(&mut Blocks { bytes, wanted }, bytes.len(), effort),
        ContentCoding::Zstd => zstd::encode(&mut Blocks { bytes, wanted }, bytes.len(), effort),
        ContentCoding::Gzip => gzip(bytes, effort, wanted),
    };
    finish(made, wanted)
}

/// What was made, or why there is nothing.
pub(crate) fn finish(
    made: io::Result<Vec<u8>>,
    wanted: &dyn Fn() -> bool,
) -> Result<Vec<u8>, EncodeError> {
    made.map_err(|error| match wanted() {
        true => EncodeError::Failed(error),
        false => EncodeError::Cancelled,
    })
}

/// gzip by each of those that the effort allows: none of them is the shortest for all content.
fn gzip(bytes: &[u8], effort: Effort, wanted: &dyn Fn() -> bool) -> io::Result<Vec<u8>> {
    let mut coded = gzip::encode(bytes, effort)?;
    if effort >= Effort::Best {
        let other = zlib::encode(&mut Blocks { bytes, wanted }, coded.len())?;
        coded = other.unwrap_or(coded);
    }
    if effort >= Effort::Extreme {
        let other = zopfli::encode(bytes, wanted)?;
        coded = other
            .filter(|other| other.len() < coded.len())
            .unwrap_or(coded);
    }
    Ok(coded)
}

/// Content as a reader that fails once it is no longer wanted.
pub(crate) struct Blocks<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) wanted: &'a dyn Fn() -> bool,
}

impl Read for Blocks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !(self.wanted)() {
            return Err(io::ErrorKind::Other.into());
        }
        let most = buffer.len().min(BLOCK);
        self.bytes.read(buffer.get_mut(..most).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
