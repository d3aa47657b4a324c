//! A field section that was decoded.

/// Field lines in their order, in two buffers that are used again for the next section.
#[derive(Clone, Debug, Default)]
pub struct FieldSection {
    bytes: Vec<u8>,
    /// For each line: where its value begins and where it ends.
    lines: Vec<(usize, usize)>,
}

/// What RFC 9114 section 4.2.2 counts for a line besides its bytes.
const LINE: usize = 32;

impl FieldSection {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.lines.clear();
    }

    /// Where the bytes of a line are appended: its name, then its value.
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The line that ends here has its value there. Whether its name begins with a colon.
    pub(crate) fn end_line(&mut self, value: usize) -> bool {
        let start = self.lines.last().map_or(0, |&(_, end)| end);
        self.lines.push((value, self.bytes.len()));
        start < value && self.bytes.get(start) == Some(&b':')
    }

    /// The size that RFC 9114 section 4.2.2 limits.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len() + LINE * self.lines.len()
    }

    /// Whether the lines, as far as they were decoded, are those of a HEAD request: then its answer
    /// has no content, whatever else is wrong (RFC 9110 section 9.3.2).
    pub fn is_head(&self) -> bool {
        self.iter().any(|line| line == (b":method", b"HEAD"))
    }

    /// Name and value of each line.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut start = 0;
        self.lines.iter().map(move |&(value, end)| {
            let name = self.bytes.get(start..value).unwrap_or_default();
            let value = self.bytes.get(value..end).unwrap_or_default();
            start = end;
            (name, value)
        })
    }
}
