//! What a connection's bytes travel on: TCP as it is, or TLS over it.

use salver_assets::strategy::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// A stream of bytes over one TCP connection.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + 'static {
    /// Whether the kernel can send from a file into it.
    const TRANSPORT: Transport;

    /// The TCP connection beneath. Nothing is to be read from it or written to it directly unless
    /// the kernel can send from files into the stream.
    fn tcp(&self) -> &TcpStream;
}

impl Stream for TcpStream {
    const TRANSPORT: Transport = Transport::KernelSends;

    fn tcp(&self) -> &TcpStream {
        self
    }
}
