//! A cache by key, within a budget: entries by path and bytes, open files by number.
//!
//! A hit reads a lock-free table and raises a counter on what it finds; only what changes the table
//! takes the one lock, under which the policy decides what leaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::cache::key::{BorrowedKey, CacheKey};
use crate::cache::policy::{MAX_USES, Policy};
use crate::sync::Lock;

/// A value that can be cached: it has a key, a weight and a counter of its uses.
pub(crate) trait Cached {
    fn key(&self) -> &CacheKey;
    /// The weight in the unit of the budget.
    fn weight(&self) -> usize;
    /// True for a value without a file, of which there is no end: all of them share a part of the budget.
    fn is_fileless(&self) -> bool {
        false
    }
    fn uses(&self) -> &UseCounter;
}

/// The number of times that a value was used, up to [`MAX_USES`].
#[derive(Debug, Default)]
pub(crate) struct UseCounter(AtomicU8);

impl UseCounter {
    pub(crate) fn new(uses: u8) -> Self {
        UseCounter(AtomicU8::new(uses))
    }

    /// Counts a use; saturates, so that what is hot is only read.
    pub(crate) fn touch(&self) {
        let uses = self.get();
        if uses < MAX_USES {
            self.set(uses + 1);
        }
    }

    pub(crate) fn get(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, uses: u8) {
        self.0.store(uses, Ordering::Relaxed);
    }
}

type Table<T> = papaya::HashMap<CacheKey, Arc<T>, foldhash::fast::RandomState>;

/// A table of values by key whose weights stay within a budget.
#[derive(Debug)]
pub(crate) struct BoundedCache<T> {
    table: Table<T>,
    /// Invariant: has a slot for exactly the keys in `table`. Changes of both are made under it.
    policy: Lock<Policy>,
}

impl<T: Cached> BoundedCache<T> {
    pub(crate) fn new(budget: usize) -> Self {
        // What is removed is let go of as soon as nobody reads it, not in batches: it may be
        // megabytes, or a handle that keeps a deleted file's space.
        let at_once = seize::Collector::new().batch_size(1);
        BoundedCache {
            table: papaya::HashMap::builder()
                .hasher(foldhash::fast::RandomState::default())
                .collector(at_once)
                .build(),
            policy: Lock::new(Policy::new(budget)),
        }
    }

    pub(crate) fn get(&self, key: BorrowedKey<'_>) -> Option<Arc<T>> {
        self.table.pin().get(&key).cloned()
    }

    /// Caches a value in place of that of its key, and evicts what no longer fits (that can be the
    /// new one itself): returns the keys that were evicted.
    pub(crate) fn insert(&self, kept: Arc<T>) -> Vec<CacheKey> {
        self.insert_if(kept, || true)
    }

    /// The same if the value `is_wanted`, which is asked under the lock that removing takes as well.
    pub(crate) fn insert_if(
        &self,
        kept: Arc<T>,
        is_wanted: impl FnOnce() -> bool,
    ) -> Vec<CacheKey> {
        let mut policy = self.policy.hold();
        if !is_wanted() {
            return Vec::new();
        }
        let table = self.table.pin();
        let (key, weight, is_fileless) = (kept.key().clone(), kept.weight(), kept.is_fileless());
        table.insert(key.clone(), kept);
        let leaving = policy.insert(&key, weight, is_fileless, &InTable(&self.table));
        for key in &leaving {
            table.remove(key);
        }
        leaving
    }

    /// Removes the value of this key, and returns it.
    pub(crate) fn remove(&self, key: BorrowedKey<'_>) -> Option<Arc<T>> {
        let mut policy = self.policy.hold();
        let removed = self.table.pin().remove(&key).cloned()?;
        policy.remove(removed.key());
        Some(removed)
    }

    /// Removes the values for which `of` returns true, and returns them: of those that [`visit`](Self::visit) visits.
    pub(crate) fn take(&self, of: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let mut found = Vec::new();
        self.visit(|_, kept| {
            if of(kept) {
                found.push(Arc::clone(kept));
            }
        });
        let table = self.table.pin();
        let mut policy = self.policy.hold();
        found.retain(|kept| {
            // What has come in its place is wanted.
            let is_there = table
                .get(kept.key())
                .is_some_and(|now| Arc::ptr_eq(now, kept));
            if is_there {
                table.remove(kept.key());
                policy.remove(kept.key());
            }
            is_there
        });
        found
    }

    /// The bytes that all values may take.
    pub(crate) fn budget(&self) -> usize {
        self.policy.hold().budget()
    }

    /// Changes the budget, and evicts what no longer fits.
    pub(crate) fn limit(&self, budget: usize) {
        let mut policy = self.policy.hold();
        let table = self.table.pin();
        for leaving in policy.limit(budget, &InTable(&self.table)) {
            table.remove(&leaving);
        }
    }

    /// Visits all values that are there and those whose insertion has found them wanted, in no order; those that come or go
    /// meanwhile are visited or not. Looks at them without the lock, as there may be many, and others wait for it.
    pub(crate) fn visit(&self, mut visitor: impl FnMut(&CacheKey, &Arc<T>)) {
        // Whoever has asked whether a value is wanted has inserted it by then.
        drop(self.policy.hold());
        for (key, kept) in &self.table.pin() {
            visitor(key, kept);
        }
    }

