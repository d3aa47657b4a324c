//! A preview: a file that gives a release a name of its own until a moment. It is replaced by rename.
//!
//! ```text
//! salver-preview 1
//! release 20261124-013510-3f9a1c2b
//! expires 1764604800
//! ```
//!
//! The name of the file is that of the preview, which is the beginning of a host.

use std::fmt;

use crate::files::release_id::ReleaseId;

/// The longest such file, in bytes.
pub(crate) const MOST_BYTES: u64 = 256;

/// The longest name, in bytes: with the host of a site it has to fit in a label (RFC 1035 section 2.3.4).
const LONGEST_NAME: usize = 32;

/// The name of a preview: letters in lower case, digits, and single hyphens between them.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PreviewName(String);

impl PreviewName {
    /// The name that is written so.
    pub fn parse(text: &str) -> Option<Self> {
        let is_known = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        let is_name = (1..=LONGEST_NAME).contains(&text.len())
            && text.bytes().all(is_known)
            && !text.starts_with('-')
            && !text.ends_with('-')
            && !text.contains("--")
            // `xn--` begins a host in another script (RFC 5890 section 2.3.1).
            && text != "xn"
            && ReleaseId::parse(text).is_none();
        is_name.then(|| PreviewName(text.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PreviewName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PreviewName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A release that has a name of its own until a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The name.
    pub name: PreviewName,
    /// The release.
    pub release: ReleaseId,
    /// The moment from which on it is not shown, in seconds since 1970.
    pub expires_unix_seconds: i64,
}

impl Preview {
    /// True if it is not shown any more at this moment, in seconds since 1970.
    pub fn has_expired(&self, now_unix_seconds: i64) -> bool {
        now_unix_seconds >= self.expires_unix_seconds
    }

    pub(crate) fn to_text(&self) -> String {
        let Preview {
            release,
            expires_unix_seconds,
            ..
        } = self;
        format!("salver-preview 1\nrelease {release}\nexpires {expires_unix_seconds}\n")
    }

    /// The preview of this name, whose file has this text.
    pub(crate) fn parse(name: PreviewName, text: &str) -> Option<Self> {
        let mut lines = text.lines().skip(1);
        let release = lines.next()?.strip_prefix("release ")?;
        let expires = lines.next()?.strip_prefix("expires ")?;
        let preview = Preview {
            name,
            release: ReleaseId::parse(release)?,
            expires_unix_seconds: expires.parse().ok()?,
        };
        (preview.to_text() == text).then_some(preview)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::digest::BlobDigest;
    use proptest::prelude::*;

    #[test]
    fn a_name_is_the_beginning_of_a_host() {
        for name in ["a", "next", "pr-17", "0", &"a".repeat(32), "20261124"] {
            assert_eq!(PreviewName::parse(name).unwrap().as_str(), name);
        }
        for wrong in [
            "",
            "-a",
            "a-",
            "a--b",
            "xn",
            "Next",
            "a.b",
            "a/b",
            "..",
            "a_b",
            "\u{e4}",
            &"a".repeat(33),
            "20251124-160000-e3b0c442",
        ] {
            assert_eq!(PreviewName::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn it_is_read_as_it_was_written_and_nothing_else_is() {
        let name = PreviewName::parse("next").unwrap();
        let preview = Preview {
            name: name.clone(),
            release: ReleaseId::new(1_764_000_000, &BlobDigest::of(b"")),
            expires_unix_seconds: 1_764_604_800,
        };
        let text = preview.to_text();
        assert!(u64::try_from(text.len()).unwrap() < MOST_BYTES);
        assert_eq!(Preview::parse(name.clone(), &text), Some(preview.clone()));
        for at in 0..text.len() {
            let cut = text.get(..at).unwrap();
            assert_eq!(Preview::parse(name.clone(), cut), None, "{at}");
        }
        for wrong in [
            text.replace("preview 1", "preview 2"),
            text.replace("1764604800", "01764604800"),
            format!("{text}x"),
        ] {
            assert_eq!(Preview::parse(name.clone(), &wrong), None, "{wrong}");
        }
        assert!(!preview.has_expired(1_764_604_799) && preview.has_expired(1_764_604_800));
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = PreviewName::parse(&text);
            let _ = Preview::parse(PreviewName::parse("a").unwrap(), &text);
        }
    }
}
