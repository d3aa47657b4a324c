//! The calls that only Linux has. Those that libc has for newer systems alone are made by their numbers.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libc::{c_int, c_long, c_uint, c_ulong};

use super::{At, c_path, checked, error, number};

/// The flag for files of more than 2 GiB, by its number: libc has 0 for it where it says it by itself, and `openat2`
/// takes no flag for granted. `None` where the number is not known: then there is no `openat2`.
const LARGE: Option<c_int> = if cfg!(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "riscv32",
    target_arch = "riscv64",
    target_arch = "loongarch64",
    target_arch = "s390x",
)) {
    Some(0o100_000)
} else if cfg!(any(target_arch = "arm", target_arch = "aarch64")) {
    Some(0o400_000)
} else if cfg!(any(target_arch = "powerpc", target_arch = "powerpc64")) {
    Some(0o200_000)
} else {
    None
};

/// The descriptor that a call has opened.
fn opened(result: c_long) -> io::Result<OwnedFd> {
    // Only -1 is negative, and no number of a descriptor is larger than an int.
    let descriptor = c_int::try_from(result).map_err(|_| error(libc::EBADF))?;
    let descriptor = checked(descriptor)?;
    // SAFETY: the call has just opened it, and nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Opens what is at a path, resolved as `resolve` says (`openat2(2)`). The flags create nothing.
pub(crate) fn open_resolved(
    at: At<'_>,
    path: &[u8],
    flags: c_int,
    resolve: u64,
) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct OpenHow {
        flags: u64,
        mode: u64,
        resolve: u64,
    }

    let path = c_path(path)?;
    let large = LARGE.ok_or_else(|| error(libc::ENOSYS))?;
    // What only names a file takes no other flags.
    let flags = match flags & libc::O_PATH {
        0 => flags | large,
        _ => flags,
    };
    let how = OpenHow {
        flags: u64::try_from(flags).map_err(|_| error(libc::EINVAL))?,
        mode: 0,
        resolve,
    };
    // SAFETY: the first pointer is to a string that ends with a NUL, the second to a value of the layout and length that
    // the call expects (linux/openat2.h); it writes through neither. The directory is open while it is borrowed.
    let result = unsafe {
        libc::syscall(
            libc::SYS_openat2,
            number(at),
            path.as_ptr(),
            &raw const how,
            std::mem::size_of::<OpenHow>(),
        )
    };
    opened(result)
}

