//! CRC-32C (Castagnoli), as in RFC 3720 section 12.1.

/// The remainder of every byte.
const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte: u32 = 0;
    let mut rest: &mut [u32] = &mut table;
    while let [place, after @ ..] = rest {
        let mut remainder = byte;
        let mut bit = 0;
        while bit < 8 {
            let carry = remainder & 1;
            remainder >>= 1;
            if carry == 1 {
                remainder ^= 0x82f6_3b78;
            }
            bit += 1;
        }
        *place = remainder;
        byte += 1;
        rest = after;
    }
    table
}

/// The checksum of the parts, one behind the other.
pub(super) fn crc32c(parts: &[&[u8]]) -> u32 {
    let bytes = parts.iter().flat_map(|part| part.iter());
    !bytes.fold(u32::MAX, |sum, byte| {
        let [low, ..] = sum.to_le_bytes();
        let remainder = TABLE.get(usize::from(low ^ byte)).copied();
        sum >> 8 ^ remainder.unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::crc32c;

    #[test]
    fn known_sums() {
        let check = |parts: &[&[u8]], expected: u32| assert_eq!(crc32c(parts), expected);
        // RFC 3720 appendix B.4, whose sums stand there in the order of the wire.
        check(&[&[0; 32]], 0x8a91_36aa);
        check(&[&[0xff; 32]], 0x62a8_ab43);
        let ascending: Vec<u8> = (0..32).collect();
        check(&[&ascending], 0x46dd_794e);
        check(&[b"1234", b"", b"56789"], 0xe306_9283);
        check(&[], 0);
    }
}
