//! The error of HPACK and QPACK.

/// The error of a field section that cannot be decoded. HPACK ends the connection for each (RFC 9113 section 4.3), QPACK
/// too (RFC 9204 section 2.2): the tables of both sides may differ from then on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeError {
    /// The input ends within an integer, a string or a line.
    Truncated,
    /// An integer or a length is larger than any valid one: 16 Mi.
    TooLarge,
    /// A string is not Huffman code: it holds the end-of-string symbol, or its padding is longer than seven bits or not
    /// the beginning of that symbol.
    Huffman,
    /// An index or a reference has no entry.
    Reference,
    /// The dynamic table is made larger than allowed, or its size is changed behind a field line.
    TableSize,
}
