//! Standard output and standard error, which others may write to as well.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::pipe::PIPE_BUF;

use super::outcome_of;
use crate::outcome::Outcome;

/// A descriptor that this process shares with others, so that it cannot be set to never wait: that would hold
/// for all of them. Instead it is asked before each write, and no more is written than a pipe takes at once.
#[derive(Debug)]
pub(crate) struct Pipe {
    descriptor: OwnedFd,
    is_file: bool,
}

impl Pipe {
    pub(super) fn standard_output() -> io::Result<Pipe> {
        Pipe::new(io::stdout().as_fd().try_clone_to_owned()?)
    }

    pub(super) fn standard_error() -> io::Result<Pipe> {
        Pipe::new(io::stderr().as_fd().try_clone_to_owned()?)
    }

    pub(super) fn new(descriptor: OwnedFd) -> io::Result<Pipe> {
        let mode = fstat(&descriptor)?.st_mode;
        Ok(Pipe {
            is_file: FileType::from_raw_mode(mode) == FileType::RegularFile,
            descriptor,
        })
    }

    pub(super) fn write(&mut self, lines: &[u8]) -> Outcome {
        if self.is_file {
            return outcome_of(rustix::io::write(&self.descriptor, lines));
        }
        let mut asked = [PollFd::new(&self.descriptor, PollFlags::OUT)];
        // An error of the descriptor shows when it is written to.
        if let Ok(0) = poll(&mut asked, Some(&Timespec::default())) {
            return Outcome::Full;
        }
        outcome_of(rustix::io::write(&self.descriptor, at_once(lines)))
    }
}

impl AsFd for Pipe {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// The part that a pipe takes whole or not at all, so that what others write does not come within a line;
/// of a line that is longer, its beginning.
fn at_once(lines: &[u8]) -> &[u8] {
    let most = lines.get(..PIPE_BUF).unwrap_or(lines);
    let end = most.iter().rposition(|byte| *byte == b'\n');
    end.and_then(|end| most.get(..=end)).unwrap_or(most)
}
