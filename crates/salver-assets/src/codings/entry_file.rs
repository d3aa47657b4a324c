//! The bytes of a kept coding: what it is of, its verdict, and a checksum over all of that.
//!
//! ```text
//! magic (8) │ length of the original (8) │ length of the coding, 0 for "not worth it" (8) │ coding │ XXH3-128 (16)
//! ```
//!
//! Numbers begin with their lowest byte.

use crate::source::digest;

/// The first bytes of each file. The last is the version of this form.
const MAGIC: [u8; 8] = *b"salver\x00\x01";

/// The bytes before the coding.
const HEAD: usize = 24;

/// The bytes of the checksum at the end.
const CHECKSUM: usize = 16;

/// The bytes that a file has besides its coding.
pub(super) const OVERHEAD: usize = HEAD + CHECKSUM;

/// The file of a coding of an original of so many bytes; `None` says that it is not worth it.
pub(super) fn write(length: u64, coding: Option<&[u8]>) -> Vec<u8> {
    let coding = coding.unwrap_or_default();
    let mut file = Vec::with_capacity(coding.len() + OVERHEAD);
    file.extend_from_slice(&MAGIC);
    file.extend_from_slice(&length.to_le_bytes());
    let coded = u64::try_from(coding.len()).unwrap_or(u64::MAX);
    file.extend_from_slice(&coded.to_le_bytes());
    file.extend_from_slice(coding);
    let checksum = digest::of_bytes(&file);
    file.extend_from_slice(&checksum.to_le_bytes());
    file
}

/// The coding in a file, if that is whole and of an original of so many bytes; `Some(None)` says that it is not worth
/// it.
pub(super) fn read(mut file: Vec<u8>, length: u64) -> Option<Option<Vec<u8>>> {
    let (body, checksum) = file.split_last_chunk::<CHECKSUM>()?;
    if digest::of_bytes(body).to_le_bytes() != *checksum {
        return None;
    }
    let (magic, rest) = body.split_first_chunk::<8>()?;
    let (of, rest) = rest.split_first_chunk::<8>()?;
    let (coded, coding) = rest.split_first_chunk::<8>()?;
    let is_right = *magic == MAGIC
        && u64::from_le_bytes(*of) == length
        && u64::try_from(coding.len()) == Ok(u64::from_le_bytes(*coded));
    if !is_right {
        return None;
    }
    let end = body.len();
    file.truncate(end);
    file.drain(..HEAD);
    Some(Some(file).filter(|coding| !coding.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        for coding in [Some(&b"coded"[..]), None] {
            let file = write(900, coding);
            let expected = coding.map(<[u8]>::to_vec);
            assert_eq!(read(file.clone(), 900), Some(expected));
            assert_eq!(read(file.clone(), 901), None);
            for length in 0..file.len() {
                assert_eq!(read(file[..length].to_vec(), 900), None, "{length}");
            }
            for at in 0..file.len() {
                for bit in 0..8 {
                    let mut wrong = file.clone();
                    wrong[at] ^= 1 << bit;
                    assert_eq!(read(wrong, 900), None, "{at} {bit}");
                }
            }
            let longer = [&file[..], b"x"].concat();
            assert_eq!(read(longer, 900), None);
        }
    }
}
