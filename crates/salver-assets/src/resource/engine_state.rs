//! The state that all parts of one engine share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::cache::bounded::BoundedCache;
use crate::cache::content_memory::ContentMemory;
use crate::cache::open_files::OpenFiles;
use crate::cache::policy::CacheKey;
use crate::cache_control::FileName;
use crate::config::{Config, ConfigError, Mount, Mounts};
use crate::counters::Counters;
use crate::error::LoadError;
use crate::events::Event;
use crate::log::LogThrottle;
use crate::path::path_of_key;
use crate::resource::check_table::SiblingChecks;
use crate::resource::entry::CacheEntry;
use crate::resource::in_flight::{LoadResult, LoadsInFlight};
use crate::resource::tree_rules::TreeRules;
use crate::source::Identity;
use crate::source::digest::Digests;
use crate::source::identity::changed_within;
use crate::strategy::{Residency, Situation, Transport};

#[derive(Debug)]
pub(crate) struct EngineState {
    pub(crate) config: Config,
    pub(crate) mounts: Mounts,
    /// The rules of each mount, by its number.
    rules: Vec<Option<TreeRules>>,
    pub(crate) memory: BoundedCache<CacheEntry>,
    pub(crate) open_files: OpenFiles,
    pub(crate) flights: LoadsInFlight,
    pub(crate) digests: Digests,
    pub(crate) checks: SiblingChecks,
    pub(crate) counters: Counters,
    /// The content that is in memory, kept by the cache or not.
    pub(crate) contents: ContentMemory,
    pub(crate) log: LogThrottle,
    /// True while the cache is paused.
    pub(crate) paused: AtomicBool,
    /// Loads the resource at a path again; given by the engine, of which the parts below it know nothing.
    pub(crate) reload: fn(&Arc<EngineState>, CacheKey),
    epoch: Instant,
}

impl EngineState {
    pub(crate) fn new(
        config: Config,
        epoch: Instant,
        reload: fn(&Arc<EngineState>, CacheKey),
    ) -> Result<Self, ConfigError> {
        // One budget for both: what the digests may take is not the entries'.
        let digests = Digests::within(config.cache_size);
        let budget = config.cache_size.saturating_sub(digests.weight());
        let mounts = Mounts::new(&config.mounts)?;
        Ok(EngineState {
            rules: mounts
                .iter()
                .map(|(_, mount)| TreeRules::of(mount))
                .collect(),
            mounts,
            memory: BoundedCache::new(budget),
            open_files: OpenFiles::new(config.open_files),
            flights: LoadsInFlight::new(LoadResult::Failed(LoadError::Failed)),
            digests,
            checks: SiblingChecks::default(),
            counters: Counters::default(),
            contents: ContentMemory::default(),
            log: LogThrottle::default(),
            paused: AtomicBool::new(false),
            config,
            reload,
            epoch,
        })
    }

    /// The longest content that is kept in memory, in bytes.
    pub(crate) fn keep_up_to(&self) -> u64 {
        self.config.keep_up_to()
    }

    /// True if what answers `key` may be kept, its open files included. All code that keeps something, or
    /// uses what is kept, asks here.
    pub(crate) fn is_cached(&self, key: &[u8]) -> bool {
        self.config.cache && !self.paused.load(Ordering::Relaxed) && self.mounts.is_cached(key)
    }

    /// True if any mount may have rules or clean URLs, so that a file may answer at another path.
    pub(crate) fn has_rules(&self) -> bool {
        let is_clean = |(_, mount): (_, &Mount)| mount.clean_urls.is_some();
        self.rules.iter().any(Option::is_some) || self.mounts.iter().any(is_clean)
    }

    /// The rules of the mount with this number, if it may have any.
    pub(crate) fn rules(&self, mount: usize) -> Option<&TreeRules> {
        self.rules.get(mount)?.as_ref()
    }

    /// Lets go of all that is cached of the mount with this number: its rules have changed. What is being loaded is
    /// not kept.
    pub(crate) fn forget_mount(&self, mount: usize) {
        let is_its = |key: &[u8]| self.mounts.number_of(path_of_key(key).0) == Some(mount);
        // First of all, so that no load which began before can put back what is let go of.
        self.flights.forget(|load| is_its(&load.path));
        drop(self.memory.take(|entry| is_its(&entry.key)));
    }

    /// Tells the observer of an event, if there is one and it listens.
    pub(crate) fn tell(&self, event: impl FnOnce() -> Event) {
        if let Some(observer) = &self.config.observer
            && observer.is_listening()
        {
            observer.observe(event());
        }
    }

    /// The situation of a file's content, before anything is known of its windows. `cached` is what
    /// [`is_cached`](Self::is_cached) says of its path.
    pub(crate) fn situation(&self, identity: &Identity, cached: bool) -> Situation {
        Situation {
            length: identity.length,
            in_memory: false,
            keep_up_to: if cached { self.keep_up_to() } else { 0 },
            sendfile_from: self.config.sendfile_from,
            changes_now: changed_within(identity, self.config.settle_time),
            memory_is_full: self.memory_is_full(),
            residency: Residency::Unknown,
            transport: Transport::PassesThrough,
        }
    }

    /// True if so much content is in memory that no more is to be read whole: what the cache may keep, and a
    /// sixteenth of that for what it has let go of and clients have not.
    fn memory_is_full(&self) -> bool {
        let size = self.config.cache_size;
        let kept = if self.config.cache { size } else { 0 };
        self.contents.bytes() > kept.saturating_add(size / 16)
    }

    /// True if the Cache-Control of `file`, in the tree of the mount of this number, takes a look at its
    /// directory, which may wait.
    pub(crate) fn is_in_doubt(&self, mount: usize, file: FileName<'_>) -> bool {
        file.is_in_doubt(&self.mounts.path_of(mount, file.path))
    }

    /// The Cache-Control of a file that was loaded at `now`.
    pub(crate) fn cache_control(&self, mount: usize, file: FileName<'_>, now: Duration) -> Bytes {
        let path = self.mounts.path_of(mount, file.path);
        let cache_control = &self.config.cache_control;
        cache_control.of(&path, file, (&self.log, now))
    }

    /// Closes the handles of files that `old` has and `new` has not.
    pub(crate) fn close_replaced(&self, old: &CacheEntry, new: &CacheEntry) {
        let files = |entry: &CacheEntry| match entry.resource.representations() {
            Some(representations) => representations.list.clone(),
            None => Vec::new(),
        };
        let new = files(new);
        for old in files(old) {
            if !new.iter().any(|new| new.identity == old.identity) {
                self.open_files.forget(&old.identity);
            }
        }
    }

    pub(crate) fn since_epoch(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.epoch)
    }
}
