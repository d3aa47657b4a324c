//! The calls about files that std lacks, by libc: names and descriptors in; values, descriptors and errors out.
//!
//! libc is in every program that has a runtime, and nothing else is needed here. What the calls mean for a server is
//! decided by those who make them.

#[cfg(target_os = "linux")]
mod linux;
#[cfg_attr(not(target_os = "linux"), path = "file_calls/names_portable.rs")]
mod names;

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libc::c_int;
#[cfg(not(target_os = "linux"))]
use libc::{fstat, fstatat};
#[cfg(target_os = "linux")]
use libc::{fstat64 as fstat, fstatat64 as fstatat};

#[cfg(target_os = "linux")]
pub(crate) use linux::{file_system_type, memfd, open_resolved, read_without_waiting, seal, statx};
pub(crate) use names::each_name;

/// The metadata that the system tells of a file, with 64 bits for a length wherever there is a choice.
#[cfg(target_os = "linux")]
pub(crate) type Stat = libc::stat64;
#[cfg(not(target_os = "linux"))]
pub(crate) type Stat = libc::stat;

/// The flag for files of more than 2 GiB, where it has to be said; 0 where libc says it.
#[cfg(target_os = "linux")]
const LARGE: c_int = libc::O_LARGEFILE;
#[cfg(not(target_os = "linux"))]
const LARGE: c_int = 0;

/// The directory from which a relative path leads on: an open one, or that of the process.
pub(crate) type At<'a> = Option<BorrowedFd<'a>>;

/// The number by which the system knows a directory.
fn number(at: At<'_>) -> c_int {
    at.map_or(libc::AT_FDCWD, |directory| directory.as_raw_fd())
}

/// A path as the system takes it.
fn c_path(path: &[u8]) -> io::Result<CString> {
    CString::new(path).map_err(|_| error(libc::EINVAL))
}

/// The error with this number.
pub(crate) fn error(number: c_int) -> io::Error {
    io::Error::from_raw_os_error(number)
}

/// True if it is the error with this number.
pub(crate) fn is(error: &io::Error, number: c_int) -> bool {
    error.raw_os_error() == Some(number)
}

/// The result of a call that says -1 where it fails, and why in `errno`.
fn checked(result: c_int) -> io::Result<c_int> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(result),
    }
}

/// Opens what is at a path (`openat(2)`). The flags create nothing.
pub(crate) fn open_at(at: At<'_>, path: &[u8], flags: c_int) -> io::Result<OwnedFd> {
    let path = c_path(path)?;
    // SAFETY: the pointer is to a string that ends with a NUL and lives through the call, which keeps nothing of it;
    // the directory is open while it is borrowed; and flags that create nothing take no further argument.
    let descriptor = checked(unsafe { libc::openat(number(at), path.as_ptr(), flags | LARGE) })?;
    // SAFETY: the call has just opened it, and nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// The metadata of an open file (`fstat(2)`).
pub(crate) fn stat(file: BorrowedFd<'_>) -> io::Result<Stat> {
    let mut stat = MaybeUninit::<Stat>::zeroed();
    // SAFETY: the pointer is valid for the value that the call writes, of which every bit pattern is one; the
    // descriptor is open while it is borrowed.
    unsafe {
        checked(fstat(file.as_raw_fd(), stat.as_mut_ptr()))?;
        Ok(stat.assume_init())
    }
}

/// The metadata of what is at a path (`fstatat(2)`).
pub(crate) fn stat_at(at: At<'_>, path: &[u8], flags: c_int) -> io::Result<Stat> {
    let path = c_path(path)?;
    let mut stat = MaybeUninit::<Stat>::zeroed();
    // SAFETY: the first pointer is to a string that ends with a NUL, the second is valid for the value that the call
    // writes, of which every bit pattern is one; the directory is open while it is borrowed.
    unsafe {
        checked(fstatat(number(at), path.as_ptr(), stat.as_mut_ptr(), flags))?;
        Ok(stat.assume_init())
    }
}

/// The target of a symbolic link (`readlinkat(2)`).
pub(crate) fn read_link_at(at: At<'_>, path: &[u8]) -> io::Result<Vec<u8>> {
    let path = c_path(path)?;
    let mut target = vec![0_u8; 256];
    loop {
        let buffer = target.as_mut_ptr().cast();
        // SAFETY: the first pointer is to a string that ends with a NUL, the second to as many live bytes as the call
        // may write; the directory is open while it is borrowed.
        let length = unsafe { libc::readlinkat(number(at), path.as_ptr(), buffer, target.len()) };
        // Only -1 is negative.
        let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
        if length < target.len() {
            target.truncate(length);
            return Ok(target);
        }
        // It may have been cut.
        target.resize(2 * target.len(), 0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn long_links_are_read_whole() {
        let directory = tempfile::tempdir().unwrap();
        let handle = std::fs::File::open(directory.path()).unwrap();
        let at = Some(handle.as_fd());
        for length in [1, 255, 256, 257, 512, 2000] {
            let target = "x".repeat(length);
            let link = directory.path().join(length.to_string());
            std::os::unix::fs::symlink(&target, &link).unwrap();
            let found = read_link_at(at, length.to_string().as_bytes()).unwrap();
            assert_eq!(found, target.as_bytes());
        }
        let missing = read_link_at(at, b"none").unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn all_names_are_told_until_nobody_wants_more() {
        let directory = tempfile::tempdir().unwrap();
        // More than one call of the system tells.
        let mut expected: Vec<_> = (0..2000).map(|n| format!("{n:0>60}")).collect();
        for name in &expected {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let names = |most: usize| {
            let handle = std::fs::File::open(directory.path()).unwrap();
            let mut names = Vec::new();
            each_name(handle.into(), |name| {
                names.push(String::from_utf8(name.to_vec()).unwrap());
                names.len() < most
            })
            .unwrap();
            names
        };
        let mut found = names(usize::MAX);
        found.sort();
        expected.extend([".".to_owned(), "..".to_owned()]);
        expected.sort();
        assert_eq!(found, expected);
        assert_eq!(names(7).len(), 7);
        let file = std::fs::File::open(directory.path().join(&expected[5])).unwrap();
        let error = each_name(file.into(), |_| true).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    }

    #[test]
    fn a_path_with_a_nul_names_nothing() {
        let wrong = |error: io::Error| assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        wrong(open_at(None, b"a\0b", libc::O_RDONLY).unwrap_err());
        wrong(stat_at(None, b"a\0b", 0).err().unwrap());
        wrong(read_link_at(None, b"a\0b").unwrap_err());
    }
}
