//! The files that somebody said lately to have changed: a load that began before is not kept if it turns out to send one of them.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sync::Lock;

/// The most paths that are remembered. A load that began before the oldest of them is taken for one that sends such a file.
const MOST: usize = 65_536;

/// The paths of files that were named together.
pub(crate) type Paths = Arc<HashSet<Vec<u8>>>;

/// The latest changes, each of which has a number.
#[derive(Debug, Default)]
pub(crate) struct RecentChanges {
    /// The number of the latest.
    latest: AtomicU64,
    known: Lock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    changes: VecDeque<(u64, Paths)>,
    /// The number of paths in all of them.
    paths: usize,
}

impl RecentChanges {
    /// The number of the latest change, by which a load that begins now asks what came [since](Self::since).
    pub(crate) fn latest(&self) -> u64 {
        self.latest.load(Ordering::Acquire)
    }

    /// Notes a change.
    pub(crate) fn note(&self, paths: Paths) {
        let mut known = self.known.hold();
        let number = self.latest.load(Ordering::Acquire) + 1;
        // One of no path takes room, too.
        known.paths += paths.len() + 1;
        known.changes.push_back((number, paths));
        while known.paths > MOST
            && let Some((_, oldest)) = known.changes.pop_front()
        {
            known.paths -= oldest.len() + 1;
        }
        self.latest.store(number, Ordering::Release);
    }

    /// The changes after the one with this number; `None` if they are not all known any more.
    pub(crate) fn since(&self, number: u64) -> Option<Vec<Paths>> {
        let later = self.latest().checked_sub(number)?;
        if later == 0 {
            return Some(Vec::new());
        }
        let known = self.known.hold();
        let changes = known.changes.iter().filter(|(of, _)| *of > number);
        let changes: Vec<_> = changes.map(|(_, paths)| Arc::clone(paths)).collect();
        let is_all = u64::try_from(changes.len()).is_ok_and(|count| count >= later);
        is_all.then_some(changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(first: usize, count: usize) -> Paths {
        let paths = (first..first + count).map(|number| number.to_string().into_bytes());
        Arc::new(paths.collect())
    }

    #[test]
    fn changes_are_known_for_a_while() {
        let changes = RecentChanges::default();
        assert_eq!(changes.since(changes.latest()), Some(Vec::new()));
        changes.note(paths(0, 1));
        changes.note(paths(1, 2));
        assert_eq!(changes.since(0), Some(vec![paths(0, 1), paths(1, 2)]));
        assert_eq!(changes.since(1), Some(vec![paths(1, 2)]));
        assert_eq!(changes.since(2), Some(Vec::new()));
        changes.note(paths(0, MOST - 4));
        assert_eq!(changes.since(0), None);
        assert_eq!(changes.since(2), Some(vec![paths(0, MOST - 4)]));
        // Too many to be remembered.
        changes.note(paths(0, MOST));
        assert_eq!(changes.since(3), None);
        assert_eq!(changes.since(4), Some(Vec::new()));
    }
}
