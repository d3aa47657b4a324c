//! The locality of file systems: whether they answer from this machine alone, or may ask a server for each
//! call.
//!
//! `RESOLVE_CACHED`, `RWF_NOWAIT` and a full page cache keep a call from waiting for a disk. They
//! do not keep an `open` or `fstat` from asking the server of a network file system or the process
//! behind a FUSE mount, nor a transfer from asking whether its pages are still right. So those are
//! used on an event loop only where the file system is known to need nobody else.

use std::io;
use std::os::fd::AsFd;

use crate::Patience;

/// True if the file system of `handle` is a local one. An unknown file system is not.
///
/// An overlay counts as local although its layers may not be.
///
/// # Errors
/// `WouldBlock` if finding out could wait and must not: ask once where it may.
pub(crate) fn is_local(handle: impl AsFd, patience: Patience) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    {
        linux::is_local(handle.as_fd(), patience)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (handle, patience);
        Ok(false)
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::fd::BorrowedFd;
    use std::sync::atomic::{AtomicU64, Ordering};

    use crate::Patience;
    use crate::file_calls::{error, file_system_type, statx};

    /// `STATX_MNT_ID_UNIQUE` (Linux 6.8): a number that no later mount gets again.
    const UNIQUE_MOUNT: u32 = 0x4000;

    /// The types, by `statfs(2)`, of file systems that read a device of this machine, or its memory.
    const LOCAL: [u64; 20] = [
        0xEF53,      // ext2, ext3, ext4
        0x5846_5342, // XFS
        0x9123_683E, // Btrfs
        0xF2F5_2010, // F2FS
        0x2FC1_2FC1, // ZFS
        0xCA45_1A4E, // bcachefs
        0x0102_1994, // tmpfs
        0x8584_58F6, // ramfs
        0x794C_7630, // overlayfs
        0xE0F5_E1E2, // EROFS
        0x7371_7368, // SquashFS
        0x9660,      // ISO 9660
        0x1501_3346, // UDF
        0x4D44,      // FAT
        0x2011_BAB0, // exFAT
        0x7366_746E, // NTFS3
        0x482B,      // HFS+
        0x3153_464A, // JFS
        0x3434,      // NILFS
        0x5265_4973, // ReiserFS
    ];

    /// Mounts that are local, each in the slot that its number gives; 0 is none. One that is pushed
    /// out is found out again where that may wait.
    static KNOWN: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

    pub(super) fn is_local(handle: BorrowedFd<'_>, patience: Patience) -> io::Result<bool> {
        let mount = mount_of(handle)?;
        let slots = u64::try_from(KNOWN.len()).unwrap_or(1);
        let slot = usize::try_from(mount % slots).ok();
        let slot = slot.and_then(|slot| KNOWN.get(slot));
        if mount != 0 && slot.is_some_and(|slot| slot.load(Ordering::Relaxed) == mount) {
            return Ok(true);
        }
        if patience == Patience::MustNotWait {
            return Err(error(libc::EAGAIN));
        }
        let local = LOCAL.contains(&file_system_type(handle)?);
        if let Some(slot) = slot.filter(|_| local) {
            slot.store(mount, Ordering::Relaxed);
        }
        Ok(local)
    }

    /// The number of the mount; 0 if the kernel does not tell. Asks nobody outside of the kernel.
    fn mount_of(handle: BorrowedFd<'_>) -> io::Result<u64> {
        let known = match statx(handle, UNIQUE_MOUNT) {
            Ok(known) => known,
            Err(error) => match error.raw_os_error() {
                Some(libc::ENOSYS | libc::EPERM | libc::EINVAL) => return Ok(0),
                _ => return Err(error),
            },
        };
        Ok(match known.stx_mask & UNIQUE_MOUNT {
            // Before Linux 6.8 a number may come back after an unmount: none is better.
            0 => 0,
            _ => known.stx_mnt_id,
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::os::fd::AsFd;

        #[test]
        fn proc_is_not_local_and_what_is_is_remembered() {
            let check = |path: &str| {
                let file = std::fs::File::open(path).unwrap();
                let first = super::is_local(file.as_fd(), Patience::MayWait).unwrap();
                match super::is_local(file.as_fd(), Patience::MustNotWait) {
                    Ok(again) => assert!(again && first, "{path}"),
                    Err(error) => {
                        assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "{path}");
                        // Older kernels give no number to remember.
                        assert!(!first || mount_of(file.as_fd()).unwrap() == 0, "{path}");
                    }
                }
                first
            };
            assert!(!check("/proc"));
            check(env!("CARGO_MANIFEST_DIR"));
        }
    }
}
