//! Zstandard (RFC 8878) with windows that browsers take (RFC 9659).

use std::io::{self, Read};

use crate::effort::Effort;

pub(super) fn encode(reader: &mut impl Read, length: usize, effort: Effort) -> io::Result<Vec<u8>> {
    let level = match effort {
        Effort::Quick => 3,
        // Its window has 8 MiB at most.
        Effort::Best | Effort::Extreme => 19,
    };
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), level)?;
    // Its tables are made for this length, and a decoder sets no more aside.
    encoder.set_pledged_src_size(u64::try_from(length).ok())?;
    io::copy(reader, &mut encoder)?;
    encoder.finish()
}
