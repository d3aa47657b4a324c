//! Histograms with fixed buckets.

use std::ops::Add;

use crate::metrics::tally::Tally;

/// The bounds of the buckets of durations, in nanoseconds: those that OpenTelemetry has for
/// `http.server.request.duration`.
pub const DURATION_BOUNDS: [u64; 14] = [
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    75_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    750_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    7_500_000_000,
    10_000_000_000,
];

/// The bounds of the buckets of sizes, in bytes. OpenTelemetry has none for them: nothing, then from 1 KiB to 1 GiB in
/// steps of four.
pub const SIZE_BOUNDS: [u64; 12] = [
    0,
    1 << 10,
    1 << 12,
    1 << 14,
    1 << 16,
    1 << 18,
    1 << 20,
    1 << 22,
    1 << 24,
    1 << 26,
    1 << 28,
    1 << 30,
];

/// The bounds of the buckets of a loop's lag, in nanoseconds: a timer is never more exact than a millisecond.
pub const LAG_BOUNDS: [u64; 10] = [
    2_000_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    5_000_000_000,
];

/// A histogram that one thread writes; `N` is the number of bounds.
#[derive(Debug)]
pub(super) struct Histogram<const N: usize> {
    buckets: [Tally; N],
    /// The bucket of what is beyond the last bound.
    beyond: Tally,
    sum: Tally,
}

impl<const N: usize> Default for Histogram<N> {
    fn default() -> Self {
        Histogram {
            buckets: std::array::from_fn(|_| Tally::default()),
            beyond: Tally::default(),
            sum: Tally::default(),
        }
    }
}

impl<const N: usize> Histogram<N> {
    /// Counts a value in its bucket: that of the first bound which it does not exceed.
    #[inline]
    pub(super) fn observe(&self, bounds: &[u64; N], value: u64) {
        let mut buckets = bounds.iter().zip(&self.buckets);
        let bucket = buckets.find(|(bound, _)| value <= **bound);
        bucket.map_or(&self.beyond, |(_, bucket)| bucket).add(1);
        if value > 0 {
            self.sum.add(value);
        }
    }

    pub(super) fn snapshot(&self) -> HistogramSnapshot {
        let mut counts: Vec<u64> = self.buckets.iter().map(Tally::get).collect();
        counts.push(self.beyond.get());
        HistogramSnapshot {
            count: counts.iter().sum(),
            counts,
            sum: self.sum.get(),
        }
    }
}

/// A histogram as it was at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistogramSnapshot {
    /// The number of values in each bucket, not cumulated; the last is that beyond all bounds.
    pub counts: Vec<u64>,
    /// The number of values.
    pub count: u64,
    /// Their sum, in the unit of the bounds.
    pub sum: u64,
}

impl Add for HistogramSnapshot {
    type Output = HistogramSnapshot;

    fn add(self, other: Self) -> Self {
        if self.counts.is_empty() {
            return other;
        }
        let more = other.counts.iter().chain(std::iter::repeat(&0));
        HistogramSnapshot {
            counts: self.counts.iter().zip(more).map(|(a, b)| a + b).collect(),
            count: self.count + other.count,
            sum: self.sum.wrapping_add(other.sum),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_the_bucket_of_the_bound_that_it_does_not_exceed() {
        fn check(value: u64, bucket: usize) {
            let histogram = Histogram::default();
            histogram.observe(&SIZE_BOUNDS, value);
            let found = histogram.snapshot();
            let expected: Vec<u64> = (0..13).map(|at| u64::from(at == bucket)).collect();
            assert_eq!(found.counts, expected, "{value}");
            assert_eq!((found.count, found.sum), (1, value));
        }
        check(0, 0);
        check(1, 1);
        check(1024, 1);
        check(1025, 2);
        check(1 << 30, 11);
        check((1 << 30) + 1, 12);
        check(u64::MAX, 12);
    }

    #[test]
    fn bounds_rise() {
        assert!(DURATION_BOUNDS.is_sorted() && SIZE_BOUNDS.is_sorted() && LAG_BOUNDS.is_sorted());
    }

    #[test]
    fn nothing_and_something_are_something() {
        let histogram = Histogram::default();
        histogram.observe(&LAG_BOUNDS, 3_000_000);
        let one = histogram.snapshot();
        assert_eq!(HistogramSnapshot::default() + one.clone(), one);
        let two = one.clone() + one;
        assert_eq!((two.counts[1], two.count, two.sum), (2, 2, 6_000_000));
    }
}
