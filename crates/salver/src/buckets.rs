//! Buckets that are served, from their URLs to sources.

use std::sync::Arc;

use salver_assets::{Config, Source};
use salver_object_store::{ObjectStoreSource, Settings};

use crate::failure::Failure;

/// The source of the bucket that a URL leads to; nobody is asked yet.
///
/// # Errors
/// The URL or the environment cannot be used.
pub(crate) fn open(url: &str, engine: &Config) -> Result<Arc<dyn Source>, Failure> {
    let mut settings = Settings {
        revalidate: engine.revalidate,
        ..Settings::default()
    };
    if let Some(index) = engine.index.first() {
        settings.index.clone_from(index);
    }
    match ObjectStoreSource::open(url, settings) {
        Ok(source) => Ok(Arc::new(source)),
        Err(error) => Err(Failure::Misused(error.to_string())),
    }
}
