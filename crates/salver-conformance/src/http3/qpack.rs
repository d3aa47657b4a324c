//! QPACK without a dynamic table (RFC 9204): we allow the server none, and use none ourselves.

use crate::http3::static_table::STATIC;
use crate::prefixed::{put_text, take_integer, take_text};
use crate::section::Lines;

/// A field section of literals without Huffman code, so that any bytes can be played
/// (RFC 9204 section 4.5.6).
pub(crate) fn literal(fields: &Lines) -> Vec<u8> {
    // No insertion is needed, and the base is 0 (section 4.5.1).
    let mut out = vec![0, 0];
    for (name, value) in fields {
        put_text(&mut out, 0x20, 3, name);
        put_text(&mut out, 0, 7, value);
    }
    out
}

/// Reads a field section; what refers to a dynamic table is an error.
pub(crate) fn read(section: &[u8]) -> Result<Lines, String> {
    let wrong = |what: &str| format!("QPACK: {what}: {}", section.escape_ascii());
    let short = || wrong("a field section that does not end");
    let mut rest = section;
    if take_integer(&mut rest, 8).ok_or_else(short)? != 0 {
        return Err(wrong("insertions are needed, though no table is allowed"));
    }
    take_integer(&mut rest, 7).ok_or_else(short)?;
    let mut lines = Vec::new();
    while let Some(&first) = rest.first() {
        let entry = |index: usize| {
            STATIC
                .get(index)
                .ok_or_else(|| wrong("no such entry of the static table"))
        };
        let (dynamic, line) = if first & 0x80 != 0 {
            // Section 4.5.2: a name and a value from a table.
            let (name, value) = entry(take_integer(&mut rest, 6).ok_or_else(short)?)?;
            let line = (name.as_bytes().to_vec(), value.as_bytes().to_vec());
            (first & 0x40 == 0, line)
        } else if first & 0x40 != 0 {
            // Section 4.5.4: a name from a table.
            let (name, _) = entry(take_integer(&mut rest, 4).ok_or_else(short)?)?;
            let value = take_text(&mut rest, 7).ok_or_else(short)?;
            (first & 0x10 == 0, (name.as_bytes().to_vec(), value))
        } else if first & 0x20 != 0 {
            let name = take_text(&mut rest, 3).ok_or_else(short)?;
            let value = take_text(&mut rest, 7).ok_or_else(short)?;
            (false, (name, value))
        } else {
            return Err(wrong("an entry behind the base"));
        };
        if dynamic {
            return Err(wrong("an entry of a table that is not allowed"));
        }
        lines.push(line);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let fields = vec![
            (b":path".to_vec(), b"/\xff\0".to_vec()),
            (b"a long name".to_vec(), vec![b'x'; 300]),
            (Vec::new(), Vec::new()),
        ];
        assert_eq!(read(&literal(&fields)), Ok(fields));
    }

    #[test]
    fn sections_of_others() {
        // RFC 9204 appendix B.1: a name from the static table.
        let section = b"\0\0\x51\x0b/index.html";
        let path = (b":path".to_vec(), b"/index.html".to_vec());
        assert_eq!(read(section), Ok(vec![path]));
        let ok = (b":status".to_vec(), b"200".to_vec());
        assert_eq!(read(b"\0\0\xd9"), Ok(vec![ok]));
        for bad in [
            &b""[..],
            b"\0",
            b"\x02\0\x80",
            b"\0\0\x80",
            b"\0\0\x40\x01a",
            b"\0\0\x10",
            b"\0\0\x00\x01a",
            b"\0\0\xff\x80",
            b"\0\0\xff\x40",
            b"\0\0\x51\x0b/index",
        ] {
            assert!(read(bad).is_err(), "{}", bad.escape_ascii());
        }
    }
}