/// The metadata of an open file that are known without asking a file server (`statx(2)`).
pub(crate) fn statx(file: BorrowedFd<'_>, mask: c_uint) -> io::Result<libc::statx> {
    let flags = libc::AT_EMPTY_PATH | libc::AT_STATX_DONT_SYNC;
    let mut known = MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: the first pointer is to a string that ends with a NUL, the second is valid for the value that the call
    // writes, of which every bit pattern is one; the descriptor is open while it is borrowed.
    unsafe {
        let result = libc::syscall(
            libc::SYS_statx,
            file.as_raw_fd(),
            c"".as_ptr(),
            flags,
            mask,
            known.as_mut_ptr(),
        );
        match result {
            0 => Ok(known.assume_init()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// The type of the file system that a file is in (`fstatfs(2)`), of which 32 bits count.
#[allow(
    clippy::cast_sign_loss,
    clippy::unnecessary_cast,
    reason = "the type of this field differs between platforms"
)]
pub(crate) fn file_system_type(file: BorrowedFd<'_>) -> io::Result<u64> {
    let mut system = MaybeUninit::<libc::statfs64>::zeroed();
    // SAFETY: the pointer is valid for the value that the call writes, of which every bit pattern is one; the
    // descriptor is open while it is borrowed.
    let system = unsafe {
        checked(libc::fstatfs64(file.as_raw_fd(), system.as_mut_ptr()))?;
        system.assume_init()
    };
    Ok(system.f_type as u64 & 0xFFFF_FFFF)
}

/// Reads what need not be waited for (`preadv2(2)` with `RWF_NOWAIT`).
pub(crate) fn read_without_waiting(
    file: BorrowedFd<'_>,
    buffer: &mut [u8],
    offset: u64,
) -> io::Result<usize> {
    let slice = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // As long as the kernel takes it: what a shorter number leaves of the register is anything.
    let slices: c_ulong = 1;
    let (low, high) = halves(offset);
    // SAFETY: the pointer is to one slice, and that to as many live bytes as the call may write; the descriptor is
    // open while it is borrowed.
    let count = unsafe {
        libc::syscall(
            libc::SYS_preadv2,
            file.as_raw_fd(),
            &raw const slice,
            slices,
            low,
            high,
            libc::RWF_NOWAIT,
        )
    };
    // Only -1 is negative.
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// An offset as the kernel takes it: in two numbers where one is too short, else in the first, and the second counts for
/// nothing.
#[cfg(target_pointer_width = "64")]
fn halves(offset: u64) -> (c_long, c_long) {
    (c_long::from_ne_bytes(offset.to_ne_bytes()), 0)
}

#[cfg(target_pointer_width = "32")]
fn halves(offset: u64) -> (c_long, c_long) {
    let half = |bits: u64| {
        let bits = u32::try_from(bits & 0xFFFF_FFFF).unwrap_or(0);
        c_long::from_ne_bytes(bits.to_ne_bytes())
    };
    (half(offset), half(offset >> 32))
}

/// A file in memory (`memfd_create(2)`).
pub(crate) fn memfd(name: &CStr, flags: c_uint) -> io::Result<OwnedFd> {
    // SAFETY: the pointer is to a string that ends with a NUL, and the call keeps nothing of it.
    opened(unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), flags) })
}

/// Forbids changes of a file in memory (`F_ADD_SEALS`, fcntl(2)).
pub(crate) fn seal(file: BorrowedFd<'_>, seals: c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open while it is borrowed, and the command takes a number.
    checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_file_beyond_two_gigabytes_is_opened_and_read_at_its_end() {
        const FAR: u64 = 5 << 30;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("large");
        let mut file = std::fs::File::create(&path).unwrap();
        file.set_len(FAR).unwrap();
        std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(FAR)).unwrap();
        file.write_all(b"end").unwrap();
        let handle = std::fs::File::open(directory.path()).unwrap();
        let at = Some(handle.as_fd());
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        let opened = match open_resolved(at, b"large", flags, libc::RESOLVE_BENEATH) {
            Ok(opened) => opened,
            // A kernel or a sandbox without the call.
            Err(error) => {
                let lacks = [libc::ENOSYS, libc::EPERM].map(Some);
                assert!(lacks.contains(&error.raw_os_error()), "{error}");
                return;
            }
        };
        let known = statx(opened.as_fd(), libc::STATX_BASIC_STATS).unwrap();
        assert_eq!(known.stx_size, FAR + 3);
        let mut buffer = [0; 8];
        match read_without_waiting(opened.as_fd(), &mut buffer, FAR) {
            Ok(count) => assert_eq!(&buffer[..count], b"end"),
            // A file system that cannot tell.
            Err(error) => {
                let cannot = [libc::EOPNOTSUPP, libc::EAGAIN].map(Some);
                assert!(cannot.contains(&error.raw_os_error()), "{error}");
            }
        }
    }

    #[test]
    fn offsets_are_whole() {
        let check = |offset: u64| {
            let (low, high) = halves(offset);
            let bits = c_long::BITS;
            let part = |half: c_long| {
                let bytes = half.to_ne_bytes();
                bytes
                    .iter()
                    .rev()
                    .fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte))
            };
            let whole = part(low) | part(high).checked_shl(bits).unwrap_or(0);
            assert_eq!(whole, offset);
        };
        for offset in [0, 1, 0xFFFF_FFFF, 1 << 32, 5 << 30, u64::MAX >> 1] {
            check(offset);
        }
    }
}
