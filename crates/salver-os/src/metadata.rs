//! The metadata of files, reduced to what identifies one version of a file.

use std::time::{Duration, SystemTime};

#[cfg_attr(unix, path = "metadata/unix.rs")]
#[cfg_attr(windows, path = "metadata/windows.rs")]
mod system;

mod file_clock;

/// A file time: whole seconds since 1970 (negative before it) and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp {
    /// The seconds since 1970-01-01T00:00:00Z.
    pub seconds: i64,
    /// The nanoseconds within the second, 0 to 999,999,999.
    pub nanoseconds: u32,
}

impl Timestamp {
    /// The time of a file of which none is known: a source behind a network may tell none. No file has it, for no second has as
    /// many nanoseconds.
    pub const UNKNOWN: Timestamp = Timestamp {
        seconds: i64::MIN,
        nanoseconds: u32::MAX,
    };

    /// The distance of this time from `other`, whichever is later.
    pub fn distance(self, other: SystemTime) -> Duration {
        let at = |t: Timestamp| i128::from(t.seconds) * 1_000_000_000 + i128::from(t.nanoseconds);
        let other = match other.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => i128::try_from(after.as_nanos()).unwrap_or(i128::MAX),
            Err(before) => -i128::try_from(before.duration().as_nanos()).unwrap_or(i128::MAX),
        };
        let nanoseconds = at(self).abs_diff(other);
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }

    /// The time since then, by the clock that files get their times from: where that one is late, a file
    /// that is written now is not taken for one that rests.
    pub fn age(self) -> Duration {
        self.distance(file_clock::now())
    }
}

/// The identity of one version of a file, told from others without reading it.
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

impl Identity {
    /// True if both are of one file or directory, in whatever versions.
    pub fn is_same_file(&self, other: &Identity) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// The kind of what a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file: the only kind that has content to serve.
    File,
    /// A directory.
    Directory,
    /// A FIFO, a socket or a device.
    Other,
}

/// The attributes of a file besides its content: a change of them moves the change time, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// The number of names (hard links).
    pub links: u64,
    /// Kind and permissions.
    pub mode: u32,
    /// User.
    pub user: u32,
    /// Group.
    pub group: u32,
}

/// Kind and identity, from one `fstat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The kind of file.
    pub kind: Kind,
    /// The version of the file.
    pub identity: Identity,
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
