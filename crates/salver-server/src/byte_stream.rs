//! What a connection's bytes travel on: TCP as it is, or TLS over it.

use std::pin::Pin;
use std::task::Context;

use salver_assets::strategy::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::memory_budget::Account;

/// Bytes that TLS holds encrypted until the socket takes them: four records.
const SEALED: usize = 64 * 1024;

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

impl Stream for TlsStream<TcpStream> {
    const TRANSPORT: Transport = Transport::PassesThrough;

    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }

    fn limit_buffer(&mut self, account: &Account) -> usize {
        let limit = account.room_up_to(SEALED);
        self.get_mut().1.set_buffer_limit(Some(limit));
        limit
    }

    /// `close_notify` (RFC 8446 section 6.1).
    fn farewell(&mut self, context: &mut Context<'_>) {
        self.get_mut().1.send_close_notify();
        let _ = Pin::new(self).poll_flush(context);
    }
}
