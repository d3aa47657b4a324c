//! What all parts of one engine share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use salver_coalesce::SingleFlight;

use crate::cache_control::Named;
use crate::config::{Config, ConfigError, Mounts};
use crate::content_memory::ContentMemory;
use crate::counters::Counters;
use crate::digest::Digests;
use crate::error::LoadError;
use crate::events::Event;
use crate::load::Landed;
use crate::log::Said;
use crate::memory::Memory;
use crate::open_files::OpenFiles;
use crate::policy::Key;
use crate::resource::{Entry, Resource};
use crate::sibling_check::Checks;
use crate::snapshot::changed_within;
use crate::source::Identity;
use crate::strategy::{Residency, Situation, Transport};

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) mounts: Mounts,
    pub(crate) memory: Memory<Entry>,
    pub(crate) open_files: OpenFiles,
    pub(crate) flights: SingleFlight<Key, Landed>,
    pub(crate) digests: Digests,
    pub(crate) checks: Checks,
    pub(crate) counters: Counters,
    /// The content that is in memory, kept by the cache or not.
    pub(crate) contents: ContentMemory,
    pub(crate) said: Said,
    /// Whether the cache is left alone for now.
    pub(crate) paused: AtomicBool,
    epoch: Instant,
}

impl Shared {
    pub(crate) fn new(config: Config, epoch: Instant) -> Result<Self, ConfigError> {
        // One budget for both: what the digests may take is not the entries'.
        let digests = Digests::within(config.cache_size);
        let budget = config.cache_size.saturating_sub(digests.weight());
        Ok(Shared {
            mounts: Mounts::new(&config.mounts)?,
            memory: Memory::new(budget),
            open_files: OpenFiles::new(config.open_files),
            flights: SingleFlight::new(Landed::Failed(LoadError::Failed)),
            digests,
            checks: Checks::default(),
            counters: Counters::default(),
            contents: ContentMemory::default(),
            said: Said::default(),
            paused: AtomicBool::new(false),
            config,
            epoch,
        })
    }

    /// The longest content that is kept in memory, in bytes.
    pub(crate) fn keep_up_to(&self) -> u64 {
        self.config.keep_up_to()
    }

    /// Whether what answers `key` may be kept, its open files included. Whoever keeps something,
    /// or uses what is kept, asks here.
    pub(crate) fn is_cached(&self, key: &[u8]) -> bool {
        self.config.cache && !self.paused.load(Ordering::Relaxed) && self.mounts.is_cached(key)
    }

    /// Tells the observer, if there is one and somebody listens to it.
    pub(crate) fn tell(&self, event: impl FnOnce() -> Event) {
        if let Some(observer) = &self.config.observer
            && observer.is_listening()
        {
            observer.observe(event());
        }
    }

    /// What the way of a file's content depends on, before anything is known of its windows.
    /// `cached` is what [`is_cached`](Self::is_cached) says of its path.
    pub(crate) fn situation(&self, identity: &Identity, cached: bool) -> Situation {
        Situation {
            length: identity.length,
            in_memory: false,
            keep_up_to: if cached { self.keep_up_to() } else { 0 },
            sendfile_from: self.config.sendfile_from,
            changes_now: changed_within(identity, self.config.restless),
            memory_is_full: self.memory_is_full(),
            residency: Residency::Unknown,
            transport: Transport::PassesThrough,
        }
    }

    /// Whether so much content is in memory that no more is to be read whole: what the cache may keep, and a
    /// sixteenth of that for what it has let go of and clients have not.
    fn memory_is_full(&self) -> bool {
        let size = self.config.cache_size;
        let kept = if self.config.cache { size } else { 0 };
        self.contents.bytes() > kept.saturating_add(size / 16)
    }

    /// Whether the Cache-Control of `file`, in the tree of the mount of this number, takes a look at
    /// its directory, which may wait.
    pub(crate) fn is_in_doubt(&self, mount: usize, file: Named<'_>) -> bool {
        file.is_in_doubt(&self.mounts.path_of(mount, file.path))
    }

    /// That Cache-Control, of a file that was loaded at `now`.
    pub(crate) fn cache_control(&self, mount: usize, file: Named<'_>, now: Duration) -> Bytes {
        let path = self.mounts.path_of(mount, file.path);
        let cache_control = &self.config.cache_control;
        cache_control.of(&path, file, (&self.said, now))
    }

    /// Closes the handles of what `old` offered and `new` does not.
    pub(crate) fn close_replaced(&self, old: &Entry, new: &Entry) {
        let files = |entry: &Entry| match &entry.resource {
            Resource::File(offer) => offer.representations.clone(),
            Resource::Directory | Resource::Missing => Vec::new(),
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
