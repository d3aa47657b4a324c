//! The Huffman code of HPACK and QPACK (RFC 7541 section 5.2 and appendix B).
//!
//! The code is canonical: codes of one length are consecutive numbers in the order of their symbols, and longer codes
//! continue where the shorter ones ended. So the lengths define the code; all tables are computed from them by the
//! compiler.

use crate::error::DecodeError;

/// Length of the code of each byte in bits (appendix B). The end-of-string symbol has 30 bits, all
/// ones, and is never encoded.
const LENGTHS: [u8; 256] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5,
    5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6,
    6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22,
    23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22,
    21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20,
    22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19,
    21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22,
    22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
];

/// The longest code in bits.
const LONGEST: usize = 30;

/// Tables for encoding and decoding, computed from the lengths by the compiler.
struct Tables {
    /// The code of each byte.
    codes: [u32; 256],
    /// For each length: the first number, aligned to the left of 32 bits, that is too large for a
    /// code of that length.
    limits: [u32; LONGEST + 1],
    /// For each length: what to add to a code of that length to get its place in `symbols`.
    offsets: [u32; LONGEST + 1],
    /// The bytes in the order of their codes.
    symbols: [u8; 256],
    /// For the first eight bits of a code that is no longer: the byte and the code's length; length
    /// 0 for the beginning of a longer one.
    short: [(u8, u8); 256],
}

// Only the compiler runs this, and it refuses what is out of bounds or overflows.
#[allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "evaluated when compiled"
)]
const fn tables() -> Tables {
    let mut tables = Tables {
        codes: [0; 256],
        limits: [0; LONGEST + 1],
        offsets: [0; LONGEST + 1],
        symbols: [0; 256],
        short: [(0, 0); 256],
    };
    let (mut code, mut place, mut length) = (0u32, 0usize, 1);
    while length <= LONGEST {
        code <<= 1;
        tables.offsets[length] = (place as u32).wrapping_sub(code);
        let mut symbol = 0;
        while symbol < 256 {
            if LENGTHS[symbol] as usize == length {
                tables.codes[symbol] = code;
                tables.symbols[place] = symbol as u8;
                if length <= 8 {
                    let mut rest = 0;
                    while rest < 1 << (8 - length) {
                        tables.short[(code as usize) << (8 - length) | rest] =
                            (symbol as u8, length as u8);
                        rest += 1;
                    }
                }
                code += 1;
                place += 1;
            }
            symbol += 1;
        }
        tables.limits[length] = code << (32 - length);
        length += 1;
    }
    tables
}

static TABLES: Tables = tables();

/// Decodes `coded` and appends the string to `out`: at most eight fifths of its length.
///
/// # Errors
/// [`DecodeError::Huffman`]; the bytes before the error have been appended.
pub(crate) fn decode(coded: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    // The unread bits, aligned to the left, and their number.
    let (mut bits, mut have) = (0u64, 0u32);
    let mut input = coded.iter();
    loop {
        while have <= 56 {
            let Some(&byte) = input.next() else { break };
            bits |= u64::from(byte) << (56 - have);
            have += 8;
        }
        let [first, ..] = bits.to_be_bytes();
        let (symbol, length) = match TABLES.short.get(usize::from(first)) {
            Some(&(symbol, length)) if length > 0 => (symbol, u32::from(length)),
            _ => match long(u32::try_from(bits >> 32).unwrap_or(u32::MAX)) {
                Some(found) => found,
                // Thirty ones: the end-of-string symbol, or padding.
                None => break,
            },
        };
        if length > have {
            break;
        }
        out.push(symbol);
        bits <<= length;
        have -= length;
    }
    // Section 5.2: at most seven bits of padding, the most significant ones of end-of-string.
    let padding = !(u64::MAX.checked_shr(have).unwrap_or(0));
    if have <= 7 && bits == padding {
        Ok(())
    } else {
        Err(DecodeError::Huffman)
    }
}

/// The byte whose code of more than eight bits begins `bits`, and the code's length.
fn long(bits: u32) -> Option<(u8, u32)> {
    let length = (9..=LONGEST).find(|&length| {
        let limit = TABLES.limits.get(length);
        limit.is_some_and(|&limit| bits < limit)
    })?;
    let offset = TABLES.offsets.get(length)?;
    let length = u32::try_from(length).ok()?;
    let place = (bits >> (32 - length)).wrapping_add(*offset);
    let symbol = TABLES.symbols.get(usize::try_from(place).ok()?)?;
    Some((*symbol, length))
}

/// The length of the code of `plain` in bytes.
pub(crate) fn encoded_length(plain: &[u8]) -> usize {
    let length = |byte: &u8| usize::from(LENGTHS.get(usize::from(*byte)).copied().unwrap_or(0));
    plain.iter().map(length).sum::<usize>().div_ceil(8)
}