    /// Removes all values; returns their number.
    pub(crate) fn clear(&self) -> usize {
        let mut policy = self.policy.hold();
        let count = policy.len();
        policy.clear();
        self.table.pin().clear();
        count
    }

    /// The number of values, and their weight.
    pub(crate) fn size(&self) -> (usize, usize) {
        let policy = self.policy.hold();
        (policy.len(), policy.weight())
    }
}

struct InTable<'a, T>(&'a Table<T>);

impl<T: Cached> crate::cache::policy::UseCounts for InTable<'_, T> {
    fn uses(&self, key: &CacheKey) -> u8 {
        self.0.pin().get(key).map_or(0, |kept| kept.uses().get())
    }

    fn set_uses(&self, key: &CacheKey, uses: u8) {
        if let Some(kept) = self.0.pin().get(key) {
            kept.uses().set(uses);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::entry::{CacheEntry, Resource};
    use crate::sync::taken;
    use std::time::Duration;

    /// The key of a path of the first site.
    fn at(path: &[u8]) -> BorrowedKey<'_> {
        BorrowedKey { site: 0, path }
    }

    fn entry(name: &str) -> Arc<CacheEntry> {
        let key = CacheKey::new(0, name.as_bytes());
        Arc::new(CacheEntry::new(key, Resource::Directory, Duration::ZERO, 0))
    }

    #[test]
    fn the_budget_counts_bookkeeping_and_the_used_stay() {
        let weight = entry("/00").weight;
        let memory = BoundedCache::new(weight * 10);
        let mut evictions = 0;
        for number in 0..5 {
            evictions += memory.insert(entry(&format!("/0{number}"))).len();
            memory
                .get(at(format!("/0{number}").as_bytes()))
                .unwrap()
                .uses()
                .touch();
        }
        for number in 10..99 {
            evictions += memory.insert(entry(&format!("/{number}"))).len();
            let (entries, bytes) = memory.size();
            assert!(bytes <= weight * 10);
            assert_eq!(entries, memory.table.pin().len());
        }
        assert!((0..5).all(|number| memory.get(at(format!("/0{number}").as_bytes())).is_some()));
        assert_eq!(evictions, 5 + 89 - 10);
        assert_eq!(memory.clear(), 10);
        assert_eq!(memory.size(), (0, 0));
        assert!(memory.get(at(b"/01")).is_none());
    }

    #[test]
    fn a_hit_takes_no_lock() {
        let memory = BoundedCache::new(1 << 20);
        memory.insert(entry("/a"));
        let before = taken::so_far();
        for _ in 0..100 {
            memory.get(at(b"/a")).unwrap().uses().touch();
            assert!(memory.get(at(b"/b")).is_none());
        }
        assert_eq!(taken::so_far(), before);
    }

    #[test]
    fn readers_and_writers_at_once_keep_the_table_and_the_policy_in_step() {
        let memory: BoundedCache<CacheEntry> = BoundedCache::new(entry("/00").weight * 20);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let memory = &memory;
                scope.spawn(move || {
                    for number in 0..2000 {
                        let name = format!("/{:02}", (number * (thread + 3)) % 60);
                        match memory.get(at(name.as_bytes())) {
                            Some(entry) => entry.uses().touch(),
                            None => drop(memory.insert(entry(&name))),
                        }
                    }
                });
            }
        });
        let (entries, bytes) = memory.size();
        assert_eq!(entries, memory.table.pin().len());
        assert!(bytes <= entry("/00").weight * 20);
    }

    #[test]
    fn while_values_are_looked_at_others_come() {
        let memory = BoundedCache::new(1 << 20);
        for path in ["/a", "/b"] {
            memory.insert(entry(path));
        }
        let taken = memory.take(|kept| {
            // In the place of the one, and beside the other.
            memory.insert(entry("/b"));
            memory.insert(entry("/c"));
            **kept.key() != *b"/c"
        });
        let taken: Vec<_> = taken.iter().map(|kept| kept.key().to_vec()).collect();
        assert_eq!(taken, [b"/a"]);
        let mut left = Vec::new();
        memory.visit(|key, _| left.push(key.to_vec()));
        left.sort_unstable();
        assert_eq!(left, [b"/b", b"/c"]);
    }

    #[test]
    fn no_site_finds_an_entry_of_another() {
        let memory = BoundedCache::new(1 << 20);
        let entry = |site| {
            let key = CacheKey::new(site, b"/a");
            Arc::new(CacheEntry::new(key, Resource::Directory, Duration::ZERO, 0))
        };
        let find =
            |memory: &BoundedCache<CacheEntry>, site| memory.get(BorrowedKey { site, path: b"/a" });
        memory.insert(entry(0));
        memory.insert(entry(7));
        assert_eq!(memory.size().0, 2);
        for site in [0, 7] {
            assert_eq!(find(&memory, site).unwrap().key.site(), site);
        }
        assert!(
            [1, 6, 8, u32::MAX]
                .iter()
                .all(|site| find(&memory, *site).is_none())
        );
        memory.remove(BorrowedKey {
            site: 7,
            path: b"/a",
        });
        assert!(find(&memory, 7).is_none() && find(&memory, 0).is_some());
        assert_eq!(memory.size().0, 1);
    }
}
