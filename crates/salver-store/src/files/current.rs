//! The file that names the current release. Replacing it is the switch.
//!
//! ```text
//! salver-current 1
//! release 20261124-013510-3f9a1c2b
//! change 17
//! ```
//!
//! The number counts all changes of the store: whoever serves it compares the file, and reads the rest of the store
//! anew only if it has changed.

use crate::files::release_id::ReleaseId;

/// The longest such file, in bytes.
pub(crate) const MOST_BYTES: u64 = 256;

/// The current release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Current {
    pub(crate) release: ReleaseId,
    /// The number of changes of the store.
    pub(crate) change: u64,
}

impl Current {
    pub(crate) fn to_text(&self) -> String {
        let Current { release, change } = self;
        format!("salver-current 1\nrelease {release}\nchange {change}\n")
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().skip(1);
        let release = lines.next()?.strip_prefix("release ")?;
        let change = lines.next()?.strip_prefix("change ")?;
        let current = Current {
            release: ReleaseId::parse(release)?,
            change: change.parse().ok()?,
        };
        (current.to_text() == text).then_some(current)
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
        assert_eq!(Current::parse(&text), Some(current));
        for at in 0..text.len() {
            assert_eq!(Current::parse(text.get(..at).unwrap()), None, "{at}");
        }
        for wrong in [
            text.replace("current 1", "current 2"),
            text.replace("17", "017"),
            text.replace("17", "-1"),
            format!("{text}x"),
            text.replace('\n', "\r\n"),
        ] {
            assert_eq!(Current::parse(&wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = Current::parse(&text);
        }
    }
}
