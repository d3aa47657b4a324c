//! Brotli (RFC 7932) by the library of those who made it: what `brotli` writes, and no byte more.

mod library;
#[cfg(feature = "dictionary")]
mod with_dictionary;

use std::io::{self, Read};

use crate::effort::Effort;
use library::{Encoder, Parameters};
#[cfg(feature = "dictionary")]
pub(crate) use with_dictionary::encode_after;

/// The bytes that are handed to the encoder at a time.
const BUFFER: usize = 64 * 1024;

/// RFC 7932: windows of 2^10 to 2^24 bytes. One of 2^16 is written in the fewest bits, so that nobody gains by less.
const WINDOWS: std::ops::RangeInclusive<u32> = 16..=24;

/// The smallest window that has so many bytes: clients set it aside to decode. Sixteen bytes of it are never used.
pub(super) fn window(length: usize) -> u32 {
    let bits = usize::BITS - length.saturating_add(15).leading_zeros();
    bits.clamp(*WINDOWS.start(), *WINDOWS.end())
}

pub(super) fn encode(reader: &mut impl Read, length: usize, effort: Effort) -> io::Result<Vec<u8>> {
    let quality = match effort {
        Effort::Quick => 4,
        Effort::Best | Effort::Extreme => 11,
    };
    let encoder = Encoder::new(parameters(quality, length))?;
    run(encoder, reader, Vec::new())
}

fn parameters(quality: u32, length: usize) -> Parameters {
    Parameters {
        quality,
        window: window(length),
        length,
    }
}

/// Appends to `coded` what an encoder makes of all that there is to read.
fn run(
    mut encoder: Encoder<'_>,
    reader: &mut impl Read,
    mut coded: Vec<u8>,
) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; BUFFER];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                let content = buffer.get(..count).unwrap_or_default();
                encoder.write(content, &mut coded)?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    encoder.finish(&mut coded)?;
    Ok(coded)
}
