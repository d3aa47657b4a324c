//! The server that the admin listener tells of.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use salver_admin::{
    BucketChanges, Cache, CachePage, CacheQuery, CachedEntry, CachedFile, Certificate,
    ChangedObject, Connections, Loader, Log, Purge, Reloaded, State, Subject,
};
use salver_assets::{CachedResource, Engine, RequestPath, ResourceKind};
use salver_server::{AccessLog, Metrics, Monitor, ServerLoad, Sites, Stage};

use crate::bucket_events::{BucketOfSite, ToldChanges};
use crate::releases::ServedStore;

/// The seconds of a day.
const DAY: i64 = 24 * 60 * 60;

/// The reading of the configuration, again: what has changed, or what is wrong.
pub(crate) type Reload = Box<dyn Fn() -> Result<String, String> + Send + Sync>;

/// What a server serves by now, from its start or a reload to the next reload.
#[derive(Default)]
pub(crate) struct Current(Mutex<Generation>);

#[derive(Clone, Default)]
struct Generation {
    /// The sites, each with its name. Their engines share one cache.
    sites: Vec<(String, Engine)>,
    /// The most bytes of that cache.
    cache_size: usize,
    log: Option<AccessLog>,
    /// The stores that are served.
    stores: Vec<ServedStore>,
    buckets: Vec<BucketOfSite>,
}

impl Current {
    /// Notes what the server serves by from now on: its sites by their names, the most bytes of their cache, its
    /// stores and its buckets.
    pub(crate) fn set(
        &self,
        (sites, names): (&Sites, Vec<String>),
        cache_size: usize,
        log: Option<AccessLog>,
        (stores, buckets): (Vec<ServedStore>, Vec<BucketOfSite>),
    ) {
        let names = names.into_iter();
        *self.hold() = Generation {
            sites: names.zip(sites.engines().cloned()).collect(),
            cache_size,
            log,
            stores,
            buckets,
        };
    }

    /// The stores that are served.
    pub(super) fn stores(&self) -> Vec<ServedStore> {
        self.hold().stores.clone()
    }

    /// Has files of buckets looked at anew that have changed.
    fn look(&self, changes: &BucketChanges) {
        let current = self.get();
        for bucket in current.buckets.iter().filter(|bucket| bucket.has_files()) {
            if let Some((_, engine)) = current.sites.get(bucket.site) {
                bucket.look(engine, changes);
            }
        }
    }

    fn get(&self) -> Generation {
        self.hold().clone()
    }

    fn hold(&self) -> MutexGuard<'_, Generation> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generation {
    /// One of the engines: what it says of the cache as a whole, it says of all sites.
    fn first(&self) -> Option<&Engine> {
        self.sites.first().map(|(_, engine)| engine)
    }

    /// The engines of the sites with this name, or of all; each with the number of its site and its name.
    ///
    /// # Errors
    /// There is no site of this name, for people.
    fn engines(
        &self,
        site: Option<&str>,
    ) -> Result<impl Iterator<Item = (usize, &str, &Engine)> + Clone, String> {
        let is_one = move |name: &str| site.is_none_or(|site| site.eq_ignore_ascii_case(name));
        let all = self.sites.iter().enumerate();
        let all = all.map(|(number, (name, engine))| (number, &**name, engine));
        let found = all.filter(move |(_, name, _)| is_one(name));
        match (site, found.clone().next()) {
            (Some(site), None) => Err(format!(
                "{site:?} is no site: give the first of its hosts, or * for that of all others"
            )),
            _ => Ok(found),
        }
    }
}

/// The server that is told of.
pub(crate) struct Served {
    pub(crate) current: Arc<Current>,
    /// What buckets have told.
    pub(crate) told: Arc<ToldChanges>,
    pub(crate) monitor: Monitor,
    pub(crate) metrics: Arc<Metrics>,
    /// How the configuration is read again.
    pub(crate) reload: Reload,
}

