//! Integers and texts of HPACK and QPACK (RFC 7541 section 5, RFC 9204 section 4.1).

use loona_hpack::huffman::HuffmanDecoder;

/// The largest number that fits in so many bits; there are 3 to 8.
const fn full(bits: u8) -> u8 {
    u8::MAX >> (8 - bits)
}

/// Writes an integer of which the first byte holds `bits` bits; the bits before them are those
/// of `first`.
pub(crate) fn put_integer(out: &mut Vec<u8>, first: u8, bits: u8, value: usize) {
    let full = full(bits);
    match u8::try_from(value) {
        Ok(small) if small < full => out.push(first | small),
        _ => {
            out.push(first | full);
            let mut rest = value - usize::from(full);
            while rest >= 128 {
                out.push(u8::try_from(rest % 128).unwrap_or_default() | 128);
                rest /= 128;
            }
            out.push(u8::try_from(rest).unwrap_or_default());
        }
    }
}

/// Writes a text as it is; its length is an integer of `bits` bits behind those of `first`.
pub(crate) fn put_text(out: &mut Vec<u8>, first: u8, bits: u8, text: &[u8]) {
    put_integer(out, first, bits, text.len());
    out.extend_from_slice(text);
}

/// Takes an integer off the front of `bytes`; its first byte holds `bits` bits.
pub(crate) fn take_integer(bytes: &mut &[u8], bits: u8) -> Option<usize> {
    let (first, mut rest) = bytes.split_first()?;
    let mut value = usize::from(first & full(bits));
    if value == usize::from(full(bits)) {
        for shift in (0..35).step_by(7) {
            let (byte, behind) = rest.split_first()?;
            rest = behind;
            value += usize::from(byte & 127) << shift;
            if byte & 128 == 0 {
                *bytes = rest;
                return Some(value);
            }
        }
        return None;
    }
    *bytes = rest;
    Some(value)
}

/// Takes a text off the front of `bytes`, in Huffman code or not: the bit before the `bits` of
/// its length says so.
pub(crate) fn take_text(bytes: &mut &[u8], bits: u8) -> Option<Vec<u8>> {
    let is_coded = bytes.first()? & (1 << bits) != 0;
    let length = take_integer(bytes, bits)?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    if is_coded {
        HuffmanDecoder::new().decode(text).ok()
    } else {
        Some(text.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_the_standard() {
        // RFC 7541 appendix C.1
        for (bits, value, expected) in [
            (5, 10, &[10][..]),
            (5, 1337, &[31, 154, 10]),
            (8, 42, &[42]),
            (7, 127, &[127, 0]),
        ] {
            let mut out = Vec::new();
            put_integer(&mut out, 0, bits, value);
            assert_eq!(out, expected, "{value} behind {bits} bits");
            out.push(9);
            let mut rest = out.as_slice();
            assert_eq!(take_integer(&mut rest, bits), Some(value));
            assert_eq!(rest, [9]);
        }
        assert_eq!(take_integer(&mut &[31, 128][..], 5), None);
        assert_eq!(take_integer(&mut &[255; 20][..], 5), None);
    }

    #[test]
    fn texts() {
        let mut out = Vec::new();
        put_text(&mut out, 0, 7, b"a\xff");
        assert_eq!(take_text(&mut out.as_slice(), 7), Some(b"a\xff".to_vec()));
        // RFC 7541 appendix C.4.1
        let coded = b"\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff";
        let text = take_text(&mut &coded[..], 7);
        assert_eq!(text.as_deref(), Some(&b"www.example.com"[..]));
        assert_eq!(take_text(&mut &b"\x05abc"[..], 7), None);
    }
}
