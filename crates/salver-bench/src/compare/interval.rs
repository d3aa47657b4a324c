//! A ratio from pairs of trials, and the interval in which it may lie.
//!
//! Each block of four trials gives two pairs of neighbours, one in each direction: what drifts
//! steadily makes the one too high and the other too low by the same. The ratio is the
//! Hodges-Lehmann estimate of the logarithms of all pairs, the median of the means of any two of
//! them (J. L. Hodges and E. L. Lehmann, "Estimates of Location Based on Rank Tests", 1963): a trial
//! in ten that something else disturbed moves it little. The interval is that of a percentile
//! bootstrap over whole blocks, expanded for their small number (T. C. Hesterberg, "What Teachers
//! Should Know About the Bootstrap", 2015, section 5.2): without that, eight blocks would give one
//! that is too short.

use distrs::{Normal, StudentsT};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::result::report::Interval;

/// How often the blocks are drawn again for a result.
pub const RESAMPLES: usize = 5_000;

/// The fewest blocks that give an interval: with less, not even the widest that a bootstrap can
/// give would hold the truth often enough.
pub const FEWEST_BLOCKS: usize = 8;

/// The method in words.
pub const METHOD: &str = "ratio: Hodges-Lehmann estimate of the log ratios of neighbouring trials, \
     B by A; interval: expanded percentile bootstrap over the blocks of four trials";

/// The logarithms of B by A of the two pairs of neighbours in a block.
pub type Pairs = [f64; 2];

/// B by A, with an interval that holds the truth in this share of all cases (`level`, below 1), by so many draws.
/// The same `seed` gives the same interval. `None` if there are fewer than [`FEWEST_BLOCKS`], or one
/// has no finite ratio.
pub fn ratio(blocks: &[Pairs], level: f64, resamples: usize, seed: u64) -> Option<Interval> {
    if blocks.len() < FEWEST_BLOCKS || !blocks.as_flattened().iter().all(|log| log.is_finite()) {
        return None;
    }
    let means = Means::of(blocks);
    let found = means.median(&vec![1; blocks.len()]);
    let mut random = StdRng::seed_from_u64(seed);
    let mut times = vec![0; blocks.len()];
    let mut drawn: Vec<f64> = Vec::with_capacity(resamples);
    for _ in 0..resamples {
        times.fill(0);
        for _ in 0..blocks.len() {
            if let Some(times) = times.get_mut(random.random_range(0..blocks.len())) {
                *times += 1;
            }
        }
        drawn.push(means.median(&times));
    }
    drawn.sort_unstable_by(f64::total_cmp);
    let tail = expanded_tail((1.0 - level) / 2.0, blocks.len());
    Some(Interval {
        ratio: found.exp(),
        // No luck in the draw excludes what was found.
        low: quantile(&drawn, tail).min(found).exp(),
        high: quantile(&drawn, 1.0 - tail).max(found).exp(),
    })
}

/// The share to cut off at each end so that, for a mean of `count` normal values, the percentiles of
/// a bootstrap are as far apart as Student's t asks for.
fn expanded_tail(tail: f64, count: usize) -> f64 {
    let count = count as f64;
    let t = StudentsT::ppf(tail, count - 1.0);
    Normal::cdf(t * (count / (count - 1.0)).sqrt(), 0.0, 1.0)
}

/// The value below which this share of them lies, between neighbours in proportion; they ascend.
fn quantile(ascending: &[f64], share: f64) -> f64 {
    let place = share * ascending.len().saturating_sub(1) as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place among them"
    )]
    let below = place as usize;
    let Some(low) = ascending.get(below) else {
        return f64::NAN;
    };
    let high = ascending.get(below + 1).unwrap_or(low);
    low + (high - low) * place.fract()
}

/// The means of any two pairs, of one with itself too, ascending.
struct Means {
    /// Each mean, and the blocks that its two pairs are of.
    ascending: Vec<Mean>,
    /// How many means a draw of as many blocks has.
    count: u64,
}

struct Mean {
    mean: f64,
    blocks: (usize, usize),
    /// Both are the same pair: drawn `n` times, it meets itself `n (n + 1) / 2` times.
    same: bool,
}

impl Means {
    fn of(blocks: &[Pairs]) -> Self {
        let pairs = || {
            let with_block = blocks.iter().enumerate();
            let pairs = with_block.flat_map(|(block, pairs)| pairs.map(|log| (block, log)));
            pairs.enumerate()
        };
        let mut ascending = Vec::new();
        for (first, (block, log)) in pairs() {
            for (second, (other_block, other)) in pairs().skip(first) {
                ascending.push(Mean {
                    mean: log.midpoint(other),
                    blocks: (block, other_block),
                    same: first == second,
                });
            }
        }
        ascending.sort_unstable_by(|a, b| a.mean.total_cmp(&b.mean));
        let count = ascending.len() as u64;
        Means { ascending, count }
    }

