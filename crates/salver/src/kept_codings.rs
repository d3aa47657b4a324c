//! The directory that keeps made codings across restarts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use salver_assets::{CodingDirectory, Config};
use salver_config::{Configuration, Site};

use crate::bucket_settings::most_of_codings;
use crate::failure::Failure;
use crate::roots::absolute;
use crate::site_settings::SiteSettings;

/// The settings of the first engine, whose cache is that of all.
pub(crate) fn with_kept_codings(site: &SiteSettings, kept: Option<&KeptCodings>) -> Config {
    Config {
        kept_codings: kept.and_then(KeptCodings::open),
        ..site.engine.clone()
    }
}

/// A directory for codings that can be used, and is not opened yet.
#[derive(Clone, Debug)]
pub(crate) struct KeptCodings {
    path: PathBuf,
    most: u64,
    /// The setting that names it.
    name: String,
}

impl KeptCodings {
    /// The directory of a configuration, if it has one.
    ///
    /// # Errors
    /// It lies in a directory that one of `sites` serves.
    pub(crate) fn new(
        configuration: &Configuration,
        sites: &[SiteSettings],
    ) -> Result<Option<Self>, Failure> {
        let setting = &configuration.server.cache_dir;
        let Some(path) = setting.as_ref() else {
            return Ok(None);
        };
        let path = absolute(path)?;
        let shown = sites.iter().flat_map(|site| &site.shown);
        let served: Vec<&Path> = shown.map(|shown| &*shown.path).collect();
        CodingDirectory::check(&path, &served)
            .map_err(|error| Failure::Misused(format!("{} {path:?}: {error}", setting.name())))?;
        let most = *configuration.server.cache_dir_size;
        let has_buckets = configuration.sites.iter().any(Site::has_bucket);
        Ok(Some(KeptCodings {
            path,
            most: match has_buckets {
                true => most_of_codings(most),
                false => most,
            },
            name: setting.name(),
        }))
    }

    /// Opens the directory. Where that fails, codings are made anew after a restart, which is said.
    fn open(&self) -> Option<Arc<CodingDirectory>> {
        match CodingDirectory::open(&self.path, self.most) {
            Ok(directory) => Some(Arc::new(directory)),
            Err(error) => {
                tracing::warn!(
                    "{} {:?}: nothing is kept there: {error}",
                    self.name,
                    self.path
                );
                None
            }
        }
    }

    /// Gives the directory to the user that the process becomes, unless others have files in it.
    #[cfg(target_os = "linux")]
    pub(crate) fn give_to(&self, (user, group): (u32, u32)) {
        let (path, name) = (&self.path, &self.name);
        let given = match CodingDirectory::has_nothing_else(path) {
            Ok(true) => std::os::unix::fs::chown(path, Some(user), Some(group)),
            Ok(false) => {
                tracing::warn!(
                    "{name} {path:?}: it has other files, so it is not given to the user: name one for codings alone"
                );
                Ok(())
            }
            Err(error) => Err(error),
        };
        if let Err(error) = given {
            tracing::warn!("{name} {path:?}: it cannot be given to the user: {error}");
        }
    }
}
