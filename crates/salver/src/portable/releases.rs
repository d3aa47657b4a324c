//! The releases of a store at addresses of their own: there are none here, and who asks for them is told so.

use std::sync::Arc;

use salver_config::Site;
use salver_store::StoreSource;

/// The releases of a site: there are none.
#[derive(Clone, Debug)]
pub enum ReleasesOfSite {}

impl ReleasesOfSite {
    /// `None`, as only the current one is to be seen.
    pub(crate) fn new(_: &Site, _: &Arc<StoreSource>) -> Option<Self> {
        None
    }
}
