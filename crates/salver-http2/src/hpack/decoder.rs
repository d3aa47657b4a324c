//! The decoder of field blocks (RFC 7541 section 6).

use super::dynamic_table::DynamicTable;
use super::static_table::STATIC;
use salver_fields::{DecodeError, FieldLine, integer, string};
use salver_semantics::field::is_value;

/// The maximum size of the dynamic table: the initial `SETTINGS_HEADER_TABLE_SIZE` (RFC 9113 section 6.5.2).
const TABLE_SIZE: usize = 4096;

/// The decoder of one connection, with its dynamic table.
#[derive(Debug)]
pub(crate) struct Decoder {
    table: DynamicTable,
}

impl Decoder {
    pub(crate) fn new() -> Self {
        Decoder {
            table: DynamicTable::new(TABLE_SIZE),
        }
    }

    /// Gives each line of a whole block to `each`. `scratch` is overwritten.
    ///
    /// # Errors
    /// See [`DecodeError`]; the decoder must not be used again.
    pub(crate) fn decode(
        &mut self,
        block: &[u8],
        scratch: &mut Vec<u8>,
        mut each: impl FnMut(FieldLine<'_>),
    ) -> Result<(), DecodeError> {
        let mut rest = block;
        let mut any = false;
        while let [first, ..] = rest {
            let first = *first;
            if first & 0x80 != 0 {
                // Section 6.1.
                let index;
                (index, rest) = integer::read(rest, 7)?;
                each(self.line(index)?);
            } else if first & 0xe0 == 0x20 {
                // Section 6.3. Section 4.2: only at the beginning of a block.
                let size;
                (size, rest) = integer::read(rest, 5)?;
                if size > TABLE_SIZE || any {
                    return Err(DecodeError::TableSize);
                }
                self.table.resize(size);
                continue;
            } else {
                // Section 6.2: with indexing, without, and never to be indexed.
                let indexing = first & 0x40 != 0;
                rest = self.literal(rest, indexing, scratch, &mut each)?;
            }
            any = true;
        }
        Ok(())
    }

    fn literal<'b>(
        &mut self,
        rest: &'b [u8],
        indexing: bool,
        scratch: &mut Vec<u8>,
        each: &mut impl FnMut(FieldLine<'_>),
    ) -> Result<&'b [u8], DecodeError> {
        let (index, rest) = integer::read(rest, if indexing { 6 } else { 4 })?;
        scratch.clear();
        let (name, name_valid, rest) = if index == 0 {
            let rest = string::read(rest, 7, scratch)?;
            (None, FieldLine::is_name(scratch), rest)
        } else {
            let line = self.line(index)?;
            // An entry may be invalid for its value; then its name is checked again.
            let valid = line.is_valid || FieldLine::is_name(line.name);
            // The new entry may evict the one whose name it has (section 4.4).
            if indexing {
                scratch.extend_from_slice(line.name);
                (None, valid, rest)
            } else {
                (Some(index), valid, rest)
            }
        };
        let split = scratch.len();
        let rest = string::read(rest, 7, scratch)?;
        let (written, value) = scratch.split_at_checked(split).unwrap_or_default();
        let is_valid = name_valid && is_value(value);
        let name = match name {
            Some(index) => self.line(index)?.name,
            None => written,
        };
        each(FieldLine {
            name,
            value,
            is_valid,
        });
        if indexing {
            self.table.insert(written, value, is_valid);
        }
        Ok(rest)
    }

    fn line(&self, index: usize) -> Result<FieldLine<'_>, DecodeError> {
        let place = index.checked_sub(1).ok_or(DecodeError::Reference)?;
        if let Some((name, value)) = STATIC.get(place) {
            return Ok(FieldLine {
                name: name.as_bytes(),
                value: value.as_bytes(),
                is_valid: true,
            });
        }
        self.table
            .get(place - STATIC.len())
            .ok_or(DecodeError::Reference)
    }
}

#[cfg(test)]
mod tests {
    use super::super::bytes;
    use super::*;
    use proptest::prelude::*;

