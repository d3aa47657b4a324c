//! A request head as it was received.

/// A head as it was received, from its request line to its empty line. Its syntax has been checked.
#[derive(Clone, Copy, Default, Debug)]
pub struct RawHead<'b> {
    pub(crate) bytes: &'b [u8],
    /// The value of its Host field, if that was remembered.
    pub(crate) host: Option<&'b [u8]>,
}

impl PartialEq for RawHead<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for RawHead<'_> {}

impl<'b> RawHead<'b> {
    /// The token of the method, a known one or not.
    pub fn method_token(self) -> &'b [u8] {
        let end = self.bytes.iter().position(|byte| *byte == b' ');
        end.and_then(|end| self.bytes.get(..end))
            .unwrap_or_default()
    }

    /// The authority that the request is for; see [`authority`](crate::authority).
    pub fn authority(self) -> Option<&'b [u8]> {
        let target = self.bytes.get(self.method_token().len() + 1);
        match self.host {
            // RFC 9112 section 3.2.2: an authority in the target is the one that counts.
            Some(host) if matches!(target, Some(b'/' | b'*')) => Some(host),
            _ => crate::authority(self.bytes),
        }
    }

    /// Name and value of each field line, in their order, those of unknown fields included.
    pub fn field_lines(self) -> impl Iterator<Item = (&'b [u8], &'b [u8])> {
        let mut ends = memchr::memchr_iter(b'\n', self.bytes);
        let mut begin = ends.next().map_or(self.bytes.len(), |end| end + 1);
        ends.filter_map(move |end| {
            let line = self.bytes.get(begin..end)?;
            begin = end + 1;
            let (name, value) = line.split_at_checked(memchr::memchr(b':', line)?)?;
            Some((name, value.get(1..).unwrap_or_default().trim_ascii()))
        })
    }
}
