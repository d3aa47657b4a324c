//! gzip (RFC 1952) by Zopfli.

use std::io::{self, Read};

/// The bytes in gzip; `None` in a build without the feature `zopfli`.
pub(super) fn encode(reader: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut coded = Vec::new();
    let options = zopfli::Options::default();
    zopfli::compress(options, zopfli::Format::Gzip, reader, &mut coded)?;
    Ok(Some(coded))
}
