//! Errors, sorted by who must act.

use std::fmt;
use std::io;
use std::path::PathBuf;

use salver_assets::rules::Fault;
use salver_assets::{ConfigError, PathError, StorageError};

/// The reason why there are no [`Assets`](crate::Assets).
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The directory cannot be opened.
    Directory(PathBuf, io::Error),
    /// A setting cannot be used.
    Setting(ConfigError),
    /// An [error page](crate::Builder::error_page) cannot be had.
    ErrorPage(Fault),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Directory(path, error) => {
                write!(f, "cannot serve {}: {error}", path.display())
            }
            Error::Setting(error) => error.fmt(f),
            Error::ErrorPage(fault) => write!(f, "error page: {fault}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Directory(_, error) => Some(error),
            Error::Setting(error) => Some(error),
            Error::ErrorPage(fault) => Some(fault),
        }
    }
}

/// The reason why a file was not [read](crate::Assets::read).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// The name cannot be that of a file: it leads out of the directory, or holds a NUL. The disk was not
    /// asked.
    Name(PathError),
    /// There is no such file, or it is not served.
    NotFound,
    /// The path is a directory's.
    Directory,
    /// The system does not let this process read it.
    Forbidden,
    /// Overloaded: too many files are open, the file is rewritten all the time, or a request had begun its
    /// load and too many of those wait. Try again.
    Busy,
    /// It is longer than [`Builder::read_up_to`](crate::Builder::read_up_to) lets a file be, by its length in bytes.
    TooLong(u64),
    /// The storage failed: the log says more, and [`Event::Failed`](crate::Event::Failed) has the whole error.
    Failed(StorageError),
    /// The read was given up: the runtime ended.
    GivenUp,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReadError::Name(error) => return write!(f, "the name is no file's: {error}"),
            ReadError::NotFound => "there is no such file",
            ReadError::Directory => "it is a directory",
            ReadError::Forbidden => "this process may not read the file",
            ReadError::Busy => "the file cannot be had now: try again",
            ReadError::TooLong(length) => {
                return write!(f, "the file is too long to be read whole: {length} bytes");
            }
            ReadError::Failed(error) => return write!(f, "the file cannot be read: {error}"),
            ReadError::GivenUp => "the read was given up: the runtime has ended",
        })
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::Name(error) => Some(error),
            ReadError::Failed(error) => Some(error),
            _ => None,
        }
    }
}
