//! The header of the PROXY protocol at the beginning of a connection, read from the socket.

use std::io;
use std::net::IpAddr;

use salver_forwarded::{HEADER_AT_MOST, Progress, ProxyHeader, read};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// Reads the header, and nothing behind it; returns the client that it names, `None` if that is the peer itself.
///
/// # Errors
/// The socket's; `InvalidData` if the connection does not begin with a header, `UnexpectedEof` if it ends within.
pub(crate) async fn read_proxy_header(stream: &mut TcpStream) -> io::Result<Option<IpAddr>> {
    let mut header = Vec::new();
    let mut peeked = vec![0; HEADER_AT_MOST];
    loop {
        let count = stream.peek(&mut peeked).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let known = header.len();
        header.extend_from_slice(peeked.get(..count).unwrap_or_default());
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let (end, named) = match read(&header).map_err(invalid)? {
            // All of it belongs to the header.
            Progress::Incomplete => (header.len(), None),
            Progress::Complete { header, length } => (length, Some(header)),
        };
        let taken = end.saturating_sub(known);
        let taken = peeked.get_mut(..taken).unwrap_or_default();
        stream.read_exact(taken).await?;
        match named {
            None => {}
            Some(ProxyHeader::Unnamed) => return Ok(None),
            Some(ProxyHeader::Proxied { source, .. }) => return Ok(Some(source.ip())),
        }
    }
}
