//! Why nothing was measured, by who must act.

use std::fmt;

/// Why there is no result. The text is one line: what is wrong, then what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BenchError {
    /// What was asked for cannot be meant.
    Misused(String),
    /// It can, and could not be done.
    Failed(String),
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (BenchError::Misused(text) | BenchError::Failed(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for BenchError {}
