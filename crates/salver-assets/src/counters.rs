//! The counters of an engine. An increment is one relaxed add on a cache line of the thread's own.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The cache lines of a counter; threads beyond that number share.
const SHARDS: usize = 16;

#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded(AtomicU64);

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter([Padded; SHARDS]);

impl Counter {
    pub(crate) fn add(&self, amount: u64) {
        if let Some(shard) = self.0.get(shard()) {
            shard.0.fetch_add(amount, Ordering::Relaxed);
        }
    }

    /// The sum so far; increments that run at the same moment may be missing.
    pub(crate) fn get(&self) -> u64 {
        self.0
            .iter()
            .map(|shard| shard.0.load(Ordering::Relaxed))
            .sum()
    }
}

fn shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static SHARD: Cell<Option<usize>> = const { Cell::new(None) };
    }
    SHARD.with(|mine| {
        mine.get().unwrap_or_else(|| {
            let shard = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
            mine.set(Some(shard));
            shard
        })
    })
}

/// The counters since the engine was made; [`Statistics`] says what each is.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) hits: Counter,
    pub(crate) misses: Counter,
    pub(crate) coalesced: Counter,
    pub(crate) loads: Counter,
    pub(crate) revalidations: Counter,
    pub(crate) evictions: Counter,
    pub(crate) bytes_loaded: Counter,
    pub(crate) rulings: Counter,
}

/// The counters' values at one moment - they begin at 0 with the engine, and only grow -, and what the
/// cache holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Requests answered from a fresh entry.
    pub hits: u64,
    /// Requests that had to load, or to wait for a load.
    pub misses: u64,
    /// Requests that waited for a load that another one had begun.
    pub coalesced: u64,
    /// Loads performed, of whatever kind.
    pub loads: u64,
    /// Loads that compared a cached entry with the disk and found it unchanged.
    pub revalidations: u64,
    /// Entries pushed out by the byte budget.
    pub evictions: u64,
    /// Bytes read from sources into memory.
    pub bytes_loaded: u64,
    /// Times that rules were evaluated, for a path or for a request.
    pub rulings: u64,
    /// Entries held now.
    pub entries: u64,
    /// Bytes held now: content, heads and bookkeeping.
    pub bytes: u64,
    /// Files held open now whose content is not in memory.
    pub open_files: u64,
    /// Codings that were made and save enough to be sent.
    pub codings_made: u64,
    /// Verdicts on codings that were taken from the directory that keeps them.
    pub codings_taken: u64,
    /// Codings that were made and do not save enough.
    pub codings_useless: u64,
    /// Codings that wait for being made, or are being made now.
    pub codings_waiting: u64,
    /// Bytes of made codings held now, apart from what entries have of them.
    pub coding_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_over_threads() {
        let counter = Counter::default();
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| (0..100).for_each(|_| counter.add(2)));
            }
        });
        assert_eq!(counter.get(), 4000);
    }
}
