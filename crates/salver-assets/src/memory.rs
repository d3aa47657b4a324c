//! The memory cache: entries by path, within a budget of bytes.
//!
//! A hit reads a lock-free table and raises a counter on the entry; only what changes the table
//! takes the one lock, under which the policy decides what leaves.

use std::sync::Arc;

use crate::counters::Counter;
use crate::policy::{Key, Policy, Uses};
use crate::resource::Entry;
use crate::sync::Lock;

type Table = papaya::HashMap<Key, Arc<Entry>, foldhash::fast::RandomState>;

/// See the module.
#[derive(Debug)]
pub(crate) struct Memory {
    table: Table,
    /// Invariant: has a slot for exactly the keys in `table`. Changes of both are made under it.
    policy: Lock<Policy>,
}

impl Memory {
    pub(crate) fn new(budget: usize) -> Self {
        Memory {
            table: Table::default(),
            policy: Lock::new(Policy::new(budget)),
        }
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<Arc<Entry>> {
        self.table.pin().get(key).cloned()
    }

    /// Keeps `entry`, replacing what its key had, and lets go of what no longer fits (that can be
    /// the entry itself). Each that leaves counts as an eviction.
    pub(crate) fn insert(&self, entry: Arc<Entry>, evictions: &Counter) {
        let mut policy = self.policy.hold();
        let table = self.table.pin();
        let (key, weight) = (Arc::clone(&entry.key), entry.weight);
        table.insert(Arc::clone(&key), entry);
        for leaving in policy.insert(&key, weight, &InTable(&self.table)) {
            table.remove(&leaving);
            evictions.add(1);
        }
    }

    /// Lets go of everything.
    pub(crate) fn clear(&self) {
        let mut policy = self.policy.hold();
        policy.clear();
        self.table.pin().clear();
    }

    /// Entries and their bytes.
    pub(crate) fn size(&self) -> (usize, usize) {
        let policy = self.policy.hold();
        (policy.len(), policy.weight())
    }
}

struct InTable<'a>(&'a Table);

impl Uses for InTable<'_> {
    fn uses(&self, key: &Key) -> u8 {
        self.0.pin().get(key).map_or(0, |entry| entry.uses())
    }

    fn set_uses(&self, key: &Key, uses: u8) {
        if let Some(entry) = self.0.pin().get(key) {
            entry.set_uses(uses);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Resource;
    use crate::sync::taken;
    use std::time::Duration;

    fn entry(name: &str) -> Arc<Entry> {
        let key: Key = Arc::from(name.as_bytes());
        Arc::new(Entry::new(key, Resource::Missing, Duration::ZERO, 0))
    }

    #[test]
    fn the_budget_counts_bookkeeping_and_the_used_stay() {
        let weight = entry("/00").weight;
        let memory = Memory::new(weight * 10);
        let evictions = Counter::default();
        for number in 0..5 {
            memory.insert(entry(&format!("/0{number}")), &evictions);
            memory
                .get(format!("/0{number}").as_bytes())
                .unwrap()
                .touch();
        }
        for number in 10..99 {
            memory.insert(entry(&format!("/{number}")), &evictions);
            let (entries, bytes) = memory.size();
            assert!(bytes <= weight * 10);
            assert_eq!(entries, memory.table.pin().len());
        }
        assert!((0..5).all(|number| memory.get(format!("/0{number}").as_bytes()).is_some()));
        assert_eq!(evictions.get(), 5 + 89 - 10);
        memory.clear();
        assert_eq!(memory.size(), (0, 0));
        assert!(memory.get(b"/01").is_none());
    }

    #[test]
    fn a_hit_takes_no_lock() {
        let memory = Memory::new(1 << 20);
        memory.insert(entry("/a"), &Counter::default());
        let before = taken::so_far();
        for _ in 0..100 {
            memory.get(b"/a").unwrap().touch();
            assert!(memory.get(b"/b").is_none());
        }
        assert_eq!(taken::so_far(), before);
    }

    #[test]
    fn readers_and_writers_at_once_keep_the_table_and_the_policy_in_step() {
        let memory = Memory::new(entry("/00").weight * 20);
        let evictions = Counter::default();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (memory, evictions) = (&memory, &evictions);
                scope.spawn(move || {
                    for number in 0..2000 {
                        let name = format!("/{:02}", (number * (thread + 3)) % 60);
                        match memory.get(name.as_bytes()) {
                            Some(entry) => entry.touch(),
                            None => memory.insert(entry(&name), evictions),
                        }
                    }
                });
            }
        });
        let (entries, bytes) = memory.size();
        assert_eq!(entries, memory.table.pin().len());
        assert!(bytes <= entry("/00").weight * 20);
    }
}
