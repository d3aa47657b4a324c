//! Metadata as `fstat(2)` and `statx(2)` give them.

use std::os::unix::ffi::OsStrExt;

use super::{Attributes, Identity, Kind, Metadata, Timestamp};
use crate::Patience;
use crate::file_calls::{self, Stat};

impl Kind {
    /// By the bits of a mode.
    fn of(mode: libc::mode_t) -> Self {
        match mode & libc::S_IFMT {
            libc::S_IFREG => Kind::File,
            libc::S_IFDIR => Kind::Directory,
            _ => Kind::Other,
        }
    }
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
        let time = |seconds: i64, nanoseconds: u64| Timestamp {
            seconds,
            nanoseconds: u32::try_from(nanoseconds).unwrap_or(0),
        };
        Metadata {
            kind: Kind::of(stat.st_mode),
            identity: Identity {
                device: stat.st_dev as u64,
                inode: stat.st_ino as u64,
                length: u64::try_from(stat.st_size).unwrap_or(0),
                modified: time(stat.st_mtime as i64, stat.st_mtime_nsec as u64),
                changed: time(stat.st_ctime as i64, stat.st_ctime_nsec as u64),
            },
        }
    }

    /// The metadata of an open file; `fstat` on an open handle does not wait on local file systems.
    ///
    /// # Errors
    /// What `fstat(2)` gives.
    pub fn of(file: impl std::os::fd::AsFd) -> std::io::Result<Self> {
        Ok(Self::with_attributes(file, Patience::MayWait)?.0)
    }

    /// The metadata of an open file, with its attributes; without waiting as far as the kernel knows it without
    /// asking a file server, which on local file systems is the same.
    ///
    /// # Errors
    /// What `fstat(2)` or `statx(2)` gives.
    #[allow(
        clippy::unnecessary_cast,
        clippy::useless_conversion,
        trivial_numeric_casts,
        reason = "the widths of these fields differ between platforms"
    )]
    pub fn with_attributes(
        file: impl std::os::fd::AsFd,
        patience: Patience,
    ) -> std::io::Result<(Self, Attributes)> {
        #[cfg(target_os = "linux")]
        if patience == Patience::MustNotWait {
            match file_calls::statx(file.as_fd(), libc::STATX_BASIC_STATS) {
                Ok(known) => {
                    let attributes = Attributes {
                        links: known.stx_nlink.into(),
                        mode: known.stx_mode.into(),
                        user: known.stx_uid,
                        group: known.stx_gid,
                    };
                    return Ok((Self::from_statx(&known), attributes));
                }
                // Older than Linux 4.11, or a sandbox.
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {}
                Err(error) => return Err(error),
            }
        }
        let _ = patience;
        let stat = file_calls::stat(file.as_fd())?;
        let attributes = Attributes {
            links: stat.st_nlink as u64,
            mode: stat.st_mode as u32,
            user: stat.st_uid,
            group: stat.st_gid,
        };
        Ok((Self::from_stat(&stat), attributes))
    }

    /// The metadata of what a path names; links are followed. May wait for a disk.
    ///
    /// # Errors
    /// What `stat(2)` gives.
    pub fn at(path: &std::path::Path) -> std::io::Result<Self> {
        let path = path.as_os_str().as_bytes();
        Ok(Self::from_stat(&file_calls::stat_at(None, path, 0)?))
    }

    #[cfg(target_os = "linux")]
    fn from_statx(known: &libc::statx) -> Self {
        let time = |at: &libc::statx_timestamp| Timestamp {
            seconds: at.tv_sec,
            nanoseconds: at.tv_nsec,
        };
        Metadata {
            kind: Kind::of(known.stx_mode.into()),
            identity: Identity {
                device: libc::makedev(known.stx_dev_major, known.stx_dev_minor),
                inode: known.stx_ino,
                length: known.stx_size,
                modified: time(&known.stx_mtime),
                changed: time(&known.stx_ctime),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_ask_agree() {
        for file in [
            tempfile::tempfile().unwrap(),
            std::fs::File::open("/proc/version").unwrap(),
            std::fs::File::open("/dev/null").unwrap(),
            std::fs::File::open(env!("CARGO_MANIFEST_DIR")).unwrap(),
        ] {
            let both = [Patience::MayWait, Patience::MustNotWait];
            let [one, other] = both.map(|how| Metadata::with_attributes(&file, how).unwrap());
            assert_eq!(one, other);
        }
    }

    #[test]
    fn a_path_is_what_its_links_lead_to() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("a"), directory.path().join("b"));
        std::fs::write(&file, "content").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let expected = Metadata::of(std::fs::File::open(&file).unwrap()).unwrap();
        assert_eq!(Metadata::at(&file).unwrap(), expected);
        assert_eq!(Metadata::at(&link).unwrap(), expected);
        let missing = Metadata::at(&directory.path().join("c")).unwrap_err();
        assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
    }
}
