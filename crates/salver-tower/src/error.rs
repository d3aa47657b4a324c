//! What can go wrong, by who must act.

use std::fmt;
use std::io;
use std::path::PathBuf;

use salver_assets::ConfigError;

/// Why there are no [`Assets`](crate::Assets).
#[derive(Debug)]
pub enum Error {
    /// The directory cannot be opened.
    Directory(PathBuf, io::Error),
    /// A setting cannot be used.
    Setting(ConfigError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Directory(path, error) => {
                write!(f, "cannot serve {}: {error}", path.display())
            }
            Error::Setting(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Directory(_, error) => Some(error),
            Error::Setting(error) => Some(error),
        }
    }
}

/// Why a file was not [read](crate::Assets::read).
#[derive(Debug)]
pub enum ReadError {
    /// There is no such file, or it is one that is not shown.
    NotFound,
    /// The path is a directory's.
    Directory,
    /// There is one, but it cannot be had: too many loads wait (503), it does not come to rest (503),
    /// or the system refuses (500).
    Status(u16),
    /// It changed, or the disk failed, while it was read.
    Io(io::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::NotFound => f.write_str("there is no such file"),
            ReadError::Directory => f.write_str("it is a directory"),
            ReadError::Status(status) => write!(f, "the file cannot be had now ({status})"),
            ReadError::Io(error) => write!(f, "the file cannot be read: {error}"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::Io(error) => Some(error),
            ReadError::NotFound | ReadError::Directory | ReadError::Status(_) => None,
        }
    }
}
