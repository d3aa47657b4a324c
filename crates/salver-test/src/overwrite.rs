//! Writing in place, on every system.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

/// Writes at the beginning of a file, whose end stays where it is if that is further.
///
/// # Panics
/// If that cannot be written.
pub fn overwrite(mut file: &File, content: &[u8]) {
    file.seek(SeekFrom::Start(0)).unwrap();
    file.write_all(content).unwrap();
}
