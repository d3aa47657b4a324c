//! The tally: a number that one thread adds to and any may read.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that one thread adds to, and any may read.
#[derive(Debug, Default)]
pub(super) struct Tally(AtomicU64);

impl Tally {
    /// Adds to it. As there is no other writer, a load and a store do, without a locked instruction between.
    #[inline]
    pub(super) fn add(&self, amount: u64) {
        let sum = self.get().wrapping_add(amount);
        self.0.store(sum, Ordering::Relaxed);
    }

    pub(super) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
