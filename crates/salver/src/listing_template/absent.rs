//! Templates of listings in a build without them: no setting names one.

use std::path::Path;

use salver_assets::Listing;

use crate::failure::Failure;

/// Refuses.
///
/// # Errors
/// Always.
pub(crate) fn with_template(_: Listing, path: &Path, name: &str) -> Result<Listing, Failure> {
    Err(Failure::Misused(format!(
        "{name} {path:?}: this build has no templates"
    )))
}
