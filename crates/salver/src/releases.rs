//! The releases of a store at addresses of their own, from the settings of a site to what the server asks.

use std::sync::Arc;

use salver_assets::{Config, ConfigError, Engine};
use salver_config::Site;
use salver_config::conventions::ReleaseAddresses as Addresses;
use salver_server::ReleaseAddresses;
use salver_store::StoreSource;

use crate::site_settings::SiteSettings;

/// The releases of a site, and where they are shown.
#[derive(Clone, Debug)]
pub struct ReleasesOfSite {
    source: Arc<StoreSource>,
    by_host: bool,
    by_path: bool,
}

impl ReleasesOfSite {
    /// The releases of the store of a site; `None` if only the current one is to be seen.
    pub(crate) fn new(site: &Site, source: &Arc<StoreSource>) -> Option<Self> {
        let (by_host, by_path) = match *site.release_addresses {
            Addresses::Off => return None,
            Addresses::Host => (true, false),
            Addresses::Path => (false, true),
            Addresses::Both => (true, true),
        };
        Some(ReleasesOfSite {
            source: Arc::clone(source),
            by_host,
            by_path,
        })
    }
}

impl SiteSettings {
    /// The addresses of its releases, if they have any. Each is shown as the site is, with all that is mounted beside it;
    /// `engine` is that of the site.
    ///
    /// # Errors
    /// As of the site itself.
    pub(crate) fn release_addresses(
        &self,
        engine: &Engine,
    ) -> Result<Option<ReleaseAddresses>, ConfigError> {
        let Some(releases) = self.releases.clone() else {
            return Ok(None);
        };
        // What all releases share: the place among those of which requests may wait, which they do not take from the site.
        let first = engine.beside(Config {
            cache: false,
            compress: false,
            ..self.engine.clone()
        })?;
        let mounts = self.engine.mounts.clone();
        let ReleasesOfSite {
            source,
            by_host,
            by_path,
        } = releases;
        let find = move |name: &str| {
            let release = source.release(name)?;
            let mut mounts = mounts.clone();
            // The root stands first.
            let root = mounts.first_mut()?;
            *root = root.clone().with_source(Arc::new(release));
            first.with_mounts(mounts).ok()
        };
        Ok(Some(ReleaseAddresses::new(by_host, by_path, find)))
    }
}
