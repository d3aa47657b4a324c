//! No listings: a build without the feature `listing` has no such setting, so that nothing below is ever asked.

/// Listings of directories, which no mount has.
#[derive(Clone, Debug)]
pub(crate) enum Listing {}
