//! Values by key within a budget of bytes: those that were not used for longest go first.
//!
//! They are in trees: a hash table that has no room left moves all that it has at once, and whoever puts one more in waits for that.

use std::borrow::Borrow;
use std::collections::BTreeMap;

/// Values within a budget, the least recently used of which go.
#[derive(Debug)]
pub(crate) struct BoundedCache<K, V> {
    values: BTreeMap<K, Slot<V>>,
    /// The keys by their last use. Invariant: those of `values`, each at its `used`.
    order: BTreeMap<u64, K>,
    /// The number of uses so far.
    uses: u64,
    weight: usize,
    budget: usize,
}

#[derive(Debug)]
struct Slot<V> {
    value: V,
    weight: usize,
    /// The number of its last use.
    used: u64,
}

impl<K: Ord + Clone, V: Clone> BoundedCache<K, V> {
    /// An empty cache for values of at most so many bytes together.
    pub(crate) fn new(budget: usize) -> Self {
        BoundedCache {
            values: BTreeMap::new(),
            order: BTreeMap::new(),
            uses: 0,
            weight: 0,
            budget,
        }
    }

    /// The value of a key, which is used by this.
    pub(crate) fn get<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.get_mut(key).cloned()
    }

    /// The same, to be changed.
    pub(crate) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let slot = self.values.get_mut(key)?;
        self.uses += 1;
        if let Some(key) = self.order.remove(&slot.used) {
            self.order.insert(self.uses, key);
        }
        slot.used = self.uses;
        Some(&mut slot.value)
    }

    /// The value of a key, to be changed, which is not used by this.
    pub(crate) fn peek_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.values.get_mut(key).map(|slot| &mut slot.value)
    }

    /// True if there is a value of this key.
    pub(crate) fn contains<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.values.contains_key(key)
    }

    /// Keeps a value of this weight, in the place of that which the key had, and gives the keys of those that go for it. One
    /// that is too heavy for the budget is not kept.
    pub(crate) fn insert(&mut self, key: K, value: V, weight: usize) -> Vec<K> {
        self.forget(&key);
        if weight > self.budget {
            return vec![key];
        }
        self.uses += 1;
        let used = self.uses;
        self.order.insert(used, key.clone());
        let slot = Slot {
            value,
            weight,
            used,
        };
        self.values.insert(key, slot);
        self.weight = self.weight.saturating_add(weight);
        let mut gone = Vec::new();
        while self.weight > self.budget
            && let Some((_, oldest)) = self.order.pop_first()
        {
            if let Some(slot) = self.values.remove(&oldest) {
                self.weight = self.weight.saturating_sub(slot.weight);
            }
            gone.push(oldest);
        }
        gone
    }

    /// The values that were last used at or after this use, the least recently used first, each with the number of its last use.
    pub(crate) fn used_from(&self, use_number: u64) -> impl Iterator<Item = (u64, &K, &V)> {
        let uses = self.order.range(use_number..);
        uses.filter_map(|(used, key)| Some((*used, key, &self.values.get(key)?.value)))
    }

    /// Lets go of a key's value.
    pub(crate) fn forget<Q: Ord + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        if let Some(slot) = self.values.remove(key) {
            self.order.remove(&slot.used);
            self.weight = self.weight.saturating_sub(slot.weight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(cache: &BoundedCache<u32, ()>) -> Vec<u32> {
        let keys: Vec<u32> = cache.values.keys().copied().collect();
        let mut order: Vec<u32> = cache.order.values().copied().collect();
        order.sort_unstable();
        assert_eq!(keys, order, "each key stands in the order once");
        let weight = cache.values.values().map(|slot| slot.weight).sum::<usize>();
        assert_eq!(weight, cache.weight);
        assert!(weight <= cache.budget);
        keys
    }

    #[test]
    fn what_was_not_used_for_longest_goes() {
        let mut cache = BoundedCache::new(3);
        for key in 1..=3 {
            cache.insert(key, (), 1);
        }
        assert_eq!((cache.get(&1), cache.get(&9)), (Some(()), None));
        assert_eq!(cache.insert(4, (), 1), [2]);
        assert_eq!(keys(&cache), [1, 3, 4]);
        let order: Vec<(u64, u32)> = cache
            .used_from(0)
            .map(|(used, key, ())| (used, *key))
            .collect();
        assert_eq!(order, [(3, 3), (4, 1), (5, 4)]);
        assert_eq!(cache.used_from(5).count(), 1);
        // To look is no use.
        assert!(cache.contains(&3));
        cache.insert(5, (), 1);
        assert_eq!(keys(&cache), [1, 4, 5]);
    }

    #[test]
    fn nothing_exceeds_the_budget() {
        let mut cache = BoundedCache::new(10);
        for key in 0..1000 {
            cache.insert(key % 7, (), usize::try_from(key % 13).unwrap());
            let _ = cache.get(&(key % 5));
            keys(&cache);
        }
        cache.insert(1, (), 1);
        assert_eq!(cache.insert(1, (), 11), [1]);
        assert!(!keys(&cache).contains(&1));
    }

    #[test]
    fn what_is_forgotten_is_gone() {
        let mut cache = BoundedCache::new(10);
        cache.insert(1, (), 4);
        cache.insert(2, (), 4);
        cache.forget(&1);
        cache.forget(&9);
        assert_eq!((keys(&cache), cache.contains(&2)), (vec![2], true));
    }
}
