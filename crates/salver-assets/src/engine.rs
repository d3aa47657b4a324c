//! The engine: the steps from a request to a plan, in order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use salver_coalesce::Joined;
use salver_rules::BasicAuth;
use salver_semantics::{HttpDate, Method, RequestPath};

use crate::alternative::Choice;
use crate::answer::accept::coding_choice;
use crate::answer::plan::{OpenedContent, ResponsePlan};
use crate::answer::select::{Decision, answer, answer_error};
use crate::answer::selected::Selected;
use crate::answer::status_responses;
use crate::cache::bounded::Cached;
use crate::config::{Config, ConfigError, MountMatch};
use crate::error::LoadError;
use crate::path::{path_of_key, variant_key};
use crate::pending::{AskedKey, KnownEntry, LoadReady, LoadRequest, Pending, RequestProgress};
use crate::request::Request;
use crate::resource::engine_pool::EnginePool;
use crate::resource::engine_state::EngineState;
use crate::resource::entry::{CacheEntry, Freshness, Resource};
use crate::resource::in_flight::{LoadKey, LoadResult};
use crate::resource::load::{Load, Previous};
use crate::resource::made_codings;
use crate::resource::representation::Representation;
use crate::resource::representations::Representations;
use crate::resource::ruling::Ruling;
use crate::source::Opened;

/// The age of a load that a request may still join, if `revalidate` is shorter: else requests at
/// one moment could not share one.
const JOINED_WITHIN: Duration = Duration::from_secs(1);

/// The loads after which a request is answered at the latest; each but the last was overtaken by a change.
const MOST_LOADS: u8 = 8;

/// The time as the driver sees it.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// The moment that ages are counted from.
    pub instant: Instant,
    /// The date that the answer's `Date` will have.
    pub date: HttpDate,
}

/// An engine decides how requests are answered. Cheap to clone; all clones are one engine.
#[derive(Clone, Debug)]
pub struct Engine {
    pub(crate) shared: Arc<EngineState>,
    /// True if unknown paths are answered by 404 whatever a mount's fallback is.
    pub(crate) exact: bool,
}

/// The next step for a request.
pub enum Step {
    /// Carry this plan out.
    Respond(ResponsePlan),
    /// Have this load performed and [finished](Engine::finish) - whatever becomes of the request -,
    /// await the [`Pending`] and [resume](Engine::resume).
    Load(Load, Pending),
    /// Another request's load will do: await and [resume](Engine::resume).
    Wait(Pending),
    /// Rules for the path ask more of the request: begin again with its
    /// [details](crate::Request::details).
    NeedDetails,
    /// Rules for the path want a password of one of these users: begin again with the
    /// [access](crate::RequestDetails::access) that it gives.
    NeedAccess(Arc<BasicAuth>),
}

