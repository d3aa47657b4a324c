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

    /// Begins work when the thread has `worked` so long: what was before is not of it.
    pub(crate) fn begin(&mut self, worked: Duration) {
        self.worked = worked;
    }

    /// Rests for what the thread has worked until now, by `clock`, a piece at a time, as long as it `goes_on`; false if
    /// it does not. Resting is no work, also by a clock that goes on meanwhile.
    pub(crate) fn keep(
        &mut self,
        clock: &dyn Fn() -> Duration,
        goes_on: &dyn Fn() -> bool,
        rest: &dyn Fn(Duration),
    ) -> bool {
        let more = clock().saturating_sub(self.worked);
        self.owed += more * (100 - self.percent) / self.percent;
        let is_wanted = loop {
            if !goes_on() {
                break false;
            }
            if self.owed.is_zero() {
                break true;
            }
            let piece = self.owed.min(LONGEST);
            rest(piece);
            self.owed -= piece;
        };
        self.worked = clock();
        is_wanted
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The milliseconds that a thread rests which works for so many each, by a clock that stands still meanwhile or not.
    fn rests(percent: u32, pieces: &[u64], rest_counts: bool) -> Vec<u64> {
        let clock = Cell::new(Duration::from_millis(5));
        let mut pace = Pace::new(percent, clock.get());
        let rested = |piece: &u64| {
            clock.set(clock.get() + Duration::from_millis(*piece));
            let rested = Cell::new(Duration::ZERO);
            let rest = |rest: Duration| {
                assert!(!rest.is_zero() && rest <= LONGEST);
                rested.set(rested.get() + rest);
                if rest_counts {
                    clock.set(clock.get() + rest);
                }
            };
            assert!(pace.keep(&|| clock.get(), &|| true, &rest));
            u64::try_from(rested.get().as_millis()).unwrap()
        };
        pieces.iter().map(rested).collect()
    }

    #[test]
    fn work_and_rest_have_their_shares() {
        for rest_counts in [false, true] {
            let check = |percent, pieces: &[u64], expected: &[u64]| {
                assert_eq!(rests(percent, pieces, rest_counts), expected);
            };
            check(50, &[10, 20, 30], &[10, 20, 30]);
            check(100, &[10, 20, 30], &[0, 0, 0]);
            check(25, &[10], &[30]);
            check(0, &[1, 0], &[99, 0]);
            // In pieces.
            check(50, &[400, 0], &[400, 0]);
        }
    }

    #[test]
    fn what_was_before_the_work_is_not_rested_for() {
        let mut pace = Pace::new(50, Duration::ZERO);
        pace.begin(Duration::from_secs(9));
        let rest = |_| panic!("it rests");
        assert!(pace.keep(&|| Duration::from_secs(9), &|| true, &rest));
    }

    #[test]
    fn what_does_not_go_on_rests_later() {
        let mut pace = Pace::new(50, Duration::ZERO);
        let clock = || Duration::from_millis(600);
        let (left, rested) = (Cell::new(2), Cell::new(Duration::ZERO));
        let goes_on = || {
            left.set(left.get() - 1);
            left.get() > 0
        };
        let rest = |rest| rested.set(rested.get() + rest);
        assert!(!pace.keep(&clock, &goes_on, &rest));
        assert_eq!(rested.get(), LONGEST);
        assert!(pace.keep(&clock, &|| true, &rest));
        assert_eq!(rested.get(), Duration::from_millis(600));
    }
}
