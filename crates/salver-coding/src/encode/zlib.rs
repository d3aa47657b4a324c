//! gzip (RFC 1952) by zlib, which is shorter for some little content than libdeflate.

use std::io::{self, Read};

use flate2::read::GzEncoder;

/// The bytes in gzip at zlib's best; `None` if they are not fewer than `bound`. No more than so many are kept.
pub(super) fn encode(reader: &mut impl Read, bound: usize) -> io::Result<Option<Vec<u8>>> {
    let mut coded = Vec::with_capacity(bound);
    // Its head has no time and no name.
    let encoder = GzEncoder::new(reader, flate2::Compression::best());
    let limit = u64::try_from(bound).unwrap_or(u64::MAX);
    encoder.take(limit).read_to_end(&mut coded)?;
    Ok((coded.len() < bound).then(|| {
        coded.shrink_to_fit();
        coded
    }))
}
