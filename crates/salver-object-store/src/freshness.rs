//! The freshness of what is known of paths: whether it is told, and whether it is compared first, meanwhile, or not at all.

use std::time::Duration;

/// The freshness of what is known of a path (RFC 9111 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// Fresh: it is told.
    Fresh,
    /// It is told, and compared in the background meanwhile.
    Stale,
    /// It is told only if the bucket does not say more within a moment.
    StaleIfError,
    /// It is told no more.
    Expired,
}

/// The times for which what is known of paths is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) reuse: Duration,
    pub(crate) revalidate: Duration,
    pub(crate) stale_while_revalidate: Duration,
    pub(crate) stale_if_error: Duration,
}

impl Times {
    /// The time after which nothing is told any more, whether the store fails or not.
    pub(crate) fn longest(&self) -> Duration {
        let stale = self.stale_while_revalidate.max(self.stale_if_error);
        self.revalidate.saturating_add(stale)
    }

    /// True if what is so old may be told while the store is well.
    pub(crate) fn is_little(&self, age: Duration) -> bool {
        age < self.revalidate.saturating_add(self.stale_while_revalidate)
    }

    /// The freshness of what was asked for so long ago, from a store that fails or not.
    pub(crate) fn freshness(&self, age: Duration, fails: bool) -> Freshness {
        let is_within = |time| age < self.revalidate.saturating_add(time);
        let has_stale = !self.stale_while_revalidate.is_zero();
        if age < self.reuse || has_stale && age < self.revalidate {
            Freshness::Fresh
        } else if has_stale && self.is_little(age) {
            Freshness::Stale
        } else if !is_within(self.stale_if_error) {
            Freshness::Expired
        } else if fails {
            Freshness::Stale
        } else {
            Freshness::StaleIfError
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_depends_on_its_age() {
        let times = Times {
            reuse: Duration::from_millis(100),
            revalidate: Duration::from_secs(1),
            stale_while_revalidate: Duration::from_secs(10),
            stale_if_error: Duration::from_hours(1),
        };
        let check = |times: &Times, age: u64, expected: [Freshness; 2]| {
            let age = Duration::from_millis(age);
            let found = [false, true].map(|fails| times.freshness(age, fails));
            assert_eq!(found, expected, "{age:?}");
        };
        use Freshness::{Expired, Fresh, Stale, StaleIfError};
        check(&times, 0, [Fresh; 2]);
        check(&times, 999, [Fresh; 2]);
        check(&times, 1000, [Stale; 2]);
        check(&times, 10_999, [Stale; 2]);
        check(&times, 11_000, [StaleIfError, Stale]);
        check(&times, 3_600_999, [StaleIfError, Stale]);
        check(&times, 3_601_000, [Expired; 2]);
        // Each look asks.
        let each = Times {
            reuse: Duration::ZERO,
            revalidate: Duration::ZERO,
            stale_while_revalidate: Duration::ZERO,
            ..times
        };
        check(&each, 0, [StaleIfError, Stale]);
        let never = Times {
            stale_while_revalidate: Duration::ZERO,
            stale_if_error: Duration::ZERO,
            ..times
        };
        check(&never, 99, [Fresh; 2]);
        check(&never, 999, [StaleIfError, Stale]);
        check(&never, 1000, [Expired; 2]);
    }
}