/// The place of an entry among those of all sites: the number of its site, and its key there.
fn place(site: usize, key: &[u8]) -> Vec<u8> {
    let site = u32::try_from(site).unwrap_or(u32::MAX);
    [&site.to_be_bytes()[..], key].concat()
}

/// The site and the key of a [`place`].
fn parts_of(place: &[u8]) -> Option<(usize, &[u8])> {
    let (site, key) = place.split_first_chunk()?;
    Some((usize::try_from(u32::from_be_bytes(*site)).ok()?, key))
}

impl Served {
    fn load(&self) -> ServerLoad {
        self.monitor.load()
    }
}

impl Subject for Served {
    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn state(&self) -> State {
        match self.monitor.stage() {
            Stage::Starting => State::Starting,
            Stage::Serving => State::Ready,
            Stage::Ending => State::Draining,
        }
    }

    fn metrics(&self) -> Arc<Metrics> {
        Arc::clone(&self.metrics)
    }

    fn cache(&self) -> Cache {
        let current = self.current.get();
        let Some(engine) = current.first() else {
            return Cache::default();
        };
        let statistics = engine.statistics();
        Cache {
            paused: engine.is_paused(),
            hits: statistics.hits,
            misses: statistics.misses,
            coalesced: statistics.coalesced,
            loads: statistics.loads,
            revalidations: statistics.revalidations,
            evictions: statistics.evictions,
            loaded_bytes: statistics.bytes_loaded,
            entries: statistics.entries,
            bytes: statistics.bytes,
            most_bytes: count(current.cache_size),
            open_files: statistics.open_files,
            codings_made: statistics.codings_made,
            codings_taken: statistics.codings_taken,
            codings_useless: statistics.codings_useless,
            codings_waiting: statistics.codings_waiting,
            coding_bytes: statistics.coding_bytes,
        }
    }

    fn loader(&self) -> Loader {
        let load = self.load();
        Loader {
            threads: count(load.loader_threads),
            busy: count(load.loader_busy),
            waiting: count(load.loader_waiting),
        }
    }

    fn connections(&self) -> Connections {
        let load = self.load();
        Connections {
            open: count(load.connections),
            most: count(load.most_connections),
            memory_bytes: load.connection_memory,
            most_memory_bytes: load.most_connection_memory,
        }
    }

    fn certificates(&self) -> Vec<Certificate> {
        let now = seconds(SystemTime::now());
        let certificates = self.monitor.certificates().into_iter();
        let certificates = certificates.map(|expiry| {
            let not_after = seconds(expiry.not_after);
            Certificate {
                names: expiry.names,
                not_after: u64::try_from(not_after).unwrap_or(0),
                days_left: (not_after - now).div_euclid(DAY),
            }
        });
        certificates.collect()
    }

    fn log(&self) -> Option<Log> {
        let statistics = self.current.get().log?.statistics();
        Some(Log {
            lines: statistics.lines,
            dropped: statistics.dropped,
        })
    }

    fn cached(&self, query: &CacheQuery) -> Result<CachePage, String> {
        let current = self.current.get();
        let engines = current.engines(query.site.as_deref())?;
        let after = query.after.as_deref().and_then(parts_of);
        let (begins, mut after) = after.map_or((0, None), |(site, key)| (site, Some(key)));
        let mut page = CachePage::default();
        for (number, site, engine) in engines.filter(|(number, ..)| *number >= begins) {
            // The key is of the first alone, which may be gone.
            let after = after.take().filter(|_| number == begins);
            let left = query.limit - page.entries.len();
            if left == 0 {
                page.has_more = true;
                break;
            }
            let found = engine.cache_contents(&query.prefix, after, left);
            let entries = found.entries.into_iter();
            let entries = entries.map(|entry| cached(number, site, entry));
            page.entries.extend(entries);
            page.has_more = found.has_more;
            if found.has_more {
                break;
            }
        }
        Ok(page)
    }

