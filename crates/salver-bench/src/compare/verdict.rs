//! The verdict on B that follows from an interval: faster, slower, the same, or not yet known.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::result::report::Interval;

/// The verdict on B beside A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Verdict {
    /// B is better, and by more than the margin may hide.
    Faster,
    /// B is worse, and by more than the margin may hide.
    Slower,
    /// Whatever difference there is, it is within the margin.
    Same,
    /// The interval holds both no difference and one beyond the margin.
    Undecided {
        /// About how many more trials of each side would tell.
        more_trials: u64,
    },
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Faster => f.write_str("faster"),
            Verdict::Slower => f.write_str("slower"),
            Verdict::Same => f.write_str("same"),
            Verdict::Undecided { .. } => f.write_str("undecided"),
        }
    }
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More requests per second, say.
    More,
    /// A shorter latency, say.
    Less,
}

/// Judges the interval of B by A after `trials` of each side.
///
/// First: an interval within the margin (from `1 / (1 + margin)` to `1 + margin`) is `Same`, even
/// if it excludes 1: a difference of 0.5 % may be certain and still matters to nobody. Then: one
/// that excludes 1 is `Faster` or `Slower`. All others are `Undecided`.
pub fn judge(interval: &Interval, margin: f64, better: Better, trials: u64) -> Verdict {
    let within = margin.ln_1p();
    let (low, found, high) = (interval.low.ln(), interval.ratio.ln(), interval.high.ln());
    if -within <= low && high <= within {
        Verdict::Same
    } else if low > 0.0 || high < 0.0 {
        match (low > 0.0) == (better == Better::More) {
            true => Verdict::Faster,
            false => Verdict::Slower,
        }
    } else {
        let width = (high - found).max(found - low);
        // Either the interval comes to exclude 1 or to lie within the margin.
        let enough = found.abs().max(within - found.abs());
        Verdict::Undecided {
            more_trials: more(width / enough, trials),
        }
    }
}

/// How many more trials make an interval narrower by this factor: its width falls with the root of
/// their number. A fifth is added, since this one may be narrow by luck. Even, and at least two.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate, between bounds that are exact"
)]
fn more(narrower: f64, trials: u64) -> u64 {
    let all = 1.2 * narrower.powi(2) * trials as f64;
    let pairs = ((all - trials as f64) / 2.0).ceil().clamp(1.0, 1e9);
    2 * pairs as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(interval: (f64, f64, f64), more: Verdict, less: Verdict) {
        let (low, ratio, high) = interval;
        let interval = Interval { ratio, low, high };
        assert_eq!(judge(&interval, 0.03, Better::More, 16), more);
        assert_eq!(judge(&interval, 0.03, Better::Less, 16), less);
    }

    #[test]
    fn within_the_margin_is_the_same_whatever_else_it_is() {
        check((0.98, 1.0, 1.02), Verdict::Same, Verdict::Same);
        check((1.001, 1.01, 1.02), Verdict::Same, Verdict::Same);
        check((0.975, 0.98, 0.99), Verdict::Same, Verdict::Same);
        check((1.0 / 1.0299, 1.0, 1.0299), Verdict::Same, Verdict::Same);
    }

    #[test]
    fn beyond_the_margin_and_without_1_is_a_difference() {
        check((1.01, 1.03, 1.05), Verdict::Faster, Verdict::Slower);
        check((1.5, 2.0, 3.0), Verdict::Faster, Verdict::Slower);
        check((0.9, 0.95, 0.999), Verdict::Slower, Verdict::Faster);
    }

    #[test]
    fn what_holds_both_is_undecided_and_says_how_long() {
        fn more(low: f64, ratio: f64, high: f64) -> u64 {
            let interval = Interval { ratio, low, high };
            let verdict = judge(&interval, 0.03, Better::More, 16);
            assert_eq!(verdict, judge(&interval, 0.03, Better::Less, 16));
            let Verdict::Undecided { more_trials } = verdict else {
                panic!("{verdict:?}")
            };
            more_trials
        }
        let within = 0.03_f64.ln_1p();
        // Twice too wide: four times as many trials, and a fifth: 76.8, of which 16 are there.
        let twice = (2.0 * within).exp();
        assert_eq!(more(1.0 / twice, 1.0, twice), 62);
        // The worst case is half the margin, and has an end too.
        assert!(more(0.9, 1.015, 1.14) > 1000);
        // One that is almost there asks for little.
        assert!(more(0.97, 1.0, 1.031) <= 6);
        assert!(more(1e-9, 1.0, 1e9) > 1_000_000);
    }
}
