//! The bounds of a source: time, memory, and how much is asked for at once.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::tier::DiskTier;

/// One mebibyte.
const MIB: u64 = 1024 * 1024;

/// The length up to which an object comes with the first answer about it, as a whole, in bytes.
pub(crate) const WHOLE_UP_TO: u64 = MIB;

/// The most time for which what was found serves further looks, so that many at once do not cost as many.
const MOST_REUSE: Duration = Duration::from_millis(100);

/// The bounds of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The time within which whoever serves compares what it has with the bucket. What was found serves further looks for as
    /// long; without [`stale_while_revalidate`](Self::stale_while_revalidate) for a quarter of it, and for no more than 100
    /// milliseconds. Zero: each look asks the bucket.
    pub revalidate: Duration,
    /// The time beyond [`revalidate`](Self::revalidate) for which what was found is told at once, while it is compared in
    /// the background (RFC 5861 section 3). Nothing if `revalidate` is zero.
    pub stale_while_revalidate: Duration,
    /// The time beyond `revalidate` for which what was found is told while the bucket cannot be asked (RFC 5861 section 4).
    pub stale_if_error: Duration,
    /// True if no object is ever replaced by another, nor removed while it is needed: what is known to be there is not asked
    /// for again.
    pub is_immutable: bool,
    /// The most time that a request to the bucket may take, with all its attempts and its turn among others.
    pub timeout: Duration,
    /// The most attempts after the first, with pauses that grow.
    pub retries: usize,
    /// The most requests for metadata, with content of up to 1 MiB, at once.
    pub lookups: usize,
    /// The most requests for slices at once.
    pub fetches: usize,
    /// The length of a slice in bytes: from 1 to 8 MiB.
    pub slice_size: u64,
    /// The bytes of slices that are kept in memory.
    pub slice_memory: usize,
    /// The bytes that what is known of paths may take, some 600 for each. What goes is asked for again, or recalled from the
    /// [tier](Self::tier) and compared.
    pub lookup_memory: usize,
    /// The index that tells a directory where the bucket has no list of what it holds: HTTP servers.
    pub index: String,
    /// The tier on a disk between memory and the bucket, which several sources may share. Default: none.
    pub tier: Option<Arc<DiskTier>>,
    /// The clock that ages are told by.
    pub clock: Clock,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            revalidate: Duration::from_secs(1),
            stale_while_revalidate: Duration::from_secs(10),
            stale_if_error: Duration::from_hours(24),
            is_immutable: false,
            timeout: Duration::from_secs(10),
            retries: 2,
            lookups: 64,
            fetches: 16,
            slice_size: 4 * MIB,
            slice_memory: 64 * 1024 * 1024,
            lookup_memory: 32 * 1024 * 1024,
            index: "index.html".to_owned(),
            tier: None,
            clock: Clock::default(),
        }
    }
}

impl Settings {
    /// These settings within what can work.
    pub(crate) fn bounded(self) -> Self {
        Settings {
            stale_while_revalidate: match self.revalidate.is_zero() {
                // Each look asks the bucket.
                true => Duration::ZERO,
                false => self.stale_while_revalidate,
            },
            timeout: self.timeout.max(Duration::from_millis(1)),
            lookups: self.lookups.max(1),
            fetches: self.fetches.max(1),
            slice_size: self.slice_size.clamp(MIB, 8 * MIB),
            ..self
        }
    }

    /// The time for which what was found serves further looks.
    pub(crate) fn reuse(&self) -> Duration {
        (self.revalidate / 4).min(MOST_REUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_stay_within_what_can_work() {
        let all = Settings {
            timeout: Duration::ZERO,
            lookups: 0,
            fetches: 0,
            slice_size: 0,
            ..Settings::default()
        };
        let bounded = all.bounded();
        assert!(!bounded.timeout.is_zero());
        assert_eq!((bounded.lookups, bounded.fetches), (1, 1));
        assert_eq!(bounded.slice_size, MIB);
        let long = Settings {
            slice_size: u64::MAX,
            ..Settings::default()
        };
        assert_eq!(long.bounded().slice_size, 8 * MIB);
    }

    #[test]
    fn a_look_is_used_again_for_a_moment() {
        let check = |revalidate: u64, expected: u64| {
            let settings = Settings {
                revalidate: Duration::from_millis(revalidate),
                ..Settings::default()
            };
            assert_eq!(settings.reuse(), Duration::from_millis(expected));
        };
        check(0, 0);
        check(200, 50);
        check(60_000, 100);
    }
}
