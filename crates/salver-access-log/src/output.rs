//! Where lines go: files, pipes, sockets, syslog. None of them is waited for, but a disk.

mod datagrams;
mod file;
mod pipe;
mod stream;

use std::io;
use std::os::fd::AsFd;

use rustix::io::Errno;

use crate::bell::Awaited;
use crate::outcome::Outcome;
use crate::settings::{Destination, Settings, SyslogSocket};
use datagrams::{Datagrams, Frame, Peer};
use file::LogFile;
use pipe::Pipe;
use stream::Stream;

/// The outcome of one call that writes.
fn outcome_of(result: rustix::io::Result<usize>) -> Outcome {
    match result {
        Ok(bytes) => Outcome::Taken { bytes, refused: 0 },
        Err(Errno::AGAIN) => Outcome::Full,
        Err(Errno::INTR) => Outcome::Taken {
            bytes: 0,
            refused: 0,
        },
        Err(error) => Outcome::Failed {
            error: error.into(),
            is_new: false,
        },
    }
}

/// An open destination.
#[derive(Debug)]
pub(crate) enum Output {
    File(LogFile),
    Pipe(Pipe),
    Stream(Stream),
    Datagrams(Datagrams),
}

impl Output {
    /// Opens the destination. A socket that nobody listens on yet is tried again when there are lines.
    pub(crate) fn open(settings: &Settings) -> io::Result<Output> {
        Ok(match &settings.destination {
            Destination::File(path) => Output::File(LogFile::open(path.clone())?),
            Destination::StandardOutput => Output::Pipe(Pipe::standard_output()?),
            Destination::StandardError => Output::Pipe(Pipe::standard_error()?),
            Destination::UnixStream(path) => Output::Stream(Stream::new(path)?),
            Destination::UnixDatagram(path) => {
                Output::Datagrams(Datagrams::new(Peer::unix(path)?, Frame::Line))
            }
            Destination::Syslog(syslog) => {
                let peer = match &syslog.socket {
                    SyslogSocket::Unix(path) => Peer::unix(path)?,
                    SyslogSocket::Udp(address) => Peer::Udp(*address),
                };
                Output::Datagrams(Datagrams::new(peer, Frame::of(syslog)))
            }
        })
    }

    /// Gives it whole lines, or what is left of them.
    pub(crate) fn write(&mut self, lines: &[u8]) -> Outcome {
        match self {
            Output::File(file) => file.write(lines),
            Output::Pipe(pipe) => pipe.write(lines),
            Output::Stream(stream) => stream.write(lines),
            Output::Datagrams(datagrams) => datagrams.write(lines),
        }
    }

    /// Opens the file of that name anew; true if it did, so that what is written next must not begin in the
    /// midst of a line. The old one stays if that fails. Only files are opened anew.
    pub(crate) fn reopen(&mut self) -> io::Result<bool> {
        match self {
            Output::File(file) => file.reopen().map(|()| true),
            _ => Ok(false),
        }
    }

    /// The descriptor to wait for when it is full.
    pub(crate) fn awaited(&self) -> Option<Awaited<'_>> {
        match self {
            Output::File(file) => Some(file.as_fd()),
            Output::Pipe(pipe) => Some(pipe.as_fd()),
            Output::Stream(stream) => stream.descriptor(),
            Output::Datagrams(datagrams) => datagrams.descriptor(),
        }
    }
}

#[cfg(test)]
mod tests;
