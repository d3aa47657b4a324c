//! Taking the outcome of a load: caching it, and telling observers and waiting requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::Engine;
use crate::events::{self, Event};
use crate::resource::entry::{CacheEntry, Resource};
use crate::resource::in_flight::LoadResult;
use crate::resource::load::{Load, Outcome, RetryLater, RunAgain, WouldWait};
use crate::source::{Opened, Patience};

/// The time after which a source that has told what it knew is asked what it knows by now.
const TOLD_AGAIN_AFTER: Duration = Duration::from_millis(25);

impl Engine {
    /// Takes the outcome of a load: caches what may be cached, and wakes the requests that wait.
    pub fn finish(&self, load: Load, outcome: Outcome) {
        let shared = &*self.shared;
        let Outcome {
            result,
            known_since,
            told,
            cause,
        } = outcome;
        shared.pool.counters.loads.add(1);
        match &result {
            LoadResult::Ready { entry, opened } => {
                entry.set_slow_to_check(load.slow_to_check);
                self.date(entry, known_since, told);
                self.keep(&load, entry, opened.as_ref(), known_since);
            }
            LoadResult::Stale { entry, opened } => {
                let previous = load.previous.as_ref();
                // Nothing was confirmed: the next one looks again.
                if !previous.is_some_and(|previous| Arc::ptr_eq(&previous.entry, entry)) {
                    self.date(entry, known_since, told);
                    self.keep(&load, entry, opened.as_ref(), known_since);
                } else if let Some(told) = told {
                    entry.defer(told.saturating_add(TOLD_AGAIN_AFTER));
                }
            }
            LoadResult::Outdated => {}
            LoadResult::Failed(error) => shared.tell(|| Event::Failed {
                path: events::path(&load.key),
                error: *error,
                cause,
            }),
        }
        // The look is over before anybody is told of it.
        drop(load.previous);
        load.leader.complete(result);
    }

    /// Dates an entry by what the source told at a moment, if it did not look itself.
    fn date(&self, entry: &CacheEntry, known_since: Duration, told: Option<Duration>) {
        if let Some(told) = told {
            entry.confirm(known_since);
            entry.defer(told.saturating_add(TOLD_AGAIN_AFTER));
        }
    }

    /// Caches the result of a load, unless that may not be cached or was invalidated while it was loaded.
    fn keep(&self, load: &Load, entry: &Arc<CacheEntry>, opened: Option<&Opened>, began: Duration) {
        let shared = &*self.shared;
        let previous = load.previous.as_ref().map(|previous| &previous.entry);
        let confirmed = previous.is_some_and(|previous| Arc::ptr_eq(previous, entry));
        let cached = shared.is_cached(&load.key);
        let is_wanted = || {
            let is_outdated = load.leader.is_outdated();
            !is_outdated && !self.has_changed_since(load.latest_change, entry)
        };
        let mut leaving = Vec::new();
        if confirmed {
            entry.confirm(began);
            // Who has it compared anew says so to loads before entries.
            if load.leader.is_outdated() {
                entry.confirm(Duration::ZERO);
            }
            shared.pool.counters.revalidations.add(1);
        } else {
            if let Some(kept) = cached.then(|| self.kept_part(load, entry)).flatten() {
                leaving = shared.pool.memory.insert_if(kept, is_wanted);
                let count = u64::try_from(leaving.len()).unwrap_or(u64::MAX);
                shared.pool.counters.evictions.add(count);
            }
            if let Some(previous) = previous {
                shared.close_replaced(previous, entry);
            }
        }
        if let Some(opened) = opened.filter(|_| cached && is_wanted()) {
            shared.pool.open_files.keep(opened, began);
        }
        // Of its pages the listing has told.
        if load.listed.is_none() {
            shared.tell(|| {
                let path = events::path(&load.key);
                let kind = entry.resource.kind();
                match previous {
                    Some(_) if confirmed => Event::Confirmed { path },
                    Some(previous) if !previous.resource.is_of(&entry.resource) => {
                        Event::Changed { path, kind }
                    }
                    _ => Event::Loaded { path, kind },
                }
            });
        }
        // An observer hears of its own site.
        for key in leaving
            .into_iter()
            .filter(|key| key.site() == load.key.site())
        {
            shared.tell(|| Event::Evicted {
                path: events::path(&key),
            });
        }
    }
}

impl Engine {
    /// The part of an entry that the cache keeps; `None` if it keeps nothing of it.
    fn kept_part(&self, load: &Load, entry: &Arc<CacheEntry>) -> Option<Arc<CacheEntry>> {
        let shared = &*self.shared;
        match load.listed.is_some() || matches!(entry.resource, Resource::Listing(_)) {
            // Without its content a page could not be sent.
            true => (entry.weight <= shared.keep_listings_up_to()).then(|| Arc::clone(entry)),
            false => Some(entry.without_content_beyond(shared.keep_up_to())),
        }
    }
}

impl Load {
    /// Performs the load as [`perform_without_sleeping`](Self::perform_without_sleeping) does, and has the
    /// engine that began it [finish](Engine::finish) it.
    ///
    /// # Errors
    /// [`RunAgain`] if a file has not been at rest for long enough.
    pub fn run(self: Box<Self>, now: Instant) -> Result<(), RunAgain> {
        match self.perform_without_sleeping(now) {
            Ok(outcome) => {
                self.finish(outcome);
                Ok(())
            }
            Err(RetryLater { after }) => Err(RunAgain { load: self, after }),
        }
    }

    /// Performs the load where it must not wait, and has the engine that began it [finish](Engine::finish) it.
    ///
    /// # Errors
    /// The load, if it would have to wait.
    pub fn run_at_once(self: Box<Self>, now: Instant) -> Result<(), Box<Self>> {
        match self.perform(Patience::MustNotWait, now) {
            Ok(outcome) => {
                self.finish(outcome);
                Ok(())
            }
            Err(WouldWait { .. }) => Err(self),
        }
    }

    /// Has the engine finish the load unperformed, because there is no room in a queue, say: it fails as
    /// overloaded.
    pub fn refuse(self) {
        self.finish(Outcome::overloaded());
    }

    /// Has the engine that began the load finish it.
    fn finish(self, outcome: Outcome) {
        let shared = Arc::clone(&self.shared);
        let engine = Engine {
            shared,
            exact: false,
        };
        engine.finish(self, outcome);
    }
}