    fn purge(&self, what: &Purge, site: Option<&str>) -> Result<u64, String> {
        let current = self.current.get();
        let engines = current.engines(site)?.map(|(_, _, engine)| engine);
        let (entries, said) = match what {
            Purge::Path(path) => {
                let parsed = parsed(path)?;
                let entries = engines.map(|engine| engine.invalidate(&parsed)).sum();
                (entries, shown(path))
            }
            Purge::Prefix(prefix) => {
                let parsed = parsed(prefix)?;
                let entries = engines
                    .map(|engine| engine.invalidate_prefix(&parsed))
                    .sum();
                (entries, format!("all beneath {}", shown(prefix)))
            }
            Purge::Group(group) => {
                let entries = engines.map(|engine| engine.invalidate_group(group)).sum();
                (entries, format!("the group {}", shown(group)))
            }
            Purge::All => (engines.map(Engine::clear).sum(), "everything".to_owned()),
        };
        let of = site.map_or_else(String::new, |site| format!(" of {}", site.escape_debug()));
        tracing::info!("admin: {said}{of} was purged from the cache, {entries} entries");
        Ok(count(entries))
    }

    fn bucket_changed(&self, changes: &BucketChanges) -> u64 {
        let current = self.current.get();
        for bucket in &current.buckets {
            bucket.look_at_store(changes);
        }
        let of_files = current.buckets.iter().filter(|bucket| bucket.has_files());
        let of_files: Vec<_> = of_files.collect();
        let (changes, ignored) = match changes {
            BucketChanges::Any => (BucketChanges::Any, 0),
            BucketChanges::Objects(objects) => {
                let is_served = |object| current.buckets.iter().any(|bucket| bucket.has(object));
                let ignored = objects.iter().filter(|object| !is_served(object)).count();
                let is_file = |object: &&ChangedObject| of_files.iter().any(|of| of.has(object));
                let objects = objects.iter().filter(is_file).cloned().collect();
                (BucketChanges::Objects(objects), count(ignored))
            }
        };
        if of_files.is_empty() {
            return ignored;
        }
        // Whatever is served by then.
        let current = Arc::clone(&self.current);
        self.told
            .tell(changes, move |changes| current.look(changes));
        ignored
    }

    fn bucket_events_offered(&self, url: &str) {
        tracing::info!(
            "admin: Amazon SNS sends events of buckets here once somebody has asked for {}",
            url.escape_debug()
        );
    }

    fn pause(&self, paused: bool) {
        let current = self.current.get();
        let Some(engine) = current.first() else {
            return;
        };
        if paused {
            engine.pause_cache();
            tracing::info!("admin: the cache is paused");
        } else {
            engine.resume_cache();
            tracing::info!("admin: the cache is used again");
        }
    }

    fn reload(&self) -> Reloaded {
        match (self.reload)() {
            Ok(message) => Reloaded::Done(message),
            Err(message) => Reloaded::Refused(message),
        }
    }
}

/// An entry of the site with this number and name.
fn cached(number: usize, site: &str, entry: CachedResource) -> CachedEntry {
    let files = entry.representations.iter().map(|of| CachedFile {
        coding: of.coding.name(),
        bytes: of.length,
        in_memory: of.in_memory,
    });
    CachedEntry {
        key: place(number, &entry.key),
        site: site.to_owned(),
        path: entry.path,
        kind: kind(entry.kind),
        bytes: count(entry.bytes),
        files: files.collect(),
    }
}

/// A path as somebody gave it, for the log.
fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).escape_debug().to_string()
}

fn parsed(path: &[u8]) -> Result<RequestPath<'_>, String> {
    let wrong = || {
        format!(
            "{:?} is no path: give one as in a URL, from / on",
            shown(path)
        )
    };
    RequestPath::parse(path).map_err(|_| wrong())
}

fn kind(kind: ResourceKind) -> &'static str {
    match kind {
        ResourceKind::File => "file",
        ResourceKind::Directory => "directory",
        ResourceKind::Nothing => "nothing",
        ResourceKind::Redirect => "redirect",
        ResourceKind::ByRequest => "request",
        _ => "other",
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// The seconds since 1970.
fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
