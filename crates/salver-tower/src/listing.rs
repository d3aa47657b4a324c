//! The listing of the directories of a mount, if it has one.

use salver_assets::{Listing, Mount};

/// The listing that a builder was told of, if it was.
#[derive(Clone, Debug, Default)]
pub(crate) struct MountListing(pub(crate) Option<Listing>);

impl MountListing {
    /// The mount with its directories listed, if they are to be.
    pub(crate) fn on(&self, mount: Mount) -> Mount {
        match &self.0 {
            Some(listing) => mount.with_listing(listing.clone()),
            None => mount,
        }
    }
}
