//! Errors of a store: what is wrong, where, and what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why something was not done. The text is one line: what is wrong, and what to do.
#[derive(Debug)]
pub enum Error {
    /// It was asked for something that cannot be meant.
    Misused(String),
    /// Another deploy, rollback or prune is under way.
    Busy(String),
    /// Another release has become current since who deploys has looked.
    Overtaken(String),
    /// It is more than may be deployed.
    TooLarge(String),
    /// The store is damaged.
    Damaged(String),
    /// The system said no.
    Io(PathBuf, io::Error),
    /// Whoever waits has ended it.
    Stopped,
}

impl Error {
    /// Errors of the system at this path.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
        let path = path.to_owned();
        move |error| match Stopped::is(&error) {
            true => Error::Stopped,
            false => Error::Io(path, error),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Misused(text)
            | Error::Busy(text)
            | Error::Overtaken(text)
            | Error::TooLarge(text)
            | Error::Damaged(text) => f.write_str(text),
            Error::Io(path, error) => {
                write!(f, "{path:?}: {error}")?;
                f.write_str(match error.kind() {
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                        ": make room, `salver prune` removes old releases"
                    }
                    io::ErrorKind::PermissionDenied if path.to_string_lossy().contains("://") => {
                        ": give credentials that may"
                    }
                    io::ErrorKind::PermissionDenied => ": run it as a user who may",
                    _ => "",
                })
            }
            Error::Stopped => f.write_str("interrupted: nothing was switched"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(_, error) => Some(error),
            _ => None,
        }
    }
}

/// The mark of an error of reading that is the end of it by who waits.
#[derive(Debug)]
pub(crate) struct Stopped;

impl Stopped {
    /// True if the error is this mark.
    pub(crate) fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Stopped>())
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Stopped {}
