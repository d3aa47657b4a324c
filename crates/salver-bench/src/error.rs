//! The errors of a measurement, by who must act.

use std::fmt;
use std::path::Path;

/// The reason that there is no result. The text is one line: what is wrong, then what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BenchError {
    /// The request cannot be meant.
    Misused(String),
    /// It can be meant, and could not be done.
    Failed(String),
    /// Somebody ended it before there was anything to tell.
    Interrupted,
}

impl BenchError {
    /// Of a file or directory that cannot be read.
    pub(crate) fn unreadable(path: &Path, why: &dyn fmt::Display) -> BenchError {
        BenchError::Failed(format!("{} cannot be read: {why}", path.display()))
    }
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchError::Misused(text) | BenchError::Failed(text) => f.write_str(text),
            BenchError::Interrupted => f.write_str("interrupted: nothing was measured"),
        }
    }
}

impl std::error::Error for BenchError {}
