//! The eviction policy: S3-FIFO decides which entry leaves when the byte budget is spent.
//!
//! Yang, Zhang, Qiu, Yue and Vigfusson, "FIFO queues are all you need for cache eviction",
//! SOSP 2023. New keys enter a small queue with a tenth of the budget and leave it soon unless
//! they are asked for again, so that one pass over many files does not push out what is in use;
//! keys that come back shortly after leaving (the ghost queue remembers their hashes) enter the
//! main queue. A hit only raises a counter on the entry, which needs no lock and no order.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasher;

use slab::Slab;

use crate::cache::key::CacheKey;

/// The highest count of uses; beyond it they are not told apart.
pub(crate) const MAX_USES: u8 = 3;

/// The share of the budget that new keys may take from those that have proved themselves.
const SMALL_SHARE: usize = 10;

/// The hashes that the ghost queue remembers at least, however few entries there are.
const MIN_GHOSTS: usize = 64;

/// The most keys that an eviction passes over in each queue. Each was used since it was seen last, so that
/// there are no more of them than hits; but if all were, one insert would go round the whole queue, under the
/// lock that all inserts take. Who comes after so many leaves although it was used.
const SECOND_CHANCES: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    Small,
    Main,
}

/// A key in its queue. The neighbours are numbers of nodes.
#[derive(Debug)]
struct Node {
    key: CacheKey,
    weight: usize,
    queue: Queue,
    before: Option<usize>,
    behind: Option<usize>,
}

/// The ends of a queue, and the weight of all that is in it.
#[derive(Debug, Default)]
struct Ends {
    oldest: Option<usize>,
    newest: Option<usize>,
    weight: usize,
}

/// The queues of keys and their weights. The entries are elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    budget: usize,
    numbers: HashMap<CacheKey, usize, foldhash::fast::RandomState>,
    /// Invariant: one for each key in `numbers`, linked into its queue, and none besides: a key that is
    /// removed leaves nothing behind, however often keys come and go.
    nodes: Slab<Node>,
    small: Ends,
    main: Ends,
    ghosts: VecDeque<u64>,
    ghost_set: HashSet<u64, foldhash::fast::RandomState>,
}

/// The counters of uses, which stand with the entries.
pub(crate) trait UseCounts {
    /// The uses of the key since it was last asked about, up to [`MAX_USES`].
    fn uses(&self, key: &CacheKey) -> u8;
    /// Sets the uses of the key.
    fn set_uses(&self, key: &CacheKey, uses: u8);
}

impl Policy {
    pub(crate) fn new(budget: usize) -> Self {
        Policy {
            budget,
            ..Policy::default()
        }
    }

