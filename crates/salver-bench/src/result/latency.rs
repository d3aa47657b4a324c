//! Latencies in fixed memory: a histogram that takes durations and gives percentiles.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::result::model::Latency;

/// Longer ones count as this. No time-out may be longer.
pub const LONGEST: Duration = Duration::from_secs(600);

/// Shorter ones count as this.
const SHORTEST: Duration = Duration::from_micros(1);

/// Significant decimal digits: an error of 0.1 % at most.
const DIGITS: u8 = 3;

/// Latencies from a microsecond to [`LONGEST`], to 0.1 %, in fixed memory (about 250 KiB).
#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u64>);

impl Default for Latencies {
    #[expect(
        clippy::expect_used,
        reason = "the bounds are constants, of which a test shows that they are taken"
    )]
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(nanos(SHORTEST), nanos(LONGEST), DIGITS);
        Latencies(histogram.expect("constant bounds"))
    }
}

impl Latencies {
    /// Counts one.
    pub fn record(&mut self, latency: Duration) {
        self.0.saturating_record(nanos(latency));
    }

    /// Adds all that another has counted.
    pub fn add(&mut self, other: &Latencies) {
        // It can fail only if the bounds differ, and they are the same for all.
        let _ = self.0.add(&other.0);
    }

    /// The summary that stands in a result.
    pub fn summary(&self) -> Latency {
        if self.0.is_empty() {
            return Latency::default();
        }
        let at = |percentile| micros(self.0.value_at_percentile(percentile));
        let curve = self.0.iter_quantiles(2).map(|point| {
            let percentile = point.quantile_iterated_to() * 100.0;
            (percentile, micros(point.value_iterated_to()))
        });
        Latency {
            count: self.0.len(),
            min_us: micros(self.0.min()),
            mean_us: self.0.mean() / 1e3,
            deviation_us: self.0.stdev() / 1e3,
            p50_us: at(50.0),
            p75_us: at(75.0),
            p90_us: at(90.0),
            p99_us: at(99.0),
            p999_us: at(99.9),
            p9999_us: at(99.99),
            max_us: micros(self.0.max()),
            curve: curve.collect(),
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_right_to_a_thousandth() {
        let mut latencies = Latencies::default();
        for micros in 1..=100_000 {
            latencies.record(Duration::from_micros(micros));
        }
        let summary = latencies.summary();
        let check = |found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < 0.002, "{found} {expected}");
        };
        check(summary.p50_us, 50_000.0);
        check(summary.p99_us, 99_000.0);
        check(summary.p9999_us, 99_990.0);
        check(summary.mean_us, 50_000.0);
        check(summary.max_us, 100_000.0);
        assert_eq!(summary.count, 100_000);
        assert!(summary.curve.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    }

    #[test]
    fn what_is_out_of_bounds_is_counted_at_the_bound() {
        let mut latencies = Latencies::default();
        latencies.record(Duration::ZERO);
        latencies.record(LONGEST * 10);
        let summary = latencies.summary();
        assert_eq!(summary.count, 2);
        assert!(summary.min_us <= 1.0 && summary.max_us >= 599.0e6);
    }

    #[test]
    fn an_empty_one_has_a_summary() {
        assert_eq!(Latencies::default().summary(), Latency::default());
    }
}
