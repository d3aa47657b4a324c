//! A file that lines are appended to.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::outcome_of;
use crate::outcome::Outcome;

/// A file that lines are appended to, or a named pipe or terminal.
#[derive(Debug)]
pub(crate) struct LogFile {
    path: PathBuf,
    file: OwnedFd,
}

impl LogFile {
    pub(super) fn open(path: PathBuf) -> io::Result<LogFile> {
        let file = open(&path)?;
        Ok(LogFile { path, file })
    }

    pub(super) fn reopen(&mut self) -> io::Result<()> {
        self.file = open(&self.path)?;
        Ok(())
    }

    pub(super) fn write(&mut self, lines: &[u8]) -> Outcome {
        outcome_of(rustix::io::write(&self.file, lines))
    }
}

impl AsFd for LogFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn open(path: &Path) -> io::Result<OwnedFd> {
    // A pipe that nobody reads is an error, and one that is full is not waited for; a file knows no waiting.
    let flags = OFlags::WRONLY
        | OFlags::APPEND
        | OFlags::CREATE
        | OFlags::CLOEXEC
        | OFlags::NOCTTY
        | OFlags::NONBLOCK;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP;
    Ok(rustix::fs::open(path, flags, mode)?)
}
