//! The order of the trials.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};

/// One of the two that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The one that B is compared with.
    A,
    /// The one that is judged.
    B,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Side::A => "A",
            Side::B => "B",
        })
    }
}

/// Trials in a block.
pub const BLOCK: usize = 4;

/// The order in words.
pub const METHOD: &str = "blocks of four trials, each A B B A or B A A B by lot";

/// Blocks of four trials, A B B A or B A A B. What drifts steadily falls on both sides alike within a
/// block; which of the two a block is, is drawn by lot, so that nothing that comes and goes at a
/// rhythm of its own can stay in step with one side.
#[derive(Debug)]
pub struct Order(StdRng);

impl Order {
    /// The order that belongs to this seed.
    pub fn new(seed: u64) -> Self {
        Order(StdRng::seed_from_u64(seed))
    }

    /// The next block.
    pub fn block(&mut self) -> [Side; BLOCK] {
        use Side::{A, B};
        match self.0.random() {
            true => [A, B, B, A],
            false => [B, A, A, B],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_is_balanced_both_kinds_come_and_a_seed_repeats() {
        let blocks = |seed| {
            let mut order = Order::new(seed);
            (0..64).map(|_| order.block()).collect::<Vec<_>>()
        };
        for block in blocks(1) {
            let place = |side| {
                let places = block.iter().zip(0..).filter(|(of, _)| **of == side);
                places.map(|(_, place)| place).sum::<i32>()
            };
            assert_eq!(place(Side::A), place(Side::B), "{block:?}");
        }
        let first_is_a = blocks(1).iter().filter(|block| block[0] == Side::A).count();
        assert!((16..48).contains(&first_is_a), "{first_is_a}");
        assert_eq!(blocks(1), blocks(1));
        assert_ne!(blocks(1), blocks(2));
    }
}
