//! The list of what is kept in a directory, for the next process.
//!
//! ```text
//! salver-previous 1
//! 8f14e45fceea167a5a36dedd4bea2543 1000 1763999000 0 - 6170702e33663961316332622e6a73
//! ```
//!
//! A line has the digest of the content (XXH3-128), its length in bytes, its last modification in seconds since 1970 and
//! nanoseconds, the second since which it is gone (`-` if it was there), and its path in hexadecimal.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::source::digest::Digest;
use crate::source::previous::entries::{KeptFile, MOST_FILES};
use crate::source::{Timestamp, is_clean};

const FIRST: &str = "salver-previous 1";

/// A line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IndexLine {
    pub(super) path: Vec<u8>,
    pub(super) digest: Digest,
    pub(super) length: u64,
    pub(super) modified: Timestamp,
    pub(super) gone_since: Option<SystemTime>,
}

/// The list of these files.
pub(super) fn to_text<'e>(entries: impl Iterator<Item = (&'e [u8], &'e KeptFile)>) -> String {
    let mut text = format!("{FIRST}\n");
    for (path, kept) in entries {
        let modified = kept.modified();
        let gone = match kept.gone_since {
            Some(since) => {
                let since = since.duration_since(UNIX_EPOCH).unwrap_or_default();
                since.as_secs().to_string()
            }
            None => "-".to_owned(),
        };
        // A String takes everything.
        let _ = write!(
            text,
            "{:032x} {} {} {} {gone} ",
            kept.digest, kept.identity.length, modified.seconds, modified.nanoseconds
        );
        for byte in path {
            let _ = write!(text, "{byte:02x}");
        }
        text.push('\n');
    }
    text
}

/// The files of a list. Lines that are none are passed over.
pub(super) fn parse(text: &str) -> Vec<IndexLine> {
    let mut lines = text.lines();
    match lines.next() {
        Some(FIRST) => lines.filter_map(line).take(MOST_FILES).collect(),
        _ => Vec::new(),
    }
}

fn line(line: &str) -> Option<IndexLine> {
    let mut words = line.split(' ');
    let digest = Digest::from_str_radix(words.next()?, 16).ok()?;
    let length = words.next()?.parse().ok()?;
    let seconds = words.next()?.parse().ok()?;
    let nanoseconds = words.next()?.parse().ok()?;
    let gone_since = match words.next()? {
        "-" => None,
        since => UNIX_EPOCH.checked_add(Duration::from_secs(since.parse().ok()?)),
    };
    let path = bytes(words.next()?)?;
    let is_line = words.next().is_none() && !path.is_empty() && is_clean(&path);
    is_line.then_some(IndexLine {
        path,
        digest,
        length,
        modified: Timestamp {
            seconds,
            nanoseconds,
        },
        gone_since,
    })
}

/// The bytes that are written in hexadecimal.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    text.len()
        .is_multiple_of(2)
        .then(|| pairs.map(byte).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Identity;
    use proptest::prelude::*;

    #[test]
    fn it_is_read_as_it_was_written_and_what_is_damaged_is_passed_over() {
        let kept = |gone_since| KeptFile {
            identity: Identity {
                device: 1,
                inode: 2,
                length: 1000,
                modified: Timestamp {
                    seconds: -5,
                    nanoseconds: 7,
                },
                changed: Timestamp {
                    seconds: 0,
                    nanoseconds: 0,
                },
            },
            digest: 5,
            content: None,
            original: None,
            gone_since,
        };
        let gone = UNIX_EPOCH + Duration::from_secs(1_764_000_000);
        let (one, other) = (kept(None), kept(Some(gone)));
        let entries = [(&b"a/b.js"[..], &one), (&b"\xff \n"[..], &other)];
        let text = to_text(entries.into_iter());
        let read = parse(&text);
        assert_eq!(read.len(), 2);
        assert_eq!((&*read[0].path, read[0].gone_since), (&b"a/b.js"[..], None));
        assert_eq!(
            (&*read[1].path, read[1].gone_since),
            (&b"\xff \n"[..], Some(gone))
        );
        assert_eq!((read[1].digest, read[1].length), (5, 1000));
        assert_eq!(read[1].modified, other.identity.modified);
        for wrong in [
            text.replace("previous 1", "previous 2"),
            text.replace("612f62", "2e2e2f"),
            text.replace("612f62", "612f6"),
            text.replace(" 1000 ", " x "),
        ] {
            assert!(parse(&wrong).len() < 2, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = parse(&text);
            let _ = parse(&format!("{FIRST}\n{text}"));
        }
    }
}
