//! A cache entry: the resource at one path, and when that was last compared with the disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use salver_semantics::{ContentCoding, DictionaryCoding};

use crate::cache::bounded::{Cached, UseCounter};
use crate::cache::key::CacheKey;
use crate::cache::micros;
use crate::events::ResourceKind;
use crate::resource::dictionary_use::DictionaryUse;
use crate::resource::directory_listing::DirectoryListing;
use crate::resource::locate::{Found, FoundFile};
use crate::resource::makeable::Makeable;
use crate::resource::representation::Representation;
use crate::resource::representations::Representations;
use crate::resource::ruling::Ruling;
use crate::resource::tree_rules::RulesInForce;

/// The cost of places in a table and a queue and of the counters of an allocator, about, in bytes.
const BOOKKEEPING: usize = 320;

/// The cost of small blocks, in halves of their lengths: many threads make them, they are given back in
/// another order, and what lies between them stays with the process, as does what the allocator keeps for
/// each thread. Measured over a tree of 1,000,000 files and a budget of 64 MiB (`make huge`): at twice their
/// lengths the process took 5.7 MB more than the budget.
const SCATTERED_HALVES: usize = 5;

/// The number of the first bit for codings against dictionaries.
const DELTAS: u32 = 8;

/// The state of one path at the moment of the last look.
#[derive(Debug)]
pub(crate) enum Resource {
    /// A file: at least one representation, the original first.
    File(Representations),
    /// A file with alternatives: the Accept of a request decides between this and one of them.
    Negotiated(Representations),
    /// A directory that was asked for without its slash.
    Directory,
    /// Nothing that could be served.
    Missing,
    /// An error that has content of its own, or another status.
    Error {
        status: u16,
        /// True if it is because nothing is there.
        is_absent: bool,
        page: Option<Representations>,
    },
    /// The redirect of the entry's ruling.
    Redirect,
    /// Another path of the tree, to which requests are redirected.
    Moved(Vec<u8>),
    /// The request decides, by these rules.
    ByRequest(Arc<RulesInForce>),
    /// A directory without an index. The request decides which page of its entries it gets.
    Listing(Arc<DirectoryListing>),
}

/// The rules that an entry was made by.
#[derive(Clone, Debug, Default)]
pub(crate) struct EntryRules {
    /// The number of the rules; 0 where a tree has none.
    pub(crate) generation: u64,
    /// The ruling, if there are rules.
    pub(crate) ruling: Option<Arc<Ruling>>,
}

impl Resource {
    /// The resource of a file.
    pub(crate) fn of_file(representations: Representations) -> Self {
        match representations.found.alternatives.is_empty() {
            true => Resource::File(representations),
            false => Resource::Negotiated(representations),
        }
    }

    /// The kind of resource, as events tell it.
    pub(crate) fn kind(&self) -> ResourceKind {
        match self {
            Resource::File(_) | Resource::Negotiated(_) => ResourceKind::File,
            Resource::Directory => ResourceKind::Directory,
            Resource::Missing | Resource::Error { .. } => ResourceKind::Nothing,
            Resource::Redirect | Resource::Moved(_) => ResourceKind::Redirect,
            Resource::ByRequest(_) => ResourceKind::ByRequest,
            Resource::Listing(_) => ResourceKind::Listing,
        }
    }

    /// The representations of the file whose content is sent.
    pub(crate) fn representations(&self) -> Option<&Representations> {
        match self {
            Resource::File(representations) | Resource::Negotiated(representations) => {
                Some(representations)
            }
            Resource::Error { page, .. } => page.as_ref(),
            Resource::Directory
            | Resource::Missing
            | Resource::Redirect
            | Resource::Moved(_)
            | Resource::ByRequest(_)
            | Resource::Listing(_) => None,
        }
    }

    /// The same resource with these representations.
    fn with(&self, representations: Representations) -> Self {
        match self {
            Resource::Error {
                status, is_absent, ..
            } => Resource::Error {
                status: *status,
                is_absent: *is_absent,
                page: Some(representations),
            },
            _ => Resource::of_file(representations),
        }
    }

    /// True if this and `other` are of the same files in the same state.
    pub(crate) fn is_of(&self, other: &Resource) -> bool {
        self.found() == other.found()
    }

