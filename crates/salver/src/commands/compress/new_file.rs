//! Files that appear whole: written under a name that no server sends, then renamed.

use std::fs::{self, File, FileTimes, Metadata};
use std::io::{self, Write as _};
use std::path::Path;

/// The beginning of the names of files that are being written: hidden, so that no server sends them.
const PREFIX: &str = ".salver-compress-";

/// True if a file of this name is being written, or was when somebody killed the writer.
pub(super) fn is_leftover(name: &[u8]) -> bool {
    name.starts_with(PREFIX.as_bytes())
}

/// Writes a file with the times, rights and owner of another one, in place of one that may be there. `is_wanted` is
/// asked last; if it is not, nothing changes.
///
/// # Errors
/// Those of the system; what was begun is removed.
pub(super) fn write(
    path: &Path,
    bytes: &[u8],
    like: &Metadata,
    is_wanted: impl FnOnce() -> bool,
) -> io::Result<bool> {
    let directory = path.parent().unwrap_or(Path::new(""));
    let mut new = tempfile::Builder::new()
        .prefix(PREFIX)
        .tempfile_in(directory)
        // The path that it names is none that anybody knows.
        .map_err(plain)?;
    // It is unlocked when this process ends, however that comes. Where there are no locks, it goes without.
    let _ = new.as_file().lock();
    new.write_all(bytes).map_err(plain)?;
    keep_owner(new.as_file(), like);
    new.as_file().set_permissions(like.permissions())?;
    let times = FileTimes::new().set_modified(like.modified()?);
    new.as_file().set_times(times)?;
    if !is_wanted() {
        return Ok(false);
    }
    new.persist(path).map_err(|error| error.error)?;
    Ok(true)
}

/// An error without the name of the new file, which nobody knows.
fn plain(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(_) => error,
        None => io::Error::from(error.kind()),
    }
}

/// Gives the file to the owner of the other one, if this process may: what an administrator makes is then read by
/// whoever reads the original.
#[cfg(unix)]
fn keep_owner(file: &File, like: &Metadata) {
    use std::os::unix::fs::{MetadataExt as _, fchown};

    let is_other = |own: Metadata| (own.uid(), own.gid()) != (like.uid(), like.gid());
    if file.metadata().is_ok_and(is_other) {
        let _ = fchown(file, Some(like.uid()), Some(like.gid()));
    }
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) {}

/// Removes what a run left that was killed; true if nobody is writing it.
///
/// # Errors
/// Those of the system.
pub(super) fn remove_leftover(path: &Path) -> io::Result<bool> {
    let file = File::open(path)?;
    if file.try_lock().is_err() {
        return Ok(false);
    }
    fs::remove_file(path)?;
    Ok(true)
}
