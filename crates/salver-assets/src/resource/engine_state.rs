//! The state that all parts of one engine share: that of one site.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use salver_semantics::{NO_CACHE, content_type};

use crate::cache::key::{BorrowedKey, CacheKey};
use crate::cache_control::FileName;
use crate::codings::key::{CodingKey, MadeAs};
use crate::config::{Config, ConfigError, MOST_OF_CACHE, Mount, Mounts};
use crate::error::LoadError;
use crate::events::Event;
use crate::log::quoted;
use crate::path::{file_name, path_of_key};
use crate::resource::engine_pool::EnginePool;
use crate::resource::entry::CacheEntry;
use crate::resource::in_flight::{LoadResult, LoadsInFlight};
use crate::resource::recent_changes::RecentChanges;
use crate::resource::tree_rules::TreeRules;
use crate::source::digest::Digest;
use crate::source::identity::changed_within;
use crate::source::{Identity, new_device};
use crate::strategy::{Residency, Situation, Transport};

/// The value of Cache-Control of what pages are coded against: browsers keep a dictionary for as long as it is fresh.
const FOR_A_MONTH: &[u8] = b"public, max-age=2592000";

/// The longest content that is small, in bytes.
const SMALL: u64 = 16 * 1024;

/// The state of the engine of one site.
#[derive(Debug)]
pub(crate) struct EngineState {
    pub(crate) config: Config,
    pub(crate) mounts: Mounts,
    /// The rules of each mount, by its number.
    rules: Vec<Option<TreeRules>>,
    pub(crate) flights: LoadsInFlight,
    /// What was named as changed while loads were under way.
    pub(crate) changes: RecentChanges,
    /// What it shares with the engines of other sites.
    pub(crate) pool: Arc<EnginePool>,
    /// The number of its site among those of the pool, which its keys have.
    site: u32,
    /// The number that its first mount has among those of the pool.
    first_mount: usize,
    /// Loads the resource at a path again; given by the engine, of which the parts below it know nothing.
    pub(crate) reload: fn(&Arc<EngineState>, CacheKey),
    /// The device of what is made of files, which no file lies on.
    pub(crate) derived_device: u64,
}

impl EngineState {
    /// The state of a further engine of a pool, whose budgets hold instead of those in `config`.
    pub(crate) fn new(
        mut config: Config,
        pool: Arc<EnginePool>,
        reload: fn(&Arc<EngineState>, CacheKey),
    ) -> Result<Self, ConfigError> {
        let mounts = Mounts::new(&config.mounts)?;
        (config.cache_size, config.open_files) = pool.budget();
        let numbers = pool.enter(&config);
        Ok(EngineState::with_numbers(
            config, mounts, pool, numbers, reload,
        ))
    }

    /// The state of an engine with other mounts and the numbers of this one, which keeps nothing in the cache.
    pub(crate) fn with_mounts(&self, mounts: Vec<Mount>) -> Result<Self, ConfigError> {
        let config = Config {
            mounts,
            cache: false,
            compress: false,
            dictionaries: false,
            ..self.config.clone()
        };
        let mounts = Mounts::new(&config.mounts)?;
        let (pool, numbers) = (Arc::clone(&self.pool), (self.site, self.first_mount));
        Ok(EngineState::with_numbers(
            config,
            mounts,
            pool,
            numbers,
            self.reload,
        ))
    }

    fn with_numbers(
        config: Config,
        mounts: Mounts,
        pool: Arc<EnginePool>,
        (site, first_mount): (u32, usize),
        reload: fn(&Arc<EngineState>, CacheKey),
    ) -> Self {
        EngineState {
            rules: mounts
                .iter()
                .map(|(_, mount)| TreeRules::of(mount))
                .collect(),
            mounts,
            flights: LoadsInFlight::new(LoadResult::Failed(LoadError::GivenUp)),
            changes: RecentChanges::default(),
            pool,
            site,
            first_mount,
            config,
            reload,
            derived_device: new_device(),
        }
    }