    /// True if a new look that gave `found` proves this still right.
    pub(crate) fn is_still(&self, found: &Found) -> bool {
        let is_still = |representations: &Representations, file: &FoundFile| {
            !representations.look_again && representations.found == *file
        };
        match (self, found) {
            (
                Resource::File(representations) | Resource::Negotiated(representations),
                Found::File(file),
            ) => is_still(representations, file),
            (
                Resource::Error {
                    page: Some(representations),
                    ..
                },
                Found::Error {
                    page: Some(file), ..
                },
            ) if !is_still(representations, file) => false,
            (Resource::File(_) | Resource::Negotiated(_), _) | (_, Found::File(_)) => false,
            (this, found) => this.found() == *found,
        }
    }

    /// The result of the look that this comes of.
    fn found(&self) -> Found {
        let file = |representations: &Representations| representations.found.clone();
        match self {
            Resource::File(representations) | Resource::Negotiated(representations) => {
                Found::File(file(representations))
            }
            Resource::Directory => Found::Directory,
            Resource::Missing => Found::Missing,
            Resource::Error {
                status,
                is_absent,
                page,
            } => Found::Error {
                status: *status,
                is_absent: *is_absent,
                page: page.as_ref().map(file),
            },
            Resource::Redirect => Found::Redirect,
            Resource::Moved(path) => Found::Moved(path.clone()),
            Resource::ByRequest(_) => Found::ByRequest,
            Resource::Listing(listing) => Found::Listing(Arc::clone(listing)),
        }
    }
}

/// A resource in the cache, with the times and counts that change without it.
#[derive(Debug)]
pub(crate) struct CacheEntry {
    pub(crate) key: CacheKey,
    pub(crate) resource: Resource,
    pub(crate) rules: EntryRules,
    /// The bytes that this costs, content and bookkeeping.
    pub(crate) weight: usize,
    /// The moment at which the last look at the disk *began*, in microseconds since the engine's epoch.
    checked: AtomicU64,
    /// True while a look at the disk is under way.
    checking: AtomicBool,
    /// True if the last look had to wait for a disk or a file server: then the next one begins before the
    /// answer is too old to be given, so that no request has to wait for it.
    slow_to_check: AtomicBool,
    /// The moment until which it is used without another look, although one is due, in microseconds since the engine's
    /// epoch: its source has just told what it knew, and finds out whether that still is so.
    deferred: AtomicU64,
    /// The codings that were asked for since the last look, a bit each; those against dictionaries from
    /// [`DELTAS`] on.
    asked: AtomicU32,
    uses: UseCounter,
}

impl Cached for CacheEntry {
    fn key(&self) -> &CacheKey {
        &self.key
    }
    fn weight(&self) -> usize {
        self.weight
    }
    fn is_fileless(&self) -> bool {
        matches!(
            self.resource,
            Resource::Missing | Resource::Error { .. } | Resource::Redirect
        )
    }
    fn uses(&self) -> &UseCounter {
        &self.uses
    }
}

/// The freshness of an entry (RFC 9111 section 4.2 has the word for caches between others).
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// Fresh: answer from it.
    Fresh,
    /// Stale, and its source is finding out what has become of it: answer from it.
    Stale,
    /// To be compared with the disk first, by this request.
    Revalidate,
    /// Stale, and another request is comparing it: wait for the result.
    Wait,
}

impl CacheEntry {
    pub(crate) fn new(key: CacheKey, resource: Resource, checked: Duration, uses: u8) -> Self {
        let (small, content) = match resource.representations() {
            Some(representations) => {
                let makeable = representations
                    .makeable
                    .as_ref()
                    .map_or(0, Makeable::weight);
                let dictionaries = representations.dictionaries.as_deref();
                let found = representations.found.path.len()
                    + representations.found.siblings.len() * 96
                    + makeable
                    + dictionaries.map_or(0, DictionaryUse::weight);
                let deltas = || dictionaries.into_iter().flat_map(DictionaryUse::made);
                let list = || representations.list.iter().chain(deltas());
                let all: usize = list().map(|r| r.weight()).sum();
                let content: usize = list()
                    .filter_map(|r| r.content.as_ref())
                    .map(|content| content.cost)
                    .sum();
                (found + all - content, content)
            }
            None => match &resource {
                Resource::Listing(listing) => (0, listing.weight()),
                _ => (0, 0),
            },
        };
        let small = BOOKKEEPING + std::mem::size_of::<Self>() + key.len() + small;
        let weight = content + small * SCATTERED_HALVES / 2;
        CacheEntry {
            key,
            resource,
            rules: EntryRules::default(),
            weight,
            checked: AtomicU64::new(micros(checked)),
            checking: AtomicBool::new(false),
            slow_to_check: AtomicBool::new(false),
            deferred: AtomicU64::new(0),
            asked: AtomicU32::new(0),
            uses: UseCounter::new(uses),
        }
    }

