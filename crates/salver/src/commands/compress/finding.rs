//! What becomes of files: siblings that are right, and what is wrong with others.

use std::path::PathBuf;

use salver_coding::ContentCoding;
use serde::Serialize;

use super::original::Version;

/// What is wrong with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// A sibling that a run would make is not there.
    Missing,
    /// A sibling does not decode to its file.
    Stale,
    /// A sibling is not shorter than its file, or its file is gone.
    Useless,
    /// The system said no.
    Failed,
    /// A file is left as it is, and this says why.
    Skipped,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Missing => "missing",
            Kind::Stale => "stale",
            Kind::Useless => "useless",
            Kind::Failed => "failed",
            Kind::Skipped => "skipped",
        }
    }
}

/// Something that is wrong with a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// Beneath the directory.
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    pub(super) why: String,
}

/// A sibling that decodes to its file, and is shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sibling {
    pub(super) coding: ContentCoding,
    pub(super) length: u64,
    /// True if this run made it.
    pub(super) is_new: bool,
}

/// The result for a file.
#[derive(Clone, Debug)]
pub(super) struct FileResult {
    /// Beneath the directory.
    pub(super) path: PathBuf,
    pub(super) length: u64,
    /// The version that was looked at.
    pub(super) version: Version,
    pub(super) siblings: Vec<Sibling>,
    pub(super) findings: Vec<Finding>,
}

/// A path as a line for people has it, however hostile: quoted, with all that could do something to a terminal escaped.
pub(super) fn shown(path: &std::path::Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+@%,=~".contains(&byte);
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => text.into_owned(),
        false => format!("{path:?}"),
    }
}