    /// The weight of all keys.
    pub(crate) fn weight(&self) -> usize {
        self.small.weight + self.main.weight
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Adds a key or changes its weight; returns the keys that have to leave, which may hold `key`.
    pub(crate) fn insert(
        &mut self,
        key: &CacheKey,
        weight: usize,
        entries: &impl UseCounts,
    ) -> Vec<CacheKey> {
        if let Some(node) = self.numbers.get(key).and_then(|&n| self.nodes.get_mut(n)) {
            let before = std::mem::replace(&mut node.weight, weight);
            let queue = node.queue;
            let total = &mut self.ends(queue).weight;
            *total = total.saturating_sub(before).saturating_add(weight);
        } else {
            let queue = match self.ghost_set.remove(&self.hash(key)) {
                true => Queue::Main,
                false => Queue::Small,
            };
            let number = self.nodes.insert(Node {
                key: key.clone(),
                weight,
                queue,
                before: None,
                behind: None,
            });
            self.numbers.insert(key.clone(), number);
            self.push(number, queue);
        }
        self.evict_beyond_budget(entries)
    }

    /// Changes the budget; returns the keys that have to leave.
    pub(crate) fn limit(&mut self, budget: usize, entries: &impl UseCounts) -> Vec<CacheKey> {
        self.budget = budget;
        self.evict_beyond_budget(entries)
    }

    fn evict_beyond_budget(&mut self, entries: &impl UseCounts) -> Vec<CacheKey> {
        let mut leaving = Vec::new();
        while self.weight() > self.budget {
            match self.evict(entries) {
                Some(key) => leaving.push(key),
                None => break,
            }
        }
        leaving
    }

    /// Forgets every key, and the hashes of those that left.
    pub(crate) fn clear(&mut self) {
        *self = Policy::new(self.budget);
    }

    /// Forgets a key.
    pub(crate) fn remove(&mut self, key: &CacheKey) {
        if let Some(number) = self.numbers.remove(key) {
            self.unlink(number);
            self.nodes.try_remove(number);
        }
    }

    fn evict(&mut self, entries: &impl UseCounts) -> Option<CacheKey> {
        let small_has_too_much = self.small.weight > self.budget / SMALL_SHARE;
        if (small_has_too_much || self.main.oldest.is_none())
            && let Some(key) = self.evict_small(entries)
        {
            return Some(key);
        }
        self.evict_main(entries)
            .or_else(|| self.evict_small(entries))
    }

    /// Evicts the oldest key of the small queue; keys that were used again move to main instead. `None` if
    /// the queue is empty, or had too many of those.
    fn evict_small(&mut self, entries: &impl UseCounts) -> Option<CacheKey> {
        for _ in 0..=SECOND_CHANCES {
            let (number, key) = self.oldest(Queue::Small)?;
            if entries.uses(&key) == 0 {
                self.remember(&key);
                self.remove(&key);
                return Some(key);
            }
            entries.set_uses(&key, 0);
            self.unlink(number);
            self.push(number, Queue::Main);
        }
        None
    }

    /// Evicts the oldest key of the main queue that was not used; used ones go to its end for one use less.
    /// `None` if the queue is empty.
    fn evict_main(&mut self, entries: &impl UseCounts) -> Option<CacheKey> {
        for _ in 0..SECOND_CHANCES {
            let (number, key) = self.oldest(Queue::Main)?;
            let uses = entries.uses(&key);
            if uses == 0 {
                break;
            }
            entries.set_uses(&key, uses - 1);
            self.unlink(number);
            self.push(number, Queue::Main);
        }
        let (_, key) = self.oldest(Queue::Main)?;
        self.remove(&key);
        Some(key)
    }

    fn oldest(&mut self, queue: Queue) -> Option<(usize, CacheKey)> {
        let number = self.ends(queue).oldest?;
        Some((number, self.nodes.get(number)?.key.clone()))
    }

    fn ends(&mut self, queue: Queue) -> &mut Ends {
        match queue {
            Queue::Small => &mut self.small,
            Queue::Main => &mut self.main,
        }
    }

    /// Puts a node that is in no queue at the end of this one.
    fn push(&mut self, number: usize, queue: Queue) {
        let ends = self.ends(queue);
        let before = ends.newest.replace(number);
        ends.oldest.get_or_insert(number);
        if let Some(neighbour) = before.and_then(|before| self.nodes.get_mut(before)) {
            neighbour.behind = Some(number);
        }
        if let Some(node) = self.nodes.get_mut(number) {
            node.queue = queue;
            node.before = before;
            node.behind = None;
            let weight = node.weight;
            self.ends(queue).weight += weight;
        }
    }

    /// Takes a node out of its queue.
    fn unlink(&mut self, number: usize) {
        let Some(node) = self.nodes.get(number) else {
            return;
        };
        let (queue, weight, before, behind) = (node.queue, node.weight, node.before, node.behind);
        match before.and_then(|before| self.nodes.get_mut(before)) {
            Some(neighbour) => neighbour.behind = behind,
            None => self.ends(queue).oldest = behind,
        }
        match behind.and_then(|behind| self.nodes.get_mut(behind)) {
            Some(neighbour) => neighbour.before = before,
            None => self.ends(queue).newest = before,
        }
        let total = &mut self.ends(queue).weight;
        *total = total.saturating_sub(weight);
    }

    fn remember(&mut self, key: &CacheKey) {
        let hash = self.hash(key);
        if self.ghost_set.insert(hash) {
            self.ghosts.push_back(hash);
        }
        while self.ghosts.len() > self.len().max(MIN_GHOSTS) {
            if let Some(oldest) = self.ghosts.pop_front() {
                self.ghost_set.remove(&oldest);
            }
        }
    }

    fn hash(&self, key: &CacheKey) -> u64 {
        self.numbers.hasher().hash_one(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    /// The uses by key, and the number of times that they were asked for.
    #[derive(Default)]
    struct Table(RefCell<HashMap<CacheKey, u8>>, Cell<usize>);

    impl UseCounts for Table {
        fn uses(&self, key: &CacheKey) -> u8 {
            self.1.set(self.1.get() + 1);
            self.0.borrow().get(key).copied().unwrap_or(0)
        }
        fn set_uses(&self, key: &CacheKey, uses: u8) {
            self.0.borrow_mut().insert(key.clone(), uses);
        }
    }

    fn key(number: usize) -> CacheKey {
        CacheKey::new(0, &number.to_le_bytes())
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

        /// True if it was a hit.
        fn ask(&mut self, name: &str, weight: usize) -> bool {
            let key = CacheKey::new(0, name.as_bytes());
            if self.policy.numbers.contains_key(&key) {
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
            let total: usize = policy.nodes.iter().map(|(_, node)| node.weight).sum();
            assert_eq!(policy.weight(), total);
            assert!(policy.ghosts.len() <= policy.len().max(MIN_GHOSTS) + 1);
            assert_eq!(policy.nodes.len(), policy.len());
            let linked = [(&policy.small, Queue::Small), (&policy.main, Queue::Main)];
            let linked = linked.map(|(ends, queue)| {
                let mut newest = None;
                let mut at = ends.oldest;
                let mut count = 0;
                while let Some(number) = at {
                    let node = &policy.nodes[number];
                    assert_eq!((node.before, node.queue), (newest, queue));
                    assert_eq!(policy.numbers.get(&node.key), Some(&number));
                    newest = at;
                    at = node.behind;
                    count += 1;
                }
                assert_eq!(ends.newest, newest);
                count
            });
            assert_eq!(linked.iter().sum::<usize>(), policy.len());
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
        let key = CacheKey::new(0, b"again");
        let number = model.policy.numbers[&key];
        assert_eq!(model.policy.nodes[number].queue, Queue::Main);
    }

    #[test]
    fn weights_change_in_place_and_what_is_too_heavy_leaves() {
        let mut model = Model::new(100);
        model.ask("a", 10);
        let key = CacheKey::new(0, b"a");
        assert!(model.policy.insert(&key, 90, &model.uses).is_empty());
        assert_eq!((model.policy.weight(), model.policy.len()), (90, 1));
        let leaving = model.policy.insert(&key, 101, &model.uses);
        assert_eq!(leaving, std::slice::from_ref(&key));
        assert_eq!((model.policy.weight(), model.policy.len()), (0, 0));
    }

    #[test]
    fn clearing_leaves_nothing_that_could_pile_up() {
        let mut model = Model::new(100);
        for _ in 0..10 {
            (0..50).for_each(|number| {
                model.ask(&number.to_string(), 1);
            });
            assert_eq!(model.policy.nodes.len(), 50);
            model.policy.clear();
            assert_eq!((model.policy.weight(), model.policy.len()), (0, 0));
            model.check();
        }
    }

    #[test]
    fn removal_leaves_no_node_that_counts() {
        let mut model = Model::new(3);
        for name in ["a", "b", "c"] {
            model.ask(name, 1);
        }
        let key = CacheKey::new(0, b"a");
        model.policy.remove(&key);
        model.ask("a", 1);
        model.ask("d", 1);
        model.check();
        assert_eq!(model.policy.len(), 3);
    }

    /// An hour of files that are opened, closed for want of use, changed and let go of: the budget is
    /// never reached, so that nothing is ever evicted.
    #[test]
    fn keys_that_come_and_go_leave_nothing_behind() {
        let mut model = Model::new(10_000);
        for round in 0..200 {
            for number in 0..500 {
                model.policy.insert(&key(number), 1, &model.uses);
            }
            for number in (0..500).filter(|number| (number + round) % 50 != 0) {
                model.policy.remove(&key(number));
            }
        }
        model.check();
        assert_eq!(model.policy.len(), 10);
        assert_eq!(model.policy.nodes.len(), 10);
        assert!(model.policy.nodes.capacity() <= 1024);
    }

    /// The cost of an insert where everything is in use: as many keys looked at, however many there are.
    #[test]
    fn an_insert_costs_the_same_whatever_the_number_of_keys() {
        for count in [1_000, 200_000] {
            let mut model = Model::new(count);
            // Half of them have come back before, and are in main; all are used all the time.
            for number in 0..count {
                let key = key(number);
                if number % 2 == 0 {
                    let hash = model.policy.hash(&key);
                    model.policy.ghost_set.insert(hash);
                }
                model.uses.set_uses(&key, MAX_USES);
                model.policy.insert(&key, 1, &model.uses);
            }
            for new in count..count + 100 {
                let before = model.uses.1.get();
                let leaving = model.policy.insert(&key(new), 1, &model.uses);
                let looked_at = model.uses.1.get() - before;
                assert_eq!(leaving.len(), 1);
                assert!(
                    looked_at <= 2 * SECOND_CHANCES + 1,
                    "{looked_at} of {count}"
                );
            }
        }
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
