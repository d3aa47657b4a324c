//! Which entry leaves when the byte budget is spent: S3-FIFO.
//!
//! Yang, Zhang, Qiu, Yue and Vigfusson, "FIFO queues are all you need for cache eviction",
//! SOSP 2023. New keys enter a small queue with a tenth of the budget and leave it soon unless
//! they are asked for again, so that one pass over many files does not push out what is in use;
//! keys that come back shortly after leaving (the ghost queue remembers their hashes) enter the
//! main queue. A hit only raises a counter on the entry, which needs no lock and no order.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasher;
use std::sync::Arc;

/// An entry's key.
pub(crate) type Key = Arc<[u8]>;

/// Uses beyond this are not told apart.
pub(crate) const MAX_USES: u8 = 3;

/// The share of the budget that new keys may take from those that have proved themselves.
const SMALL_SHARE: usize = 10;

/// The ghost queue remembers at least so many, however few entries there are.
const MIN_GHOSTS: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    Small,
    Main,
}

#[derive(Debug)]
struct Slot {
    weight: usize,
    queue: Queue,
    /// Which of the key's nodes in the queues is the living one.
    generation: u64,
}

/// The order in which keys leave. Knows weights; does not hold entries.
#[derive(Debug)]
pub(crate) struct Policy {
    budget: usize,
    slots: HashMap<Key, Slot, foldhash::fast::RandomState>,
    /// Invariant: each living slot has exactly one node of its generation, in its queue.
    small: VecDeque<(Key, u64)>,
    main: VecDeque<(Key, u64)>,
    small_weight: usize,
    main_weight: usize,
    ghosts: VecDeque<u64>,
    ghost_set: HashSet<u64, foldhash::fast::RandomState>,
    generation: u64,
}

/// What the policy asks of the entries.
pub(crate) trait Uses {
    /// Uses of the key since it was last asked about, up to [`MAX_USES`].
    fn uses(&self, key: &Key) -> u8;
    /// Sets them.
    fn set_uses(&self, key: &Key, uses: u8);
}

impl Policy {
    pub(crate) fn new(budget: usize) -> Self {
        Policy {
            budget,
            slots: HashMap::default(),
            small: VecDeque::new(),
            main: VecDeque::new(),
            small_weight: 0,
            main_weight: 0,
            ghosts: VecDeque::new(),
            ghost_set: HashSet::default(),
            generation: 0,
        }
    }