    fn lines(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<String>, DecodeError> {
        let mut lines = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        decoder.decode(block, &mut Vec::new(), |line| {
            let mark = if line.is_valid { "" } else { " (invalid)" };
            lines.push(format!("{}: {}{mark}", text(line.name), text(line.value)));
        })?;
        Ok(lines)
    }

    #[track_caller]
    fn check(decoder: &mut Decoder, block: &str, expected: &[&str]) {
        assert_eq!(lines(decoder, &bytes(block)).unwrap(), expected);
    }

    #[test]
    fn requests_of_the_specification() {
        let get = [":method: GET", ":scheme: http", ":path: /"];
        let authority = ":authority: www.example.com";
        let first: Vec<_> = get.iter().copied().chain([authority]).collect();
        let second: Vec<_> = first
            .iter()
            .copied()
            .chain(["cache-control: no-cache"])
            .collect();
        let third = [
            ":method: GET",
            ":scheme: https",
            ":path: /index.html",
            authority,
            "custom-key: custom-value",
        ];
        // RFC 7541 appendix C.3, without Huffman code.
        let mut decoder = Decoder::new();
        check(
            &mut decoder,
            "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
            &first,
        );
        check(&mut decoder, "8286 84be 5808 6e6f 2d63 6163 6865", &second);
        check(
            &mut decoder,
            "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
            &third,
        );
        // Appendix C.4, with it.
        let mut decoder = Decoder::new();
        check(
            &mut decoder,
            "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
            &first,
        );
        check(&mut decoder, "8286 84be 5886 a8eb 1064 9cbf", &second);
        check(
            &mut decoder,
            "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
            &third,
        );
    }

    #[test]
    fn literals_that_are_not_indexed() {
        // Appendix C.2.2 and C.2.3.
        let mut decoder = Decoder::new();
        check(
            &mut decoder,
            "040c 2f73 616d 706c 652f 7061 7468",
            &[":path: /sample/path"],
        );
        check(
            &mut decoder,
            "1008 7061 7373 776f 7264 0673 6563 7265 74",
            &["password: secret"],
        );
        assert_eq!(lines(&mut decoder, &[0xbe]), Err(DecodeError::Reference));
    }

    #[test]
    fn an_inserted_line_may_push_out_its_own_name() {
        let mut decoder = Decoder::new();
        // A table of 64 bytes, a line of 36, and another with its name.
        check(&mut decoder, "3f21 4002 6162 0263 64", &["ab: cd"]);
        check(&mut decoder, "7e02 6566", &["ab: ef"]);
        check(&mut decoder, "be", &["ab: ef"]);
        assert_eq!(lines(&mut decoder, &[0xbf]), Err(DecodeError::Reference));
    }

    #[test]
    fn blocks_that_cannot_be_read() {
        for (block, expected) in [
            ("80", DecodeError::Reference),
            ("be", DecodeError::Reference),
            ("ff80 8080 8080 01", DecodeError::TooLarge),
            ("ff", DecodeError::Truncated),
            ("40", DecodeError::Truncated),
            ("4001", DecodeError::Truncated),
            ("4001 61", DecodeError::Truncated),
            ("4001 6105 62", DecodeError::Truncated),
            ("4081 ff01 62", DecodeError::Huffman),
            ("3fe2 1f", DecodeError::TableSize),
            ("8220", DecodeError::TableSize),
            ("7f00", DecodeError::Reference),
        ] {
            assert_eq!(
                lines(&mut Decoder::new(), &bytes(block)),
                Err(expected),
                "{block}"
            );
        }
        let mut decoder = Decoder::new();
        check(&mut decoder, "203f e11f 82", &[":method: GET"]);
    }

    #[test]
    fn what_may_not_stand_in_a_message_is_marked() {
        for (name, value, valid) in [
            ("a", "b", true),
            (":path", "/", true),
            ("a", "", true),
            ("a", "b\tc d", true),
            ("a", "\u{e9}", true),
            ("", "b", false),
            (":", "b", false),
            ("::a", "b", false),
            ("A", "b", false),
            ("a b", "b", false),
            ("a:", "b", false),
            ("\u{e9}", "b", false),
            ("a", " b", false),
            ("a", "b\t", false),
            ("a", "b\nc", false),
            ("a", "b\rc", false),
            ("a", "b\0c", false),
            ("a", "b\x7fc", false),
        ] {
            for first in [0x00, 0x10, 0x40] {
                let mut block = vec![first];
                integer::write(&mut block, 0, 7, name.len());
                block.extend(name.as_bytes());
                integer::write(&mut block, 0, 7, value.len());
                block.extend(value.as_bytes());
                let mut decoder = Decoder::new();
                let mark = if valid { "" } else { " (invalid)" };
                let expected = [format!("{name}: {value}{mark}")];
                assert_eq!(lines(&mut decoder, &block).unwrap(), expected);
                if first == 0x40 {
                    assert_eq!(lines(&mut decoder, &[0xbe]).unwrap(), expected);
                    // Another value for an entry that was invalid for its own.
                    let expected = [format!(
                        "{name}: x{}",
                        if FieldLine::is_name(name.as_bytes()) {
                            ""
                        } else {
                            mark
                        }
                    )];
                    assert_eq!(
                        lines(&mut decoder, &[0x0f, 0x2f, 1, b'x']).unwrap(),
                        expected
                    );
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(blocks: Vec<Vec<u8>>) {
            let mut decoder = Decoder::new();
            for block in blocks {
                if lines(&mut decoder, &block).is_err() {
                    break;
                }
            }
        }
    }
}
