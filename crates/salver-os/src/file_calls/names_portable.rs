//! The names in a directory, where libc reads it.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{IntoRawFd, OwnedFd};
use std::ptr::{self, NonNull};

use super::error;

/// A directory that libc reads, and closes in the end.
struct Stream(NonNull<libc::DIR>);

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: it was opened by `fdopendir`, and nobody uses it after this.
        unsafe { libc::closedir(self.0.as_ptr()) };
    }
}

/// Calls `take` with each name in an open directory, `.` and `..` too, in no order, until it returns false.
pub(crate) fn each_name(directory: OwnedFd, mut take: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    let descriptor = directory.into_raw_fd();
    // SAFETY: the descriptor is open and nobody else's; libc owns it from now on.
    let Some(stream) = NonNull::new(unsafe { libc::fdopendir(descriptor) }) else {
        let error = io::Error::last_os_error();
        // SAFETY: libc has not taken it, and nobody else knows of it.
        unsafe { libc::close(descriptor) };
        return Err(error);
    };
    let stream = Stream(stream);
    loop {
        let mut entry = MaybeUninit::<libc::dirent>::zeroed();
        let mut found = ptr::null_mut();
        // SAFETY: the stream is open, and both other pointers are valid for what the call writes: an entry, and
        // whether there was one.
        let failed =
            unsafe { libc::readdir_r(stream.0.as_ptr(), entry.as_mut_ptr(), &raw mut found) };
        if failed != 0 {
            return Err(error(failed));
        }
        if found.is_null() {
            return Ok(());
        }
        // SAFETY: the call has written an entry, whose name ends with a NUL.
        let name = unsafe { CStr::from_ptr((&raw const (*found).d_name).cast()) };
        if !take(name.to_bytes()) {
            return Ok(());
        }
    }
}
