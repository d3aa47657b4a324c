//! Failures of requests to a bucket, so that all who wait for one can be told, and sorted by what they mean.

use std::error::Error as _;
use std::io;
use std::sync::Arc;

use object_store::Error;
use object_store::client::{HttpError, HttpErrorKind};

/// The longest text of a failure, in bytes: stores answer with pages.
const LONGEST: usize = 400;

/// The codes by which stores refuse credentials that do not hold, or hold no more: nothing that an object's permissions
/// say. Some come with 400, some with 403.
const CREDENTIALS: [&str; 9] = [
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidAccessKeyId",
    "InvalidToken",
    "RequestExpired",
    "RequestTimeTooSkewed",
    "SignatureDoesNotMatch",
    "AuthenticationFailed",
    "AccountIsDisabled",
];

/// The codes by which stores say that there is no such bucket.
const NO_BUCKET: [&str; 2] = ["NoSuchBucket", "ContainerNotFound"];

/// The code by which stores say that no key is so long. Some lie on file systems, whose names are shorter.
const TOO_LONG: &str = "KeyTooLongError";

/// The text by which the client says that an answer is a refusal: behind it stand its status and its content.
const REFUSED: &str = "Server returned non-2xx status code: ";

/// The text of what nobody finished.
const GIVEN_UP: &str = "the request to the bucket was given up";

/// The failure of a request.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) kind: io::ErrorKind,
    text: Arc<str>,
    /// True if the store has answered, by a status that may be this object's alone.
    is_of_object: bool,
}

impl Failure {
    pub(crate) fn new(kind: io::ErrorKind, text: &str) -> Self {
        let mut end = text.len().min(LONGEST);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = text.get(..end).unwrap_or_default();
        // What a store says may end on a terminal.
        let text = text.replace(char::is_control, " ").into();
        Failure {
            kind,
            text,
            is_of_object: false,
        }
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
        Failure::new(io::ErrorKind::NotConnected, GIVEN_UP)
    }

    /// True if nobody finished it: the thread that it went on on has ended.
    pub(crate) fn is_given_up(&self) -> bool {
        *self.text == *GIVEN_UP
    }

    /// The failure of what was not even asked, as the store has not answered others.
    pub(crate) fn not_asked() -> Self {
        Failure::new(
            io::ErrorKind::NotConnected,
            "the bucket did not answer lately, and is asked again in a moment",
        )
    }

    /// The failure of content whose version has gone: another one may be there.
    pub(crate) fn gone() -> Self {
        Failure::new(
            io::ErrorKind::NotFound,
            "the object was replaced or removed meanwhile",
        )
    }

    /// The failure of a list with keys that no path leads to, of which the client makes nothing at all.
    pub(crate) fn unlistable(error: &Error) -> Self {
        let text = format!(
            "a key beneath the directory is no path, so that it has no list: {error}: rename it"
        );
        Failure::new(io::ErrorKind::InvalidData, &text)
    }

    /// What it is, in one line.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// True if the store could not be asked or did not answer, which may be otherwise in a moment.
    pub(crate) fn is_for_a_while(&self) -> bool {
        is_for_a_while(self.kind)
    }

    /// True if others will fare no better: the store has not answered, or said that it cannot at the moment.
    pub(crate) fn is_of_store(&self) -> bool {
        self.is_for_a_while() && !self.is_of_object
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
        // One that has too much to do, or that a proxy does not reach, says so by these.
        let is_of_object = |status: u16| status >= 500 && !matches!(status, 502..=504);
        Failure {
            is_of_object: answer(error).is_some_and(|(status, _)| is_of_object(status)),
            ..Failure::new(kind(error), &error.to_string())
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::from(&error)
    }
}

/// What an error means, as the engine sorts errors: nothing there, not permitted, not to be reached now, or another. By the
/// status and the code of the answer alone: strangers choose the paths that texts of errors have in them.
fn kind(error: &Error) -> io::ErrorKind {
    let code = code(error);
    let code = code.as_deref().unwrap_or_default();
    if CREDENTIALS.contains(&code) {
        return io::ErrorKind::NotConnected;
    }
    if code == TOO_LONG {
        return io::ErrorKind::NotFound;
    }
    match error {
        // A misspelt bucket is no missing file.
        Error::NotFound { .. } if NO_BUCKET.contains(&code) => io::ErrorKind::Other,
        Error::NotFound { .. } | Error::InvalidPath { .. } | Error::Precondition { .. } => {
            io::ErrorKind::NotFound
        }
        Error::Unauthenticated { .. } => io::ErrorKind::NotConnected,
        Error::PermissionDenied { .. } => io::ErrorKind::PermissionDenied,
        _ => by_cause(error).unwrap_or(io::ErrorKind::Other),
    }
}

/// What the cause beneath an error means, if it is one of the network, an answer, or a file system.
fn by_cause(error: &Error) -> Option<io::ErrorKind> {
    use io::ErrorKind::{InvalidFilename, NotADirectory, NotConnected, NotFound, TimedOut};
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some((status, _)) = status_and_body(error) {
            // A store that fails, or has too much to do, does so for a while; what issues credentials refuses by 401
            // and 403.
            let is_for_a_while = matches!(status, 401 | 403 | 408 | 429 | 500..=599);
            return is_for_a_while.then_some(NotConnected);
        }
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

/// The status and the content of the answer that an error is, if it is one.
fn status_and_body(error: &dyn std::error::Error) -> Option<(u16, String)> {
    // The client has no other name for it. The causes above have the URL in their texts.
    let text = error.to_string();
    let answer = text.strip_prefix(REFUSED)?;
    let (status, body) = answer.split_at_checked(3)?;
    Some((status.parse().ok()?, body.to_owned()))
}

/// The answer that lies beneath an error.
fn answer(error: &Error) -> Option<(u16, String)> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(answer) = status_and_body(error) {
            return Some(answer);
        }
        cause = error.source();
    }
    None
}

