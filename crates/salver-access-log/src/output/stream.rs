//! A Unix stream socket that somebody listens on.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::net::{
    AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, send, socket_with,
};

use super::outcome_of;
use crate::outcome::Outcome;

/// A Unix stream socket; connected when there are lines, and again after it broke.
#[derive(Debug)]
pub(crate) struct Stream {
    address: SocketAddrUnix,
    connection: Option<OwnedFd>,
}

impl Stream {
    pub(super) fn new(path: &Path) -> io::Result<Stream> {
        Ok(Stream {
            address: SocketAddrUnix::new(path)?,
            connection: None,
        })
    }

    pub(super) fn write(&mut self, lines: &[u8]) -> Outcome {
        let failed = |error: io::Error| Outcome::Failed {
            error,
            is_new: true,
        };
        let connection = match self.connection.take().map_or_else(|| self.connect(), Ok) {
            Ok(connection) => connection,
            Err(error) => return failed(error),
        };
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match outcome_of(send(&connection, lines, flags)) {
            Outcome::Failed { error, .. } => failed(error),
            outcome => {
                self.connection = Some(connection);
                outcome
            }
        }
    }

    fn connect(&self) -> io::Result<OwnedFd> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &self.address)?;
        Ok(socket)
    }

    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.connection.as_ref().map(AsFd::as_fd)
    }
}
