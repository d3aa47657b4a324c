//! A least rate at which a peer takes what is sent to it, with patience for its pauses.

use core::time::Duration;

/// The least rate, and the patience with who stays below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeastRate {
    /// The time for which a peer may take nothing at all.
    pub patience: Duration,
    /// The bytes a second that keep the patience from shrinking; with 0 every byte restores all of it.
    pub bytes_per_second: u64,
}

impl LeastRate {
    /// A rate with patience for a pause of any length up to this, after which any byte will do.
    pub fn pause(patience: Duration) -> Self {
        LeastRate {
            patience,
            bytes_per_second: 0,
        }
    }
}

/// The patience that is left with one peer.
///
/// Time uses it up and bytes restore it, so that a pause is borne as long as the patience says, and a
/// byte now and then is not taken for progress.
///
/// ```
/// use core::time::Duration;
/// use salver_semantics::{LeastRate, RateCredit};
///
/// let second = Duration::from_secs(1);
/// let rate = LeastRate { patience: second * 30, bytes_per_second: 100 };
/// let mut credit = RateCredit::new(&rate);
/// assert!(credit.pass(&rate, second * 29, 0));
/// assert!(credit.pass(&rate, second, 1000));
/// assert!(!credit.pass(&rate, second * 11, 1));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateCredit(Duration);

impl RateCredit {
    /// A credit of all the patience.
    pub fn new(rate: &LeastRate) -> Self {
        RateCredit(rate.patience)
    }

    /// Takes note of time that has passed, and bytes that were taken in it; `false` once the patience is used
    /// up.
    pub fn pass(&mut self, rate: &LeastRate, time: Duration, taken: u64) -> bool {
        let earned = match (taken, rate.bytes_per_second) {
            (0, _) => Duration::ZERO,
            (_, 0) => Duration::MAX,
            (taken, rate) => Duration::from_millis(taken.saturating_mul(1000) / rate),
        };
        let left = self.0.saturating_add(earned).saturating_sub(time);
        self.0 = left.min(rate.patience);
        !self.0.is_zero()
    }

    /// Does what [`pass`](Self::pass) does for a credit that begins with the first call, whose time is before
    /// it.
    pub fn pass_or_begin(
        credit: &mut Option<Self>,
        rate: &LeastRate,
        time: Duration,
        taken: u64,
    ) -> bool {
        match credit {
            Some(credit) => credit.pass(rate, time, taken),
            None => {
                *credit = Some(RateCredit::new(rate));
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second, of 1,000, after which a peer that takes so much each second is given up.
    fn check(patience: u64, bytes_per_second: u64, taken: u64, expected: Option<u64>) {
        let rate = LeastRate {
            patience: Duration::from_secs(patience),
            bytes_per_second,
        };
        let mut credit = RateCredit::new(&rate);
        let ended = (1..1000).find(|_| !credit.pass(&rate, Duration::from_secs(1), taken));
        assert_eq!(ended, expected, "{taken} of {bytes_per_second}");
    }

    #[test]
    fn who_stays_below_the_rate_is_given_up() {
        check(30, 128, 0, Some(30));
        check(30, 128, 1, Some(31));
        check(30, 128, 64, Some(60));
        check(30, 128, 127, None);
        check(30, 128, 128, None);
        check(30, 0, 0, Some(30));
        check(30, 0, 1, None);
    }

    #[test]
    fn much_at_once_earns_no_more_than_the_patience() {
        let rate = LeastRate {
            patience: Duration::from_secs(3),
            bytes_per_second: 1,
        };
        let mut credit = RateCredit::new(&rate);
        assert!(credit.pass(&rate, Duration::ZERO, u64::MAX));
        assert!(credit.pass(&rate, Duration::from_secs(2), 0));
        assert!(!credit.pass(&rate, Duration::from_secs(1), 0));
    }
}
