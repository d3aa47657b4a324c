//! Header compression (RFC 7541): a decoder with its dynamic table, and an encoder without one.

mod decoder;
mod dynamic_table;
mod encoder;
mod static_table;

pub(crate) use decoder::Decoder;
pub(crate) use encoder::{push_line, push_status};

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
