//! The steps from a request to a plan, in order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use salver_coalesce::Joined;
use salver_semantics::{HttpDate, has_known_extension};

use crate::accept::accept_encoding;
use crate::answer::{Decision, answer};
use crate::config::{Config, ConfigError, Place};
use crate::error::LoadError;
use crate::events::{self, Event, What};
use crate::file_content::Promise;
use crate::load::{Landed, Load, Outcome, Previous, WouldWait};
use crate::memory::Kept;
use crate::path::{RequestPath, file_name, is_hidden};
use crate::plan::{FromFile, ResponsePlan};
use crate::policy::Key;
use crate::progress::{Arrived, Pending, Progress, Purpose, Want};
use crate::replies;
use crate::representation::Representation;
use crate::request::{Method, Request};
use crate::resource::{Entry, Resource, Standing};
use crate::shared::Shared;
use crate::source::Opened;

/// Who asks may be given what a load that began so long before has seen, if `revalidate` is shorter: else
/// requests at one moment could not share one.
const JOINED_WITHIN: Duration = Duration::from_secs(1);

/// A request is answered after at most so many loads; each but the last was overtaken by a change.
const MOST_LOADS: u8 = 8;

/// The time as the driver sees it.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// For ages.
    pub instant: Instant,
    /// For dates: what the answer's `Date` will say.
    pub date: HttpDate,
}

/// Decides how requests are answered; cheap to clone, all clones are one engine.
#[derive(Clone, Debug)]
pub struct Engine {
    pub(crate) shared: Arc<Shared>,
    /// Whether unknown paths are answered by 404 whatever a mount's fallback is.
    pub(crate) exact: bool,
}

/// What to do next for a request.
pub enum Step {
    /// Carry this out.
    Respond(ResponsePlan),
    /// See that this load is performed and [finished](Engine::finish) - whatever becomes of the
    /// request -, await the [`Pending`] and [resume](Engine::resume).
    Load(Load, Pending),
    /// Somebody else's load will do: await and [resume](Engine::resume).
    Wait(Pending),
}

