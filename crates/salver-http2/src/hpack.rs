//! Header compression (RFC 7541): a decoder with its dynamic table, and an encoder without one.

mod decoder;
mod dynamic_table;
mod encoder;
mod static_table;

use salver_fields::integer::IntegerError;
use salver_fields::string::StringError;

pub(crate) use decoder::Decoder;
pub(crate) use encoder::{push_line, push_status};

/// Why a block cannot be decoded. Each is a connection error (RFC 9113 section 4.3): what the
/// dynamic table holds is no longer known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Error {
    /// It ends within a field line.
    Truncated,
    /// An integer is too large to mean anything.
    Integer,
    /// A string is not Huffman code.
    Huffman,
    /// There is no entry with this index.
    Index,
    /// The table is made larger than allowed, or its size is changed behind a field line.
    TableSize,
}

impl From<IntegerError> for Error {
    fn from(error: IntegerError) -> Self {
        match error {
            IntegerError::Truncated => Error::Truncated,
            IntegerError::TooLarge => Error::Integer,
        }
    }
}

impl From<StringError> for Error {
    fn from(error: StringError) -> Self {
        match error {
            StringError::Truncated => Error::Truncated,
            StringError::TooLarge => Error::Integer,
            StringError::Huffman => Error::Huffman,
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