    /// The weight of all keys.
    pub(crate) fn weight(&self) -> usize {
        self.small_weight + self.main_weight
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Adds a key or changes its weight; returns the keys that have to leave, which may hold `key`.
    pub(crate) fn insert(&mut self, key: &Key, weight: usize, entries: &impl Uses) -> Vec<Key> {
        if let Some(slot) = self.slots.get_mut(key) {
            let total = match slot.queue {
                Queue::Small => &mut self.small_weight,
                Queue::Main => &mut self.main_weight,
            };
            *total = total.saturating_sub(slot.weight).saturating_add(weight);
            slot.weight = weight;
        } else {
            self.generation += 1;
            let node = (Arc::clone(key), self.generation);
            let queue = if self.ghost_set.remove(&self.hash(key)) {
                self.main.push_back(node);
                self.main_weight += weight;
                Queue::Main
            } else {
                self.small.push_back(node);
                self.small_weight += weight;
                Queue::Small
            };
            let slot = Slot {
                weight,
                queue,
                generation: self.generation,
            };
            self.slots.insert(Arc::clone(key), slot);
        }
        self.evict_beyond_budget(entries)
    }

    /// Changes the budget; returns the keys that have to leave.
    pub(crate) fn limit(&mut self, budget: usize, entries: &impl Uses) -> Vec<Key> {
        self.budget = budget;
        self.evict_beyond_budget(entries)
    }

    fn evict_beyond_budget(&mut self, entries: &impl Uses) -> Vec<Key> {
        let mut leaving = Vec::new();
        while self.weight() > self.budget {
            match self.evict(entries) {
                Some(key) => leaving.push(key),
                None => break,
            }
        }
        leaving
    }

    /// Forgets every key, and that it ever was.
    pub(crate) fn clear(&mut self) {
        *self = Policy::new(self.budget);
    }

    /// Forgets a key.
    pub(crate) fn remove(&mut self, key: &[u8]) {
        if let Some(slot) = self.slots.remove(key) {
            match slot.queue {
                Queue::Small => self.small_weight -= slot.weight,
                Queue::Main => self.main_weight -= slot.weight,
            }
        }
    }

    fn evict(&mut self, entries: &impl Uses) -> Option<Key> {
        let small_has_too_much = self.small_weight > self.budget / SMALL_SHARE;
        if (small_has_too_much || self.main.is_empty())
            && let Some(key) = self.evict_small(entries)
        {
            return Some(key);
        }
        self.evict_main(entries)
            .or_else(|| self.evict_small(entries))
    }

    /// Pops the small queue until a key leaves; keys that were used again move to main.
    fn evict_small(&mut self, entries: &impl Uses) -> Option<Key> {
        while let Some((key, generation)) = self.small.pop_front() {
            let Some(slot) = self.living(&key, generation) else {
                continue;
            };
            if entries.uses(&key) > 0 {
                slot.queue = Queue::Main;
                let weight = slot.weight;
                self.small_weight -= weight;
                self.main_weight += weight;
                entries.set_uses(&key, 0);
                self.main.push_back((key, generation));
            } else {
                self.remember(&key);
                self.remove(&key);
                return Some(key);
            }
        }
        None
    }

    /// Goes round the main queue until a key without uses leaves; each round costs a key one use.
    fn evict_main(&mut self, entries: &impl Uses) -> Option<Key> {
        while let Some((key, generation)) = self.main.pop_front() {
            if self.living(&key, generation).is_none() {
                continue;
            }
            let uses = entries.uses(&key);
            if uses > 0 {
                entries.set_uses(&key, uses - 1);
                self.main.push_back((key, generation));
            } else {
                self.remove(&key);
                return Some(key);
            }
        }
        None
    }

    fn living(&mut self, key: &Key, generation: u64) -> Option<&mut Slot> {
        self.slots
            .get_mut(key)
            .filter(|slot| slot.generation == generation)
    }

    fn remember(&mut self, key: &Key) {
        let hash = self.hash(key);
        if self.ghost_set.insert(hash) {
            self.ghosts.push_back(hash);
        }
        while self.ghosts.len() > self.slots.len().max(MIN_GHOSTS) {
            if let Some(oldest) = self.ghosts.pop_front() {
                self.ghost_set.remove(&oldest);
            }
        }
    }

    fn hash(&self, key: &Key) -> u64 {
        self.slots.hasher().hash_one(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[derive(Default)]
    struct Table(RefCell<HashMap<Key, u8>>);

    impl Uses for Table {
        fn uses(&self, key: &Key) -> u8 {
            self.0.borrow().get(key).copied().unwrap_or(0)
        }
        fn set_uses(&self, key: &Key, uses: u8) {
            self.0.borrow_mut().insert(Arc::clone(key), uses);
        }
    }

    /// A cache of keys alone, as the engine drives one.
    struct Model {
        policy: Policy,
        uses: Table,
    }

    impl Model {
        fn new(budget: usize) -> Self {
            Model {
                policy: Policy::new(budget),
                uses: Table::default(),
            }
        }

        /// Whether it was a hit.
        fn ask(&mut self, name: &str, weight: usize) -> bool {
            let key: Key = Arc::from(name.as_bytes());
            if self.policy.slots.contains_key(&key) {
                let uses = self.uses.uses(&key);
                self.uses.set_uses(&key, MAX_USES.min(uses + 1));
                return true;
            }
            self.uses.set_uses(&key, 0);
            self.policy.insert(&key, weight, &self.uses);
            self.check();
            false
        }

        fn check(&self) {
            let policy = &self.policy;
            assert!(policy.weight() <= policy.budget);
            let total: usize = policy.slots.values().map(|slot| slot.weight).sum();
            assert_eq!(policy.weight(), total);
            assert!(policy.ghosts.len() <= policy.slots.len().max(MIN_GHOSTS) + 1);
        }
    }

    #[test]
    fn a_scan_does_not_push_out_what_is_in_use() {
        let mut model = Model::new(100);
        for _ in 0..3 {
            (0..50).for_each(|hot| {
                model.ask(&format!("hot{hot}"), 1);
            });
        }
        (0..10_000).for_each(|cold| {
            model.ask(&format!("cold{cold}"), 1);
        });
        let kept = (0..50)
            .filter(|hot| model.ask(&format!("hot{hot}"), 1))
            .count();
        assert!(kept >= 45, "{kept} of 50 survived");
    }

    #[test]
    fn a_key_that_comes_back_is_kept() {
        let mut model = Model::new(100);
        model.ask("again", 1);
        // Pushed out unused by as many as the budget holds and one.
        (0..100).for_each(|other| {
            model.ask(&format!("o{other}"), 1);
        });
        assert!(!model.ask("again", 1));
        let key: Key = Arc::from(&b"again"[..]);
        assert_eq!(model.policy.slots.get(&key).unwrap().queue, Queue::Main);
    }

    #[test]
    fn weights_change_in_place_and_what_is_too_heavy_leaves() {
        let mut model = Model::new(100);
        model.ask("a", 10);
        let key: Key = Arc::from(&b"a"[..]);
        assert!(model.policy.insert(&key, 90, &model.uses).is_empty());
        assert_eq!((model.policy.weight(), model.policy.len()), (90, 1));
        assert_eq!(
            model.policy.insert(&key, 101, &model.uses),
            [Arc::clone(&key)]
        );
        assert_eq!((model.policy.weight(), model.policy.len()), (0, 0));
    }

    #[test]
    fn clearing_leaves_nothing_that_could_pile_up() {
        let mut model = Model::new(100);
        for _ in 0..10 {
            (0..50).for_each(|number| {
                model.ask(&number.to_string(), 1);
            });
            assert_eq!(model.policy.small.len(), 50);
            model.policy.clear();
            assert_eq!((model.policy.weight(), model.policy.len()), (0, 0));
        }
        assert!(model.policy.small.is_empty() && model.policy.main.is_empty());
    }

    #[test]
    fn removal_leaves_no_node_that_counts() {
        let mut model = Model::new(3);
        for name in ["a", "b", "c"] {
            model.ask(name, 1);
        }
        let key: Key = Arc::from(&b"a"[..]);
        model.policy.remove(&key);
        model.ask("a", 1);
        model.ask("d", 1);
        model.check();
        assert_eq!(model.policy.len(), 3);
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]
        #[test]
        fn the_budget_holds_whatever_is_asked(
            asks in proptest::collection::vec((0u8..40, 0usize..30), 1..300),
            budget in 0usize..200,
        ) {
            let mut model = Model::new(budget);
            for (name, weight) in asks {
                model.ask(&name.to_string(), weight);
                model.check();
            }
        }
    }
}
