//! Tables of bytes: which belong to a set, in one look for each.

/// A set of bytes.
pub(crate) type ByteTable = [bool; 256];

/// The set of these bytes.
pub(crate) const fn byte_table(bytes: &[u8]) -> ByteTable {
    let mut table = [false; 256];
    let mut rest = bytes;
    while let [byte, tail @ ..] = rest {
        // Only the compiler runs this.
        #[allow(clippy::indexing_slicing)]
        {
            table[*byte as usize] = true;
        }
        rest = tail;
    }
    table
}

/// True if `byte` belongs to `table`.
#[inline]
pub(crate) fn has(table: &ByteTable, byte: u8) -> bool {
    table.get(usize::from(byte)) == Some(&true)
}
