//! The clock of one loop: read when the loop has waited, its date rendered once per second.

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime};

use salver_assets::{HttpDate, Now};

/// The number of uses after which the time is read again on a loop that is never idle.
const USES: u32 = 32;

thread_local! {
    /// The number of times that the last reading may still be used on this thread.
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

/// Notes that the loop of this thread has waited: its time is old.
pub(crate) fn note_wait() {
    LEFT.set(0);
}

/// The clock of one loop.
pub(crate) struct Clock {
    /// The time of the last reading.
    instant: Cell<Instant>,
    date: Cell<HttpDate>,
    rendered: Cell<[u8; 29]>,
    /// The end of the second that `date` names.
    until: Cell<Instant>,
}

impl Clock {
    pub(crate) fn new() -> Self {
        let date = HttpDate::from_unix_seconds(0);
        let rendered = Cell::new(date.format());
        let clock = Clock {
            instant: Cell::new(Instant::now()),
            date: Cell::new(date),
            rendered,
            until: Cell::new(Instant::now()),
        };
        // A loop that has another clock may not have waited since.
        clock.read();
        clock
    }

    /// The time now, or a few turns ago.
    pub(crate) fn now(&self) -> Now {
        let left = LEFT.get();
        LEFT.set(left.checked_sub(1).unwrap_or(USES));
        if left == 0 {
            self.read();
        }
        Now {
            instant: self.instant.get(),
            date: self.date.get(),
        }
    }

    fn read(&self) {
        let instant = Instant::now();
        self.instant.set(instant);
        if instant >= self.until.get() {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            // A clock before 1970 is wrong anyway.
            let since = since.unwrap_or(Duration::ZERO);
            let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
            let date = HttpDate::from_unix_seconds(seconds);
            self.date.set(date);
            self.rendered.set(date.format());
            let left = Duration::from_secs(1) - Duration::from_nanos(since.subsec_nanos().into());
            self.until.set(instant + left);
        }
    }

    /// The date of the last [`now`](Self::now), for `Date`.
    pub(crate) fn date(&self) -> [u8; 29] {
        self.rendered.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_is_that_of_the_system() {
        note_wait();
        let clock = Clock::new();
        let before = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap()
            .as_secs();
        let now = clock.now();
        let after = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap()
            .as_secs();
        let seconds = u64::try_from(now.date.unix_seconds()).unwrap();
        assert!((before..=after).contains(&seconds));
        assert_eq!(clock.date(), now.date.format());
        assert_eq!(clock.now().date.format(), clock.date());
    }

    #[test]
    fn a_further_clock_of_a_loop_that_has_not_waited_has_the_date() {
        note_wait();
        let date = Clock::new().now().date;
        assert!(Clock::new().now().date >= date);
    }

    #[test]
    fn the_time_is_read_again_after_a_wait_and_when_there_is_none() {
        note_wait();
        let clock = Clock::new();
        let mut last = clock.now().instant;
        let mut later = || {
            let now = clock.now().instant;
            std::mem::replace(&mut last, now) < now
        };
        assert!(!later(), "it was read a moment ago");
        note_wait();
        // The system's clock may be a coarse one.
        assert!((0..1_000_000).any(|_| {
            note_wait();
            later()
        }));
        assert!((0..1_000_000 * USES).any(|_| later()));
    }
}
