//! The byte stream of a connection: TCP, or TLS over TCP.

use std::task::Context;

use salver_assets::strategy::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::memory_budget::Account;

/// A stream of bytes over one TCP connection.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Unpin + 'static {
    /// The way that bytes go: by the kernel from a file, or through the process.
    const TRANSPORT: Transport;

    /// The TCP connection beneath. Nothing is to be read from it or written to it directly unless
    /// the kernel can send from files into the stream.
    fn tcp(&self) -> &TcpStream;

    /// The host that the client has named in its TLS handshake, empty if none; `None` without TLS.
    fn server_name(&self) -> Option<&str> {
        None
    }

    /// Limits the bytes that the stream itself holds for sending to the connection's room; returns the limit.
    fn limit_buffer(&mut self, _account: &Account) -> usize {
        0
    }

    /// Announces the end of the stream, if the protocol can and the socket takes that at once. Only between answers:
    /// an answer that is cut short must not look whole.
    fn announce_end(&mut self, _context: &mut Context<'_>) {}
}

impl ByteStream for TcpStream {
    const TRANSPORT: Transport = Transport::KernelSends;

    fn tcp(&self) -> &TcpStream {
        self
    }
}
