//! Contents that clients may have as dictionaries, in memory and within a budget: what was kept the longest ago leaves
//! first.
//!
//! A file whose name has a fingerprint goes with the deployment that brings the next one. By then its content is the
//! dictionary that clients have for that, so it is kept from when it was sent.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;

use crate::codings::key::DictionaryKey;
use crate::sync::Lock;

/// The contents that are kept under one name, and versions that a file is coded against, at most.
pub(crate) const MOST_VERSIONS: usize = 5;

/// The share of the budget that one content may take.
const SHARE: usize = 4;

/// The bytes that a content costs besides itself and its name, about.
const PLACE: usize = 256;

/// The kept contents.
#[derive(Debug)]
pub(crate) struct Dictionaries {
    state: Lock<State>,
    /// The bytes that they may take.
    budget: usize,
}

#[derive(Debug, Default)]
struct State {
    /// The contents by what names of files have in common, the newest first.
    by_name: HashMap<Arc<[u8]>, Vec<KeptContent>, foldhash::fast::RandomState>,
    /// The names by the moments at which contents were kept.
    order: BTreeMap<u64, Arc<[u8]>>,
    moment: u64,
    bytes: usize,
}

#[derive(Debug)]
struct KeptContent {
    key: DictionaryKey,
    content: Bytes,
    moment: u64,
}

impl Dictionaries {
    /// Contents that take so many bytes at most.
    pub(crate) fn within(budget: usize) -> Self {
        Dictionaries {
            state: Lock::default(),
            budget,
        }
    }

    /// The length of the longest content that is kept.
    pub(crate) fn longest(&self) -> u64 {
        u64::try_from(self.budget / SHARE).unwrap_or(u64::MAX)
    }

    /// The contents that are kept under a name, the newest first.
    pub(crate) fn versions(&self, name: &[u8]) -> Vec<DictionaryKey> {
        let state = self.state.hold();
        let kept = state.by_name.get(name);
        kept.map_or_else(Vec::new, |kept| kept.iter().map(|one| one.key).collect())
    }

    /// A content that is kept under a name.
    pub(crate) fn content(&self, name: &[u8], key: &DictionaryKey) -> Option<Bytes> {
        let state = self.state.hold();
        let mut kept = state.by_name.get(name)?.iter();
        kept.find_map(|one| (one.key == *key).then(|| one.content.clone()))
    }

    /// Keeps a content under a name, as the newest unless it is there already.
    pub(crate) fn keep(&self, name: &[u8], key: DictionaryKey, content: Bytes) {
        if key.length <= self.longest() {
            self.state.hold().keep(name, key, content, self.budget);
        }
    }

    /// Takes over what others keep, as far as there is room.
    pub(crate) fn take_over(&self, others: &Dictionaries) {
        let kept: Vec<_> = {
            let others = others.state.hold();
            let find = |(moment, name): (&u64, &Arc<[u8]>)| {
                let mut kept = others.by_name.get(name)?.iter();
                let one = kept.find(|one| one.moment == *moment)?;
                Some((Arc::clone(name), one.key, one.content.clone()))
            };
            others.order.iter().filter_map(find).collect()
        };
        for (name, key, content) in kept {
            self.keep(&name, key, content);
        }
    }
}

impl State {
    fn keep(&mut self, name: &[u8], key: DictionaryKey, content: Bytes, budget: usize) {
        self.moment += 1;
        let moment = self.moment;
        let known = self.by_name.get_key_value(name);
        let name = known.map_or_else(|| Arc::from(name), |(name, _)| Arc::clone(name));
        let kept = self.by_name.entry(Arc::clone(&name)).or_default();
        if let Some(known) = kept.iter_mut().find(|one| one.key == key) {
            // It stays where it is: files are built anew when their versions change.
            self.order.remove(&known.moment);
            known.moment = moment;
            self.order.insert(moment, name);
            return;
        }
        if kept.len() == MOST_VERSIONS
            && let Some(gone) = kept.pop()
        {
            self.bytes -= weight(&name, &gone);
            self.order.remove(&gone.moment);
        }
        let new = KeptContent {
            key,
            content,
            moment,
        };
        self.bytes += weight(&name, &new);
        kept.insert(0, new);
        self.order.insert(moment, name);
        while self.bytes > budget
            && let Some((moment, name)) = self.order.pop_first()
        {
            self.remove(moment, &name);
        }
    }

    fn remove(&mut self, moment: u64, name: &Arc<[u8]>) {
        let Some(kept) = self.by_name.get_mut(name) else {
            return;
        };
        if let Some(place) = kept.iter().position(|one| one.moment == moment) {
            let gone = kept.remove(place);
            self.bytes -= weight(name, &gone);
        }
        if kept.is_empty() {
            self.by_name.remove(name);
        }
    }
}

fn weight(name: &[u8], kept: &KeptContent) -> usize {
    PLACE + name.len() + kept.content.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u8) -> DictionaryKey {
        DictionaryKey {
            sha256: [number; 32],
            length: 1000,
        }
    }

    fn content(number: u8) -> Bytes {
        vec![number; 1000].into()
    }

    #[test]
    fn the_newest_stay_within_the_budget() {
        let each = PLACE + 1 + 1000;
        let kept = Dictionaries::within(4 * each);
        for number in 0..4 {
            kept.keep(b"a", key(number), content(number));
        }
        assert_eq!(kept.versions(b"a"), [3, 2, 1, 0].map(key));
        // What is kept once more stays longer, and another name takes the place of what was kept the longest ago.
        kept.keep(b"a", key(0), content(0));
        assert_eq!(kept.versions(b"a"), [3, 2, 1, 0].map(key));
        kept.keep(b"b", key(9), content(9));
        assert_eq!(kept.versions(b"a"), [3, 2, 0].map(key));
        assert_eq!(kept.versions(b"b"), [key(9)]);
        assert_eq!(kept.content(b"b", &key(9)), Some(content(9)));
        assert_eq!(kept.content(b"a", &key(9)), None);
        assert_eq!(kept.content(b"a", &key(1)), None);
        // Nothing that would push out more than a quarter.
        let long = DictionaryKey {
            length: kept.longest() + 1,
            ..key(7)
        };
        kept.keep(b"c", long, content(7));
        assert!(kept.versions(b"c").is_empty());
        let state = kept.state.hold();
        assert_eq!((state.bytes, state.order.len()), (4 * each, 4));
    }

    #[test]
    fn a_name_has_few_versions() {
        let kept = Dictionaries::within(1 << 20);
        for number in 0..20 {
            kept.keep(b"a", key(number), content(number));
        }
        assert_eq!(kept.versions(b"a"), [19, 18, 17, 16, 15].map(key));
        let state = kept.state.hold();
        assert_eq!(state.order.len(), MOST_VERSIONS);
        assert_eq!(state.bytes, MOST_VERSIONS * (PLACE + 1 + 1000));
    }

    #[test]
    fn what_is_taken_over_keeps_its_order() {
        let before = Dictionaries::within(1 << 20);
        for (name, number) in [(b"a", 1), (b"b", 2), (b"a", 3)] {
            before.keep(name, key(number), content(number));
        }
        let after = Dictionaries::within(1 << 20);
        after.take_over(&before);
        assert_eq!(after.versions(b"a"), [3, 1].map(key));
        assert_eq!(after.versions(b"b"), [key(2)]);
        let small = Dictionaries::within(4 * 1000);
        small.take_over(&before);
        assert_eq!(small.versions(b"a"), [3, 1].map(key));
    }
}
