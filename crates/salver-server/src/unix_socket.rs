//! Unix sockets: connections of this machine alone, which are served like those without TLS over TCP.

use std::fs;
use std::io;
use std::net::TcpStream as StdTcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};

use tokio::net::{TcpStream, UnixListener};

use crate::inherited_sockets::InheritedSockets;
use crate::listener::BindError;

/// A Unix socket that is listened on. Its file goes with it, unless another process listens on it as well.
#[derive(Debug)]
pub(crate) struct UnixSocket {
    // Before its file, which is dropped when nobody listens here.
    listener: StdListener,
    file: SocketFile,
}

/// The file of a socket; removed when dropped, unless somebody listens on it or another has taken its place.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    /// Its device and number.
    identity: Option<(u64, u64)>,
}

impl SocketFile {
    fn at(path: &Path) -> Self {
        SocketFile {
            identity: identity(path),
            path: path.to_owned(),
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_same = self.identity.is_some() && identity(&self.path) == self.identity;
        if is_same && salver_os::is_abandoned(&self.path) {
            // There is nobody to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl UnixSocket {
    /// Takes over the sockets at these paths, and binds those that are not inherited.
    ///
    /// # Errors
    /// That of the first path at which there can be none.
    pub(crate) fn bind_all(
        paths: &[PathBuf],
        inherited: &mut InheritedSockets,
    ) -> Result<Vec<Self>, BindError> {
        let mut bind = |path: &Path| {
            let given = inherited.take_unix(path)?;
            let listener = given.map_or_else(|| salver_os::listen_unix(path), Ok)?;
            let file = SocketFile::at(path);
            Ok(UnixSocket { listener, file })
        };
        let all = paths.iter();
        let all = all.map(|path| bind(path).map_err(|error| BindError::at_path(path, error)));
        all.collect()
    }

    /// The socket for the loop of this thread.
    pub(crate) fn on_loop(self) -> io::Result<LoopSocket> {
        Ok(LoopSocket {
            listener: UnixListener::from_std(self.listener)?,
            file: self.file,
        })
    }
}

/// A Unix socket of a loop.
pub(crate) struct LoopSocket {
    // Before its file, which is dropped when nobody listens here.
    listener: UnixListener,
    file: SocketFile,
}

impl LoopSocket {
    /// A duplicate of the socket, for another process, and its path.
    pub(crate) fn duplicate(&self) -> io::Result<(PathBuf, StdListener)> {
        let socket = self.listener.as_fd().try_clone_to_owned()?;
        Ok((self.file.path.clone(), socket.into()))
    }

    /// The next connection. It comes as one of TCP: all that is done with those is reading, writing, sending from
    /// files and setting options, which any stream socket can do or refuses by an error that is expected of those too.
    /// The one thing that it has not is the address of its peer.
    pub(crate) async fn accept(&self) -> io::Result<TcpStream> {
        let (stream, _) = self.listener.accept().await?;
        let stream = OwnedFd::from(stream.into_std()?);
        TcpStream::from_std(StdTcpStream::from(stream))
    }
}