impl Engine {
    /// Validates the configuration; touches no file.
    ///
    /// # Errors
    /// Which setting cannot be used, and why.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let pool = Arc::new(EnginePool::new(&config, Instant::now()));
        Engine::in_pool(pool, config)
    }

    /// An engine with other settings in place of one that goes: it begins with nothing in its cache but the codings that
    /// were made, which belong to a content, wherever it is.
    ///
    /// # Errors
    /// Which setting cannot be used, and why.
    pub fn in_place_of(&self, config: Config) -> Result<Self, ConfigError> {
        let engine = Engine::new(config)?;
        let (old, new) = (&self.shared.pool, &engine.shared.pool);
        new.codings.take_over(&old.codings);
        new.dictionaries.take_over(&old.dictionaries);
        Ok(engine)
    }

    /// The same engine for asking about files and not on behalf of a browser: unknown paths are 404
    /// also where a mount has a [fallback](crate::Mount::with_fallback).
    pub fn exact(&self) -> Self {
        Engine {
            shared: Arc::clone(&self.shared),
            exact: true,
        }
    }

    /// The first step for a request. Never waits, never does I/O; allocates nothing and takes no
    /// lock if the answer is cached.
    pub fn begin(&self, request: &Request<'_>, now: Now) -> Step {
        self.at_path(request, Step::Respond, |path, key| {
            self.begin_at(request, path, key, now)
        })
    }

    /// The next step after a load that the request waited for.
    pub fn resume(&self, request: &Request<'_>, arrived: LoadReady, now: Now) -> Step {
        self.at_path(request, Step::Respond, |path, _| {
            self.resume_at(request, path, arrived, now)
        })
    }

    /// [`begin`](Self::begin) at the path of the request.
    #[inline]
    pub(crate) fn begin_at(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        key: AskedKey,
        now: Now,
    ) -> Step {
        let progress = RequestProgress {
            key,
            loads: 0,
            collapsed: false,
            asked: now.instant,
            known: KnownEntry::None,
        };
        self.look_up(request, path, now, progress)
    }

    /// [`resume`](Self::resume) at the path of the request.
    pub(crate) fn resume_at(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        arrived: LoadReady,
        now: Now,
    ) -> Step {
        let LoadReady { result, progress } = arrived;
        match result {
            LoadResult::Failed(error) => self.answer_failure(request, path, error, now, progress),
            LoadResult::Ready { entry, opened } => {
                // A load that was under way for long may have looked long before.
                let most = self.config().revalidate.max(JOINED_WITHIN);
                let asked = self.shared.since_epoch(progress.asked);
                if entry.is_older_than(asked, most) {
                    return self.begin_again(request, path, now, progress);
                }
                self.use_entry(request, path, &entry, opened.as_ref(), now, progress)
            }
            LoadResult::Stale { entry, opened } => {
                let progress = progress.with_stale();
                self.use_entry(request, path, &entry, opened.as_ref(), now, progress)
            }
            LoadResult::Outdated => self.begin_again(request, path, now, progress),
        }
    }

    pub(crate) fn config(&self) -> &Config {
        &self.shared.config
    }

    pub(crate) fn keep_up_to(&self) -> u64 {
        self.shared.keep_up_to()
    }

    pub(crate) fn mounts(&self) -> &crate::config::Mounts {
        &self.shared.mounts
    }

    /// Answers from the cache if it may be used, else by a load.
    #[inline]
    pub(crate) fn look_up(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        now: Now,
        progress: RequestProgress,
    ) -> Step {
        let other;
        let key = match progress.key {
            AskedKey::Path | AskedKey::Original => path.as_bytes(),
            AskedKey::Fallback => match self.fallback_of(path) {
                Some(key) => {
                    other = key;
                    &*other
                }
                None => return respond(request, status_responses::not_found()),
            },
            AskedKey::Refusal(status) => {
                return self.answer_refusal(request, path, status, now, progress);
            }
            // Which that is depends on the failure, or on the request.
            AskedKey::PageOfFailure | AskedKey::Alternative => {
                return respond(request, status_responses::not_found());
            }
            AskedKey::Options => {
                other = variant_key(path.as_bytes(), b"OPTIONS");
                &*other
            }
        };
        self.look_up_key(request, path, (key, None), now, progress)
    }

    /// The same for the resource with this key, by this ruling if it is one of several at the path.
    #[inline]
    pub(crate) fn look_up_key(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        (key, ruling): (&[u8], Option<&Arc<Ruling>>),
        now: Now,
        progress: RequestProgress,
    ) -> Step {
        let shared = &*self.shared;
        let entry = match shared.is_cached(key) {
            true => shared.pool.memory.get(shared.key(key)),
            false => None,
        };
        let (path_key, previous) = match entry {
            None => (shared.owned_key(key), None),
            Some(entry) => {
                let since_epoch = shared.since_epoch(now.instant);
                let announced = match entry.freshness(since_epoch, shared.config.revalidate) {
                    Freshness::Fresh => {
                        return self.use_entry(request, path, &entry, None, now, progress);
                    }
                    Freshness::Stale => {
                        let progress = progress.with_stale();
                        return self.use_entry(request, path, &entry, None, now, progress);
                    }
                    Freshness::Revalidate => true,
                    Freshness::Wait => false,
                };
                (entry.key.clone(), Some(Previous { entry, announced }))
            }
        };
        let wanted = LoadRequest {
            key: LoadKey::of_path(path_key),
            ruling: ruling.cloned(),
            previous,
            needs_content: false,
            listed: None,
        };
        self.load(request, path, wanted, now, progress)
    }

    /// Answers from an entry, which is fresh or has just been loaded.
    pub(crate) fn use_entry(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        entry: &Arc<CacheEntry>,
        opened: Option<&Opened>,
        now: Now,
        progress: RequestProgress,
    ) -> Step {
        // The request that loads an entry is no second use of it: else every file that is asked for
        // once would count as one that comes back, and push out what does.
        if progress.loads == 0 {
            entry.uses().touch();
        }
        let open = |representation: &Representation| {
            let cached = self.shared.is_cached(&entry.key);
            let identity = &representation.identity;
            let opened = opened.filter(|opened| opened.metadata.identity == *identity);
            let opened = opened.map(|opened| (opened.clone(), Arc::default()));
            let (opened, checks) = opened.or_else(|| {
                let since_epoch = self.shared.since_epoch(now.instant);
                let kept = self.shared.pool.open_files.get(identity, since_epoch);
                kept.filter(|_| cached)
            })?;
            let mut situation = self.shared.situation(identity, cached);
            situation.changes_now |= representation.tag_basis.is_weak();
            Some(OpenedContent {
                opened,
                checks,
                situation,
                tag_basis: representation.tag_basis,
            })
        };
        let mut decision = match &entry.resource {
            Resource::File(representations) => {
                let selected = self.select(request, entry, representations);
                answer(request, representations, selected, open, now.date)
            }
            Resource::Negotiated(original) => match self.choice(request, original, progress.key) {
                Choice::Original => {
                    let selected = self.select(request, entry, original);
                    answer(request, original, selected, open, now.date)
                }
                Choice::Alternative(alternative) => {
                    let chosen = (entry, alternative);
                    return self.look_up_alternative(request, path, chosen, now, progress);
                }
                Choice::NeedDetails => return Step::NeedDetails,
            },
            Resource::Error {
                status,
                is_absent,
                page: Some(page),
            } if !*is_absent || progress.key == AskedKey::Fallback || !self.falls_back(path) => {
                let selected = self.select(request, entry, page);
                answer_error(request, *status, page, selected, open)
            }
            _ => return self.answer_without_file(request, path, entry, now, progress),
        };
        if let Decision::Respond(plan) = &mut decision {
            if progress.loads == 0 {
                self.shared.pool.counters.hits.add(1);
            }
            self.tell_cache(plan, entry, now, progress);
        }
        let representation = match decision {
            Decision::Respond(plan) => return Step::Respond(plan),
            Decision::NeedContent(representation) => representation,
        };
        let kept = self.shared.is_cached(&entry.key)
            && representation.length() <= self.shared.keep_up_to();
        let is_variant = path_of_key(&entry.key).1.is_some();
        let previous = Previous {
            entry: Arc::clone(entry),
            announced: false,
        };
        let wanted = LoadRequest {
            key: LoadKey {
                path: entry.key.clone(),
                coding: (!kept).then_some(representation.coding.plain()),
            },
            ruling: entry.rules.ruling.clone().filter(|_| is_variant),
            previous: Some(previous),
            needs_content: true,
            listed: None,
        };
        self.load(request, path, wanted, now, progress)
    }

    /// The representation that a request gets; `None` if it accepts none. The coding that it would rather have, if that
    /// can be made, is asked for: a later answer may have it.
    #[inline]
    pub(crate) fn select<'a>(
        &self,
        request: &Request<'_>,
        entry: &CacheEntry,
        representations: &'a Representations,
    ) -> Option<Selected<'a>> {
        let choice = coding_choice(request);
        let plain = || {
            let selected = representations.select(&choice);
            let selected = selected.map(|(_, representation)| representation);
            if representations.makeable.is_some() && request.method == Method::Get {
                made_codings::ask(&self.shared, entry, representations, &choice, selected);
            }
            selected
        };
        match &representations.dictionaries {
            None => plain().map(Selected::for_any),
            Some(dictionaries) => {
                let of = (entry, representations);
                self.select_beside_dictionaries(request, of, dictionaries, &choice, plain)
            }
        }
    }

    /// Begins a load, or joins one that is under way.
    pub(crate) fn load(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        wanted: LoadRequest,
        now: Now,
        progress: RequestProgress,
    ) -> Step {
        let shared = &*self.shared;
        let (asked, _) = path_of_key(&wanted.key.path);
        let (mount, relative) = match shared.mounts.find_mount(asked) {
            MountMatch::Within(mount, relative) => (mount, relative),
            MountMatch::Redirect => {
                return respond(
                    request,
                    status_responses::redirect(path.as_bytes(), request),
                );
            }
            MountMatch::Nowhere => return respond(request, status_responses::not_found()),
        };
        if progress.loads == MOST_LOADS {
            return respond(request, status_responses::failed(LoadError::Unsettled));
        }
        if progress.loads == 0 {
            shared.pool.counters.misses.add(1);
        }
        let progress = progress.with_load(&wanted);
        let leader = if shared.config.coalesce {
            match shared.flights.join(&wanted.key) {
                Joined::Leader(leader) => leader,
                Joined::Follower(follower) => {
                    // Somebody is reading, and this was to be a look before it is too late.
                    let since_epoch = shared.since_epoch(now.instant);
                    let young = wanted.previous.as_ref().filter(|previous| {
                        let revalidate = shared.config.revalidate;
                        previous.announced && previous.entry.is_fresh(since_epoch, revalidate)
                    });
                    if let Some(entry) = young.map(|previous| Arc::clone(&previous.entry)) {
                        return self.use_entry(request, path, &entry, None, now, progress);
                    }
                    shared.pool.counters.coalesced.add(1);
                    return Step::Wait(Pending {
                        follower,
                        progress: progress.collapsed(),
                        mount: shared.number_in_pool(mount),
                    });
                }
            }
        } else {
            shared.flights.alone(wanted.key.clone())
        };
        // Another load may have ended since the cache was asked: then this one is not needed. Who
        // has joined it already is given the same.
        if shared.config.coalesce
            && let Some(entry) = self.loaded_meanwhile(&wanted, now)
        {
            drop(wanted);
            leader.complete(LoadResult::Ready {
                entry: Arc::clone(&entry),
                opened: None,
            });
            return self.use_entry(request, path, &entry, None, now, progress);
        }
        let pending = Pending {
            follower: leader.follower(),
            progress,
            mount: shared.number_in_pool(mount),
        };
        let sends = match progress.key {
            AskedKey::Refusal(_) => request.method != Method::Head,
            _ => request.method == Method::Get,
        };
        let choice = sends.then(|| coding_choice(request));
        let load = Load {
            shared: Arc::clone(&self.shared),
            leader,
            latest_change: shared.changes.latest(),
            key: wanted.key.path,
            mount,
            relative,
            ruling: wanted.ruling,
            previous: wanted.previous,
            listed: wanted.listed,
            wanted: choice,
            again: false,
            retry: Box::default(),
            slow_to_check: false,
        };
        Step::Load(load, pending)
    }

    /// The fresh entry that serves what is wanted as well as a load would.
    fn loaded_meanwhile(&self, wanted: &LoadRequest, now: Now) -> Option<Arc<CacheEntry>> {
        let shared = &*self.shared;
        let path = &*wanted.key.path;
        let entry = shared.pool.memory.get(shared.key(path));
        let entry = entry.filter(|_| shared.is_cached(path))?;
        let known = wanted.previous.as_ref();
        let is_known = known.is_some_and(|previous| Arc::ptr_eq(&previous.entry, &entry));
        let serves = !wanted.needs_content || !is_known;
        let since_epoch = shared.since_epoch(now.instant);
        (serves && !entry.is_due(since_epoch, shared.config.revalidate)).then_some(entry)
    }
}

pub(crate) fn respond(request: &Request<'_>, plan: ResponsePlan) -> Step {
    Step::Respond(plan.for_method(request.method))
}

#[cfg(test)]
mod tests;
