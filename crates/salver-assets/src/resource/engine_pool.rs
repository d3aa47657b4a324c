//! The pool of the engines of several sites: one budget of memory and open files, and one set of counters.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::cache::bounded::BoundedCache;
use crate::cache::content_memory::ContentMemory;
use crate::cache::open_files::OpenFiles;
use crate::codings::dictionaries::Dictionaries;
use crate::codings::pool::Codings;
use crate::codings::queue::CodingSettings;
use crate::config::Config;
use crate::counters::Counters;
use crate::log::LogThrottle;
use crate::resource::check_table::SiblingChecks;
use crate::resource::entry::CacheEntry;
use crate::source::digest::Digests;

/// The state that engines share. Their entries are told apart by the number of the site in each key; open files and
/// digests are of one version of a file, by its identity, whoever asks for it.
#[derive(Debug)]
pub(crate) struct EnginePool {
    pub(crate) memory: BoundedCache<CacheEntry>,
    pub(crate) open_files: Arc<OpenFiles>,
    pub(crate) digests: Digests,
    pub(crate) checks: SiblingChecks,
    pub(crate) counters: Counters,
    /// The content that is in memory, kept by the cache or not.
    pub(crate) contents: ContentMemory,
    pub(crate) codings: Codings,
    pub(crate) dictionaries: Dictionaries,
    pub(crate) log: LogThrottle,
    /// True while the cache is paused.
    pub(crate) paused: AtomicBool,
    /// The moment that times are told from, long before the first request.
    pub(crate) epoch: Instant,
    /// The bytes of the cache, and the number of files that may stay open.
    budget: (usize, usize),
    /// The number of engines that there have been.
    sites: AtomicU32,
    /// The number of their mounts.
    mounts: AtomicUsize,
    /// True if any of them keeps anything.
    keeps: AtomicBool,
    /// True if any of them makes codings.
    compresses: AtomicBool,
    /// True if any of them makes codings against dictionaries.
    has_dictionaries: AtomicBool,
    /// The bytes that entries may take where no codings are made.
    left: usize,
}

/// The share of the cache's budget that made codings may take, beside what entries have of them.
const CODINGS: usize = 8;

/// The share that making them may take.
const CODINGS_AT_WORK: usize = 4;

/// The share that contents may take that are kept as dictionaries.
const DICTIONARIES: usize = 16;

/// The time before the start at which the epoch lies, so that what was looked at before the start, or not at all, is old.
const BEFORE_START: Duration = Duration::from_hours(24 * 365);

/// The epoch of engines that begin now: as long ago as the clock of the system goes back, if that is not so long.
fn epoch(now: Instant) -> Instant {
    let halves = (0..32).map(|halved| BEFORE_START / 2_u32.pow(halved));
    let mut moments = halves.filter_map(|before| now.checked_sub(before));
    moments.next().unwrap_or(now)
}

impl EnginePool {
    /// A pool with the budgets of this configuration.
    pub(crate) fn new(config: &Config, now: Instant) -> Self {
        // One budget for both: what the digests may take is not the entries'.
        let digests = Digests::within(config.cache_size);
        let left = config.cache_size.saturating_sub(digests.weight());
        let contents = ContentMemory::default();
        let open_files = Arc::new(OpenFiles::new(config.open_files));
        let size = config.cache_size;
        let codings = CodingSettings::new(
            (size / CODINGS, size / CODINGS_AT_WORK),
            config.cache_max_file,
            config.compress_cpu,
            config.kept_codings.clone(),
        );
        EnginePool {
            memory: BoundedCache::new(left),
            codings: Codings::new(codings, contents.clone(), Arc::clone(&open_files)),
            dictionaries: Dictionaries::within(config.cache_size / DICTIONARIES),
            open_files,
            digests,
            checks: SiblingChecks::default(),
            counters: Counters::default(),
            contents,
            log: LogThrottle::of(config.log_each),
            paused: AtomicBool::new(false),
            epoch: epoch(now),
            budget: (config.cache_size, config.open_files),
            sites: AtomicU32::new(0),
            mounts: AtomicUsize::new(0),
            keeps: AtomicBool::new(false),
            compresses: AtomicBool::new(false),
            has_dictionaries: AtomicBool::new(false),
            left,
        }
    }

    /// The bytes of the cache, and the number of files that may stay open.
    pub(crate) fn budget(&self) -> (usize, usize) {
        self.budget
    }

    /// Adds an engine: gives the number of its site, and that of its first mount.
    pub(crate) fn enter(&self, config: &Config) -> (u32, usize) {
        if config.cache {
            self.keeps.store(true, Ordering::Relaxed);
        }
        if config.compress {
            self.compresses.store(true, Ordering::Relaxed);
            let (size, _) = self.budget;
            let known = &self.has_dictionaries;
            let has_some =
                known.fetch_or(config.dictionaries, Ordering::Relaxed) || config.dictionaries;
            let dictionaries = if has_some { size / DICTIONARIES } else { 0 };
            let codings = size / CODINGS + size / CODINGS_AT_WORK + dictionaries;
            self.memory.limit(self.left.saturating_sub(codings));
        }
        let mounts = self
            .mounts
            .fetch_add(config.mounts.len(), Ordering::Relaxed);
        (self.sites.fetch_add(1, Ordering::Relaxed), mounts)
    }

    /// The bytes that content may take in memory as long as the cache keeps it: what making codings may take is not
    /// content's. What codings there are is content like other.
    pub(crate) fn content_budget(&self) -> usize {
        let (size, _) = self.budget;
        if !self.keeps.load(Ordering::Relaxed) {
            return 0;
        }
        if self.compresses.load(Ordering::Relaxed) {
            size - size / CODINGS_AT_WORK
        } else {
            size
        }
    }

    /// The number of mounts of all engines.
    pub(crate) fn mounts(&self) -> usize {
        self.mounts.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_codings_has_memory_that_content_has_not() {
        let check = |cache: bool, compress: bool, expected: usize| {
            let config = Config {
                cache_size: 64 << 20,
                cache,
                compress,
                ..Config::default()
            };
            let pool = EnginePool::new(&config, Instant::now());
            pool.enter(&config);
            assert_eq!(pool.content_budget(), expected << 20, "{cache} {compress}");
        };
        check(true, false, 64);
        check(true, true, 48);
        check(false, true, 0);
    }
}
