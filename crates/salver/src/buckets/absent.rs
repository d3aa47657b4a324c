//! Buckets in a build without them.

use std::sync::Arc;

use salver_assets::{Config, Source};
use salver_store::{Bucket, StoreSource};

use crate::bucket_settings::BucketSettings;
use crate::failure::Failure;

/// Refuses.
///
/// # Errors
/// Always.
pub(crate) fn open(url: &str, _: &Config, _: &BucketSettings) -> Result<Arc<dyn Source>, Failure> {
    Err(refused(url))
}

/// Refuses.
///
/// # Errors
/// Always.
pub(crate) fn open_store(
    url: &str,
    _: &Config,
    _: &BucketSettings,
) -> Result<Arc<StoreSource>, Failure> {
    Err(refused(url))
}

/// Refuses.
///
/// # Errors
/// Always.
pub(crate) fn of_store(url: &str) -> Result<Arc<dyn Bucket>, Failure> {
    Err(refused(url))
}

fn refused(url: &str) -> Failure {
    // What stands before it may be a password.
    let shown = url.rsplit_once('@').map_or(url, |(_, behind)| behind);
    Failure::Misused(format!(
        "{shown:?}: this build serves no buckets: take one that was built with --features object-store"
    ))
}
