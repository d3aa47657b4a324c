//! The time of one loop: read once per turn, its date rendered once per second.

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime};

use salver_assets::{HttpDate, Now};

/// See the module.
pub(crate) struct Clock {
    date: Cell<HttpDate>,
    rendered: Cell<[u8; 29]>,
    /// When the second that `date` names is over.
    until: Cell<Instant>,
}

impl Clock {
    pub(crate) fn new() -> Self {
        let date = HttpDate::from_unix_seconds(0);
        let rendered = Cell::new(date.format());
        Clock {
            date: Cell::new(date),
            rendered,
            until: Cell::new(Instant::now()),
        }
    }

    /// The time now.
    pub(crate) fn now(&self) -> Now {
        let instant = Instant::now();
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
        Now {
            instant,
            date: self.date.get(),
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
}
