//! QPACK: encoded field sections (RFC 9204), without the dynamic table. A reference to it is an error, for the server
//! announces that it has none.

pub(crate) mod static_table;

use salver_fields::{DecodeError, FieldLine, integer, string};

/// Gives each line of a whole field section (section 4.5) to `each`. `text` is overwritten.
pub(crate) fn decode(
    section: &[u8],
    text: &mut Vec<u8>,
    mut each: impl FnMut(FieldLine<'_>),
) -> Result<(), DecodeError> {
    // Section 4.5.1: no line may need an entry of the dynamic table; then the base means nothing.
    let (required, rest) = integer::read(section, 8)?;
    if required != 0 {
        return Err(DecodeError::Reference);
    }
    let (_base, mut rest) = integer::read(rest, 7)?;
    while let [first, ..] = rest {
        text.clear();
        match first >> 4 {
            // Section 4.5.2: an indexed line.
            0b1100..=0b1111 => {
                let (index, tail) = integer::read(rest, 6)?;
                let (name, value) = static_table::get(index).ok_or(DecodeError::Reference)?;
                each(FieldLine {
                    name,
                    value,
                    is_valid: true,
                });
                rest = tail;
            }
            // Section 4.5.4: the name by its index.
            0b0101 | 0b0111 => {
                let (index, tail) = integer::read(rest, 4)?;
                let (name, _) = static_table::get(index).ok_or(DecodeError::Reference)?;
                rest = string::read(tail, 7, text)?;
                each(FieldLine::new(name, text));
            }
            // Section 4.5.6: name and value as they are.
            0b0010 | 0b0011 => {
                let tail = string::read(rest, 3, text)?;
                let split = text.len();
                rest = string::read(tail, 7, text)?;
                let (name, value) = text.split_at_checked(split).unwrap_or_default();
                each(FieldLine::new(name, value));
            }
            _ => return Err(DecodeError::Reference),
        }
    }
    Ok(())
}

/// Appends the prefix of a field section that needs no entry of the dynamic table (section 4.5.1).
pub(crate) fn begin(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0]);
}

/// Appends a field line, by reference where the static table has it. `name` is in small letters.
pub(crate) fn write(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    match static_table::find(name, value) {
        Some((index, true)) => integer::write(out, 0b1100_0000, 6, index),
        Some((index, false)) => {
            integer::write(out, 0b0101_0000, 4, index);
            string::write(out, 0, 7, value);
        }
        None => {
            string::write(out, 0b0010_0000, 3, name);
            string::write(out, 0, 7, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Lines = Vec<(Vec<u8>, Vec<u8>)>;

    fn decoded(section: &[u8]) -> Result<Lines, DecodeError> {
        let mut lines = Vec::new();
        decode(section, &mut Vec::new(), |line| {
            lines.push((line.name.to_vec(), line.value.to_vec()));
        })?;
        Ok(lines)
    }

    #[track_caller]
    fn check(section: &[u8], expected: Result<&[(&str, &str)], DecodeError>) {
        let text =
            |(name, value): &(&str, &str)| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        let expected = expected.map(|lines| lines.iter().map(text).collect());
        assert_eq!(decoded(section), expected, "{section:x?}");
    }

    #[test]
    fn the_example_of_the_specification() {
        // RFC 9204 appendix B.1.
        let section = b"\x00\x00\x51\x0b/index.html";
        check(section, Ok(&[(":path", "/index.html")]));
        let mut out = Vec::new();
        begin(&mut out);
        integer::write(&mut out, 0b0101_0000, 4, 1);
        integer::write(&mut out, 0, 7, 11);
        out.extend(b"/index.html");
        assert_eq!(out, section);
    }

    #[test]
    fn lines_of_every_kind() {
        check(b"\0\0", Ok(&[]));
        check(b"\0\0\xd1", Ok(&[(":method", "GET")]));
        check(b"\0\0\xff\x23", Ok(&[("x-frame-options", "sameorigin")]));
        check(b"\0\0\xff\x24", Err(DecodeError::Reference));
        check(b"\0\0\x5f\x1d\x01a", Ok(&[("content-type", "a")]));
        // To be kept as it is on the way: that binds proxies only.
        check(b"\0\0\x7f\x1d\x01a", Ok(&[("content-type", "a")]));
        check(b"\0\0\x23abc\x82\x64\x02", Ok(&[("abc", "302")]));
        check(b"\0\0\x33abc\x00", Ok(&[("abc", "")]));
        check(b"\0\0\x2a\x18\0\0", Err(DecodeError::Huffman));
        // Entries of the dynamic table, before and behind the base.
        for section in [
            &b"\0\0\x80"[..],
            b"\0\0\x40\x01a",
            b"\0\0\x10",
            b"\0\0\x00\x01a",
            b"\x02\0\xd1",
        ] {
            check(section, Err(DecodeError::Reference));
        }
        for section in [
            &b""[..],
            b"\0",
            b"\0\0\xff",
            b"\0\0\x51",
            b"\0\0\x51\x02/",
            b"\0\0\x23ab",
            b"\0\0\x23abc",
        ] {
            check(section, Err(DecodeError::Truncated));
        }
        check(
            b"\0\0\x51\x7f\xff\xff\xff\xff\xff\x01",
            Err(DecodeError::TooLarge),
        );
    }

    #[test]
    fn entries_of_the_table_are_valid_lines() {
        for index in 0..99 {
            let (name, value) = static_table::get(index).unwrap();
            assert!(FieldLine::new(name, value).is_valid, "{index}");
        }
    }

    proptest! {
        #[test]
        fn what_was_written_comes_back(lines in prop::collection::vec((
            "[a-z:-]{1,20}|:status|content-type|vary|server",
            prop::collection::vec(any::<u8>(), 0..40),
        ), 0..10)) {
            let mut out = Vec::new();
            begin(&mut out);
            for (name, value) in &lines {
                write(&mut out, name.as_bytes(), value);
            }
            let expected: Lines = lines.into_iter().map(|(name, value)| (name.into_bytes(), value)).collect();
            prop_assert_eq!(decoded(&out), Ok(expected));
        }

        #[test]
        fn any_bytes_are_read_or_refused(section: Vec<u8>) {
            let _ = decoded(&section);
        }
    }
}
