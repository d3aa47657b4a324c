//! Buckets in a build without them.

use std::sync::Arc;
use std::time::Duration;

use salver_assets::{Config, Source};

use crate::failure::Failure;

/// Refuses.
///
/// # Errors
/// Always.
pub(crate) fn open(url: &str, _: &Config, _: Duration) -> Result<Arc<dyn Source>, Failure> {
    // What stands before it may be a password.
    let shown = url.rsplit_once('@').map_or(url, |(_, behind)| behind);
    Err(Failure::Misused(format!(
        "{shown:?}: this build serves no buckets: take one that was built with --features object-store"
    )))
}
