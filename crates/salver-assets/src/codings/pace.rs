//! The pace of an idle thread: how long it rests after its work, so that it takes its share of a core and no more.

use std::time::Duration;

/// The longest rest at a time: then it is looked whether the work is still wanted.
const LONGEST: Duration = Duration::from_millis(250);

/// The work of one thread, and the rest that it owes for that.
#[derive(Debug)]
pub(crate) struct Pace {
    /// The share of a core, in percent.
    percent: u32,
    /// The time on a core at the last look.
    worked: Duration,
    owed: Duration,
}

impl Pace {
    /// The pace of a thread that has spent `worked` on a core and may have so many percent of one.
    pub(crate) fn new(percent: u32, worked: Duration) -> Self {
        Pace {
            percent: percent.clamp(1, 100),
            worked,
            owed: Duration::ZERO,
        }
    }

    /// Rests for what the thread has worked until now, by `worked`, a piece at a time, as long as it `goes_on`; false if
    /// it does not. What resting costs is rested for the next time: else that would never end.
    pub(crate) fn keep(
        &mut self,
        worked: Duration,
        goes_on: &dyn Fn() -> bool,
        rest: &dyn Fn(Duration),
    ) -> bool {
        let more = worked.saturating_sub(self.worked);
        self.worked = worked;
        self.owed += more * (100 - self.percent) / self.percent;
        while goes_on() {
            if self.owed.is_zero() {
                return true;
            }
            let piece = self.owed.min(LONGEST);
            rest(piece);
            self.owed -= piece;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The milliseconds that a thread rests which works for so many each.
    fn rests(percent: u32, pieces: &[u64]) -> Vec<u64> {
        let mut worked = Duration::from_millis(5);
        let mut pace = Pace::new(percent, worked);
        let rested = |piece: &u64| {
            worked += Duration::from_millis(*piece);
            let rested = Cell::new(Duration::ZERO);
            let rest = |rest: Duration| {
                assert!(!rest.is_zero() && rest <= LONGEST);
                rested.set(rested.get() + rest);
            };
            assert!(pace.keep(worked, &|| true, &rest));
            u64::try_from(rested.get().as_millis()).unwrap()
        };
        pieces.iter().map(rested).collect()
    }

    #[test]
    fn work_and_rest_have_their_shares() {
        assert_eq!(rests(50, &[10, 20, 30]), [10, 20, 30]);
        assert_eq!(rests(100, &[10, 20, 30]), [0, 0, 0]);
        assert_eq!(rests(25, &[10]), [30]);
        assert_eq!(rests(0, &[1, 0]), [99, 0]);
        // In pieces.
        assert_eq!(rests(50, &[400, 0]), [400, 0]);
    }

    #[test]
    fn what_does_not_go_on_rests_later() {
        let mut pace = Pace::new(50, Duration::ZERO);
        let (left, rested) = (Cell::new(2), Cell::new(Duration::ZERO));
        let goes_on = || {
            left.set(left.get() - 1);
            left.get() > 0
        };
        let rest = |rest| rested.set(rested.get() + rest);
        assert!(!pace.keep(Duration::from_millis(600), &goes_on, &rest));
        assert_eq!(rested.get(), LONGEST);
        assert!(pace.keep(Duration::from_millis(600), &|| true, &rest));
        assert_eq!(rested.get(), Duration::from_millis(600));
    }
}
