//! A guard against floods: how much a client may ask for on one connection without letting it lead to
//! anything.

/// A bucket of what led to nothing on one connection, full by default: requests that were cancelled or malformed, frames
/// that change nothing. It refills with time, and with every answer that the client took whole: whoever
/// cancels some of what it asks for, as a proxy does, never runs out.
///
/// The time is the caller's: whole seconds of any clock that does not go back.
#[derive(Clone, Debug, Default)]
pub struct FloodGuard {
    /// The events that have not been forgiven.
    spent: u32,
    /// The second up to which time has forgiven.
    second: u64,
}

impl FloodGuard {
    /// Counts one more; `false` if there were more than `most`, of which each second forgives a tenth.
    pub fn spend(&mut self, most: u32, second: u64) -> bool {
        if second > self.second {
            let seconds = u32::try_from(second - self.second).unwrap_or(u32::MAX);
            self.forgive(seconds.saturating_mul((most / 10).max(1)));
            self.second = second;
        }
        self.spent = self.spent.saturating_add(1);
        self.spent <= most
    }

    /// Forgives as many: an answer was taken whole, say.
    pub fn forgive(&mut self, count: u32) {
        self.spent = self.spent.saturating_sub(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True if a guard of 20 lets all `events` pass, each a second with what was spent and forgiven in it.
    #[track_caller]
    fn check(events: impl IntoIterator<Item = (u64, u32, u32)>, expected: bool) {
        let mut guard = FloodGuard::default();
        let passes = events.into_iter().all(|(second, spent, forgiven)| {
            let passes = (0..spent).all(|_| guard.spend(20, second));
            guard.forgive(forgiven);
            passes
        });
        assert_eq!(passes, expected);
    }

    #[test]
    fn so_many_at_once_and_a_tenth_a_second() {
        check([(5, 20, 0)], true);
        check([(5, 21, 0)], false);
        check([(0, 20, 0), (0, 1, 0)], false);
        check([(5, 20, 0), (6, 2, 0)], true);
        check([(5, 20, 0), (6, 3, 0)], false);
        check([(5, 20, 0), (100, 20, 0)], true);
        check([(5, 20, 0), (100, 21, 0)], false);
        check([(0, 20, 0), (u64::MAX, 20, 0)], true);
        check((0..10_000).map(|second| (second, 2, 0)), true);
        check((0..10_000).map(|second| (second, 3, 0)), false);
    }

    #[test]
    fn an_answer_that_was_taken_whole_makes_good_for_another() {
        check((0..10_000).map(|second| (second, 15, 15)), true);
        check((0..10_000).map(|second| (second, 15, 10)), false);
        // Nothing is saved up.
        check([(0, 0, 1000), (0, 20, 0)], true);
        check([(0, 0, 1000), (0, 21, 0)], false);
    }

    #[test]
    fn one_that_goes_too_far_may_come_back() {
        let mut guard = FloodGuard::default();
        assert!((0..5).all(|_| guard.spend(5, 0)));
        assert!(!guard.spend(5, 0));
        guard.forgive(2);
        assert!(guard.spend(5, 0) && !guard.spend(5, 0));
    }
}
