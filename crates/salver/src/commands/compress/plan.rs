//! What is to be done, the same for each file.

use std::path::PathBuf;

use salver_coding::{CompressibleTypes, ContentCoding, Effort};

/// The work that a command line asks for.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// The directory, without links on the way to it.
    pub(super) root: PathBuf,
    /// The codings that siblings are made in; at least one.
    pub(super) codings: Vec<ContentCoding>,
    pub(super) effort: Effort,
    pub(super) types: CompressibleTypes,
    /// The bytes of the longest file that is compressed.
    pub(super) longest: u64,
    /// Nothing is written: what a run would do is said.
    pub(super) only_checks: bool,
    /// Siblings that are right are made anew, too.
    pub(super) anew: bool,
    pub(super) threads: usize,
}
