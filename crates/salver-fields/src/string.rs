//! String literals of HPACK and QPACK (RFC 7541 section 5.2, RFC 9204 section 4.1.2): plain, or in Huffman code.

use crate::error::DecodeError;
use crate::{huffman, integer};

/// Reads the string that `input` begins with and appends it to `out`: at most eight fifths of its coded length.
/// Returns the rest of the input. The length has a prefix of `prefix` (1 to 7) bits; the bit before them is 1 for
/// Huffman code.
///
/// # Errors
/// [`DecodeError`]; some bytes of the string may have been appended.
pub fn read<'a>(input: &'a [u8], prefix: u32, out: &mut Vec<u8>) -> Result<&'a [u8], DecodeError> {
    let is_coded = input.first().is_some_and(|first| first >> prefix & 1 == 1);
    let (length, rest) = integer::read(input, prefix)?;
    let text = rest.split_at_checked(length);
    let (text, rest) = text.ok_or(DecodeError::Truncated)?;
    if is_coded {
        huffman::decode(text, out)?;
    } else {
        out.extend_from_slice(text);
    }
    Ok(rest)
}

/// Appends a string, in Huffman code where that is shorter. `first` holds the bits before the one for Huffman code.
pub fn write(out: &mut Vec<u8>, first: u8, prefix: u32, text: &[u8]) {
    let coded = huffman::encoded_length(text);
    if coded < text.len() {
        integer::write(out, first | 1 << prefix, prefix, coded);
        huffman::encode(text, out);
    } else {
        integer::write(out, first, prefix, text.len());
        out.extend_from_slice(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn strings_that_cannot_be_read() {
        for (input, expected) in [
            (&b""[..], DecodeError::Truncated),
            (b"\x01", DecodeError::Truncated),
            (b"\x05a", DecodeError::Truncated),
            (b"\x7f\xff\xff\xff\xff\x01", DecodeError::TooLarge),
            (b"\x81\xff", DecodeError::Huffman),
        ] {
            assert_eq!(read(input, 7, &mut Vec::new()), Err(expected), "{input:?}");
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(text: Vec<u8>, prefix in 1u32..=7, rest: Vec<u8>) {
            let mut written = Vec::new();
            write(&mut written, 0, prefix, &text);
            written.extend(&rest);
            let mut out = b"before".to_vec();
            prop_assert_eq!(read(&written, prefix, &mut out), Ok(&rest[..]));
            prop_assert_eq!(out, [b"before", &text[..]].concat());
        }

        #[test]
        fn any_bytes_are_read_or_refused(input: Vec<u8>, prefix in 1u32..=7) {
            let mut out = Vec::new();
            let _ = read(&input, prefix, &mut out);
            prop_assert!(out.len() <= input.len() * 8 / 5);
        }
    }
}
