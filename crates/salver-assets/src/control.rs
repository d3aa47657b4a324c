//! Control of a running engine: put another beside it, pause, hold fewer files, and read the statistics.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::answer::file_content::FileContent;
use crate::cache::key::CacheKey;
use crate::config::{Config, ConfigError, Mount, MountMatch};
use crate::counters::Statistics;
use crate::engine::Engine;
use crate::events::Event;
use crate::path::path_of_key;
use crate::resource::check_table::SiblingCheck;
use crate::resource::engine_pool::EnginePool;
use crate::resource::engine_state::EngineState;
use crate::resource::in_flight::LoadKey;
use crate::resource::load::{Load, Previous};
use crate::source::Patience;

impl Engine {
    /// An engine for another site, beside this one: both have the one cache, with the
    /// [`cache_size`](Config::cache_size), the [`open_files`](Config::open_files) and the
    /// [statistics](Self::statistics) of the first, and neither is ever answered with what the other has. What is
    /// said here of a pause, of limits and of who performs checks of siblings is said to all of them.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn beside(&self, config: Config) -> Result<Self, ConfigError> {
        Engine::in_pool(Arc::clone(&self.shared.pool), config)
    }

    /// An engine like this one over other mounts, for trees of which there are many and each is asked for rarely: it
    /// makes no codings and keeps nothing in the cache, so that nothing is left of it once it is dropped. To whoever
    /// counts by mount it is this one.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_mounts(&self, mounts: Vec<Mount>) -> Result<Self, ConfigError> {
        let state = self.shared.with_mounts(mounts)?;
        Ok(Engine {
            shared: Arc::new(state),
            exact: false,
        })
    }

    pub(crate) fn in_pool(pool: Arc<EnginePool>, config: Config) -> Result<Self, ConfigError> {
        let state = EngineState::new(config, pool, Engine::load_again)?;
        Ok(Engine {
            shared: Arc::new(state),
            exact: false,
        })
    }

    /// The counters and the present size of the cache, of all engines [beside](Self::beside) it together.
    pub fn statistics(&self) -> Statistics {
        let counters = &self.shared.pool.counters;
        let (entries, bytes) = self.shared.pool.memory.size();
        let codings = &self.shared.pool.codings;
        let of_codings = codings.counts();
        let (_, coding_bytes) = codings.size();
        Statistics {
            hits: counters.hits.get(),
            misses: counters.misses.get(),
            coalesced: counters.coalesced.get(),
            loads: counters.loads.get(),
            revalidations: counters.revalidations.get(),
            evictions: counters.evictions.get(),
            bytes_loaded: counters.bytes_loaded.get(),
            rulings: counters.rulings.get(),
            entries: u64::try_from(entries).unwrap_or(u64::MAX),
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            open_files: u64::try_from(self.shared.pool.open_files.len()).unwrap_or(u64::MAX),
            codings_made: of_codings.made.load(Ordering::Relaxed),
            codings_taken: of_codings.taken.load(Ordering::Relaxed),
            codings_useless: of_codings.useless.load(Ordering::Relaxed),
            codings_waiting: u64::try_from(codings.waiting()).unwrap_or(u64::MAX),
            coding_bytes: u64::try_from(coding_bytes).unwrap_or(u64::MAX),
        }
    }

    /// Pauses the cache: nothing is taken from it and nothing is put into it from now on; each request looks
    /// at the disk and reads what it sends, as on a mount [without a cache](crate::Mount::without_cache).
    /// Requests at the same moment still share a load.
    ///
    /// What is cached stays where it is, for [`resume_cache`](Self::resume_cache); it can be
    /// invalidated meanwhile, and [`clear`](Self::clear) frees its memory.
    pub fn pause_cache(&self) {
        if !self.shared.pool.paused.swap(true, Ordering::Relaxed) {
            self.shared.tell(|| Event::Paused);
        }
    }

    /// Uses the cache again after a pause. Its entries are compared with the disk as ever: what was last
    /// looked at longer ago than [`Config::revalidate`], before it is sent.
    pub fn resume_cache(&self) {
        if self.shared.pool.paused.swap(false, Ordering::Relaxed) {
            self.shared.tell(|| Event::Resumed);
        }
    }

    /// True if the cache is [paused](Self::pause_cache).
    pub fn is_paused(&self) -> bool {
        self.shared.pool.paused.load(Ordering::Relaxed)
    }

    /// Closes open files that no request has used in a while. Call it about once a second; more
    /// often costs next to nothing.
    pub fn sweep(&self, now: Instant) {
        let shared = &*self.shared;
        shared.pool.open_files.sweep(shared.since_epoch(now));
    }

    /// True if both are one engine, with one cache.
    pub fn is_same(&self, other: &Engine) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Keeps at most `most` files open between requests from now on, if
    /// [`open_files`](Config::open_files) says more: for a driver that knows how many
    /// descriptors there are. Returns that number.
    pub fn limit_open_files(&self, most: usize) -> usize {
        let most = self.shared.config.open_files.min(most);
        self.shared.pool.open_files.limit(most);
        most
    }

    /// Limits the files that are held open for answers, those that are kept open between requests included; a
    /// load that would open one more fails as overloaded. Default: no bound.
    pub fn limit_descriptors(&self, most: usize) {
        self.shared.pool.open_files.limit_open(most);
    }

    /// The number of files that can still be opened for answers, at least.
    pub fn files_left(&self) -> usize {
        self.shared.pool.open_files.left()
    }

    /// Hands checks of precompressed siblings that may take their time to `hand_over`, which sees to it that
    /// each is [performed](SiblingCheck::perform) where it may wait. It may be called on an event loop.
    /// Meanwhile originals are sent as they are, and siblings once they are known to hold the same.
    ///
    /// Without this a load checks the siblings of its file itself, one after the other, and waits for
    /// what they wait for.
    pub fn hand_sibling_checks_to(&self, hand_over: impl Fn(SiblingCheck) + Send + Sync + 'static) {
        self.shared.pool.checks.hand_to(Arc::new(hand_over));
    }

    /// Loads what is kept at `key` again, where it may wait: its state on disk is the same, but something
    /// has become known of it.
    pub(crate) fn load_again(shared: &Arc<EngineState>, key: CacheKey) {
        let engine = Engine {
            shared: Arc::clone(shared),
            exact: true,
        };
        let kept = shared.pool.memory.get(shared.key(&key));
        let kept = kept.filter(|_| shared.is_cached(&key));
        let (path, variant) = path_of_key(&key);
        let (Some(entry), MountMatch::Within(mount, relative)) =
            (kept, shared.mounts.find_mount(path))
        else {
            return;
        };
        let ruling = entry.rules.ruling.clone().filter(|_| variant.is_some());
        let slow_to_check = entry.is_slow_to_check();
        let load = Load {
            shared: Arc::clone(shared),
            // Nobody waits for it.
            leader: shared.flights.alone(LoadKey::of_path(key.clone())),
            latest_change: shared.changes.latest(),
            key,
            mount,
            relative,
            ruling,
            previous: Some(Previous {
                entry,
                announced: false,
            }),
            listed: None,
            wanted: None,
            again: true,
            retry: Box::default(),
            slow_to_check,
        };
        if let Ok(outcome) = load.perform(Patience::MayWait, Instant::now()) {
            engine.finish(load, outcome);
        }
    }

    /// The number of mounts, those of all engines [beside](Self::beside) it included.
    pub fn mount_count(&self) -> usize {
        self.shared.pool.mounts()
    }

    /// Closes a file that content was to be sent from and that is no longer what it was. Nothing must have
    /// been sent of it. Begin again with the request; a load will look at the disk.
    pub fn close_file(&self, content: &FileContent) {
        self.shared.pool.open_files.forget(&content.identity);
    }
}