    /// The key of a coding of content of this digest and length.
    pub(crate) fn coding_key(
        &self,
        digest: Digest,
        length: u64,
        made: impl Into<MadeAs>,
    ) -> CodingKey {
        CodingKey {
            site: self.site,
            digest,
            length,
            made: made.into(),
        }
    }

    /// The key in the cache of what is kept at `path`.
    #[inline]
    pub(crate) fn key<'p>(&self, path: &'p [u8]) -> BorrowedKey<'p> {
        BorrowedKey {
            site: self.site,
            path,
        }
    }

    /// The same key, to be kept.
    pub(crate) fn owned_key(&self, path: &[u8]) -> CacheKey {
        CacheKey::new(self.site, path)
    }

    /// A path as messages have it, with the name of the site.
    pub(crate) fn place(&self, path: &[u8]) -> String {
        let name = self.config.name.as_bytes();
        let slash: &[u8] = match name.is_empty() || path.starts_with(b"/") {
            true => b"",
            false => b"/",
        };
        quoted(&[name, slash, path].concat())
    }

    /// True if an entry is of this site.
    pub(crate) fn has(&self, entry: &CacheEntry) -> bool {
        entry.key.site() == self.site
    }

    /// The number of a mount among those of the pool.
    pub(crate) fn number_in_pool(&self, mount: usize) -> usize {
        self.first_mount + mount
    }

    /// The longest content that is kept in memory, in bytes.
    pub(crate) fn keep_up_to(&self) -> u64 {
        self.config.keep_up_to()
    }

    /// The most bytes that the entries of a directory, or a page of them, may take in the cache.
    pub(crate) fn keep_listings_up_to(&self) -> usize {
        self.config.cache_size / MOST_OF_CACHE
    }

    /// True if what answers `key` may be kept, its open files included. All code that keeps something, or
    /// uses what is kept, asks here.
    pub(crate) fn is_cached(&self, key: &[u8]) -> bool {
        self.config.cache && !self.pool.paused.load(Ordering::Relaxed) && self.mounts.is_cached(key)
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
        if !self.config.cache {
            return;
        }
        let memory = &self.pool.memory;
        drop(memory.take(|entry| self.has(entry) && is_its(&entry.key)));
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
            memory_is_full: self.memory_is_full_for(identity.length),
            residency: Residency::Unknown,
            transport: Transport::PassesThrough,
        }
    }

    /// True if so much content is in memory that no more is to be read whole: what the cache may keep, and a
    /// sixteenth of its size for what it has let go of and clients have not.
    pub(crate) fn memory_is_full(&self) -> bool {
        self.memory_is_full_for(u64::MAX)
    }

    /// The same for content of this length in bytes. Small content has one more sixteenth: who holds back many long
    /// answers leaves it to those who ask for short ones.
    fn memory_is_full_for(&self, length: u64) -> bool {
        let size = self.config.cache_size;
        let kept = self.pool.content_budget();
        let sixteenths = if length <= SMALL { 2 } else { 1 };
        self.pool.contents.bytes() > kept.saturating_add(size / 16 * sixteenths)
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
        let value = cache_control.of(&path, file, (&self.pool.log, now));
        match value == NO_CACHE.as_bytes() && self.is_page_dictionary(&path) {
            true => Bytes::from_static(FOR_A_MONTH),
            false => value,
        }
    }

    /// True if the file at this path of the site is what pages are coded against, and no page itself. Whoever has an old
    /// one gets pages as they are.
    fn is_page_dictionary(&self, path: &[u8]) -> bool {
        let pages = self.config.page_dictionary.as_ref();
        self.config.dictionaries
            && pages.is_some_and(|pages| pages.as_bytes() == path)
            && !content_type(file_name(path)).starts_with("text/html")
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
                self.pool.open_files.forget(&old.identity);
            }
        }
    }

    pub(crate) fn since_epoch(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.pool.epoch)
    }
}
