//! From a file to a socket without passing through this process.

use std::io;
use std::os::fd::AsFd;

/// Sends up to `count` bytes of `file` from `offset` to `socket` (`sendfile(2)`); returns how many.
/// 0 means that the file ended before `offset`.
///
/// # Errors
/// `WouldBlock` when the socket is full; `Unsupported` where there is no such call for this pair:
/// read and send instead; else the socket's or the file's error.
pub fn send_file(
    socket: impl AsFd,
    file: impl AsFd,
    offset: u64,
    count: usize,
) -> io::Result<usize> {
    #[cfg(target_os = "linux")]
    {
        use rustix::io::Errno;
        let mut at = offset;
        loop {
            match rustix::fs::sendfile(&socket, &file, Some(&mut at), count) {
                Err(Errno::INTR) => {}
                Err(Errno::INVAL | Errno::NOSYS) => {
                    return Err(io::ErrorKind::Unsupported.into());
                }
                result => return Ok(result?),
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (socket, file, offset, count);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Sends bytes and says that more follow at once, so that a head leaves with its content.
///
/// # Errors
/// `WouldBlock` when the socket is full; else the socket's error.
pub fn send_more(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    use rustix::net::{SendFlags, send};
    #[cfg(target_os = "linux")]
    let flags = SendFlags::MORE | SendFlags::NOSIGNAL;
    #[cfg(not(target_os = "linux"))]
    let flags = SendFlags::empty();
    Ok(send(socket, bytes, flags)?)
}

/// Bytes in a socket's queue that its peer has not acknowledged (`SIOCOUTQ`, tcp(7)): when they
/// become fewer, the peer is taking something, though the queue may be too full for more.
///
/// # Errors
/// `Unsupported` where the system does not tell; else what `ioctl(2)` gives.
pub fn unacknowledged(socket: impl AsFd) -> io::Result<u64> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        let mut bytes: libc::c_int = 0;
        // SAFETY: the call writes one int through the pointer, which is to a live one, and the
        // descriptor is open for as long as it is borrowed.
        let result = unsafe {
            libc::ioctl(
                socket.as_fd().as_raw_fd(),
                libc::TIOCOUTQ,
                std::ptr::from_mut(&mut bytes),
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(u64::try_from(bytes).unwrap_or(0))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = socket;
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn what_the_peer_has_not_taken_is_counted() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_receiver, _) = listener.accept().unwrap();
        sender.set_nonblocking(true).unwrap();
        match unacknowledged(&sender) {
            Ok(bytes) => assert_eq!(bytes, 0),
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::Unsupported);
                return;
            }
        }
        // Until neither queue has room.
        while sender.write(&[0; 65536]).is_ok() {}
        assert!(unacknowledged(&sender).unwrap() > 0);
    }

    #[test]
    fn head_and_file_arrive_in_order() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let (sender, mut receiver) = UnixStream::pair().unwrap();
        assert_eq!(send_more(&sender, b"head:").unwrap(), 5);
        match send_file(&sender, &file, 4, 100) {
            Ok(count) => assert_eq!(count, 6),
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::Unsupported);
                return;
            }
        }
        assert_eq!(send_file(&sender, &file, 10, 100).unwrap(), 0);
        drop(sender);
        let mut text = String::new();
        receiver.read_to_string(&mut text).unwrap();
        assert_eq!(text, "head:456789");
    }
}
