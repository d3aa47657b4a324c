//! gzip (RFC 1952) by Zopfli, the library of those who made it: what `zopfli` writes, and no byte more.

mod library;

use std::io;

use library::Deflate;

/// The bytes that are searched together: as many as `zopfli` takes, or what it finds would be something else.
const PART: usize = 1_000_000;

/// A member without a name and a time (RFC 1952, section 2.3): deflate, the slowest algorithm, Unix.
const HEAD: [u8; 10] = [31, 139, 8, 0, 0, 0, 0, 0, 2, 3];

/// The bytes in gzip; `None` in a build without the feature `zopfli`. `wanted` is asked before each part.
pub(super) fn encode(bytes: &[u8], wanted: &dyn Fn() -> bool) -> io::Result<Option<Vec<u8>>> {
    let mut deflate = Deflate::new(bytes);
    let mut start = 0;
    loop {
        if !wanted() {
            return Err(io::ErrorKind::Other.into());
        }
        let end = bytes.len().min(start + PART);
        deflate.part(start..end);
        start = end;
        if start == bytes.len() {
            break;
        }
    }
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    let trailer = [crc.sum().to_le_bytes(), crc.amount().to_le_bytes()];
    Ok(Some(
        [&HEAD, deflate.coded(), trailer.as_flattened()].concat(),
    ))
}
