//! What a connection's bytes travel on: TCP as it is, or TLS over it.

use std::task::Context;

use salver_assets::strategy::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::memory_budget::Account;

/// A stream of bytes over one TCP connection.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + 'static {
    /// Whether the kernel can send from a file into it.
    const TRANSPORT: Transport;

    /// The TCP connection beneath. Nothing is to be read from it or written to it directly unless
    /// the kernel can send from files into the stream.
    fn tcp(&self) -> &TcpStream;

    /// Has the stream hold no more of what is to be sent than the connection has room for; how many bytes
    /// that can be.
    fn limit_buffer(&mut self, _account: &Account) -> usize {
        0
    }

    /// Says that the end is meant, as far as the stream has words for that and the socket takes
    /// them at once. Only between answers: what is cut short must not look whole.
    fn farewell(&mut self, _context: &mut Context<'_>) {}
}

impl Stream for TcpStream {
    const TRANSPORT: Transport = Transport::KernelSends;

    fn tcp(&self) -> &TcpStream {
        self
    }
}
