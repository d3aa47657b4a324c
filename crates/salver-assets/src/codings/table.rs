//! The table of made codings in memory, within a budget: what was not asked for the longest leaves first.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;

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
    pub(crate) content: Bytes,
    /// The digest of the coded bytes.
    pub(crate) digest: Digest,
}

/// The verdict on a coding of some content.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// It saves enough to be sent.
    Made(MadeCoding),
    /// It does not.
    NotWorthIt,
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
        state.moment += 1;
        let moment = state.moment;
        state.bytes += weight(&verdict);
        if let Some((old, used)) = state.verdicts.insert(content, (verdict, moment)) {
            state.bytes -= weight(&old);
            state.order.remove(&used);
        }
        state.order.insert(moment, content);
        while state.bytes > self.budget
            && let Some((_, oldest)) = state.order.pop_first()
        {
            if let Some((verdict, _)) = state.verdicts.remove(&oldest) {
                state.bytes -= weight(&verdict);
            }
        }
    }

    /// The number of codings that can be sent, and the bytes that the table takes.
    pub(crate) fn size(&self) -> (usize, usize) {
        let state = self.state.hold();
        let made = |(verdict, _): &&(Verdict, u64)| matches!(verdict, Verdict::Made(_));
        (state.verdicts.values().filter(made).count(), state.bytes)
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
        Verdict::Made(made) => PLACE + made.content.len(),
        Verdict::NotWorthIt => PLACE,
    }
}

#[cfg(test)]
mod tests {
    use salver_semantics::ContentCoding;

    use super::*;

    fn keys(number: u8) -> (CodingKey, ContentKey) {
        let coding = ContentCoding::Brotli;
        let key = CodingKey {
            site: 0,
            digest: u128::from(number),
            length: 9,
            coding,
        };
        let sha256 = [number; 32];
        (key, ContentKey { sha256, coding })
    }

    fn made(length: usize) -> Verdict {
        Verdict::Made(MadeCoding {
            content: vec![7; length].into(),
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
