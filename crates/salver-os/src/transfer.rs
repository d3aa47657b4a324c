//! Sending from a file to a socket without passing through this process.

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

/// The bytes that the peer of a TCP connection has acknowledged since it began (`TCP_INFO`, tcp(7)): while
/// they become more, the peer takes something, however full the queue of the socket stays.
///
/// # Errors
/// `Unsupported` where the system does not tell; else what `getsockopt(2)` gives.
pub fn acknowledged(socket: impl AsFd) -> io::Result<u64> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        /// The offset of `tcpi_bytes_acked` in `struct tcp_info` (Linux 4.1 and later).
        const AT: usize = 120;
        let mut info = [0u8; AT + 8];
        let mut length = libc::socklen_t::try_from(info.len()).unwrap_or_default();
        // SAFETY: the call writes at most `length` bytes through the first pointer, which is to as many
        // live ones, and the length through the second; the descriptor is open while it is borrowed.
        let result = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                info.as_mut_ptr().cast(),
                std::ptr::from_mut(&mut length),
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        let told = usize::try_from(length).unwrap_or_default();
        let bytes = info.get(AT..).filter(|_| told == info.len());
        let bytes = bytes.and_then(|bytes| bytes.first_chunk());
        let bytes = bytes.ok_or(io::ErrorKind::Unsupported)?;
        Ok(u64::from_ne_bytes(*bytes))
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
    fn what_the_peer_has_taken_is_counted() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        let before = match acknowledged(&sender) {
            Ok(bytes) => bytes,
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::Unsupported);
                return;
            }
        };
        sender.write_all(&[0; 1000]).unwrap();
        receiver.read_exact(&mut [0; 1000]).unwrap();
        // What has been read is acknowledged soon, at the latest with what comes back.
        receiver.write_all(b"x").unwrap();
        sender.read_exact(&mut [0]).unwrap();
        assert_eq!(acknowledged(&sender).unwrap() - before, 1000);
        // Until neither queue has room.
        sender.set_nonblocking(true).unwrap();
        let mut sent = 0;
        while let Ok(count) = sender.write(&[0; 65536]) {
            sent += u64::try_from(count).unwrap();
        }
        assert!(acknowledged(&sender).unwrap() - before - 1000 < sent);
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
