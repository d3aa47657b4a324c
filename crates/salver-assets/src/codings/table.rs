//! The table of made codings in memory, within a budget: what was not asked for the longest leaves first.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;

use crate::cache::anonymous_content::AnonymousContent;
use crate::codings::key::{CodingKey, ContentKey};
use crate::source::digest::Digest;
use crate::sync::Lock;

/// The bytes that a place in the table costs besides content, about.
const PLACE: usize = 384;

/// The most names of contents in a generation, and the share of the places that they may have.
const NAMES: usize = 16 * 1024;

/// A coding that was made and decodes to its original.
#[derive(Clone, Debug)]
pub(crate) struct MadeCoding {
    pub(crate) content: MadeContent,
    /// The digest of the coded bytes.
    pub(crate) digest: Digest,
}

/// The content of a made coding.
#[derive(Clone, Debug)]
pub(crate) enum MadeContent {
    Memory(Bytes),
    /// What is too long for memory, as files are.
    Anonymous(Arc<AnonymousContent>),
}

impl MadeContent {
    /// The length in bytes.
    pub(crate) fn length(&self) -> u64 {
        match self {
            MadeContent::Memory(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            MadeContent::Anonymous(content) => content.length(),
        }
    }
}

/// The verdict on a coding of some content.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// It saves enough to be sent.
    Made(MadeCoding),
    /// It does not.
    NotWorthIt,
}

impl Verdict {
    /// The codings that it counts as.
    fn count(&self) -> usize {
        usize::from(matches!(self, Verdict::Made(_)))
    }
}

/// The codings that were made, and those that are not worth it.
#[derive(Debug)]
pub(crate) struct CodingTable {
    state: Lock<State>,
    /// The bytes that it may take.
    budget: usize,
}

type Names = HashMap<CodingKey, ContentKey, foldhash::fast::RandomState>;

#[derive(Debug, Default)]
struct State {
    /// The contents that sites have, in two generations: when the young one is full, the old one goes.
    young: Names,
    old: Names,
    verdicts: HashMap<ContentKey, (Verdict, u64), foldhash::fast::RandomState>,
    /// The verdicts by the moment of their last use.
    order: BTreeMap<u64, ContentKey>,
    moment: u64,
    /// The number of verdicts that are codings, and the bytes of all: counted, as a loop may wait for who asks.
    made: usize,
    bytes: usize,
}

impl CodingTable {
    /// A table that takes so many bytes at most.
    pub(crate) fn within(budget: usize) -> Self {
        CodingTable {
            state: Lock::default(),
            budget,
        }
    }

    /// The verdict on a coding that a site may send.
    pub(crate) fn get(&self, key: &CodingKey) -> Option<Verdict> {
        let mut state = self.state.hold();
        let content = match state.young.get(key) {
            Some(content) => *content,
            None => {
                let content = *state.old.get(key)?;
                state.name(*key, content, self.budget);
                content
            }
        };
        state.verdict(&content)
    }

    /// The verdict on a coding of content that the site of `key` has: from now on it is its own.
    pub(crate) fn adopt(&self, key: CodingKey, content: ContentKey) -> Option<Verdict> {
        let mut state = self.state.hold();
        let verdict = state.verdict(&content)?;
        state.name(key, content, self.budget);
        Some(verdict)
    }

    /// Takes a verdict.
    pub(crate) fn put(&self, key: CodingKey, content: ContentKey, verdict: Verdict) {
        let mut state = self.state.hold();
        state.name(key, content, self.budget);
        state.put(content, verdict, self.budget);
    }

    /// Takes the verdicts of another table, as far as there is room, and no site: who has the content
    /// [adopts](Self::adopt) them.
    pub(crate) fn take_over(&self, other: &CodingTable) {
        let verdicts: Vec<_> = {
            let other = other.state.hold();
            let known =
                |content: &ContentKey| Some((*content, other.verdicts.get(content)?.0.clone()));
            other.order.values().filter_map(known).collect()
        };
        let mut state = self.state.hold();
        for (content, verdict) in verdicts {
            state.put(content, verdict, self.budget);
        }
    }

    /// The number of codings that can be sent, and the bytes that the table takes.
    pub(crate) fn size(&self) -> (usize, usize) {
        let state = self.state.hold();
        (state.made, state.bytes)
    }
}

impl State {
    fn name(&mut self, key: CodingKey, content: ContentKey, budget: usize) {
        let most = (budget / 8 / PLACE).clamp(64, NAMES);
        if self.young.len() >= most {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, content);
    }

