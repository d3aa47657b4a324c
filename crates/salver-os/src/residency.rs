//! The residency of byte ranges in the page cache: whether reading them waits for a disk.

use std::fs::File;
use std::io;
use std::ops::Range;

/// The residency of a range, told without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residency {
    /// Every page is in memory and has been read (as far as can be told: pages may leave at any
    /// moment).
    Resident,
    /// At least one page is not in memory or still being read, or the kernel does not tell.
    Cold,
}

/// The distance of probes where nothing else is known, in bytes: the least that kernels read ahead, so
/// that what is in memory is there in runs of such a length.
const PROBE_EVERY: usize = 16 * 1024;

/// The distance of probes where no page is missing, so that only reads under way have to be found:
/// these go in order, and disks work at them in pieces of at least such a length.
const PROBE_PRESENT_EVERY: usize = 64 * 1024;

/// Asks the kernel about `range` of `file`; an empty range is resident.
///
/// A page is in the page cache from the moment when somebody begins to read it, and whoever touches it
/// before it has come waits for the disk. So no count of pages is an answer: only a read that must not
/// wait (`preadv2(RWF_NOWAIT)`) tells what has come. Reading one byte of each page costs as much as
/// sending them. Therefore `cachestat(2)` (Linux 6.5, for who owns the file or may write to it) says
/// first whether a page is missing, to the page and without beginning to read it; if none is, the
/// first byte of every 64 KiB and the last of all are probed. Where it cannot be asked that is done every
/// 16 KiB, so that a smaller hole can be missed. Either way a smaller read under way is missed if
/// what surrounds it has come: then one such read is waited for, and no more.
///
/// For 256 KiB (Linux 6.18, a virtual machine): `cachestat` 2.5 us, with these probes 4.8 us, every
/// 16 KiB 8 us, each page 30 us; `mincore(2)`, which is exact but gives wrong answers to others than
/// the owner, 6 us with a mapping that is kept, 10 us with one that is not.
///
/// A probe begins to read where a page is missing or marked for reading ahead, and waits if the disk's queue is full:
/// see [`is_cached`].
///
/// Elsewhere, and on file systems that cannot tell, everything is cold.
pub fn residency(file: &File, range: &Range<u64>) -> Residency {
    if range.is_empty() {
        return Residency::Resident;
    }
    let apart = match is_cached(file, range) {
        Some(false) => return Residency::Cold,
        Some(true) => PROBE_PRESENT_EVERY,
        None => PROBE_EVERY,
    };
    let mut byte = [0u8; 1];
    let last = range.end.saturating_sub(1);
    let mut probes = (range.start..last).step_by(apart).chain([last]);
    if probes.all(|offset| matches!(read_resident(file, &mut byte, offset), Ok(1))) {
        Residency::Resident
    } else {
        Residency::Cold
    }
}

/// The presence of every page of a range in the page cache, those that are still being read included; `None` if the
/// kernel does not tell.
///
/// Unlike [`residency()`] it touches no page. Whoever touches one that the kernel has marked has it read ahead, and
/// waits for room in the disk's queue, even if it must not wait for the page (`RWF_NOWAIT`, `sendfile`). The mark is
/// no further from the end of what is present than the kernel reads ahead: a range that is followed by as much has
/// none.
#[cfg(target_os = "linux")]
pub fn is_cached(file: &File, range: &Range<u64>) -> Option<bool> {
    use std::os::fd::AsRawFd;

    /// The number of the call on every architecture that got its numbers after 2019.
    const SYS_CACHESTAT: libc::c_long = 451;

    #[repr(C)]
    struct CachestatRange {
        offset: u64,
        length: u64,
    }

    #[repr(C)]
    #[derive(Default)]
    struct Cachestat {
        cached: u64,
        dirty: u64,
        writeback: u64,
        evicted: u64,
        recently_evicted: u64,
    }

    let page = page_size()?;
    let asked = CachestatRange {
        offset: range.start,
        length: range.end - range.start,
    };
    let mut answer = Cachestat::default();
    // SAFETY: both pointers are to live values of the layout that the call expects
    // (linux/mman.h), it writes only to the second, and the descriptor is open.
    let result = unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            file.as_raw_fd(),
            std::ptr::from_ref(&asked),
            std::ptr::from_mut(&mut answer),
            0,
        )
    };
    let pages = (range.end - 1) / page - range.start / page + 1;
    (result == 0).then_some(answer.cached >= pages)
}

/// The page size from libc, which was told by the kernel at the start.
#[cfg(target_os = "linux")]
fn page_size() -> Option<u64> {
    // SAFETY: the call takes no pointer and answers from what libc knows.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).ok().filter(|&size| size > 0)
}

/// `None`: only Linux tells without touching a page.
#[cfg(not(target_os = "linux"))]
pub fn is_cached(_file: &File, _range: &Range<u64>) -> Option<bool> {
    None
}

/// Reads what is in memory already, at most `buffer.len()` bytes from `offset`; 0 is end of file.
///
/// # Errors
/// `WouldBlock` if the first byte would have to be waited for, or if the file system cannot tell.
pub fn read_resident(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsFd;
        let read = crate::file_calls::read_without_waiting(file.as_fd(), buffer, offset);
        read.map_err(|error| match error.raw_os_error() {
            Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EINTR) => {
                io::Error::from_raw_os_error(libc::EAGAIN)
            }
            _ => error,
        })
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, buffer, offset);
        Err(io::ErrorKind::WouldBlock.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[cfg(target_os = "linux")]
    #[test]
    fn what_was_just_written_is_resident_and_a_hole_is_not() {
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&[7; 10_000]).unwrap();
        assert_eq!(residency(&file, &(0..10_000)), Residency::Resident);
        assert_eq!(residency(&file, &(9_999..10_000)), Residency::Resident);
        assert_eq!(residency(&file, &(5..5)), Residency::Resident);
        file.set_len(1 << 30).unwrap();
        assert_eq!(residency(&file, &(0..1 << 30)), Residency::Cold);
        assert_eq!(
            residency(&file, &(1 << 29..(1 << 29) + 4096)),
            Residency::Cold
        );
    }

    #[test]
    fn reads_what_is_there() {
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(b"0123456789").unwrap();
        let mut buffer = [0; 4];
        match read_resident(&file, &mut buffer, 3) {
            Ok(count) => assert_eq!(buffer.get(..count).unwrap(), &b"3456"[..count]),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
        }
    }
}
