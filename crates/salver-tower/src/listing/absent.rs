//! No listings: a build without the feature `listing` has no such setting.

use salver_assets::Mount;

/// The listing that no builder was told of.
#[derive(Clone, Debug, Default)]
pub(crate) struct MountListing {}

impl MountListing {
    pub(crate) fn on(&self, mount: Mount) -> Mount {
        mount
    }
}
