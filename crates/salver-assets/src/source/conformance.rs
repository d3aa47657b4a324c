//! Conformance tests for every [`Source`](super::Source). Call it from a test of the implementation.
//!
//! ```
//! use salver_assets::MemorySource;
//! use salver_assets::source::conformance::{FILES, check, check_apart, check_changes};
//!
//! let make = || {
//!     let source = MemorySource::new();
//!     for (path, content) in FILES {
//!         source.insert(path, content, 0);
//!     }
//!     source
//! };
//! let source = make();
//! check(&source)?;
//! check_apart(&source, &make())?;
//! // Only of sources that can change.
//! check_changes(&source, |path, content| match content {
//!     Some(content) => source.insert(path, content.to_vec(), 0),
//!     None => source.remove(path),
//! })?;
//! # Ok::<(), salver_assets::source::conformance::Violation>(())
//! ```

mod changes;
mod rules;
#[cfg(test)]
mod tests;

use std::fmt;

pub use changes::{check_apart, check_changes};
pub use rules::check;

/// The length of a file that is too long to be read in one piece, in bytes.
const LONG: usize = 70_000;

/// A name of what names seldom have; Windows takes less.
const ODD: &str = if cfg!(windows) {
    "odd %2f#{}'\u{7f}.txt"
} else {
    "odd \n\"%2f\\?#{}'\u{7f}.txt"
};

/// The files that a source must hold to be checked: relative path and content. It holds nothing
/// else, and of siblings with another coding only those that are here.
pub const FILES: [(&str, &[u8]); 14] = [
    ("a.txt", b"alpha"),
    ("empty", b""),
    ("long.bin", &long()),
    (ODD, b"odd"),
    // Sorted as bytes, these stand before, between and behind what is in the directory.
    ("sub-b", b"before"),
    ("sub.txt", b"before"),
    ("sub/b.txt", b"beta"),
    (
        "sub/b.txt.gz",
        b"\x1f\x8b\x08\0\0\0\0\0\x02\xffKJ-I\x04\0c\x04\x91\x8f\x04\0\0\0",
    ),
    ("sub/deep/1/2/3/4/5/6/7/8/9/f", b"deep"),
    ("sub/deep/b.txt", b"gamma"),
    ("sub/deep/caf\u{e9}", b"delta"),
    ("sub/deeper", b"epsilon"),
    ("sub0", b"behind"),
    ("twin.txt", b"alpha"),
];

const fn long() -> [u8; LONG] {
    let mut bytes = [b'.'; LONG];
    let (mut rest, mut byte): (&mut [u8], u8) = (&mut bytes, 0);
    while let Some((first, behind)) = rest.split_first_mut() {
        *first = byte;
        byte = if byte == 250 { 0 } else { byte + 1 };
        rest = behind;
    }
    bytes
}

/// A promise of [`Source`](super::Source) and [`View`](super::View).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// A view of the tree is given.
    View,
    /// What a view says to await ends, and then it tells what it did not: [`View::awaited`](super::View::awaited).
    Awaited,
    /// `stat` says of a file that it is one, and how long.
    File,
    /// The metadata that `open` gives is that of `stat`.
    Opened,
    /// The bytes are right, from wherever they are read.
    Content,
    /// Reading from the end or beyond it gives 0 bytes.
    End,
    /// No two files have the same identity.
    Identity,
    /// Digests that are given without reading are right: [`View::known`](super::View::known).
    Known,
    /// `stat` says of a directory that it is one, the root included.
    Directory,
    /// A directory is not opened: `InvalidInput`.
    DirectoryIsNoFile,
    /// A file is not listed: `NotADirectory`.
    FileIsNoDirectory,
    /// A listing has every name, each once, and no other; a part of it has as many as are wanted.
    Listing,
    /// Every method, where nothing is, says `NotFound` or `NotADirectory`.
    Absent,
    /// Every method says the same at paths with dot or empty segments, at absolute ones, with a slash at the
    /// end and with NUL.
    Unclean,
    /// A caller that must not wait gets the same, or `WouldBlock`.
    NotWaiting,
    /// A file that was replaced has another identity and the new content in the next view.
    Replaced,
    /// A handle that was opened before that keeps its content.
    Held,
    /// A new file is found, and listed.
    New,
    /// A file that was removed is gone, and no longer listed.
    Removed,
    /// Two sources have no identity in common.
    Apart,
}

impl Rule {
    /// Every rule, in the order in which they are checked.
    pub const ALL: [Rule; 20] = [
        Rule::View,
        Rule::Awaited,
        Rule::File,
        Rule::Opened,
        Rule::Content,
        Rule::End,
        Rule::Identity,
        Rule::Known,
        Rule::Directory,
        Rule::DirectoryIsNoFile,
        Rule::FileIsNoDirectory,
        Rule::Listing,
        Rule::Absent,
        Rule::Unclean,
        Rule::NotWaiting,
        Rule::Replaced,
        Rule::Held,
        Rule::New,
        Rule::Removed,
        Rule::Apart,
    ];
}

/// A rule that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The observation that violates it, and where it was made.
    pub seen: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.seen)
    }
}

impl std::error::Error for Violation {}

/// A function that makes violations of a rule.
fn violates(rule: Rule) -> impl Fn(String) -> Violation {
    move |seen| Violation { rule, seen }
}
