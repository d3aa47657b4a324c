//! Errors of loads, sorted by who must act, and their statuses.

use std::fmt;
use std::io;
use std::time::Duration;

/// The error of a failed load. It is given to all requests that wait for it, and not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// The file is there and this process may not read it: the operator's permissions.
    Forbidden,
    /// Out of descriptors, memory, or places in the loader's queue: try again.
    Overloaded,
    /// The file keeps changing while it is read: try again.
    Unsettled,
    /// The storage cannot be reached, or did not answer in time: try again.
    Unavailable(StorageError),
    /// The storage failed: the operator's log says more.
    Failed(StorageError),
    /// The load was given up: it panicked, or whoever was to perform it ended.
    GivenUp,
}

/// The error of a storage, as much of it as all who wait for a load can share. An [observer](crate::Observer) is told the
/// whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageError {
    kind: io::ErrorKind,
    code: Option<i32>,
}

impl StorageError {
    /// Its kind.
    pub fn kind(self) -> io::ErrorKind {
        self.kind
    }

    /// The system's number of it, if it is the system's.
    pub fn raw_os_error(self) -> Option<i32> {
        self.code
    }
}

impl From<&io::Error> for StorageError {
    fn from(error: &io::Error) -> Self {
        StorageError {
            kind: error.kind(),
            code: error.raw_os_error(),
        }
    }
}

impl From<io::ErrorKind> for StorageError {
    fn from(kind: io::ErrorKind) -> Self {
        StorageError { kind, code: None }
    }
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => io::Error::from_raw_os_error(code).fmt(f),
            None => self.kind.fmt(f),
        }
    }
}

impl std::error::Error for StorageError {}

impl LoadError {
    /// The status and, for errors worth trying again, the seconds of `Retry-After`.
    pub fn status(self) -> (u16, Option<&'static str>) {
        match self {
            LoadError::Forbidden => (403, None),
            LoadError::Overloaded | LoadError::Unsettled | LoadError::Unavailable(_) => {
                (503, Some("1"))
            }
            LoadError::Failed(_) | LoadError::GivenUp => (500, None),
        }
    }
}

/// The interruption of a load before it has a result.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It would wait, and must not.
    WouldWait,
    /// The file is no longer what it was a moment ago: begin again.
    Changed,
    /// The file has not rested for long enough: begin again after this time.
    RetryAfter(Duration),
    /// The storage failed.
    Io(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock => Stop::WouldWait,
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Stop::Changed,
            _ => Stop::Io(error),
        }
    }
}

/// The numbers of EMFILE and ENFILE, which have no [`io::ErrorKind`] of their own.
const PROCESS_HAS_TOO_MANY: i32 = 24;
const SYSTEM_HAS_TOO_MANY: i32 = 23;

/// The error of an open that would take a descriptor which others may need.
pub(crate) fn too_many_files() -> io::Error {
    io::Error::from_raw_os_error(PROCESS_HAS_TOO_MANY)
}

impl From<&io::Error> for LoadError {
    fn from(error: &io::Error) -> Self {
        match (error.kind(), error.raw_os_error()) {
            (io::ErrorKind::PermissionDenied, _) => LoadError::Forbidden,
            (io::ErrorKind::OutOfMemory, _)
            | (_, Some(PROCESS_HAS_TOO_MANY | SYSTEM_HAS_TOO_MANY)) => LoadError::Overloaded,
            _ if is_unavailable(error.kind()) => LoadError::Unavailable(error.into()),
            _ => LoadError::Failed(error.into()),
        }
    }
}

/// True if an error of this kind says that a storage behind a network cannot be asked now.
fn is_unavailable(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionRefused, ConnectionReset, HostUnreachable, NetworkDown,
        NetworkUnreachable, NotConnected, TimedOut,
    };
    matches!(
        kind,
        ConnectionAborted
            | ConnectionRefused
            | ConnectionReset
            | HostUnreachable
            | NetworkDown
            | NetworkUnreachable
            | NotConnected
            | TimedOut
    )
}

/// True if an error of a lookup only says that nothing that can be served is there.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
    matches!(
        error.kind(),
        NotFound | NotADirectory | InvalidFilename | InvalidInput
    )
}
