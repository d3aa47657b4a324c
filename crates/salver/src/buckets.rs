//! Buckets that are served, from their URLs to sources.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use salver_assets::{Config, Source};
use salver_object_store::{DiskTier, ObjectStoreSource, ReleaseBucket, Settings};
use salver_store::{Bucket, StoreSource};

use crate::bucket_settings::BucketSettings;
use crate::failure::Failure;

/// The buckets that are served.
static SERVED: Served<ObjectStoreSource> = Served(Mutex::new(Vec::new()));

/// The stores in buckets that are served.
static STORES: Served<StoreSource> = Served(Mutex::new(Vec::new()));

/// The time that a command leaves to a request, with all its attempts: over a slow line an upload takes a while.
const OF_COMMANDS: Duration = Duration::from_mins(2);

/// What is served, so that what is mounted twice, and what is there before and after a reload, is asked once: a source
/// knows objects and keeps slices of them.
struct Served<T>(Mutex<Vec<ServedBucket<T>>>);

/// One bucket that is served, as long as somebody does.
struct ServedBucket<T> {
    url: String,
    settings: Settings,
    source: Weak<T>,
}

impl<T> Served<T> {
    /// The source of a URL: the one that is served, or a new one.
    fn open(
        &self,
        url: &str,
        settings: Settings,
        open: impl FnOnce(&str, Settings) -> Result<T, Failure>,
    ) -> Result<Arc<T>, Failure> {
        let mut served = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        served.retain(|bucket| bucket.source.strong_count() > 0);
        let same = |bucket: &&ServedBucket<T>| bucket.url == url && bucket.settings == settings;
        if let Some(source) = served.iter().find(same).and_then(|it| it.source.upgrade()) {
            return Ok(source);
        }
        let source = Arc::new(open(url, settings.clone())?);
        served.push(ServedBucket {
            url: url.to_owned(),
            settings,
            source: Arc::downgrade(&source),
        });
        Ok(source)
    }
}

/// The tiers that objects are kept in.
static TIERS: Mutex<Vec<KeptTier>> = Mutex::new(Vec::new());

/// A tier of some buckets, as long as somebody serves one of them.
struct KeptTier {
    path: PathBuf,
    most: u64,
    tier: Weak<DiskTier>,
}

/// The source of the bucket that a URL leads to; nobody is asked yet.
///
/// # Errors
/// The URL or the environment cannot be used.
pub(crate) fn open(
    url: &str,
    engine: &Config,
    of_site: &BucketSettings,
) -> Result<Arc<dyn Source>, Failure> {
    let source = SERVED.open(url, settings(engine, of_site), |url, settings| {
        let source = ObjectStoreSource::open(url, settings);
        source.map_err(|error| Failure::Misused(error.to_string()))
    })?;
    Ok(source)
}

/// The store in the bucket that a URL leads to, as it is served; nobody is asked yet.
///
/// # Errors
/// As of [`open`].
pub(crate) fn open_store(
    url: &str,
    engine: &Config,
    of_site: &BucketSettings,
) -> Result<Arc<StoreSource>, Failure> {
    let settings = Settings {
        revalidate: of_site.pointer_looked_at,
        ..settings(engine, of_site)
    };
    STORES.open(url, settings, |url, settings| {
        let bucket = release_bucket(url, settings)?;
        Ok(StoreSource::open_bucket(bucket, of_site.pointer_looked_at))
    })
}

/// The bucket that a URL leads to, for who works on the store in it.
///
/// # Errors
/// The URL or the environment cannot be used.
pub(crate) fn of_store(url: &str) -> Result<Arc<dyn Bucket>, Failure> {
    let settings = Settings {
        timeout: OF_COMMANDS,
        ..Settings::default()
    };
    release_bucket(url, settings)
}

fn release_bucket(url: &str, settings: Settings) -> Result<Arc<dyn Bucket>, Failure> {
    match ReleaseBucket::open(url, settings) {
        Ok(bucket) => Ok(Arc::new(bucket)),
        Err(error) => Err(Failure::Misused(error.to_string())),
    }
}

