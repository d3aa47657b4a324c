//! Errors, in one line each.

use std::fmt;
use std::path::Path;

/// The reason why a directory cannot be embedded: what, where, and what to do. `Debug` says the same as
/// `Display`, so that a `main` which returns it says it well.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// An error about the file or directory at `path`. Names may hold anything, so they are quoted.
    pub(crate) fn at(path: &Path, what: impl fmt::Display) -> Self {
        Error(format!("cannot embed {path:?}: {what}"))
    }

    /// An error about the surroundings of the build.
    pub(crate) fn of(what: impl Into<String>) -> Self {
        Error(what.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