    /// The median of the means, if the blocks were drawn so many times.
    fn median(&self, times: &[u64]) -> f64 {
        let of = |block: usize| times.get(block).copied().unwrap_or_default();
        let mut seen = 0;
        let mut lower = None;
        for Mean { mean, blocks, same } in &self.ascending {
            let (first, second) = (of(blocks.0), of(blocks.1));
            seen += match same {
                true => first * (first + 1) / 2,
                false => first * second,
            };
            if let Some(lower) = lower {
                if 2 * seen > self.count {
                    return mean.midpoint(lower);
                }
            } else if 2 * seen > self.count {
                return *mean;
            } else if 2 * seen == self.count {
                lower = Some(*mean);
            }
        }
        f64::NAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks around these logarithms.
    fn blocks(logs: &[f64]) -> Vec<Pairs> {
        logs.iter().map(|log| [log - 0.001, log + 0.001]).collect()
    }

    #[test]
    fn the_median_of_means_is_that_of_the_definition() {
        fn check(values: &[Pairs], times: &[u64]) {
            let drawn: Vec<f64> = values
                .iter()
                .zip(times)
                .flat_map(|(pairs, times)| (0..*times).flat_map(|_| *pairs))
                .collect();
            let mut means = Vec::new();
            for (index, a) in drawn.iter().enumerate() {
                means.extend(drawn[index..].iter().map(|b| a.midpoint(*b)));
            }
            means.sort_by(f64::total_cmp);
            let middle = means.len() / 2;
            let expected = match means.len() % 2 {
                0 => means[middle - 1].midpoint(means[middle]),
                _ => means[middle],
            };
            let found = Means::of(values).median(times);
            let is_right = (found - expected).abs() < 1e-12;
            assert!(is_right, "{times:?}: {found} {expected}");
        }
        let values = [[0.1, -0.3], [2.0, 0.7], [0.05, 0.051], [-1.0, 0.4]];
        for times in [[1, 1, 1, 1], [2, 0, 1, 1], [0, 0, 0, 4], [0, 3, 1, 0]] {
            check(&values, &times);
        }
        check(&values[..3], &[1, 1, 1]);
        check(&values[..3], &[3, 0, 0]);
    }

    #[test]
    fn quantiles_lie_between_neighbours_in_proportion() {
        let check = |share: f64, expected: f64| {
            let found = quantile(&[1.0, 2.0, 4.0], share);
            assert!((found - expected).abs() < 1e-12, "{share}: {found}");
        };
        let expected = [(0.0, 1.0), (0.25, 1.5), (0.5, 2.0), (0.75, 3.0), (1.0, 4.0)];
        expected
            .iter()
            .for_each(|(share, value)| check(*share, *value));
    }

    #[test]
    fn few_blocks_cut_off_less() {
        // Student's t with 7 degrees of freedom leaves 2.5 % beyond 2.3646.
        let expected = Normal::cdf(-2.3646 * (8.0_f64 / 7.0).sqrt(), 0.0, 1.0);
        assert!((expanded_tail(0.025, 8) - expected).abs() < 1e-5);
        assert!(expanded_tail(0.025, 8) < expanded_tail(0.025, 32));
        assert!((expanded_tail(0.025, 100_000) - 0.025).abs() < 1e-4);
    }

    #[test]
    fn a_ratio_lies_in_its_interval_and_repeats() {
        let logs = [0.1, 0.11, 0.09, 0.1, 0.12, 0.1, 0.08, 0.1];
        let found = ratio(&blocks(&logs), 0.95, RESAMPLES, 7).unwrap();
        assert!((found.ratio.ln() - 0.1).abs() < 0.002, "{found:?}");
        assert!(found.low < found.ratio && found.ratio < found.high);
        assert!(found.low.ln() > 0.08 && found.high.ln() < 0.12, "{found:?}");
        assert_eq!(ratio(&blocks(&logs), 0.95, RESAMPLES, 7), Some(found));
        let wider = ratio(&blocks(&logs), 0.99, RESAMPLES, 7).unwrap();
        assert!(wider.low <= found.low && found.high <= wider.high);
    }

    #[test]
    fn one_disturbed_block_in_ten_moves_it_little() {
        let mut logs = [0.1; 10];
        logs[3] = -0.4;
        let found = ratio(&blocks(&logs), 0.95, RESAMPLES, 7).unwrap();
        assert!((found.ratio.ln() - 0.1).abs() < 0.002, "{found:?}");
    }

    #[test]
    fn what_cannot_be_told_is_not_told() {
        assert_eq!(ratio(&[], 0.95, RESAMPLES, 1), None);
        assert_eq!(
            ratio(&blocks(&[0.1; FEWEST_BLOCKS - 1]), 0.95, RESAMPLES, 1),
            None
        );
        let mut logs = [0.1; FEWEST_BLOCKS];
        assert!(ratio(&blocks(&logs), 0.95, RESAMPLES, 1).is_some());
        logs[2] = f64::NEG_INFINITY;
        assert_eq!(ratio(&blocks(&logs), 0.95, RESAMPLES, 1), None);
    }
}
