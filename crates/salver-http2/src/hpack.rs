//! Header compression (RFC 7541): a decoder with its dynamic table, and an encoder without one.

mod decoder;
mod dynamic_table;
mod encoder;
mod static_table;

use salver_fields::integer::IntegerError;
use salver_fields::string::StringError;

pub(crate) use decoder::Decoder;
pub(crate) use encoder::{push_line, push_status};

/// The error of a field block that cannot be decoded. Each is a connection error (RFC 9113 section 4.3): the dynamic
/// tables of both sides may differ from then on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HpackError {
    /// The block ends within a field line.
    Truncated,
    /// An integer is too large.
    Integer,
    /// A string is not Huffman code.
    Huffman,
    /// An index has no entry.
    Index,
    /// The table is made larger than allowed, or its size is changed behind a field line.
    TableSize,
}

impl From<IntegerError> for HpackError {
    fn from(error: IntegerError) -> Self {
        match error {
            IntegerError::Truncated => HpackError::Truncated,
            IntegerError::TooLarge => HpackError::Integer,
        }
    }
}

impl From<StringError> for HpackError {
    fn from(error: StringError) -> Self {
        match error {
            StringError::Truncated => HpackError::Truncated,
            StringError::TooLarge => HpackError::Integer,
            StringError::Huffman => HpackError::Huffman,
        }
    }
}

/// Bytes in hexadecimal, with white space anywhere, as the specification writes them.
#[cfg(test)]
pub(crate) fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
    digits
        .chunks(2)
        .map(|digits| pair(digits).unwrap())
        .collect()
}
