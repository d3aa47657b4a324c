//! Unix sockets that are listened on.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;

use socket2::{Domain, SockAddr, Socket, Type};

/// Connections that the kernel holds until they are accepted.
const BACKLOG: i32 = 1024;

/// The rights to a Unix socket: its owner alone may connect.
const OWNER_ALONE: u32 = 0o600;

/// A non-blocking listener at a path, to which its owner alone may connect. A socket that nobody listens on any more
/// is replaced.
///
/// # Errors
/// `AddrInUse` if somebody listens there, or it is no socket; and what else `bind(2)` gives.
pub fn listen_unix(path: &Path) -> io::Result<UnixListener> {
    let address = SockAddr::unix(path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    match socket.bind(&address) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_abandoned(path) => {
            fs::remove_file(path)?;
            socket.bind(&address)?;
        }
        bound => bound?,
    }
    // Before it listens: until then nobody can connect.
    fs::set_permissions(path, Permissions::from_mode(OWNER_ALONE))?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// True if there is a socket at the path that nobody listens on, in this process or another.
pub fn is_abandoned(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    let connect = || {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        // A queue that is full is somebody's.
        socket.set_nonblocking(true)?;
        socket.connect(&SockAddr::unix(path)?)
    };
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    is_socket && connect().is_err_and(refused)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_unix_socket_is_its_owners_and_replaces_one_that_was_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let first = listen_unix(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let taken = listen_unix(&path).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        assert!(!is_abandoned(&path));
        drop(first);
        assert!(is_abandoned(&path));
        let _second = listen_unix(&path).unwrap();
        assert!(UnixStream::connect(&path).is_ok());
        let file = folder.path().join("file");
        fs::write(&file, "kept").unwrap();
        let taken = listen_unix(&file).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        assert_eq!(fs::read(&file).unwrap(), b"kept");
    }
}
