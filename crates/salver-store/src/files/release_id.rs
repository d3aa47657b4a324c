//! Names of releases: when, and what of.

use std::fmt;

use salver_semantics::CivilTime;

use crate::files::digest::BlobDigest;
use crate::files::time::{self, LAST};

/// The name of a release: `20261124-013510-3f9a1c2b`, the time of its deploy in UTC and the begin of the SHA-256 over
/// what it holds.
///
/// The order of the names is that of the deploys: where the clock stands still or goes back, the next name is a second
/// later than the last. It is short enough for a label of a host name (RFC 1035 section 2.3.4), and in lower case.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReleaseId(String);

/// The length of a name, in bytes.
const LENGTH: usize = 24;

impl ReleaseId {
    /// The name of what was deployed then and has this digest.
    pub(crate) fn new(unix_seconds: i64, of: &BlobDigest) -> Self {
        let CivilTime {
            year,
            month,
            day,
            hour,
            minute,
            second,
        } = CivilTime::of(unix_seconds.clamp(0, LAST));
        let digest: String = of.to_string().chars().take(8).collect();
        ReleaseId(format!(
            "{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}-{digest}"
        ))
    }

    /// The name that is written so.
    pub fn parse(text: &str) -> Option<Self> {
        unix_seconds_of(text)?;
        let digest = text.get(16..)?;
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let name = ReleaseId(text.to_owned());
        let is_name = text.len() == LENGTH && digest.bytes().all(is_hex);
        is_name.then_some(name)
    }

    /// The time in it, in seconds since 1970.
    pub fn unix_seconds(&self) -> i64 {
        unix_seconds_of(&self.0).unwrap_or(0)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if the name says that it is of what has this digest.
    pub(crate) fn is_of(&self, digest: &BlobDigest) -> bool {
        self.0
            .get(16..)
            .is_some_and(|part| digest.to_string().starts_with(part))
    }
}

fn unix_seconds_of(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| {
        let part = text.get(from..to)?;
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse::<i64>().ok()).flatten()
    };
    let are_separated = text.get(8..9) == Some("-") && text.get(15..16) == Some("-");
    if !are_separated {
        return None;
    }
    time::unix_seconds_of(CivilTime {
        year: number(0, 4)?,
        month: number(4, 6)?,
        day: number(6, 8)?,
        hour: number(9, 11)?,
        minute: number(11, 13)?,
        second: number(13, 15)?,
    })
}

impl fmt::Display for ReleaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ReleaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_says_when_and_what_of() {
        let digest = BlobDigest::of(b"");
        let id = ReleaseId::new(1_764_000_000, &digest);
        assert_eq!(id.as_str(), "20251124-160000-e3b0c442");
        assert_eq!(ReleaseId::parse(id.as_str()), Some(id.clone()));
        assert_eq!(id.unix_seconds(), 1_764_000_000);
        assert!(id.is_of(&digest) && !id.is_of(&BlobDigest::of(b"x")));
        for wrong in [
            "",
            "20251124-160000-e3b0c44",
            "20251124-160000-e3b0c4422",
            "20251124-160000-E3B0C442",
            "20251124_160000-e3b0c442",
            "20250230-160000-e3b0c442",
            "20251124-246000-e3b0c442",
            "2025112\u{e9}-16000-e3b0c442",
            "../../../../etc/passwd..",
        ] {
            assert_eq!(ReleaseId::parse(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn names_sort_as_their_times(one in 0..=LAST, other in 0..=LAST) {
            let (early, late) = (one.min(other), one.max(other));
            let of = |at, text: &[u8]| ReleaseId::new(at, &BlobDigest::of(text));
            if early < late {
                prop_assert!(of(early, b"x") < of(late, b"y"));
            }
            let id = of(one, b"z");
            prop_assert_eq!(ReleaseId::parse(id.as_str()), Some(id.clone()));
            prop_assert_eq!(id.unix_seconds(), one);
        }

        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = ReleaseId::parse(&text);
        }
    }
}
