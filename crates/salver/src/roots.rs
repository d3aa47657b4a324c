//! The directories and files that are served, as they lie on the disk.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use salver_assets::source::Kind;
use salver_assets::{Config, DirectorySource, Patience, Source, Symlinks};
#[cfg(target_os = "linux")]
use salver_config::Configuration;
use salver_config::values::is_url;
use salver_config::{Setting, Site};
#[cfg(target_os = "linux")]
use salver_store::Store;
use salver_store::StoreSource;

use crate::bucket_settings::{BucketSettings, POINTER_LOOKED_AT};
use crate::buckets;
use crate::failure::Failure;

/// The time after which a store is looked at again, unless it is said: a look takes no file but one, and a rollback
/// is to be seen at once.
const STORE_LOOKED_AT: Duration = Duration::from_millis(250);

/// How often what is known of a store in a bucket is looked at within [`POINTER_LOOKED_AT`], and within a longer time no less: it
/// lies in memory, its own thread asks, and that may be told to do so at once.
const LOOKS_AT_MEMORY: u32 = 100;

/// The path from the root of the file system.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| unusable(path, &error))
}

/// What lies at a path.
pub(crate) fn kind(path: &Path) -> Result<Kind, Failure> {
    let metadata = std::fs::metadata(path).map_err(|error| unusable(path, &error))?;
    Ok(if metadata.is_dir() {
        Kind::Directory
    } else if metadata.is_file() {
        Kind::File
    } else {
        Kind::Other
    })
}

/// Opens a directory, whose files can then be looked up.
pub(crate) fn open(
    engine: &Config,
    path: &Path,
    links: Symlinks,
) -> Result<DirectorySource, Failure> {
    // A directory can be named without the right to look up names in it.
    std::fs::metadata(path.join("."))
        .and_then(|_| engine.open_directory(path, links))
        .map_err(|error| unusable(path, &error))
}

/// The time after which what is known of the store of a site is looked at again, by what is said of that; `None` if the site
/// has no store.
pub(crate) fn store_looked_at(site: &Site, said: &Setting<Duration>) -> Option<Duration> {
    let store = site.store.as_ref()?;
    let said = Some(**said).filter(|_| said.is_said());
    Some(match is_url(store.as_os_str()) {
        true => {
            let said = said.unwrap_or(POINTER_LOOKED_AT);
            said.min(POINTER_LOOKED_AT) / LOOKS_AT_MEMORY
        }
        false => said.unwrap_or(STORE_LOOKED_AT),
    })
}

/// Opens a store, whose current release can then be looked up; a bucket is asked nothing yet.
pub(crate) fn open_store(
    engine: &Config,
    path: &Path,
    of_buckets: &BucketSettings,
) -> Result<(PathBuf, Arc<StoreSource>), Failure> {
    if is_url(path.as_os_str()) {
        let source = buckets::open_store(&path.to_string_lossy(), engine, of_buckets)?;
        return Ok((path.to_owned(), source));
    }
    let path = absolute(path)?;
    let source = StoreSource::open(&path, engine.revalidate)?;
    Ok((path, Arc::new(source)))
}

/// Makes the stores of a configuration that are not there, if deploys are taken for them; gives the paths of those that were
/// made.
///
/// # Errors
/// One cannot be made.
#[cfg(target_os = "linux")]
pub(crate) fn make_stores(configuration: &Configuration) -> Result<Vec<PathBuf>, Failure> {
    let mut made = Vec::new();
    if !*configuration.server.deploys.accept {
        return Ok(made);
    }
    for site in &configuration.sites {
        let path = site.store.as_ref();
        let Some(path) = path.filter(|path| !is_url(path.as_os_str())) else {
            continue;
        };
        if Store::open(path).is_err() {
            made.push(Store::open_or_create(path)?.path().to_owned());
        }
    }
    Ok(made)
}

/// Gives stores that were made to the user that the process becomes.
#[cfg(target_os = "linux")]
pub(crate) fn give_stores(made: &[PathBuf], (user, group): (u32, u32)) -> Result<(), Failure> {
    let give = |path: &Path| std::os::unix::fs::chown(path, Some(user), Some(group));
    for path in made {
        let entries = std::fs::read_dir(path).and_then(|mut entries| {
            entries.try_for_each(|entry| give(&entry?.path()))?;
            give(path)
        });
        entries.map_err(|error| {
            Failure::Failed(format!("{path:?} cannot be given to the user: {error}"))
        })?;
    }
    Ok(())
}

/// True if a request would find this file: by the same walk, under the same rules.
pub(crate) fn has_file(source: &dyn Source, name: &str) -> bool {
    let wait = Patience::MayWait;
    let found = source
        .view(wait)
        .and_then(|view| view.stat(name.as_bytes(), wait));
    found.is_ok_and(|metadata| metadata.kind == Kind::File)
}

/// The failure of what cannot be served.
pub(crate) fn neither(path: &Path) -> Failure {
    Failure::Misused(format!(
        "{path:?} is neither a directory nor a file: give a directory to serve"
    ))
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Failure::Misused(format!(
            "{path:?} does not exist: give a directory or a file that is there"
        )),
        io::ErrorKind::InvalidInput => {
            Failure::Misused(format!("{path:?} is no path: give a directory to serve"))
        }
        io::ErrorKind::PermissionDenied => Failure::Failed(format!(
            "{path:?} cannot be entered: run salver as a user who may, or change its permissions"
        )),
        _ => Failure::Failed(format!("{path:?} cannot be opened: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_refuses_says_who_must_act() {
        fn check(kind: io::ErrorKind, misused: bool, part: &str) {
            let failure = unusable(Path::new("/a b"), &kind.into());
            assert_eq!(matches!(failure, Failure::Misused(_)), misused, "{failure}");
            let line = failure.to_string();
            assert!(line.contains("\"/a b\"") && line.contains(part), "{line}");
        }
        check(io::ErrorKind::NotFound, true, "does not exist");
        check(io::ErrorKind::NotADirectory, true, "does not exist");
        check(io::ErrorKind::InvalidInput, true, "is no path");
        check(io::ErrorKind::PermissionDenied, false, "permissions");
        check(io::ErrorKind::StorageFull, false, "cannot be opened");
    }
}
