//! The pace of an encoder: how long it rests after its work, so that it takes its share of a core and no more.

use std::time::Duration;

/// The longest rest at a time. What is left of it is rested after the next piece of work.
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

    /// The rest that is due now that the thread has spent `worked` on a core.
    pub(crate) fn rest(&mut self, worked: Duration) -> Duration {
        let more = worked.saturating_sub(self.worked);
        self.worked = worked;
        self.owed += more * (100 - self.percent) / self.percent;
        let rest = self.owed.min(LONGEST);
        self.owed -= rest;
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_and_rest_have_their_shares() {
        let check = |percent: u32, pieces: &[u64], expected: u64| {
            let mut pace = Pace::new(percent, Duration::from_millis(5));
            let mut worked = Duration::from_millis(5);
            let mut rested = Duration::ZERO;
            for piece in pieces {
                worked += Duration::from_millis(*piece);
                let rest = pace.rest(worked);
                assert!(rest <= LONGEST);
                rested += rest;
            }
            assert_eq!(
                rested,
                Duration::from_millis(expected),
                "{percent} {pieces:?}"
            );
        };
        check(50, &[10, 20, 30], 60);
        check(100, &[10, 20, 30], 0);
        check(25, &[10], 30);
        check(0, &[1, 0], 99);
        // What is too long at once is owed.
        check(50, &[400], 250);
        check(50, &[400, 0], 400);
    }
}
