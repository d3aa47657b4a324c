//! Variable-length integers (RFC 9000 section 16).

/// Reads an integer; returns it and the rest of the input. `None` if it is incomplete.
pub(crate) fn read(input: &[u8]) -> Option<(u64, &[u8])> {
    let first = input.first()?;
    let (bytes, rest) = input.split_at_checked(1 << (first >> 6))?;
    let value = bytes
        .iter()
        .fold(0, |value, byte| value << 8 | u64::from(*byte));
    // The two bits that say the length are the highest.
    let value = value & (u64::MAX >> (66 - 8 * bytes.len()));
    Some((value, rest))
}

/// Appends an integer below 2^62 in its shortest form.
pub(crate) fn write(out: &mut Vec<u8>, value: u64) {
    let (length, tag): (usize, u8) = match value {
        0..0x40 => (1, 0),
        0x40..0x4000 => (2, 0x40),
        0x4000..0x4000_0000 => (4, 0x80),
        _ => (8, 0xc0),
    };
    let bytes = value.to_be_bytes();
    let bytes = bytes.get(8 - length..).unwrap_or_default();
    if let [first, rest @ ..] = bytes {
        out.push(first | tag);
        out.extend_from_slice(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn examples_of_the_specification() {
        // RFC 9000 appendix A.1.
        for (bytes, value) in [
            (
                &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..],
                151_288_809_941_952_652,
            ),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ] {
            assert_eq!(read(bytes), Some((value, &[][..])));
            let mut out = Vec::new();
            write(&mut out, value);
            assert_eq!(out, bytes);
            for end in 0..bytes.len() {
                assert_eq!(read(&bytes[..end]), None);
            }
        }
        assert_eq!(
            read(&[0x40, 0x25, 7]),
            Some((37, &[7][..])),
            "longer than it needs to be"
        );
    }

    proptest! {
        #[test]
        fn what_was_written_comes_back(value in 0..1u64 << 62, shift in 0..62u32) {
            let value = value >> shift;
            let mut out = Vec::new();
            write(&mut out, value);
            prop_assert_eq!(read(&out), Some((value, &[][..])));
        }
    }
}
