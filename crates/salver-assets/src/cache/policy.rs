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

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::BuildHasher;

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

/// The place of a key, and its weight.
#[derive(Clone, Copy, Debug)]
struct Place {
    queue: Queue,
    position: u64,
    weight: usize,
}

/// The keys of a queue by their positions, the oldest first, and the weight of all.
#[derive(Debug, Default)]
struct Line {
    keys: BTreeMap<u64, CacheKey>,
    weight: usize,
}

/// The queues of keys and their weights. The entries are elsewhere.
///
/// What grows with the number of keys is in trees: a hash table that has no room left moves all that it has at once, for which
/// all who insert would wait.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    budget: usize,
    /// Invariant: each key stands in its queue, at its position, and none besides: a key that is removed leaves nothing
    /// behind, however often keys come and go.
    places: BTreeMap<CacheKey, Place>,
    small: Line,
    main: Line,
    fileless: Line,
    /// The number of positions that were given so far.
    positions: u64,
    ghosts: VecDeque<u64>,
    ghost_set: BTreeSet<u64>,
    hasher: foldhash::fast::RandomState,
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
        self.places.len()
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
        let known = self.places.get(key).copied();
        let queue = match known {
            _ if is_fileless => Queue::Fileless,
            Some(place) if place.queue != Queue::Fileless => place.queue,
            Some(_) => Queue::Small,
            None => match self.ghost_set.remove(&self.hash(key)) {
                true => Queue::Main,
                false => Queue::Small,
            },
        };
        match known {
            Some(place) if place.queue == queue => {
                let total = &mut self.line(queue).weight;
                *total = total.saturating_sub(place.weight).saturating_add(weight);
                self.places.insert(key.clone(), Place { weight, ..place });
            }
            _ => self.put_at_end(key.clone(), weight, queue),
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
        while self.fileless.weight > self.budget / FILELESS_SHARE && self.fileless.keys.len() > 1 {
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
        if let Some(place) = self.places.remove(key) {
            self.leave(place);
        }
    }

    fn evict(&mut self, entries: &impl UseCounts) -> Option<CacheKey> {
        let small_has_too_much = self.small.weight > self.budget / SMALL_SHARE;
        if (small_has_too_much || self.main.keys.is_empty())
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
            let key = self.oldest(Queue::Small)?;
            if entries.uses(&key) == 0 {
                self.remember(&key);
                self.remove(&key);
                return Some(key);
            }
            entries.set_uses(&key, 0);
            self.move_to_end(key, Queue::Main);
        }
        None
    }

    /// Evicts the oldest key of this queue that was not used; used ones go to its end for one use less.
    /// `None` if the queue is empty.
    fn evict_unused(&mut self, queue: Queue, entries: &impl UseCounts) -> Option<CacheKey> {
        for _ in 0..SECOND_CHANCES {
            let key = self.oldest(queue)?;
            let uses = entries.uses(&key);
            if uses == 0 {
                break;
            }
            entries.set_uses(&key, uses - 1);
            self.move_to_end(key, queue);
        }
        let key = self.oldest(queue)?;
        self.remove(&key);
        Some(key)
    }

    fn oldest(&mut self, queue: Queue) -> Option<CacheKey> {
        let (_, key) = self.line(queue).keys.first_key_value()?;
        Some(key.clone())
    }

    fn line(&mut self, queue: Queue) -> &mut Line {
        match queue {
            Queue::Small => &mut self.small,
            Queue::Main => &mut self.main,
            Queue::Fileless => &mut self.fileless,
        }
    }

    /// Puts a key at the end of a queue, from wherever it is.
    fn put_at_end(&mut self, key: CacheKey, weight: usize, queue: Queue) {
        self.positions += 1;
        let position = self.positions;
        let place = Place {
            queue,
            position,
            weight,
        };
        if let Some(before) = self.places.insert(key.clone(), place) {
            self.leave(before);
        }
        let line = self.line(queue);
        line.keys.insert(position, key);
        line.weight = line.weight.saturating_add(weight);
    }

    fn move_to_end(&mut self, key: CacheKey, queue: Queue) {
        if let Some(Place { weight, .. }) = self.places.get(&key).copied() {
            self.put_at_end(key, weight, queue);
        }
    }

    /// Takes the key at a place out of its queue.
    fn leave(&mut self, place: Place) {
        let line = self.line(place.queue);
        line.keys.remove(&place.position);
        line.weight = line.weight.saturating_sub(place.weight);
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
        self.hasher.hash_one(key)
    }
}

#[cfg(test)]
mod tests;
