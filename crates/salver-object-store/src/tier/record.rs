//! The bytes of a file of the tier: what it is of, its content, and a hash over all of that. Nothing that is read is
//! believed without.
//!
//! ```text
//! magic (8) │ length of what it is of (4) │ what it is of │ content │ SHA-256 (32)
//! ```
//!
//! Numbers begin with their lowest byte. What it is of is written in the same way by whoever looks for it: a file is the one
//! that is looked for if these bytes are equal, or begin as they should.

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

/// The first bytes of each file. The last is the version of this form.
const MAGIC: [u8; 8] = *b"salver-\x01";

/// The bytes of the hash at the end.
const HASH: usize = 32;

/// The bytes before what it is of.
const HEAD: usize = 12;

/// The longest text of what a file is of, in bytes: a place, a key, two tags.
pub(super) const LONGEST_SUBJECT: usize = 16 * 1024;

/// The bytes that a file has besides its content and what it is of.
pub(super) const OVERHEAD: usize = HEAD + HASH;

/// What is before the content of a file, and the hash behind it.
pub(super) fn write(subject: &[u8], content: &[u8]) -> (Vec<u8>, [u8; HASH]) {
    let mut head = Vec::with_capacity(HEAD + subject.len());
    head.extend_from_slice(&MAGIC);
    let length = u32::try_from(subject.len()).unwrap_or(u32::MAX);
    head.extend_from_slice(&length.to_le_bytes());
    head.extend_from_slice(subject);
    let mut hasher = Sha256::new();
    hasher.update(&head);
    hasher.update(content);
    (head, hasher.finalize().into())
}

/// What a file is of, and its content, if it is whole.
pub(super) fn read(file: Vec<u8>) -> Option<(Bytes, Bytes)> {
    let (body, hash) = file.split_last_chunk::<HASH>()?;
    if <[u8; HASH]>::from(Sha256::digest(body)) != *hash {
        return None;
    }
    let (magic, rest) = body.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    if *magic != MAGIC || length > rest.len() {
        return None;
    }
    let end = body.len();
    let file = Bytes::from(file);
    let subject = file.slice(HEAD..HEAD + length);
    Some((subject, file.slice(HEAD + length..end)))
}

/// The bytes that most of what is written takes at most: what a file is of.
const ROOM: usize = 256;

/// Values that are written one after the other.
#[derive(Debug)]
pub(super) struct Fields(pub(super) Vec<u8>);

impl Default for Fields {
    fn default() -> Self {
        Fields(Vec::with_capacity(ROOM))
    }
}

impl Fields {
    pub(super) fn number(mut self, number: u64) -> Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub(super) fn text(mut self, text: &[u8]) -> Self {
        self = self.number(u64::try_from(text.len()).unwrap_or(u64::MAX));
        self.0.extend_from_slice(text);
        self
    }

    /// A text that there may be none of.
    pub(super) fn optional(self, text: Option<&str>) -> Self {
        match text {
            None => self.number(0),
            Some(text) => self.number(1).text(text.as_bytes()),
        }
    }
}

/// What is left to be read of [`Fields`].
#[derive(Debug)]
pub(super) struct Reading<'a>(pub(super) &'a [u8]);

impl<'a> Reading<'a> {
    pub(super) fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    pub(super) fn text(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text)
    }

    /// A text that there may be none of: `None` if it is not even that.
    pub(super) fn optional(&mut self) -> Option<Option<String>> {
        match self.number()? {
            0 => Some(None),
            1 => Some(Some(str::from_utf8(self.text()?).ok()?.to_owned())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(subject: &[u8], content: &[u8]) -> Vec<u8> {
        let (head, hash) = write(subject, content);
        [&head[..], content, &hash].concat()
    }

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        for (subject, content) in [(&b"of a"[..], &b"content"[..]), (b"", b""), (b"x", b"")] {
            let whole = file(subject, content);
            assert_eq!(whole.len(), subject.len() + content.len() + OVERHEAD);
            let read_back = read(whole.clone()).unwrap();
            assert_eq!((&*read_back.0, &*read_back.1), (subject, content));
            for length in 0..whole.len() {
                assert_eq!(read(whole[..length].to_vec()), None, "{length}");
            }
            for at in 0..whole.len() {
                for bit in 0..8 {
                    let mut wrong = whole.clone();
                    wrong[at] ^= 1 << bit;
                    assert_eq!(read(wrong), None, "{at} {bit}");
                }
            }
            assert_eq!(read([&whole[..], b"x"].concat()), None);
        }
    }

    #[test]
    fn fields_are_read_as_they_were_written() {
        let fields = Fields::default()
            .number(7)
            .text(b"text")
            .optional(None)
            .optional(Some("tag"));
        let mut reading = Reading(&fields.0);
        assert_eq!(reading.number(), Some(7));
        assert_eq!(reading.text(), Some(&b"text"[..]));
        assert_eq!(reading.optional(), Some(None));
        assert_eq!(reading.optional(), Some(Some("tag".to_owned())));
        assert_eq!((reading.number(), reading.0.len()), (None, 0));
        for length in 0..fields.0.len() {
            let mut reading = Reading(&fields.0[..length]);
            let all = (reading.number(), reading.text().is_some());
            let rest = reading.optional().zip(reading.optional());
            assert!(all.0.is_none() || !all.1 || rest.is_none(), "{length}");
        }
        let mut lying = Reading(&[255; 16]);
        assert_eq!(lying.text(), None);
    }
}