    /// The same entry, made by these rules.
    pub(crate) fn by(mut self, rules: EntryRules) -> Self {
        let ruling = rules.ruling.as_ref().map_or(0, |ruling| ruling.weight());
        self.weight += ruling * SCATTERED_HALVES / 2;
        self.rules = rules;
        self
    }

    /// The same entry without content that costs more than `most` bytes.
    pub(crate) fn without_content_beyond(self: &Arc<Self>, most: u64) -> Arc<Self> {
        let cost = |r: &Representation| r.content.as_ref().map_or(0, |content| content.cost);
        // What is derived or made cannot be sent from its file.
        let too_long = |r: &Representation| {
            !r.is_derived && !r.is_made && u64::try_from(cost(r)).is_ok_and(|cost| cost > most)
        };
        let representations = match self.resource.representations() {
            Some(representations) if representations.list.iter().any(|r| too_long(r)) => {
                representations
            }
            _ => return Arc::clone(self),
        };
        let list = representations.list.iter().map(|r| match too_long(r) {
            true => Arc::new(r.with_content(None)),
            false => Arc::clone(r),
        });
        let representations = representations.with(list.collect());
        let checked = Duration::from_micros(self.checked.load(Ordering::Acquire));
        let key = self.key.clone();
        let resource = self.resource.with(representations);
        let entry = CacheEntry::new(key, resource, checked, self.uses.get());
        Arc::new(entry.by(self.rules.clone()))
    }

    /// True if the last look is younger than `revalidate`. `now` is the time since the engine's
    /// epoch.
    pub(crate) fn is_fresh(&self, now: Duration, revalidate: Duration) -> bool {
        self.age(now) < micros(revalidate)
    }

    /// True if it is time for a look: if that takes long, before the answer is too old.
    pub(crate) fn is_due(&self, now: Duration, revalidate: Duration) -> bool {
        let after = match self.is_slow_to_check() {
            true => micros(revalidate) / 2,
            false => micros(revalidate),
        };
        self.age(now) >= after
    }

    /// True if the last look began longer than `most` before `then`, so that a request of that time needs
    /// another.
    pub(crate) fn is_older_than(&self, then: Duration, most: Duration) -> bool {
        self.age(then) > micros(most)
    }

    /// The seconds for which it is still fresh, negative if it is not any longer (RFC 9211 section 2.5).
    pub(crate) fn ttl(&self, now: Duration, revalidate: Duration) -> i64 {
        let signed = |micros: u64| i64::try_from(micros).unwrap_or(i64::MAX);
        let left = signed(micros(revalidate)).saturating_sub(signed(self.age(now)));
        left.div_euclid(1_000_000)
    }

    fn age(&self, now: Duration) -> u64 {
        micros(now).saturating_sub(self.checked.load(Ordering::Acquire))
    }

    /// The freshness at `now`, a time since the engine's epoch.
    pub(crate) fn freshness(&self, now: Duration, revalidate: Duration) -> Freshness {
        if !self.is_due(now, revalidate) {
            return Freshness::Fresh;
        }
        if micros(now) < self.deferred.load(Ordering::Relaxed) {
            return match self.is_fresh(now, revalidate) {
                true => Freshness::Fresh,
                false => Freshness::Stale,
            };
        }
        if !self.checking.swap(true, Ordering::AcqRel) {
            Freshness::Revalidate
        } else if self.is_fresh(now, revalidate) {
            Freshness::Fresh
        } else {
            Freshness::Wait
        }
    }

    pub(crate) fn is_slow_to_check(&self) -> bool {
        self.slow_to_check.load(Ordering::Relaxed)
    }

    /// Notes whether the last look had to wait.
    pub(crate) fn set_slow_to_check(&self, slowly: bool) {
        self.slow_to_check.store(slowly, Ordering::Relaxed);
    }

    /// Confirms the entry, by the look that began at `began`.
    pub(crate) fn confirm(&self, began: Duration) {
        self.checked.store(micros(began), Ordering::Release);
        // What found no place in the queue is asked for again.
        self.asked.store(0, Ordering::Relaxed);
    }

