//! Field sections (RFC 9204), without the dynamic table: whatever refers to it is an error, for this
//! side has said that it has none.

pub(crate) mod static_table;

use salver_http2::hpack::{huffman, integer};

use crate::Limits;
use crate::section::FieldSection;

/// Why a field section is not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Error {
    /// It ends within a line.
    Truncated,
    /// An integer is larger than anything can be here.
    Integer,
    /// A string is not what the Huffman code gives.
    Huffman,
    /// It refers to an entry that is not in the static table.
    Reference,
    /// It is larger than allowed.
    TooLarge,
    /// It has more lines than allowed.
    TooManyLines,
}

impl From<integer::IntegerError> for Error {
    fn from(error: integer::IntegerError) -> Self {
        match error {
            integer::IntegerError::Truncated => Error::Truncated,
            integer::IntegerError::TooLarge => Error::Integer,
        }
    }
}

/// Reads a whole field section (section 4.5) into `into`, which is cleared first.
pub(crate) fn decode(
    section: &[u8],
    limits: &Limits,
    into: &mut FieldSection,
) -> Result<(), Error> {
    into.clear();
    // Section 4.5.1: no line may need an entry of the dynamic table; then the base means nothing.
    let (required, rest) = integer::read(section, 8)?;
    if required != 0 {
        return Err(Error::Reference);
    }
    let (_base, mut rest) = integer::read(rest, 7)?;
    let mut plain = 0;
    while let [first, ..] = rest {
        let bytes = into.bytes();
        let value;
        match first >> 4 {
            // Section 4.5.2: an indexed line.
            0b1100..=0b1111 => {
                let (index, tail) = integer::read(rest, 6)?;
                let (name, text) = static_table::get(index).ok_or(Error::Reference)?;
                bytes.extend_from_slice(name);
                value = bytes.len();
                bytes.extend_from_slice(text);
                rest = tail;
            }
            // Section 4.5.4: the name by its index.
            0b0101 | 0b0111 => {
                let (index, tail) = integer::read(rest, 4)?;
                let (name, _) = static_table::get(index).ok_or(Error::Reference)?;
                bytes.extend_from_slice(name);
                value = bytes.len();
                rest = string(tail, 7, limits, bytes)?;
            }
            // Section 4.5.6: name and value as they are.
            0b0010 | 0b0011 => {
                let tail = string(rest, 3, limits, bytes)?;
                value = bytes.len();
                rest = string(tail, 7, limits, bytes)?;
            }
            _ => return Err(Error::Reference),
        }
        let is_pseudo = into.end_line(value);
        plain += usize::from(!is_pseudo);
        if into.size() > limits.max_head {
            return Err(Error::TooLarge);
        }
        if plain > limits.max_fields {
            return Err(Error::TooManyLines);
        }
    }
    Ok(())
}

/// Appends a string whose length has a prefix of so many bits (section 4.1.2), and returns what
/// follows. The bit before the prefix says whether it is Huffman-coded.
fn string<'a>(
    input: &'a [u8],
    prefix: u32,
    limits: &Limits,
    out: &mut Vec<u8>,
) -> Result<&'a [u8], Error> {
    let coded = input.first().is_some_and(|first| first >> prefix & 1 == 1);
    let (length, rest) = integer::read(input, prefix)?;
    let (text, rest) = rest.split_at_checked(length).ok_or(Error::Truncated)?;
    if text.len() > limits.max_head {
        return Err(Error::TooLarge);
    }
    if coded {
        huffman::decode(text, out).map_err(|_| Error::Huffman)?;
    } else {
        out.extend_from_slice(text);
    }
    Ok(rest)
}

/// Appends the beginning of a field section that needs nothing of the dynamic table.
pub(crate) fn begin(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0]);
}

/// Appends a field line, by reference where the static table has it. `name` is in small letters.
pub(crate) fn write(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    match static_table::find(name, value) {
        Some((index, true)) => integer::write(out, 0b1100_0000, 6, index),
        Some((index, false)) => {
            integer::write(out, 0b0101_0000, 4, index);
            write_string(out, 0, 7, value);
        }
        None => {
            write_string(out, 0b0010_0000, 3, name);
            write_string(out, 0, 7, value);
        }
    }
}

/// Appends a string, Huffman-coded where that is shorter.
fn write_string(out: &mut Vec<u8>, first: u8, prefix: u32, text: &[u8]) {
    let length = huffman::encoded_length(text);
    if length < text.len() {
        integer::write(out, first | 1 << prefix, prefix, length);
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

    type Lines = Vec<(Vec<u8>, Vec<u8>)>;

    fn decoded(section: &[u8], limits: &Limits) -> Result<Lines, Error> {
        let mut into = FieldSection::default();
        decode(section, limits, &mut into)?;
        Ok(into
            .iter()
            .map(|(name, value)| (name.to_vec(), value.to_vec()))
            .collect())
    }

    #[track_caller]
    fn check(section: &[u8], expected: Result<&[(&str, &str)], Error>) {
        let text =
            |(name, value): &(&str, &str)| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        let expected = expected.map(|lines| lines.iter().map(text).collect());
        assert_eq!(
            decoded(section, &Limits::default()),
            expected,
            "{section:x?}"
        );
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
        check(b"\0\0\xff\x24", Err(Error::Reference));
        check(b"\0\0\x5f\x1d\x01a", Ok(&[("content-type", "a")]));
        // To be kept as it is on the way: that binds proxies only.
        check(b"\0\0\x7f\x1d\x01a", Ok(&[("content-type", "a")]));
        check(b"\0\0\x23abc\x82\x64\x02", Ok(&[("abc", "302")]));
        check(b"\0\0\x33abc\x00", Ok(&[("abc", "")]));
        check(b"\0\0\x2a\x18\0\0", Err(Error::Huffman));
        // Entries of the dynamic table, before and behind the base.
        for section in [
            &b"\0\0\x80"[..],
            b"\0\0\x40\x01a",
            b"\0\0\x10",
            b"\0\0\x00\x01a",
            b"\x02\0\xd1",
        ] {
            check(section, Err(Error::Reference));
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
            check(section, Err(Error::Truncated));
        }
        check(b"\0\0\x51\x7f\xff\xff\xff\xff\xff\x01", Err(Error::Integer));
    }

    #[test]
    fn limits_are_kept() {
        let limits = Limits {
            max_head: 100,
            max_fields: 2,
            ..Limits::default()
        };
        let section = |lines: &[(&str, &str)]| {
            let mut out = Vec::new();
            begin(&mut out);
            for (name, value) in lines {
                write(&mut out, name.as_bytes(), value.as_bytes());
            }
            decoded(&out, &limits).map(|lines| lines.len())
        };
        let long = "x".repeat(67);
        assert_eq!(section(&[("a", &long)]), Ok(1));
        assert_eq!(section(&[("ab", &long)]), Err(Error::TooLarge));
        assert_eq!(
            section(&[("a", ""), ("b", ""), ("c", "")]),
            Err(Error::TooManyLines)
        );
        let generous = Limits {
            max_fields: 2,
            ..Limits::default()
        };
        let mut out = Vec::new();
        begin(&mut out);
        for name in [":a", ":b", ":c", "d", "e"] {
            write(&mut out, name.as_bytes(), b"");
        }
        assert_eq!(decoded(&out, &generous).map(|lines| lines.len()), Ok(5));
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
            prop_assert_eq!(decoded(&out, &Limits::default()), Ok(expected));
        }

        #[test]
        fn any_bytes_are_read_or_refused(section: Vec<u8>) {
            let _ = decoded(&section, &Limits::default());
        }
    }
}
