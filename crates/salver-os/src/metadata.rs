//! What `fstat` says of an open handle, reduced to what identifies one version of a file.

use std::time::{Duration, SystemTime};

use rustix::fs::{FileType, Stat};

/// A file time: whole seconds since 1970 (negative before it) and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp {
    /// Seconds since 1970-01-01T00:00:00Z.
    pub seconds: i64,
    /// Nanoseconds within the second, 0 to 999,999,999.
    pub nanoseconds: u32,
}

impl Timestamp {
    /// How far this time is from `other`, whichever is later.
    pub fn distance(self, other: SystemTime) -> Duration {
        let at = |t: Timestamp| i128::from(t.seconds) * 1_000_000_000 + i128::from(t.nanoseconds);
        let other = match other.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => i128::try_from(after.as_nanos()).unwrap_or(i128::MAX),
            Err(before) => -i128::try_from(before.duration().as_nanos()).unwrap_or(i128::MAX),
        };
        let nanoseconds = at(self).abs_diff(other);
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }
}

/// What tells one version of a file from another without reading it.
///
/// Times have the resolution of the file system: a version that is younger than that resolution
/// cannot be told from its successor by identity alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Device.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Length in bytes.
    pub length: u64,
    /// Last change of the content; can be set by anybody who may write.
    pub modified: Timestamp,
    /// Last change of content or inode; set by the kernel alone.
    pub changed: Timestamp,
}

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file: the only kind that has content to serve.
    File,
    /// A directory.
    Directory,
    /// A FIFO, a socket or a device.
    Other,
}

/// Kind and identity, from one `fstat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// What it is.
    pub kind: Kind,
    /// Which version of it.
    pub identity: Identity,
}

impl Metadata {
    #[allow(
        clippy::unnecessary_cast,
        clippy::cast_sign_loss,
        clippy::useless_conversion,
        trivial_numeric_casts,
        reason = "the widths and signs of these fields differ between platforms"
    )]
    pub(crate) fn from_stat(stat: &Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            _ => Kind::Other,
        };
        let time = |seconds: i64, nanoseconds: u64| Timestamp {
            seconds,
            nanoseconds: u32::try_from(nanoseconds).unwrap_or(0),
        };
        Metadata {
            kind,
            identity: Identity {
                device: stat.st_dev as u64,
                inode: stat.st_ino as u64,
                length: u64::try_from(stat.st_size).unwrap_or(0),
                modified: time(stat.st_mtime as i64, stat.st_mtime_nsec as u64),
                changed: time(stat.st_ctime as i64, stat.st_ctime_nsec as u64),
            },
        }
    }

    /// Of an open file; `fstat` on an open handle does not wait on local file systems.
    ///
    /// # Errors
    /// What `fstat(2)` gives.
    pub fn of(file: impl std::os::fd::AsFd) -> std::io::Result<Self> {
        Ok(Self::from_stat(&rustix::fs::fstat(file)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_is_symmetric_and_survives_extremes() {
        fn check(seconds: i64, nanoseconds: u32, other: SystemTime, expected: Duration) {
            assert_eq!(
                Timestamp {
                    seconds,
                    nanoseconds
                }
                .distance(other),
                expected
            );
        }
        let epoch = SystemTime::UNIX_EPOCH;
        check(0, 0, epoch, Duration::ZERO);
        check(2, 5, epoch, Duration::new(2, 5));
        check(-2, 0, epoch, Duration::from_secs(2));
        check(
            1,
            0,
            epoch + Duration::from_millis(1500),
            Duration::from_millis(500),
        );
        check(
            -1,
            0,
            epoch - Duration::from_secs(3),
            Duration::from_secs(2),
        );
        check(i64::MAX, 0, epoch, Duration::from_nanos(u64::MAX));
        check(i64::MIN, 0, epoch, Duration::from_nanos(u64::MAX));
    }
}
