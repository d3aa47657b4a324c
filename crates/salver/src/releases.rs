//! The releases of a store at addresses of their own, from the settings of a site to what the server asks.

use std::path::PathBuf;
use std::sync::Arc;

use salver_assets::{Config, ConfigError, Engine};
use salver_config::Site;
use salver_config::conventions::ReleaseAddresses as Addresses;
use salver_server::ReleaseAddresses;
use salver_store::StoreSource;

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

    /// Where they are shown: each as the site is, with all that is mounted beside it, by the settings of the site's
    /// `engine`.
    ///
    /// # Errors
    /// As of the site itself.
    pub(crate) fn addresses(
        &self,
        engine: &Engine,
        settings: &Config,
    ) -> Result<ReleaseAddresses, ConfigError> {
        // What all releases share: the place among those of which requests may wait, which they do not take from the site.
        let first = engine.beside(Config {
            cache: false,
            compress: false,
            dictionaries: false,
            ..settings.clone()
        })?;
        let (source, mounts) = (Arc::clone(&self.source), settings.mounts.clone());
        let find = move |name: &str| {
            let release = source.release(name)?;
            let mut mounts = mounts.clone();
            // The root stands first.
            let root = mounts.first_mut()?;
            *root = root.clone().with_source(Arc::new(release));
            first.with_mounts(mounts).ok()
        };
        Ok(ReleaseAddresses::new(self.by_host, self.by_path, find))
    }
}

/// The store that a site is served from.
#[derive(Clone, Debug)]
pub(crate) struct ServedStore {
    /// The name of the site.
    pub(crate) name: String,
    /// The directory of the store.
    pub(crate) path: PathBuf,
    /// The host of the site that people are shown, if it has one of its own.
    host: Option<String>,
    releases: Option<ReleasesOfSite>,
}

impl ServedStore {
    /// The store at a path, of the site that has this name and these hosts.
    pub(crate) fn new(
        name: &str,
        path: PathBuf,
        hosts: &[String],
        releases: Option<ReleasesOfSite>,
    ) -> Self {
        let mut hosts = hosts.iter();
        ServedStore {
            name: name.to_owned(),
            path,
            host: hosts.find(|host| !host.starts_with(['*', '['])).cloned(),
            releases,
        }
    }

    /// Where a release is shown besides the site, by its name and without the scheme; nowhere if none has addresses.
    pub(crate) fn addresses(&self, name: &str) -> Vec<String> {
        let host = self.host.as_deref().unwrap_or("HOST");
        let Some(releases) = &self.releases else {
            return Vec::new();
        };
        let of_host = releases
            .by_host
            .then(|| ReleaseAddresses::host_of(name, host) + "/");
        let of_path = releases
            .by_path
            .then(|| host.to_owned() + &ReleaseAddresses::path_of(name));
        of_host.into_iter().chain(of_path).collect()
    }
}
