//! The clock by which the age of what is held is told: that of the machine, unless a test moves it on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// The age of what was told at a time that has not come yet, as a clock was put right: nobody trusts in it.
const LONG_AGO: Duration = Duration::from_hours(24 * 365);

/// The clock of a source. Time limits of requests are none of its: those are of the machine.
#[derive(Clone, Debug, Default)]
pub struct Clock(Option<Arc<AtomicU64>>);

impl Clock {
    /// A clock that can be moved on beyond that of the machine, for tests: an hour passes at once. Its clones are one.
    pub fn adjustable() -> Self {
        Clock(Some(Arc::default()))
    }

    /// Moves the clock on, if it is [adjustable](Self::adjustable).
    pub fn advance(&self, time: Duration) {
        if let Some(ahead) = &self.0 {
            let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            ahead.fetch_add(time, Ordering::SeqCst);
        }
    }

    pub(crate) fn now(&self) -> Instant {
        let now = Instant::now();
        now.checked_add(self.ahead()).unwrap_or(now)
    }

    /// The time of day, which outlives the process.
    pub(crate) fn system_now(&self) -> SystemTime {
        let now = SystemTime::now();
        now.checked_add(self.ahead()).unwrap_or(now)
    }

    /// The moment that a time of day was, by now: long ago for one that has not come yet.
    pub(crate) fn moment(&self, time: SystemTime) -> Option<Instant> {
        let age = self.system_now().duration_since(time);
        self.now().checked_sub(age.unwrap_or(LONG_AGO))
    }

    /// The time since a moment.
    pub(crate) fn since(&self, moment: Instant) -> Duration {
        self.now().saturating_duration_since(moment)
    }

    fn ahead(&self) -> Duration {
        let ahead = self.0.as_ref();
        Duration::from_millis(ahead.map_or(0, |ahead| ahead.load(Ordering::SeqCst)))
    }
}

/// True if both are one clock.
impl PartialEq for Clock {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Eq for Clock {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adjustable_clock_is_moved_on_and_no_other() {
        let (clock, machine) = (Clock::adjustable(), Clock::default());
        let began = clock.now();
        for clock in [clock.clone(), machine.clone()] {
            clock.advance(Duration::from_hours(1));
        }
        assert!(clock.since(began) >= Duration::from_hours(1));
        assert!(machine.since(began) < Duration::from_mins(30));
        assert_eq!((clock == clock.clone(), clock == machine), (true, false));
        assert_ne!(clock, Clock::adjustable());
    }
}
