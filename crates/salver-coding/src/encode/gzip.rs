//! gzip (RFC 1952) by libdeflate, which looks for the shortest way through all of the content.

use std::io;

use libdeflater::{CompressionLvl, Compressor};

use crate::effort::Effort;

pub(super) fn encode(bytes: &[u8], effort: Effort) -> io::Result<Vec<u8>> {
    let level = match effort {
        Effort::Quick => CompressionLvl::default(),
        Effort::Best | Effort::Extreme => CompressionLvl::best(),
    };
    let mut compressor = Compressor::new(level);
    let mut coded = vec![0; compressor.gzip_compress_bound(bytes.len())];
    // No time, no name: the same bytes give the same file.
    let length = compressor.gzip_compress(bytes, &mut coded);
    let length = length.map_err(|error| io::Error::other(error.to_string()))?;
    coded.truncate(length);
    coded.shrink_to_fit();
    Ok(coded)
}
