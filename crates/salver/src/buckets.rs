//! Buckets that are served, from their URLs to sources.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use salver_assets::{Config, Source};
use salver_object_store::{ObjectStoreSource, Settings};

use crate::failure::Failure;

/// The buckets that are served, so that what is mounted twice, and what is there before and after a reload, is asked once:
/// a source knows objects and keeps slices of them.
static SERVED: Mutex<Vec<ServedBucket>> = Mutex::new(Vec::new());

/// One bucket that is served, as long as somebody does.
struct ServedBucket {
    url: String,
    settings: Settings,
    source: Weak<ObjectStoreSource>,
}

/// The source of the bucket that a URL leads to; nobody is asked yet.
///
/// # Errors
/// The URL or the environment cannot be used.
pub(crate) fn open(
    url: &str,
    engine: &Config,
    timeout: Duration,
) -> Result<Arc<dyn Source>, Failure> {
    let settings = settings(engine, timeout);
    let mut served = SERVED.lock().unwrap_or_else(PoisonError::into_inner);
    served.retain(|bucket| bucket.source.strong_count() > 0);
    let same = |bucket: &&ServedBucket| bucket.url == url && bucket.settings == settings;
    if let Some(source) = served.iter().find(same).and_then(|it| it.source.upgrade()) {
        return Ok(source);
    }
    let source = match ObjectStoreSource::open(url, settings.clone()) {
        Ok(source) => Arc::new(source),
        Err(error) => return Err(Failure::Misused(error.to_string())),
    };
    served.push(ServedBucket {
        url: url.to_owned(),
        settings,
        source: Arc::downgrade(&source),
    });
    Ok(source)
}

/// The bounds of a source before this engine.
fn settings(engine: &Config, timeout: Duration) -> Settings {
    let mut settings = Settings {
        revalidate: engine.revalidate,
        timeout,
        ..Settings::default()
    };
    if let Some(index) = engine.index.first() {
        settings.index.clone_from(index);
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_secs(3);

    #[test]
    fn the_bounds_are_those_of_the_site() {
        let engine = Config {
            revalidate: Duration::from_secs(7),
            index: vec!["start.html".to_owned(), "index.html".to_owned()],
            ..Config::default()
        };
        let settings = settings(&engine, TIME);
        assert_eq!((settings.revalidate.as_secs(), settings.timeout), (7, TIME));
        assert_eq!(settings.index, "start.html");
    }

    #[test]
    fn one_bucket_is_one_source_as_long_as_it_is_served() {
        let engine = Config::default();
        let url = "http://127.0.0.1:9/one-source";
        let one = open(url, &engine, TIME).unwrap();
        let is_one = |url, timeout| {
            let other = open(url, &engine, timeout).unwrap();
            std::ptr::addr_eq(Arc::as_ptr(&one), Arc::as_ptr(&other))
        };
        assert!(is_one(url, TIME));
        assert!(!is_one(url, TIME * 2));
        assert!(!is_one("http://127.0.0.1:9/another", TIME));
        let watch = Arc::downgrade(&one);
        drop(one);
        assert!(watch.upgrade().is_none());
        assert!(open(url, &engine, TIME).is_ok());
    }
}