/// Appends the code of `plain` to `out`: [`encoded_length`] bytes.
pub(crate) fn encode(plain: &[u8], out: &mut Vec<u8>) {
    // The unwritten bits, aligned to the right, and their number.
    let (mut bits, mut have) = (0u64, 0u32);
    for &byte in plain {
        let place = usize::from(byte);
        let code = TABLES.codes.get(place).copied().unwrap_or(0);
        let length = u32::from(LENGTHS.get(place).copied().unwrap_or(0));
        bits = bits << length | u64::from(code);
        have += length;
        while have >= 8 {
            have -= 8;
            out.extend((bits >> have).to_le_bytes().first());
        }
    }
    if have > 0 {
        let padded = bits << (8 - have) | u64::MAX >> (56 + have);
        out.extend(padded.to_le_bytes().first());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes in hexadecimal, with white space anywhere, as the specification writes them.
    fn bytes(hex: &str) -> Vec<u8> {
        let digits: String = hex.split_ascii_whitespace().collect();
        let pair = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16);
        let pairs = digits.as_bytes().chunks(2);
        pairs.map(|digits| pair(digits).unwrap()).collect()
    }

    fn decoded(coded: &[u8]) -> Result<Vec<u8>, DecodeError> {
        let mut out = Vec::new();
        decode(coded, &mut out).map(|()| out)
    }

    #[test]
    fn examples_of_the_specification() {
        // RFC 7541 appendices C.4 and C.6.
        for (plain, coded) in [
            ("www.example.com", "f1e3 c2e5 f23a 6ba0 ab90 f4ff"),
            ("no-cache", "a8eb 1064 9cbf"),
            ("custom-key", "25a8 49e9 5ba9 7d7f"),
            ("custom-value", "25a8 49e9 5bb8 e8b4 bf"),
            ("302", "6402"),
            ("private", "aec3 771a 4b"),
            (
                "Mon, 21 Oct 2013 20:13:21 GMT",
                "d07a be94 1054 d444 a820 0595 040b 8166 e082 a62d 1bff",
            ),
            (
                "https://www.example.com",
                "9d29 ad17 1863 c78f 0b97 c8e9 ae82 ae43 d3",
            ),
            (
                "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
                "94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 \
                 3160 65c0 03ed 4ee5 b106 3d50 07",
            ),
        ] {
            let coded = bytes(coded);
            let mut out = Vec::new();
            encode(plain.as_bytes(), &mut out);
            assert_eq!(out, coded, "{plain}");
            assert_eq!(encoded_length(plain.as_bytes()), coded.len(), "{plain}");
            assert_eq!(decoded(&coded).unwrap(), plain.as_bytes());
        }
    }

    #[test]
    fn some_codes_of_the_appendix() {
        for (byte, code, length) in [
            (b'0', 0x0, 5),
            (b't', 0x9, 5),
            (b' ', 0x14, 6),
            (b':', 0x5c, 7),
            (b'&', 0xf8, 8),
            (b'!', 0x3f8, 10),
            (b'\'', 0x7fa, 11),
            (b'#', 0xffa, 12),
            (0, 0x1ff8, 13),
            (b'\\', 0x7fff0, 19),
            (0xff, 0x3ff_ffee, 26),
            (b'\n', 0x3fff_fffc, 30),
            (22, 0x3fff_fffe, 30),
        ] {
            let place = usize::from(byte);
            assert_eq!(
                (TABLES.codes[place], LENGTHS[place]),
                (code, length),
                "{byte}"
            );
        }
    }

    #[test]
    fn ends_that_are_not_allowed() {
        for (coded, what) in [
            ("ff", "eight bits of padding"),
            ("1fff", "eight bits of padding behind a byte"),
            ("18", "zeros as padding"),
            ("1e", "padding that ends in zero"),
            ("ffff ffff", "the end-of-string symbol"),
            ("1fff ffff ff", "the end-of-string symbol behind a byte"),
            ("ffff fffc", "the symbol itself and no padding"),
        ] {
            let coded = bytes(coded);
            assert_eq!(decoded(&coded), Err(DecodeError::Huffman), "{what}");
        }
        assert_eq!(decoded(b""), Ok(vec![]));
        assert_eq!(decoded(&bytes("1f")), Ok(b"a".to_vec()));
    }

    #[test]
    fn every_byte_alone_and_before_another() {
        for first in 0..=255u8 {
            for second in [b'0', b'~', 0xff, 10] {
                let plain = [first, second];
                let mut coded = Vec::new();
                encode(&plain, &mut coded);
                assert_eq!(decoded(&coded).unwrap(), plain);
            }
        }
    }

    proptest! {
        #[test]
        fn what_was_encoded_comes_back(plain: Vec<u8>) {
            let mut coded = Vec::new();
            encode(&plain, &mut coded);
            prop_assert_eq!(coded.len(), encoded_length(&plain));
            prop_assert_eq!(decoded(&coded), Ok(plain));
        }

        #[test]
        fn any_bytes_are_read_or_refused(coded: Vec<u8>) {
            let mut out = Vec::new();
            let read = decode(&coded, &mut out);
            prop_assert!(out.len() <= coded.len() * 8 / 5);
            if read.is_ok() {
                let mut again = Vec::new();
                encode(&out, &mut again);
                prop_assert_eq!(again, coded, "the code of a string is unique");
            }
        }
    }
}