    /// True if nobody has asked for this coding since the last look: then the caller does.
    pub(crate) fn is_first_to_ask_for(&self, coding: ContentCoding) -> bool {
        self.is_first_to_ask(coding as u32)
    }

    /// The same for a coding against the version with this number.
    pub(crate) fn is_first_to_ask_for_delta(
        &self,
        version: usize,
        coding: DictionaryCoding,
    ) -> bool {
        let version = u32::try_from(version).unwrap_or(u32::MAX);
        self.is_first_to_ask(
            version
                .saturating_mul(2)
                .saturating_add(DELTAS + coding as u32),
        )
    }

    /// The same for keeping the file as a dictionary.
    pub(crate) fn is_first_to_ask_for_keeping(&self) -> bool {
        self.is_first_to_ask(DELTAS - 1)
    }

    fn is_first_to_ask(&self, number: u32) -> bool {
        let bit = 1_u32.checked_shl(number).unwrap_or_default();
        self.asked.load(Ordering::Relaxed) & bit == 0
            && self.asked.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Has it used until then without another look.
    pub(crate) fn defer(&self, until: Duration) {
        self.deferred.store(micros(until), Ordering::Relaxed);
    }

    /// Ends the look, whatever it gave.
    pub(crate) fn end_check(&self) {
        self.checking.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(checked: u64) -> CacheEntry {
        let checked = Duration::from_millis(checked);
        CacheEntry::new(CacheKey::new(0, b"/x"), Resource::Missing, checked, 0)
    }

    #[test]
    fn one_looks_and_the_others_wait() {
        let entry = entry(1000);
        let ask = |now| entry.freshness(Duration::from_millis(now), Duration::from_secs(1));
        assert_eq!(ask(1999), Freshness::Fresh);
        assert_eq!(ask(2000), Freshness::Revalidate);
        assert_eq!(ask(2000), Freshness::Wait);
        assert_eq!(ask(9000), Freshness::Wait, "as long as the look takes");
        entry.end_check();
        assert_eq!(
            ask(9000),
            Freshness::Revalidate,
            "a look that failed proves nothing"
        );
        entry.confirm(Duration::from_millis(9000));
        entry.end_check();
        assert_eq!(ask(9999), Freshness::Fresh);
    }

    #[test]
    fn who_looks_slowly_begins_before_it_is_too_late() {
        let entry = entry(1000);
        let ask = |now| entry.freshness(Duration::from_millis(now), Duration::from_secs(1));
        entry.set_slow_to_check(true);
        assert_eq!(ask(1499), Freshness::Fresh);
        assert_eq!(ask(1500), Freshness::Revalidate);
        assert_eq!(
            ask(1999),
            Freshness::Fresh,
            "the old answer is young enough"
        );
        assert_eq!(ask(2000), Freshness::Wait);
        entry.confirm(Duration::from_millis(1500));
        entry.set_slow_to_check(false);
        entry.end_check();
        assert_eq!(ask(2499), Freshness::Fresh);
    }

    #[test]
    fn the_time_that_is_left_is_told_in_seconds() {
        let entry = entry(1000);
        let check = |now, revalidate, expected| {
            let ttl = entry.ttl(Duration::from_millis(now), Duration::from_secs(revalidate));
            assert_eq!(ttl, expected, "{now}");
        };
        check(1000, 10, 10);
        check(1001, 10, 9);
        check(11_001, 10, -1);
        check(1000 + 86_400_000, 1, -86_399);
    }

    #[test]
    fn what_is_being_found_out_is_not_asked_again_at_once() {
        let entry = entry(1000);
        let ask = |now| entry.freshness(Duration::from_millis(now), Duration::from_secs(1));
        entry.set_slow_to_check(true);
        entry.defer(Duration::from_millis(1520));
        assert_eq!(ask(1519), Freshness::Fresh);
        assert_eq!(ask(1520), Freshness::Revalidate);
        entry.end_check();
        entry.defer(Duration::from_millis(2020));
        assert_eq!((ask(2000), ask(2019)), (Freshness::Stale, Freshness::Stale));
        assert_eq!(
            (ask(2020), ask(2020)),
            (Freshness::Revalidate, Freshness::Wait)
        );
    }

    #[test]
    fn with_no_time_at_all_every_request_looks_or_waits() {
        let entry = entry(5);
        let ask = || entry.freshness(Duration::from_millis(5), Duration::ZERO);
        assert_eq!((ask(), ask()), (Freshness::Revalidate, Freshness::Wait));
    }
}
