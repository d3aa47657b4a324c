//! The bell that wakes the writer: an eventfd, so that the writer can wait for it and for outputs at once.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

/// What the writer waits for besides the bell: a descriptor that takes more.
pub(crate) type Awaited<'a> = BorrowedFd<'a>;

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
    /// Waits until it rings or one of these outputs takes more, and for `most` at the longest.
    pub(crate) fn wait<'a>(
        &self,
        outputs: impl Iterator<Item = Awaited<'a>>,
        most: Option<Duration>,
    ) {
        let most = most.and_then(|most| Timespec::try_from(most).ok());
        let outputs: Vec<BorrowedFd<'_>> = outputs.collect();
        let mut awaited = vec![PollFd::new(&self.0, PollFlags::IN)];
        let outputs = outputs.iter();
        awaited.extend(outputs.map(|output| PollFd::new(output, PollFlags::OUT)));
        // If this fails, all that is waited for is looked at, and it is tried again.
        let _ = poll(&mut awaited, most.as_ref());
    }
}
