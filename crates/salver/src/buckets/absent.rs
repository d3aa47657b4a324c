//! Buckets in a build without them.

use std::sync::Arc;

use salver_assets::{Config, Source};

use crate::failure::Failure;

/// Refuses.
///
/// # Errors
/// Always.
pub(crate) fn open(url: &str, _: &Config) -> Result<Arc<dyn Source>, Failure> {
    Err(Failure::Misused(format!(
        "{url:?}: this build serves no buckets: take one that was built with --features object-store"
    )))
}
