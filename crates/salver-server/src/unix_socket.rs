//! Unix sockets: connections of this machine alone, which are served like those without TLS over TCP.

use std::fs;
use std::io;
use std::net::TcpStream as StdTcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};

use tokio::net::{TcpStream, UnixListener};

use crate::listener::BindError;

/// A Unix socket that is listened on. Its file goes with it.
#[derive(Debug)]
pub(crate) struct UnixSocket {
    listener: StdListener,
    file: SocketFile,
}

/// The file of a socket; removed when dropped, unless another has taken its place.
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
        if self.identity.is_some() && identity(&self.path) == self.identity {
            // There is nobody to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl UnixSocket {
    /// Binds a socket at each of these paths.
    ///
    /// # Errors
    /// That of the first path at which there can be none.
    pub(crate) fn bind_all(paths: &[PathBuf]) -> Result<Vec<Self>, BindError> {
        let bind = |path: &PathBuf| {
            UnixSocket::bind(path).map_err(|error| BindError::at_path(path, error))
        };
        paths.iter().map(bind).collect()
    }

    fn bind(path: &Path) -> io::Result<Self> {
        Ok(UnixSocket {
            listener: salver_os::listen_unix(path)?,
            file: SocketFile::at(path),
        })
    }

    /// The socket for the loop of this thread.
    pub(crate) fn on_loop(self) -> io::Result<LoopSocket> {
        Ok(LoopSocket {
            listener: UnixListener::from_std(self.listener)?,
            _file: self.file,
        })
    }
}

/// A Unix socket of a loop.
pub(crate) struct LoopSocket {
    listener: UnixListener,
    _file: SocketFile,
}

impl LoopSocket {
    /// The next connection. It comes as one of TCP: all that is done with those is reading, writing, sending from
    /// files and setting options, which any stream socket can do or refuses by an error that is expected of those too.
    /// The one thing that it has not is the address of its peer.
    pub(crate) async fn accept(&self) -> io::Result<TcpStream> {
        let (stream, _) = self.listener.accept().await?;
        let stream = OwnedFd::from(stream.into_std()?);
        TcpStream::from_std(StdTcpStream::from(stream))
    }
}