    fn put(&mut self, content: ContentKey, verdict: Verdict, budget: usize) {
        self.moment += 1;
        let moment = self.moment;
        self.bytes += weight(&verdict);
        self.made += verdict.count();
        if let Some((old, used)) = self.verdicts.insert(content, (verdict, moment)) {
            self.forget(&old);
            self.order.remove(&used);
        }
        self.order.insert(moment, content);
        while self.bytes > budget
            && let Some((_, oldest)) = self.order.pop_first()
        {
            if let Some((verdict, _)) = self.verdicts.remove(&oldest) {
                self.forget(&verdict);
            }
        }
    }

    /// Counts a verdict no more.
    fn forget(&mut self, verdict: &Verdict) {
        self.bytes -= weight(verdict);
        self.made -= verdict.count();
    }

    fn verdict(&mut self, content: &ContentKey) -> Option<Verdict> {
        self.moment += 1;
        let moment = self.moment;
        let (verdict, used) = self.verdicts.get_mut(content)?;
        let verdict = verdict.clone();
        let before = std::mem::replace(used, moment);
        self.order.remove(&before);
        self.order.insert(moment, *content);
        Some(verdict)
    }
}

fn weight(verdict: &Verdict) -> usize {
    match verdict {
        Verdict::Made(made) => PLACE + usize::try_from(made.content.length()).unwrap_or(usize::MAX),
        Verdict::NotWorthIt => PLACE,
    }
}

#[cfg(test)]
mod tests {
    use salver_semantics::ContentCoding;

    use super::*;

    fn keys(number: u8) -> (CodingKey, ContentKey) {
        let made = ContentCoding::Brotli.into();
        let key = CodingKey {
            site: 0,
            digest: u128::from(number),
            length: 9,
            made,
        };
        let sha256 = [number; 32];
        (key, ContentKey { sha256, made })
    }

    fn made(length: usize) -> Verdict {
        Verdict::Made(MadeCoding {
            content: MadeContent::Memory(vec![7; length].into()),
            digest: 1,
        })
    }

    #[test]
    fn what_is_asked_for_stays_within_the_budget() {
        let table = CodingTable::within(4 * (1000 + PLACE));
        let is_there = |number| table.get(&keys(number).0).is_some();
        for number in 0..4 {
            let (key, content) = keys(number);
            table.put(key, content, made(1000));
        }
        assert!(is_there(0));
        let (key, content) = keys(4);
        table.put(key, content, made(1000));
        assert!(is_there(0) && is_there(4) && !is_there(1));
        assert_eq!(table.size(), (4, 4 * (1000 + PLACE)));
        // The same once more, and something that is longer than all there is.
        table.put(key, content, made(900));
        assert_eq!(table.size(), (4, 4 * (1000 + PLACE) - 100));
        let (key, content) = keys(5);
        table.put(key, content, made(9000));
        assert_eq!(table.size(), (0, 0));
        assert!(!is_there(5));
    }

    #[test]
    fn what_was_used_last_is_taken_over_first() {
        let before = CodingTable::within(1 << 20);
        for number in 0..4 {
            let (key, content) = keys(number);
            before.put(key, content, made(1000));
        }
        assert!(before.get(&keys(0).0).is_some());
        let after = CodingTable::within(2 * (1000 + PLACE));
        after.take_over(&before);
        assert_eq!(after.size(), (2, 2 * (1000 + PLACE)));
        for (number, expected) in [(0, true), (1, false), (2, false), (3, true)] {
            let (key, content) = keys(number);
            assert!(after.get(&key).is_none());
            assert_eq!(after.adopt(key, content).is_some(), expected, "{number}");
        }
        assert_eq!(before.size().0, 4);
    }

    #[test]
    fn a_site_has_what_is_its_own() {
        let table = CodingTable::within(1 << 20);
        let (key, content) = keys(1);
        table.put(key, content, Verdict::NotWorthIt);
        let other = CodingKey { site: 1, ..key };
        assert!(table.get(&other).is_none());
        assert!(table.adopt(other, keys(2).1).is_none());
        assert!(matches!(
            table.adopt(other, content),
            Some(Verdict::NotWorthIt)
        ));
        assert!(table.get(&other).is_some());
    }

    #[test]
    fn names_are_bounded_and_those_in_use_stay() {
        let table = CodingTable::within(8 * 64 * PLACE);
        let (first, content) = keys(1);
        table.put(first, content, Verdict::NotWorthIt);
        for digest in 0..1000 {
            let key = CodingKey { digest, ..first };
            assert!(table.adopt(key, content).is_some());
            assert!(table.get(&first).is_some(), "{digest}");
        }
        let state = table.state.hold();
        assert!(state.young.len() + state.old.len() <= 128);
    }
}
