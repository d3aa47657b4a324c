//! The eviction policy: S3-FIFO decides which entry leaves when the byte budget is spent.
//!
//! Yang, Zhang, Qiu, Yue and Vigfusson, "FIFO queues are all you need for cache eviction",
//! SOSP 2023. New keys enter a small queue with a tenth of the budget and leave it soon unless
//! they are asked for again, so that one pass over many files does not push out what is in use;
//! keys that come back shortly after leaving (the ghost queue remembers their hashes) enter the
//! main queue. A hit only raises a counter on the entry, which needs no lock and no order.
//!
//! What has no file - paths at which nothing is, above all - is in a queue of its own with a share of the budget: there
//! is no end of such paths, and each costs as much as a small file.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasher;

use slab::Slab;

use crate::cache::key::CacheKey;

/// The highest count of uses; beyond it they are not told apart.
pub(crate) const MAX_USES: u8 = 3;

/// The share of the budget that new keys may take from those that have proved themselves.
const SMALL_SHARE: usize = 10;

/// The share of the budget that keys without a file may take.
const FILELESS_SHARE: usize = 16;

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
    Fileless,
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
    fileless: Ends,
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

    /// The weight that all keys may have.
    pub(crate) fn budget(&self) -> usize {
        self.budget
    }

    /// The weight of all keys.
    pub(crate) fn weight(&self) -> usize {
        self.small.weight + self.main.weight + self.fileless.weight
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Adds a key or changes its weight; returns the keys that have to leave, which may hold `key`. `is_fileless` says
    /// whether what it stands for has no file.
    pub(crate) fn insert(
        &mut self,
        key: &CacheKey,
        weight: usize,
        is_fileless: bool,
        entries: &impl UseCounts,
    ) -> Vec<CacheKey> {
        let known = self.numbers.get(key).copied();
        let known = known.and_then(|number| Some((number, self.nodes.get(number)?.queue)));
        let queue = match known {
            _ if is_fileless => Queue::Fileless,
            Some((_, queue @ (Queue::Small | Queue::Main))) => queue,
            Some((_, Queue::Fileless)) => Queue::Small,
            None => match self.ghost_set.remove(&self.hash(key)) {
                true => Queue::Main,
                false => Queue::Small,
            },
        };
        match known {
            Some((number, _)) => {
                let is_elsewhere = known.is_some_and(|(_, before)| before != queue);
                if is_elsewhere {
                    self.unlink(number);
                }
                let before = self
                    .nodes
                    .get_mut(number)
                    .map_or(0, |node| std::mem::replace(&mut node.weight, weight));
                if is_elsewhere {
                    self.push(number, queue);
                } else {
                    let total = &mut self.ends(queue).weight;
                    *total = total.saturating_sub(before).saturating_add(weight);
                }
            }
            None => {
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
        // One may stay, whatever its weight: the page of errors is long perhaps.
        while self.fileless.weight > self.budget / FILELESS_SHARE
            && self.fileless.oldest != self.fileless.newest
        {
            leaving.extend(self.evict_unused(Queue::Fileless, entries));
        }
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
        self.evict_unused(Queue::Main, entries)
            .or_else(|| self.evict_small(entries))
            .or_else(|| self.evict_unused(Queue::Fileless, entries))
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

    /// Evicts the oldest key of this queue that was not used; used ones go to its end for one use less.
    /// `None` if the queue is empty.
    fn evict_unused(&mut self, queue: Queue, entries: &impl UseCounts) -> Option<CacheKey> {
        for _ in 0..SECOND_CHANCES {
            let (number, key) = self.oldest(queue)?;
            let uses = entries.uses(&key);
            if uses == 0 {
                break;
            }
            entries.set_uses(&key, uses - 1);
            self.unlink(number);
            self.push(number, queue);
        }
        let (_, key) = self.oldest(queue)?;
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
            Queue::Fileless => &mut self.fileless,
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
mod tests;
