//! Saying a thing once.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hash};

use crate::sync::Lock;

/// So many things are remembered as said; then all may be said again.
const REMEMBERED: usize = 4096;

/// What has been said in the log already.
#[derive(Debug, Default)]
pub(crate) struct Said {
    hasher: foldhash::fast::RandomState,
    said: Lock<HashSet<u64>>,
}

impl Said {
    /// Whether this is the first time that `thing` is to be said.
    pub(crate) fn first(&self, thing: impl Hash) -> bool {
        let hash = self.hasher.hash_one(thing);
        let mut said = self.said.hold();
        if said.len() >= REMEMBERED {
            said.clear();
        }
        said.insert(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_said_once_and_memory_is_bounded() {
        let said = Said::default();
        assert!(said.first(("a", 1)));
        assert!(!said.first(("a", 1)));
        assert!(said.first(("a", 2)));
        (0..10 * REMEMBERED).for_each(|thing| {
            said.first(thing);
        });
        assert!(said.said.hold().len() <= REMEMBERED);
    }
}
