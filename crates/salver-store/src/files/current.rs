//! The file that names the current release. Replacing it is the switch.
//!
//! ```text
//! salver-current 1
//! release 20261124-013510-3f9a1c2b
//! change 17
//! ```
//!
//! The number counts all changes of the store: whoever serves it compares the file, and reads the rest of the store
//! anew only if something else has changed. Another release with the next number is nothing but that switch. In a bucket a
//! [bundle] may follow these lines.

use crate::files::bundle;
use crate::files::release_id::ReleaseId;

/// The most bytes of the lines.
pub(crate) const MOST_LINE_BYTES: u64 = 256;

/// The longest such file, in bytes.
pub(crate) const MOST_BYTES: u64 = MOST_LINE_BYTES + bundle::MOST_BYTES as u64;

/// The current release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Current {
    pub(crate) release: ReleaseId,
    /// The number of changes of the store.
    pub(crate) change: u64,
}

impl Current {
    /// True if there was one change from that to this.
    pub(crate) fn is_next_after(&self, before: &Current) -> bool {
        before.change.checked_add(1) == Some(self.change)
    }

    pub(crate) fn to_text(&self) -> String {
        let Current { release, change } = self;
        format!("salver-current 1\nrelease {release}\nchange {change}\n")
    }

    /// What the lines say that these bytes begin with, and the bytes that follow them.
    pub(crate) fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let length = bytes.split_inclusive(|byte| *byte == b'\n').take(3);
        let (text, rest) = bytes.split_at_checked(length.map(<[u8]>::len).sum())?;
        let text = std::str::from_utf8(text).ok()?;
        let mut lines = text.lines().skip(1);
        let release = lines.next()?.strip_prefix("release ")?;
        let change = lines.next()?.strip_prefix("change ")?;
        let current = Current {
            release: ReleaseId::parse(release)?,
            change: change.parse().ok()?,
        };
        (current.to_text() == text).then_some((current, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::digest::BlobDigest;
    use proptest::prelude::*;

    #[test]
    fn it_is_read_as_it_was_written_and_nothing_else_is() {
        let release = ReleaseId::new(1_764_000_000, &BlobDigest::of(b""));
        let current = Current {
            release,
            change: 17,
        };
        let text = current.to_text();
        let parse = |text: &str| Current::parse(text.as_bytes()).map(|(current, _)| current);
        for rest in ["", "x", "\n", "two\nlines\n"] {
            let followed = text.clone() + rest;
            let expected = Some((current.clone(), rest.as_bytes()));
            assert_eq!(Current::parse(followed.as_bytes()), expected);
        }
        for at in 0..text.len() {
            assert_eq!(parse(text.get(..at).unwrap()), None, "{at}");
        }
        for wrong in [
            text.replace("current 1", "current 2"),
            text.replace("17", "017"),
            text.replace("17", "-1"),
            text.replace('\n', "\r\n"),
        ] {
            assert_eq!(parse(&wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Current::parse(&bytes);
        }
    }
}
