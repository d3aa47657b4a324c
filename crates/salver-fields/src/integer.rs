//! Prefixed integers of HPACK and QPACK (RFC 7541 section 5.1, RFC 9204 section 4.1.1).

use crate::error::DecodeError;

/// The largest valid integer. Lengths and indices here are far below it.
const MOST: usize = 1 << 24;

/// Reads an integer whose first `prefix` (1 to 8) bits are the low ones of the first byte. Returns it and the rest of
/// the input.
///
/// # Errors
/// [`DecodeError::Truncated`]; [`DecodeError::TooLarge`] beyond 16 Mi, even if the input is incomplete.
pub fn read(input: &[u8], prefix: u32) -> Result<(usize, &[u8]), DecodeError> {
    let [first, rest @ ..] = input else {
        return Err(DecodeError::Truncated);
    };
    let all = usize::from(u8::MAX >> (8 - prefix));
    let value = usize::from(*first) & all;
    if value < all {
        return Ok((value, rest));
    }
    let (mut value, mut shift, mut rest) = (value, 0u32, rest);
    loop {
        let [next, tail @ ..] = rest else {
            return Err(DecodeError::Truncated);
        };
        let more = usize::from(*next & 0x7f)
            .checked_shl(shift)
            .filter(|_| shift <= 21)
            .ok_or(DecodeError::TooLarge)?;
        value += more;
        if value > MOST {
            return Err(DecodeError::TooLarge);
        }
        shift += 7;
        rest = tail;
        if next & 0x80 == 0 {
            return Ok((value, rest));
        }
    }
}

/// Appends an integer. `first` holds the bits before the prefix.
pub fn write(out: &mut Vec<u8>, first: u8, prefix: u32, value: usize) {
    let all = u8::MAX >> (8 - prefix);
    match u8::try_from(value) {
        Ok(value) if value < all => out.push(first | value),
        _ => {
            out.push(first | all);
            let mut rest = value - usize::from(all);
            while rest >= 0x80 {
                out.extend(((rest & 0x7f) | 0x80).to_le_bytes().first());
                rest >>= 7;
            }
            out.extend(rest.to_le_bytes().first());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn examples_of_the_specification() {
        // RFC 7541 appendix C.1.
        for (value, prefix, first, bytes) in [
            (10, 5, 0xe0, &[0xea][..]),
            (1337, 5, 0xe0, &[0xff, 0x9a, 0x0a]),
            (42, 8, 0, &[42]),
            (31, 5, 0, &[31, 0]),
            (255, 8, 0, &[255, 0]),
        ] {
            let mut out = Vec::new();
            write(&mut out, first, prefix, value);
            assert_eq!(out, bytes);
            assert_eq!(read(bytes, prefix), Ok((value, &[][..])));
        }
    }

    #[test]
    fn too_short_or_too_large() {
        for bytes in [&[][..], &[31], &[31, 0x80], &[31, 0xff, 0xff]] {
            assert_eq!(read(bytes, 5), Err(DecodeError::Truncated), "{bytes:?}");
        }
        for bytes in [
            &[31, 0xff, 0xff, 0xff, 0x7f][..],
            &[31, 0x80, 0x80, 0x80, 0x80, 0x01],
            &[
                31, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00,
            ],
        ] {
            assert_eq!(read(bytes, 5), Err(DecodeError::TooLarge), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(value in 0..=MOST, prefix in 1u32..=8, rest: Vec<u8>) {
            let mut out = Vec::new();
            write(&mut out, 0, prefix, value);
            out.extend(&rest);
            prop_assert_eq!(read(&out, prefix), Ok((value, &rest[..])));
        }

        #[test]
        fn any_bytes_in_any_place(input: Vec<u8>, prefix in 1u32..=8) {
            if let Ok((value, rest)) = read(&input, prefix) {
                prop_assert!(value <= MOST && rest.len() < input.len());
            }
        }
    }
}
