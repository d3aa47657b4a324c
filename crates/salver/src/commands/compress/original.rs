//! A file whose siblings are made, read in one version.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The version of a file, as far as the system tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    length: u64,
    modified: Option<SystemTime>,
    /// The inode, and when it changed: seconds and nanoseconds. Zero where the system does not tell.
    stamp: (u64, i64, i64),
}

impl Version {
    pub(super) fn of(metadata: &Metadata) -> Version {
        Version {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            stamp: stamp(metadata),
        }
    }

    /// The bytes of the file.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// True if the file at `path` is in this version.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|now| now.is_file() && Version::of(&now) == *self)
    }

    /// True if a change at `now` or later could leave the version as it is: clocks of file systems are coarse.
    pub(super) fn is_young(&self, now: SystemTime) -> bool {
        const COARSE: Duration = Duration::from_secs(2);
        let (_, seconds, _) = self.stamp;
        let changed = u64::try_from(seconds).ok();
        let changed = changed.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        let is_recent =
            |time: SystemTime| now.duration_since(time).map_or(true, |age| age < COARSE);
        self.modified.is_none_or(is_recent) || changed.is_some_and(is_recent)
    }
}

#[cfg(unix)]
fn stamp(metadata: &Metadata) -> (u64, i64, i64) {
    use std::os::unix::fs::MetadataExt as _;

    (metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn stamp(_: &Metadata) -> (u64, i64, i64) {
    (0, 0, 0)
}

/// Opens a regular file, and none that a link leads to.
///
/// # Errors
/// Those of the system, and if it is no regular file.
pub(super) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let mut options = File::options();
    options.read(true);
    no_links(&mut options);
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    match metadata.is_file() {
        true => Ok((file, metadata)),
        false => Err(io::Error::other("it is no file any more")),
    }
}

#[cfg(unix)]
fn no_links(options: &mut fs::OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;

    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
}

#[cfg(not(unix))]
fn no_links(_: &mut fs::OpenOptions) {}

/// The bytes of a file that is as long as its metadata says.
///
/// # Errors
/// Those of the system, and if it changes while it is read.
pub(super) fn read(path: &Path, file: &mut File, metadata: &Metadata) -> io::Result<Vec<u8>> {
    let length = metadata.len();
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    file.take(length.saturating_add(1))
        .read_to_end(&mut bytes)?;
    let is_whole = u64::try_from(bytes.len()) == Ok(length);
    match is_whole && Version::of(metadata).is_at(path) {
        true => Ok(bytes),
        false => Err(changed()),
    }
}

/// The error of a file that is not what it was when it was looked at.
pub(super) fn changed() -> io::Error {
    io::Error::other(
        "it changes while it is read: compress when the build is finished, or with --watch",
    )
}
