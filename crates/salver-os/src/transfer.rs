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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

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
