//! The bell that wakes the writer: an eventfd, so that the writer can wait for it and for outputs at once.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};

/// The bell that wakes the writer. It rings until it is heard.
#[derive(Debug)]
pub(crate) struct Bell(OwnedFd);

impl Bell {
    pub(crate) fn new() -> io::Result<Bell> {
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        Ok(Bell(eventfd(0, flags)?))
    }

    /// Wakes the writer: one system call.
    pub(crate) fn ring(&self) {
        // It fails only if it has been rung 2^64 times, and then it rings.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Makes it silent again.
    pub(crate) fn hear(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
