//! The names in a directory, by the kernel's own call (`getdents64(2)`).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// The bytes that the kernel is given for entries.
const BUFFER: usize = 32 * 1024;

/// Calls `take` with each name in an open directory, `.` and `..` too, in no order, until it returns false.
pub(crate) fn each_name(directory: OwnedFd, mut take: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    let mut buffer = vec![0_u8; BUFFER];
    loop {
        // SAFETY: the pointer is to as many live bytes as the call may write, and the descriptor is open while it is
        // owned.
        let filled = unsafe {
            libc::syscall(
                libc::SYS_getdents64,
                directory.as_raw_fd(),
                buffer.as_mut_ptr(),
                buffer.len(),
            )
        };
        let Ok(filled) = usize::try_from(filled) else {
            match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => continue,
                // It was removed meanwhile.
                error if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                error => return Err(error),
            }
        };
        if filled == 0 {
            return Ok(());
        }
        let mut entries = buffer.get(..filled).unwrap_or_default();
        while let Some((name, rest)) = first_name(entries) {
            if !take(name) {
                return Ok(());
            }
            entries = rest;
        }
    }
}

/// The name of the first entry, and the entries after it. An entry (`struct linux_dirent64`) has its length in two bytes
/// from the sixteenth, then one for its type, then the name up to a NUL.
fn first_name(entries: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = entries.get(16..)?.first_chunk()?;
    let length = usize::from(u16::from_ne_bytes(*length));
    let (entry, rest) = entries.split_at_checked(length)?;
    let name = entry.get(19..)?.split(|&byte| byte == 0).next()?;
    Some((name, rest))
}
