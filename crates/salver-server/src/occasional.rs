//! Saying in the log that something happens, not each time that it does.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The least time between two lines about one thing.
const PAUSE: Duration = Duration::from_secs(60);

/// One thing that can happen very often.
#[derive(Debug)]
pub(crate) struct Occasional {
    /// Milliseconds of the caller's clock, plus one; 0 is never.
    last: AtomicU64,
}

impl Occasional {
    pub(crate) const fn new() -> Self {
        Occasional {
            last: AtomicU64::new(0),
        }
    }

    /// Whether to say it now; `since_start` is the time on any clock that only goes forward.
    pub(crate) fn now(&self, since_start: Duration) -> bool {
        let now = u64::try_from(since_start.as_millis())
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        let last = self.last.load(Ordering::Relaxed);
        let pause = u64::try_from(PAUSE.as_millis()).unwrap_or(u64::MAX);
        let due = last == 0 || now.saturating_sub(last) >= pause;
        due && self
            .last
            .compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_once_a_minute() {
        let thing = Occasional::new();
        let check = |seconds, expected| {
            assert_eq!(
                thing.now(Duration::from_secs(seconds)),
                expected,
                "at {seconds} s"
            );
        };
        check(0, true);
        check(0, false);
        check(59, false);
        check(60, true);
        check(61, false);
        check(1000, true);
    }
}
