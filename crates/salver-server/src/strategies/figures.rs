//! Many samples to one figure and the interval in which it may lie.

/// What [`Figures::low`] and [`Figures::high`] are, for people.
pub const INTERVAL: &str =
    "95 % confidence interval of the median by order statistics; of 5 rounds or fewer, all of them";

/// A median with its interval. The unit is that of the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// The median of the samples.
    pub median: f64,
    /// The lower end of the interval in which the median lies with 95 % confidence: an order
    /// statistic, so that nothing is assumed of how the samples are distributed.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Figures {
    /// Of at least one sample; of none, zeros.
    pub fn of(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        let at = |number: usize| samples.get(number).copied().unwrap_or_default();
        let last = samples.len().saturating_sub(1);
        let skipped = skipped(samples.len());
        Figures {
            median: f64::midpoint(at(last / 2), at(last.div_ceil(2))),
            low: at(skipped),
            high: at(last - skipped),
        }
    }

    /// Whether this is less than `other` by more than chance explains: the intervals do not touch.
    pub fn is_clearly_below(&self, other: &Figures) -> bool {
        self.high < other.low
    }
}

/// How many of the least and of the greatest samples lie outside of the interval: the true median
/// is below the next one, or above, with a probability of at most 2.5 % each.
fn skipped(samples: usize) -> usize {
    const OUTSIDE: f64 = 0.025;
    // That `below` of the samples are on one side of the median is a matter of so many coins.
    let mut probability = 0.5_f64.powi(i32::try_from(samples).unwrap_or(i32::MAX));
    let mut sum = 0.0;
    let mut below = 0_usize;
    while below < samples {
        sum += probability;
        if sum > OUTSIDE {
            break;
        }
        below += 1;
        #[allow(clippy::cast_precision_loss, reason = "small numbers")]
        let (left, taken) = ((samples + 1 - below) as f64, below as f64);
        probability *= left / taken;
    }
    // `below` coins or more fall outside of the bound: the order statistic before it is inside.
    below.saturating_sub(1).min(samples.saturating_sub(1) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_tables() {
        // Conover, Practical Nonparametric Statistics: the first order statistic of the interval.
        let table = [(6, 1), (8, 1), (9, 2), (12, 3), (15, 4), (20, 6), (25, 8)];
        for (samples, first) in table {
            assert_eq!(skipped(samples) + 1, first, "{samples}");
        }
        for samples in 0..6 {
            assert_eq!(skipped(samples), 0, "{samples}");
        }
    }

    #[test]
    fn medians_and_ends() {
        fn check(samples: &[f64], median: f64, low: f64, high: f64) {
            let figures = Figures::of(samples.to_vec());
            assert_eq!(figures, Figures { median, low, high }, "{samples:?}");
        }
        check(&[], 0.0, 0.0, 0.0);
        check(&[4.0], 4.0, 4.0, 4.0);
        check(&[4.0, 2.0], 3.0, 2.0, 4.0);
        check(&[9.0, 1.0, 2.0], 2.0, 1.0, 9.0);
        check(
            &[9.0, 1.0, 2.0, 3.0, 5.0, 4.0, 8.0, 7.0, 6.0],
            5.0,
            2.0,
            8.0,
        );
    }

    #[test]
    fn what_overlaps_is_not_told_apart() {
        let figures = |low, high| Figures {
            median: f64::midpoint(low, high),
            low,
            high,
        };
        assert!(figures(1.0, 2.0).is_clearly_below(&figures(2.1, 3.0)));
        assert!(!figures(1.0, 2.0).is_clearly_below(&figures(2.0, 3.0)));
        assert!(!figures(2.1, 3.0).is_clearly_below(&figures(1.0, 2.0)));
    }
}
