//! A fair queue: it serves keys by turns, however many items each of them has in it. A key that was not in it lately
//! goes before those that were, every other time.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// A queue of items of several keys, which are served by turns.
pub(crate) struct FairQueue<K, T> {
    items: HashMap<K, VecDeque<T>>,
    /// The keys that were not in it lately.
    new: VecDeque<K>,
    /// The keys that were, those included that have no item until their turn comes.
    known: VecDeque<K>,
    /// True if the last key served was a new one.
    was_new: bool,
}

impl<K, T> Default for FairQueue<K, T> {
    fn default() -> Self {
        FairQueue {
            items: HashMap::new(),
            new: VecDeque::new(),
            known: VecDeque::new(),
            was_new: false,
        }
    }
}

impl<K: Copy + Eq + Hash, T> FairQueue<K, T> {
    pub(crate) fn push(&mut self, key: K, item: T) {
        let items = self.items.entry(key).or_insert_with(|| {
            self.new.push_back(key);
            VecDeque::new()
        });
        items.push_back(item);
    }

    /// The number of items of a key.
    pub(crate) fn items_of(&self, key: &K) -> usize {
        self.items.get(key).map_or(0, VecDeque::len)
    }

    /// The number of keys with items, or without since their last turn.
    pub(crate) fn keys(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        loop {
            let from_new = !self.new.is_empty() && (!self.was_new || self.known.is_empty());
            let keys = match from_new {
                true => &mut self.new,
                false => &mut self.known,
            };
            let key = keys.pop_front()?;
            match self.items.get_mut(&key).and_then(VecDeque::pop_front) {
                Some(item) => {
                    self.was_new = from_new;
                    self.known.push_back(key);
                    return Some(item);
                }
                None => {
                    self.items.remove(&key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes what is in the queue until it is empty.
    fn rest(queue: &mut FairQueue<char, u32>) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn keys_are_served_by_turns_and_those_who_were_not_there_first() {
        let mut queue = FairQueue::default();
        for item in 0..4 {
            queue.push('a', item);
        }
        assert_eq!([queue.pop(), queue.pop()], [Some(0), Some(1)]);
        queue.push('b', 10);
        queue.push('b', 11);
        queue.push('c', 20);
        assert_eq!(rest(&mut queue), [10, 2, 20, 11, 3]);
        assert!(queue.items.is_empty() && queue.known.is_empty() && queue.new.is_empty());
    }

    #[test]
    fn whoever_comes_back_at_once_is_not_new() {
        let mut queue = FairQueue::default();
        for item in 0..3 {
            queue.push('a', item);
        }
        queue.push('b', 10);
        assert_eq!([queue.pop(), queue.pop()], [Some(0), Some(1)]);
        assert_eq!(queue.pop(), Some(10));
        queue.push('b', 11);
        assert_eq!(rest(&mut queue), [2, 11]);
    }

    #[test]
    fn endless_newcomers_do_not_keep_the_others_from_their_turns() {
        let mut queue = FairQueue::default();
        queue.push(0, 0);
        queue.push(0, 0);
        let mut served = 0;
        for newcomer in 1..10 {
            queue.push(newcomer, newcomer);
            served += usize::from(queue.pop() == Some(0));
        }
        assert_eq!(served, 2);
    }
}
