//! A build without Zopfli.

use std::io::{self, Read};

/// The bytes in gzip; `None` in a build without the feature `zopfli`.
pub(super) fn encode(_: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    Ok(None)
}
