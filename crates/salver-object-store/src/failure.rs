//! Failures of requests to a bucket, so that all who wait for one can be told, and sorted by what they mean.

use std::error::Error as _;
use std::io;
use std::sync::Arc;

use object_store::Error;
use object_store::client::{HttpError, HttpErrorKind};

/// The longest text of a failure, in bytes: stores answer with pages.
const LONGEST: usize = 400;

/// What stores call credentials that do not hold, or hold no more: nothing that an object's permissions say.
const CREDENTIALS: [&str; 8] = [
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidAccessKeyId",
    "InvalidToken",
    "RequestTimeTooSkewed",
    "SignatureDoesNotMatch",
    "AuthenticationFailed",
    "AccountIsDisabled",
];

/// The failure of a request.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) kind: io::ErrorKind,
    text: Arc<str>,
}

impl Failure {
    pub(crate) fn new(kind: io::ErrorKind, text: &str) -> Self {
        let mut end = text.len().min(LONGEST);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = text.get(..end).unwrap_or_default();
        let text = text.replace(['\n', '\r'], " ").into();
        Failure { kind, text }
    }

    /// The failure of what took too long.
    pub(crate) fn too_slow() -> Self {
        Failure::new(
            io::ErrorKind::TimedOut,
            "the bucket did not answer within the time limit",
        )
    }

    /// The failure of what nobody finished.
    pub(crate) fn given_up() -> Self {
        Failure::new(
            io::ErrorKind::NotConnected,
            "the request to the bucket was given up",
        )
    }

    /// The failure of content whose version has gone: another one may be there.
    pub(crate) fn gone() -> Self {
        Failure::new(
            io::ErrorKind::NotFound,
            "the object was replaced or removed meanwhile",
        )
    }

    /// True if nothing is there.
    pub(crate) fn is_absence(&self) -> bool {
        self.kind == io::ErrorKind::NotFound
    }
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> Self {
        io::Error::new(failure.kind, failure.text.to_string())
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        let text = error.to_string();
        // A misspelt bucket is no missing file.
        let kind = match text.contains("NoSuchBucket") || text.contains("ContainerNotFound") {
            true => io::ErrorKind::Other,
            false => kind(error, &text),
        };
        Failure::new(kind, &text)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::from(&error)
    }
}

/// What an error means, as the engine sorts errors: nothing there, not permitted, not to be reached now, or another.
fn kind(error: &Error, text: &str) -> io::ErrorKind {
    match error {
        Error::NotFound { .. } | Error::InvalidPath { .. } | Error::Precondition { .. } => {
            io::ErrorKind::NotFound
        }
        Error::Unauthenticated { .. } => io::ErrorKind::NotConnected,
        Error::PermissionDenied { .. } => {
            match CREDENTIALS.iter().any(|code| text.contains(code)) {
                true => io::ErrorKind::NotConnected,
                false => io::ErrorKind::PermissionDenied,
            }
        }
        _ => by_cause(error).unwrap_or_else(|| by_status(text)),
    }
}

/// What the cause beneath an error means, if it is one of the network or of a file system.
fn by_cause(error: &Error) -> Option<io::ErrorKind> {
    use io::ErrorKind::{InvalidFilename, NotADirectory, NotConnected, NotFound, TimedOut};
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<HttpError>() {
            return match error.kind() {
                HttpErrorKind::Timeout => Some(TimedOut),
                HttpErrorKind::Decode => None,
                _ => Some(NotConnected),
            };
        }
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return match error.kind() {
                NotFound | NotADirectory | InvalidFilename => Some(NotFound),
                kind => Some(kind),
            };
        }
        cause = error.source();
    }
    None
}

/// What the status that a text of an error tells means: a store that fails, or has too much to do, does so for a while.
fn by_status(text: &str) -> io::ErrorKind {
    match status(text) {
        Some(408 | 429 | 500..=599) => io::ErrorKind::NotConnected,
        _ => io::ErrorKind::Other,
    }
}

/// The status that a text of an error tells.
fn status(text: &str) -> Option<u16> {
    let (_, behind) = text.split_once("status code: ")?;
    behind.get(..3)?.parse().ok()
}

/// True if a server redirects, as those for people do from a directory to the same with a slash.
pub(crate) fn is_redirect(error: &Error) -> bool {
    matches!(error, Error::Generic { .. }) && matches!(status(&error.to_string()), Some(300..=399))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generic(source: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error::Generic {
            store: "test",
            source: Box::new(source),
        }
    }

    #[test]
    fn what_is_wrong_says_who_must_act() {
        let check = |error: Error, expected: io::ErrorKind| {
            assert_eq!(Failure::from(&error).kind, expected, "{error}");
        };
        let told = |text: &str| io::Error::other(text.to_owned()).to_string();
        let http = |kind| generic(HttpError::new(kind, io::Error::other("x")));
        check(http(HttpErrorKind::Timeout), io::ErrorKind::TimedOut);
        check(http(HttpErrorKind::Connect), io::ErrorKind::NotConnected);
        let of_system = |kind: io::ErrorKind| generic(io::Error::from(kind));
        check(
            of_system(io::ErrorKind::NotADirectory),
            io::ErrorKind::NotFound,
        );
        check(of_system(io::ErrorKind::TimedOut), io::ErrorKind::TimedOut);
        let denied = |text: &str| Error::PermissionDenied {
            path: "a".to_owned(),
            source: told(text).into(),
        };
        check(
            denied("<Code>AccessDenied</Code>"),
            io::ErrorKind::PermissionDenied,
        );
        check(
            denied("<Code>ExpiredToken</Code>"),
            io::ErrorKind::NotConnected,
        );
        let missing = |text: &str| Error::NotFound {
            path: "a".to_owned(),
            source: told(text).into(),
        };
        check(missing("<Code>NoSuchKey</Code>"), io::ErrorKind::NotFound);
        check(missing("<Code>NoSuchBucket</Code>"), io::ErrorKind::Other);
        let status = |status: &str| Error::Generic {
            store: "test",
            source: format!("Server returned non-2xx status code: {status}: x").into(),
        };
        check(
            status("503 Service Unavailable"),
            io::ErrorKind::NotConnected,
        );
        check(status("429 Too Many Requests"), io::ErrorKind::NotConnected);
        check(status("400 Bad Request"), io::ErrorKind::Other);
        assert!(is_redirect(&status("301 Moved Permanently")));
        assert!(!is_redirect(&status("400 Bad Request")));
    }

    #[test]
    fn a_text_is_one_short_line() {
        let failure = Failure::new(io::ErrorKind::Other, &"\u{e9}\n".repeat(1000));
        assert!(failure.text.len() <= LONGEST && !failure.text.contains('\n'));
    }
}
