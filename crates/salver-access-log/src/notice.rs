//! What the operator is told about a log, in the program's own log.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

/// What the operator is told about a log; its text is one line. Of each kind there is at most one in a minute
/// for each log.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice<'a> {
    /// Lines were dropped, because they came faster than they could be written.
    Dropped {
        /// The destination.
        log: &'a str,
        /// How many, since this was said last.
        lines: u64,
    },
    /// The destination takes no lines; it is tried again each second, and lines wait as long as there is room.
    CannotWrite {
        /// The destination.
        log: &'a str,
        /// Why.
        error: &'a io::Error,
    },
    /// The destination takes lines again.
    WritesAgain {
        /// The destination.
        log: &'a str,
    },
    /// The file could not be opened anew; lines go on to the old one.
    CannotReopen {
        /// The destination.
        log: &'a str,
        /// Why.
        error: &'a io::Error,
    },
}

impl fmt::Display for Notice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Dropped { log, lines } => write!(
                f,
                "{lines} lines of the access log to {log} were dropped: it takes them too slowly, \
                 sample them or write elsewhere (said at most once a minute)"
            ),
            Notice::CannotWrite { log, error } => write!(
                f,
                "the access log to {log} cannot be written: {error}; it is tried again each second \
                 (said at most once a minute)"
            ),
            Notice::WritesAgain { log } => write!(f, "the access log to {log} is written again"),
            Notice::CannotReopen { log, error } => write!(
                f,
                "the access log {log} cannot be opened anew, and goes on where it was: {error}"
            ),
        }
    }
}

/// The limit on one kind of notice.
#[derive(Debug, Default)]
pub(crate) struct NoticeLimit(Option<Instant>);

impl NoticeLimit {
    const PAUSE: Duration = Duration::from_secs(60);

    /// True if it may be said now.
    pub(crate) fn permits(&mut self, now: Instant) -> bool {
        let is_due = self
            .0
            .is_none_or(|said| now.saturating_duration_since(said) >= Self::PAUSE);
        if is_due {
            self.0 = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_a_minute() {
        let mut limit = NoticeLimit::default();
        let start = Instant::now();
        let mut check = |seconds: u64, expected: bool| {
            assert_eq!(
                limit.permits(start + Duration::from_secs(seconds)),
                expected,
                "{seconds}"
            );
        };
        check(0, true);
        check(59, false);
        check(60, true);
        check(119, false);
        check(1000, true);
    }
}