/// The code by which the answer beneath an error says what is wrong.
fn code(error: &Error) -> Option<String> {
    let (_, body) = answer(error)?;
    let (_, behind) = body.split_once("<Code>")?;
    let (code, _) = behind.split_once("</Code>")?;
    Some(code.to_owned())
}

/// True if an error of this kind may be none in a moment: the store could not be asked, or did not answer.
pub(crate) fn is_for_a_while(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::TimedOut | io::ErrorKind::NotConnected | io::ErrorKind::ConnectionAborted
    )
}

/// True if a server redirects, as those for people do from a directory to the same with a slash.
pub(crate) fn is_redirect(error: &Error) -> bool {
    matches!(answer(error), Some((300..=399, _)))
}

/// True if a server may be one that knows no ranges, or has none to give of this file.
pub(crate) fn is_of_range(error: &Error) -> bool {
    match (error, answer(error)) {
        (Error::NotSupported { .. }, _) => true,
        (Error::Generic { .. }, Some((status, _))) => status == 416,
        (Error::Generic { .. }, None) => by_cause(error).is_none(),
        _ => false,
    }
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

    fn answered(status: u16, body: &str) -> io::Error {
        io::Error::other(format!("{REFUSED}{status} Reason: {body}"))
    }

    #[test]
    fn what_is_wrong_says_who_must_act() {
        let check = |error: Error, expected: io::ErrorKind| {
            assert_eq!(Failure::from(&error).kind, expected, "{error}");
        };
        let http = |kind| generic(HttpError::new(kind, io::Error::other("x")));
        check(http(HttpErrorKind::Timeout), io::ErrorKind::TimedOut);
        check(http(HttpErrorKind::Connect), io::ErrorKind::NotConnected);
        let of_system = |kind: io::ErrorKind| generic(io::Error::from(kind));
        check(
            of_system(io::ErrorKind::NotADirectory),
            io::ErrorKind::NotFound,
        );
        check(of_system(io::ErrorKind::TimedOut), io::ErrorKind::TimedOut);
        let status = |status, body| generic(answered(status, body));
        check(status(503, ""), io::ErrorKind::NotConnected);
        check(status(429, ""), io::ErrorKind::NotConnected);
        check(status(400, ""), io::ErrorKind::Other);
        check(status(404, ""), io::ErrorKind::Other);
        assert!(is_redirect(&status(301, "")));
        assert!(!is_redirect(&status(400, "status code: 301")));
        assert!(is_of_range(&status(416, "")));
        // What the client says of an answer that is no part.
        assert!(is_of_range(&generic(std::fmt::Error)));
        assert!(!is_of_range(&status(304, "")));
        assert!(!is_of_range(&http(HttpErrorKind::Timeout)));
    }

    #[test]
    fn what_is_of_one_object_says_nothing_of_the_store() {
        let check = |error: Error, expected: bool| {
            assert_eq!(Failure::from(&error).is_of_store(), expected, "{error}");
        };
        for (status, expected) in [
            (429, true),
            (500, false),
            (501, false),
            (502, true),
            (503, true),
            (504, true),
            (400, false),
        ] {
            check(generic(answered(status, "")), expected);
        }
        let http = HttpError::new(HttpErrorKind::Connect, io::Error::other("x"));
        check(generic(http), true);
        assert!(Failure::too_slow().is_of_store() && !Failure::gone().is_of_store());
    }

    #[test]
    fn codes_are_those_of_answers() {
        let check = |path: &str, status: u16, code: &str, expected: io::ErrorKind| {
            let body = format!("<?xml?>\n<Error><Code>{code}</Code><Message>m</Message></Error>");
            let (path, source) = (path.to_owned(), Box::new(answered(status, &body)));
            let error = match status {
                403 => Error::PermissionDenied { path, source },
                404 => Error::NotFound { path, source },
                _ => generic(answered(status, &body)),
            };
            assert_eq!(Failure::from(&error).kind, expected, "{error}");
        };
        check("a", 403, "AccessDenied", io::ErrorKind::PermissionDenied);
        check(
            "a",
            403,
            "SignatureDoesNotMatch",
            io::ErrorKind::NotConnected,
        );
        check("a", 400, "ExpiredToken", io::ErrorKind::NotConnected);
        check("a", 404, "NoSuchKey", io::ErrorKind::NotFound);
        check("a", 404, "NoSuchBucket", io::ErrorKind::Other);
        check("a", 400, "KeyTooLongError", io::ErrorKind::NotFound);
        // A stranger chose the path.
        let path = "<Code>NoSuchBucket</Code>";
        check(path, 404, "NoSuchKey", io::ErrorKind::NotFound);
        check("NoSuchBucket", 404, "", io::ErrorKind::NotFound);
        let path = "<Code>ExpiredToken</Code>";
        check(path, 403, "AccessDenied", io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_text_is_one_short_line() {
        let failure = Failure::new(io::ErrorKind::Other, &"\u{e9}\n\u{1b}[2J".repeat(1000));
        assert!(failure.text.len() <= LONGEST && !failure.text.contains(char::is_control));
    }
}