/// The bounds of a source before this engine.
fn settings(engine: &Config, of_site: &BucketSettings) -> Settings {
    let defaults = Settings::default();
    let mut settings = Settings {
        revalidate: of_site.revalidate,
        timeout: of_site.timeout,
        stale_while_revalidate: of_site.stale_while_revalidate,
        stale_if_error: of_site.stale_if_error,
        // Who has room for more content has more paths that are asked for.
        lookup_memory: defaults.lookup_memory.max(engine.cache_size / 8),
        tier: of_site.kept_in.as_ref().map(tier),
        ..defaults
    };
    if let Some(index) = engine.index.first() {
        settings.index.clone_from(index);
    }
    settings
}

/// The tier in a directory: one for all buckets, before and after a reload, because it is one process's.
fn tier((path, most): &(PathBuf, u64)) -> Arc<DiskTier> {
    let mut tiers = TIERS.lock().unwrap_or_else(PoisonError::into_inner);
    tiers.retain(|kept| kept.tier.strong_count() > 0);
    let known = tiers
        .iter()
        .find(|kept| kept.path == *path && kept.most == *most);
    if let Some(tier) = known.and_then(|kept| kept.tier.upgrade()) {
        return tier;
    }
    let tier = Arc::new(DiskTier::new(path.clone(), *most));
    tiers.push(KeptTier {
        path: path.clone(),
        most: *most,
        tier: Arc::downgrade(&tier),
    });
    tier
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket_settings::POINTER_LOOKED_AT;

    const OF_SITE: BucketSettings = BucketSettings {
        revalidate: Duration::from_secs(7),
        timeout: Duration::from_secs(3),
        pointer_looked_at: POINTER_LOOKED_AT,
        stale_while_revalidate: Duration::from_secs(4),
        stale_if_error: Duration::from_secs(5),
        kept_in: None,
    };

    #[test]
    fn the_bounds_are_those_of_the_site() {
        let engine = Config {
            // As of a site with a store, which is looked at in memory.
            revalidate: Duration::from_millis(50),
            index: vec!["start.html".to_owned(), "index.html".to_owned()],
            cache_size: 1 << 30,
            ..Config::default()
        };
        let settings = settings(&engine, &OF_SITE);
        assert_eq!(settings.lookup_memory, 1 << 27);
        let times = [
            settings.revalidate,
            settings.timeout,
            settings.stale_while_revalidate,
            settings.stale_if_error,
        ];
        assert_eq!(times.map(|time| time.as_secs()), [7, 3, 4, 5]);
        assert_eq!(settings.index, "start.html");
    }

    #[test]
    fn one_bucket_is_one_source_as_long_as_it_is_served() {
        let engine = Config::default();
        let url = "http://127.0.0.1:9/one-source";
        let one = open(url, &engine, &OF_SITE).unwrap();
        let is_one = |url, of_site: &BucketSettings| {
            let other = open(url, &engine, of_site).unwrap();
            std::ptr::addr_eq(Arc::as_ptr(&one), Arc::as_ptr(&other))
        };
        assert!(is_one(url, &OF_SITE));
        let others = BucketSettings {
            stale_if_error: Duration::ZERO,
            ..OF_SITE
        };
        assert!(!is_one(url, &others));
        assert!(!is_one("http://127.0.0.1:9/another", &OF_SITE));
        let watch = Arc::downgrade(&one);
        drop(one);
        assert!(watch.upgrade().is_none());
        assert!(open(url, &engine, &OF_SITE).is_ok());
    }

    #[test]
    fn all_buckets_have_one_tier_in_a_directory() {
        let kept = ("/nowhere/objects".into(), 1 << 30);
        let of_site = BucketSettings {
            kept_in: Some(kept.clone()),
            ..OF_SITE
        };
        let of = |of_site| settings(&Config::default(), of_site).tier.unwrap();
        let one = of(&of_site);
        assert_eq!(of(&of_site), one);
        let larger = BucketSettings {
            kept_in: Some((kept.0, 2 << 30)),
            ..OF_SITE
        };
        assert_ne!(of(&larger), one);
    }
}
