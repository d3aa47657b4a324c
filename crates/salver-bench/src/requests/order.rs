//! The order in which URLs are asked.

use std::sync::Arc;

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Zipf};

/// In which order URLs are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Order {
    /// One after the other, and again.
    #[default]
    RoundRobin,
    /// By chance, few of them often and many seldom: the one of rank k with a probability in
    /// proportion to 1 / k^exponent (Breslau et al., "Web Caching and Zipf-like Distributions",
    /// 1999, found 0.64 to 0.83 for the web). Ranks are dealt out by chance, the same in each run.
    Zipf {
        /// At least 0; 0 is every one alike.
        exponent: f64,
    },
}

/// Picks numbers below a bound, by an order.
#[derive(Clone, Debug)]
pub(crate) struct Picker {
    rng: SmallRng,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    RoundRobin { next: usize, of: usize },
    Zipf { ranks: Arc<[u32]>, zipf: Zipf<f64> },
}

impl Picker {
    /// One for each of `threads`, of numbers below `of`, which is at least 1.
    pub(crate) fn for_threads(order: Order, of: usize, threads: usize) -> Vec<Picker> {
        let mut ranks: Vec<u32> = (0..u32::try_from(of).unwrap_or(u32::MAX)).collect();
        ranks.shuffle(&mut SmallRng::seed_from_u64(0));
        let ranks: Arc<[u32]> = ranks.into();
        let pickers = (0..threads).map(|thread| {
            let round_robin = Kind::RoundRobin {
                next: thread * of / threads.max(1),
                of,
            };
            let kind = match order {
                Order::RoundRobin => round_robin,
                // The exponent was checked where it came from.
                Order::Zipf { exponent } => {
                    Zipf::new(of as f64, exponent).map_or(round_robin, |zipf| {
                        let ranks = Arc::clone(&ranks);
                        Kind::Zipf { ranks, zipf }
                    })
                }
            };
            let rng = SmallRng::seed_from_u64(thread as u64);
            Picker { rng, kind }
        });
        pickers.collect()
    }

    pub(crate) fn next(&mut self) -> usize {
        match &mut self.kind {
            Kind::RoundRobin { next, of } => {
                let number = *next;
                *next = if number + 1 < *of { number + 1 } else { 0 };
                number
            }
            Kind::Zipf { ranks, zipf } => {
                let rank = zipf.sample(&mut self.rng);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a rank is from 1 to the number of URLs"
                )]
                let rank = rank as usize - 1;
                let number = ranks.get(rank).copied().unwrap_or_default();
                usize::try_from(number).unwrap_or_default()
            }
        }
    }

    /// By chance, from 0 up to 1.
    pub(crate) fn chance(&mut self) -> f64 {
        self.rng.random()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_robin_asks_each_in_turn_and_threads_begin_apart() {
        let mut pickers = Picker::for_threads(Order::RoundRobin, 4, 2);
        let mut take =
            |thread: usize| -> Vec<usize> { (0..5).map(|_| pickers[thread].next()).collect() };
        assert_eq!(take(0), [0, 1, 2, 3, 0]);
        assert_eq!(take(1), [2, 3, 0, 1, 2]);
    }

    #[test]
    fn zipf_asks_few_often_and_all_are_within_bounds() {
        let mut pickers = Picker::for_threads(Order::Zipf { exponent: 1.0 }, 1000, 1);
        let mut counts = vec![0_u32; 1000];
        for _ in 0..100_000 {
            counts[pickers[0].next()] += 1;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        // The first of 1,000 has a share of 1 / H(1000) = 13.4 %.
        assert!((12_500..14_300).contains(&counts[0]), "{}", counts[0]);
        assert!(counts[..100].iter().sum::<u32>() > 65_000);
    }
}