impl Engine {
    /// Validates the configuration; touches no file.
    ///
    /// # Errors
    /// Which setting cannot be used, and why.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        Ok(Engine {
            shared: Arc::new(Shared::new(config, Instant::now())?),
            exact: false,
        })
    }

    /// The same engine for whoever asks about files and not on behalf of a browser: unknown paths
    /// are 404 also where a mount has a [fallback](crate::Mount::with_fallback).
    pub fn exact(&self) -> Self {
        Engine {
            shared: Arc::clone(&self.shared),
            exact: true,
        }
    }

    /// The first step for a request. Never waits, never does I/O; allocates nothing and takes no
    /// lock if the answer is cached.
    pub fn begin(&self, request: &Request<'_>, now: Now) -> Step {
        let plan = match request.method {
            Method::Get | Method::Head => {
                return self.parse_and_ask(request, |engine, path| {
                    engine.look_up(
                        request,
                        path,
                        now,
                        Progress {
                            fallback: false,
                            loads: 0,
                            asked: engine.shared.since_epoch(now.instant),
                        },
                    )
                });
            }
            Method::Options => replies::options(),
            Method::NotAllowed => replies::not_allowed(),
            Method::NotImplemented => replies::not_implemented(),
        };
        respond(request, plan)
    }

    /// The next step after a load that the request waited for.
    pub fn resume(&self, request: &Request<'_>, arrived: Arrived, now: Now) -> Step {
        let Arrived { landed, progress } = arrived;
        match landed {
            Landed::Failed(error) => respond(request, replies::failed(error)),
            Landed::Ready { entry, opened } => self.parse_and_ask(request, |engine, path| {
                // A load that was under way for long may have looked long before.
                let most = engine.config().revalidate.max(JOINED_WITHIN);
                if entry.is_older_than(progress.asked, most) {
                    return engine.look_up(request, path, now, progress);
                }
                engine.use_entry(request, path, &entry, opened.as_ref(), now, progress)
            }),
            Landed::Kept(entry) => self.parse_and_ask(request, |engine, path| {
                engine.use_entry(request, path, &entry, None, now, progress)
            }),
        }
    }

    /// Takes the outcome of a load: keeps what is to be kept, and wakes who waits.
    pub fn finish(&self, load: Load, outcome: Outcome) {
        let shared = &*self.shared;
        let Outcome {
            landed,
            began,
            cause,
        } = outcome;
        shared.counters.loads.add(1);
        match &landed {
            Landed::Ready { entry, opened } => {
                entry.looks_slowly(load.looks_slowly);
                self.keep(&load, entry, opened.as_ref(), began);
            }
            // Nothing was confirmed: the next one looks again.
            Landed::Kept(_) => {}
            Landed::Failed(error) => shared.tell(|| Event::Failed {
                path: events::path(&load.key),
                error: *error,
                cause,
            }),
        }
        // The look is over before anybody is told of it.
        drop(load.previous);
        load.leader.complete(landed);
    }

    /// Keeps what a load gave, unless it may not be kept or was let go of while it was loaded.
    fn keep(&self, load: &Load, entry: &Arc<Entry>, opened: Option<&Opened>, began: Duration) {
        let shared = &*self.shared;
        let previous = load.previous.as_ref().map(|previous| &previous.entry);
        let confirmed = previous.is_some_and(|previous| Arc::ptr_eq(previous, entry));
        let cached = shared.is_cached(&load.key);
        let is_wanted = || !load.leader.is_outdated();
        let mut leaving = Vec::new();
        if confirmed {
            entry.confirm(began);
            shared.counters.revalidations.add(1);
        } else {
            if cached {
                let kept = entry.without_content_beyond(shared.keep_up_to());
                leaving = shared.memory.insert_if(kept, is_wanted);
                let count = u64::try_from(leaving.len()).unwrap_or(u64::MAX);
                shared.counters.evictions.add(count);
            }
            if let Some(previous) = previous {
                shared.close_replaced(previous, entry);
            }
        }
        if let Some(opened) = opened.filter(|_| cached && is_wanted()) {
            shared.open_files.keep(opened, began);
        }
        shared.tell(|| {
            let path = events::path(&load.key);
            let what = What::of(&entry.resource);
            match previous {
                Some(_) if confirmed => Event::Confirmed { path },
                Some(previous) if !previous.resource.is_of(&entry.resource) => {
                    Event::Changed { path, what }
                }
                _ => Event::Loaded { path, what },
            }
        });
        for key in leaving {
            shared.tell(|| Event::Evicted {
                path: events::path(&key),
            });
        }
    }

    /// The answer that `load`'s request may have although nobody has looked at the disk: that of
    /// the entry which the load is to confirm, if it is still young enough. For a driver whose
    /// attempt to [perform](Load::perform) the load without waiting failed; the load has to be
    /// performed and [finished](Self::finish) all the same.
    pub fn meanwhile(
        &self,
        request: &Request<'_>,
        load: &Load,
        would_wait: WouldWait,
        now: Now,
    ) -> Option<ResponsePlan> {
        let shared = &*self.shared;
        let entry = &load.previous.as_ref()?.entry;
        let since_epoch = shared.since_epoch(now.instant);
        if would_wait.looked || !entry.is_fresh(since_epoch, shared.config.revalidate) {
            return None;
        }
        let Resource::File(offer) = &entry.resource else {
            return None;
        };
        let open = |_: &Representation| None;
        match answer(request, offer, open, now.date) {
            Decision::Respond(plan) => Some(plan),
            Decision::NeedContent(_) => None,
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

    fn parse_and_ask(
        &self,
        request: &Request<'_>,
        ask: impl FnOnce(&Self, &RequestPath<'_>) -> Step,
    ) -> Step {
        let path = match RequestPath::parse(&request.path) {
            Ok(path) => path,
            Err(error) => {
                return respond(request, replies::malformed(error));
            }
        };
        if path.has_dot_segment()
            && !self.shared.config.dotfiles
            && let Place::Within(_, relative) = self.shared.mounts.place(path.as_bytes())
            && is_hidden(&relative)
        {
            return respond(request, replies::not_found());
        }
        ask(self, &path)
    }

    /// From the cache if it may be used, else by a load.
    fn look_up(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        now: Now,
        progress: Progress,
    ) -> Step {
        let shared = &*self.shared;
        let fallback;
        let key = if progress.fallback {
            fallback = self.fallback_of(path);
            match &fallback {
                Some(key) => &**key,
                None => return respond(request, replies::not_found()),
            }
        } else {
            path.as_bytes()
        };
        let entry = match shared.is_cached(key) {
            true => shared.memory.get(key),
            false => None,
        };
        let previous = match entry {
            None => None,
            Some(entry) => {
                let since_epoch = shared.since_epoch(now.instant);
                let announced = match entry.standing(since_epoch, shared.config.revalidate) {
                    Standing::Use => {
                        return self.use_entry(request, path, &entry, None, now, progress);
                    }
                    Standing::Check => true,
                    Standing::Wait => false,
                };
                Some(Previous { entry, announced })
            }
        };
        let want = Want {
            key,
            previous,
            purpose: Purpose::Look,
        };
        self.load(request, path, want, now, progress)
    }

    /// Answers from an entry, which is fresh or has just been loaded.
    fn use_entry(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        entry: &Arc<Entry>,
        opened: Option<&Opened>,
        now: Now,
        progress: Progress,
    ) -> Step {
        // The request that loads an entry is no second use of it: else every file that is asked for
        // once would count as one that comes back, and push out what does.
        if progress.loads == 0 {
            entry.uses().touch();
        }
        let open = |representation: &Representation| {
            let cached = self.shared.is_cached(&entry.key);
            let identity = &representation.identity;
            let opened = opened
                .filter(|opened| opened.metadata.identity == *identity)
                .cloned();
            let opened = opened.or_else(|| {
                let since_epoch = self.shared.since_epoch(now.instant);
                let kept = self.shared.open_files.get(identity, since_epoch);
                kept.filter(|_| cached)
            })?;
            let mut situation = self.shared.situation(identity, cached);
            situation.changes_now |= representation.promise == Promise::Prefix;
            Some(FromFile {
                opened,
                situation,
                promise: representation.promise,
            })
        };
        let step = match &entry.resource {
            // A directory has no slash of its own at the path that the fallback stands for.
            Resource::Directory if progress.fallback => respond(request, replies::not_found()),
            Resource::Directory => respond(request, replies::redirect(path.as_bytes(), request)),
            Resource::Missing if progress.fallback => respond(request, replies::not_found()),
            Resource::Missing => {
                let name = file_name(path.as_bytes());
                let fallback = self
                    .fallback_of(path)
                    .filter(|_| !has_known_extension(name));
                if fallback.is_some() {
                    let progress = Progress {
                        fallback: true,
                        ..progress
                    };
                    return self.look_up(request, path, now, progress);
                }
                respond(request, replies::not_found())
            }
            Resource::File(offer) => match answer(request, offer, open, now.date) {
                Decision::Respond(plan) => Step::Respond(plan),
                Decision::NeedContent(representation) => {
                    let kept = self.shared.is_cached(&entry.key)
                        && representation.length() <= self.shared.keep_up_to();
                    let purpose = Purpose::Content {
                        coding: representation.coding,
                        kept,
                    };
                    let previous = Previous {
                        entry: Arc::clone(entry),
                        announced: false,
                    };
                    let want = Want {
                        key: &entry.key,
                        previous: Some(previous),
                        purpose,
                    };
                    return self.load(request, path, want, now, progress);
                }
            },
        };
        if progress.loads == 0 {
            self.shared.counters.hits.add(1);
        }
        step
    }

    /// Begins a load, or joins one that is under way.
    fn load(
        &self,
        request: &Request<'_>,
        path: &RequestPath<'_>,
        want: Want<'_>,
        now: Now,
        progress: Progress,
    ) -> Step {
        let shared = &*self.shared;
        let key = want.key;
        let (mount, relative) = match shared.mounts.place(key) {
            Place::Within(mount, relative) => (mount, relative),
            Place::Redirect => {
                return respond(request, replies::redirect(path.as_bytes(), request));
            }
            Place::Nowhere => return respond(request, replies::not_found()),
        };
        if progress.loads == MOST_LOADS {
            return respond(request, replies::failed(LoadError::Unsettled));
        }
        if progress.loads == 0 {
            shared.counters.misses.add(1);
        }
        let progress = Progress {
            loads: progress.loads + 1,
            ..progress
        };
        let leader = if shared.config.coalesce {
            match shared.flights.join(&*want.shared_as()) {
                Joined::Leader(leader) => leader,
                Joined::Follower(follower) => {
                    // Somebody is reading, and this was to be a look before it is too late.
                    let since_epoch = shared.since_epoch(now.instant);
                    let young = want.previous.as_ref().filter(|previous| {
                        let revalidate = shared.config.revalidate;
                        previous.announced && previous.entry.is_fresh(since_epoch, revalidate)
                    });
                    if let Some(entry) = young.map(|previous| Arc::clone(&previous.entry)) {
                        return self.use_entry(request, path, &entry, None, now, progress);
                    }
                    shared.counters.coalesced.add(1);
                    return Step::Wait(Pending {
                        follower,
                        progress,
                        mount,
                    });
                }
            }
        } else {
            shared.flights.alone(Key::from(key))
        };
        // Another load may have ended since the cache was asked: then this one is not needed. Who
        // has joined it already is given the same.
        if shared.config.coalesce
            && let Some(entry) = self.landed_meanwhile(&want, now)
        {
            drop(want);
            leader.complete(Landed::Ready {
                entry: Arc::clone(&entry),
                opened: None,
            });
            return self.use_entry(request, path, &entry, None, now, progress);
        }
        let pending = Pending {
            follower: leader.follower(),
            progress,
            mount,
        };
        let wanted = (request.method == Method::Get).then(|| accept_encoding(request));
        let load = Load {
            shared: Arc::clone(&self.shared),
            leader,
            key: Key::from(key),
            mount,
            relative,
            previous: want.previous,
            wanted,
            again: false,
            waits: Box::default(),
            looks_slowly: false,
        };
        Step::Load(load, pending)
    }

    /// The fresh entry that serves what is wanted as well as a load would.
    fn landed_meanwhile(&self, want: &Want<'_>, now: Now) -> Option<Arc<Entry>> {
        let shared = &*self.shared;
        let entry = shared
            .memory
            .get(want.key)
            .filter(|_| shared.is_cached(want.key))?;
        let known = want.previous.as_ref();
        let is_known = known.is_some_and(|previous| Arc::ptr_eq(&previous.entry, &entry));
        let serves = match want.purpose {
            Purpose::Look => true,
            Purpose::Content { .. } => !is_known,
        };
        let since_epoch = shared.since_epoch(now.instant);
        (serves && !entry.is_due(since_epoch, shared.config.revalidate)).then_some(entry)
    }

    fn fallback_of(&self, path: &RequestPath<'_>) -> Option<Vec<u8>> {
        if self.exact {
            return None;
        }
        match self.shared.mounts.place(path.as_bytes()) {
            Place::Within(mount, _) => self.shared.mounts.fallback(mount),
            Place::Redirect | Place::Nowhere => None,
        }
    }
}

fn respond(request: &Request<'_>, plan: ResponsePlan) -> Step {
    Step::Respond(match request.method {
        Method::Head => plan.without_content(),
        _ => plan,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Patience;
    use crate::sync::taken;
    use crate::{MemorySource, Mount};
    use salver_semantics::ContentCoding;

    /// An engine that has `/a` in its cache.
    fn engine(now: Now) -> Engine {
        let source = MemorySource::new();
        source.insert("a", "alpha", 0);
        let config = Config {
            mounts: vec![Mount::tree("/", Arc::new(source))],
            ..Config::default()
        };
        let engine = Engine::new(config).unwrap();
        let Step::Load(load, _) = engine.begin(&Request::get(b"/a"), now) else {
            panic!("nothing is cached yet")
        };
        let outcome = load.perform(Patience::MayWait, now.instant);
        engine.finish(load, outcome.unwrap());
        engine
    }

    fn now() -> Now {
        let date = HttpDate::from_unix_seconds(1_000_000_000);
        let instant = Instant::now();
        Now { instant, date }
    }

    #[test]
    fn a_hit_takes_no_lock() {
        let now = now();
        let engine = engine(now);
        let before = taken::so_far();
        for method in [Method::Get, Method::Head] {
            let request = Request {
                method,
                ..Request::get(b"/a")
            };
            for _ in 0..100 {
                assert!(matches!(engine.begin(&request, now), Step::Respond(_)));
            }
        }
        assert_eq!(taken::so_far(), before);
        engine.clear();
        assert!(taken::so_far() > before, "the count counts");
    }

    #[test]
    fn a_load_that_ended_after_the_cache_was_asked_is_enough() {
        let now = now();
        let engine = engine(now);
        let request = Request::get(b"/a");
        let path = RequestPath::parse(b"/a").unwrap();
        let check = |previous: Option<Previous>, purpose: Purpose, enough: bool| {
            let want = Want {
                key: b"/a",
                previous,
                purpose,
            };
            let progress = Progress {
                fallback: false,
                loads: 0,
                asked: Duration::ZERO,
            };
            let step = engine.load(&request, &path, want, now, progress);
            assert_eq!(matches!(step, Step::Respond(_)), enough);
        };
        let known = || {
            let entry = engine.shared.memory.get(b"/a").unwrap();
            let announced = false;
            Some(Previous { entry, announced })
        };
        let content = || Purpose::Content {
            coding: ContentCoding::Identity,
            kept: true,
        };
        check(None, Purpose::Look, true);
        check(known(), Purpose::Look, true);
        check(None, content(), true);
        // What is known already is not what was found wanting.
        check(known(), content(), false);
    }
}
