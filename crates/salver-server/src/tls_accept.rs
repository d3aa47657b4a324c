//! The TLS handshake of a connection, within bounds, and the stream that comes of it.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Context;
use std::time::Instant;

use rustls::server::Acceptor;
use salver_access_log::Protocol;
use salver_assets::strategy::Transport;
use salver_http1::request_method;
use salver_tls::{NOT_TLS, PEEKED, TcpHandshakes, is_http};
use tokio::io::AsyncWrite as _;
use tokio::net::TcpStream;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use crate::access_log::ConnectionLog;
use crate::byte_stream::ByteStream;
use crate::context::WorkerContext;
use crate::dispatch::error_plan;
use crate::memory_budget::Account;
use crate::seats::Seat;
use crate::single_response::end_with_response;
use crate::versions::Versions;

/// The bytes that TLS may hold encrypted until the socket takes them: four records.
const SEALED: usize = 64 * 1024;

/// Makes the handshake; with the stream the versions of HTTP that may follow. `None` if it fails, takes
/// longer than the head of a request may, or the server is about to end. A failed one is the client's
/// affair: it is told by an alert (RFC 8446 section 6.2).
pub(crate) async fn accept(
    handshakes: &TcpHandshakes,
    context: &Rc<WorkerContext>,
    stream: TcpStream,
    seat: &Seat,
) -> Option<(TlsStream<TcpStream>, Versions)> {
    let time = context.common.settings.header_timeout;
    let now = Instant::now();
    let deadline = context.deadlines.add(now + time);
    deadline.set_waiting(now + time, now);
    let goes_on = || !context.ends_idle();
    let mut first = [0; PEEKED];
    let count = deadline.bound(stream.peek(&mut first), goes_on).await?;
    let first = first.get(..count.ok()?)?;
    if is_http(first) {
        let plan = error_plan(400, NOT_TLS, request_method(first));
        let log = ConnectionLog::new(context.log.as_ref(), seat.address);
        let record = log.map(|log| log.unread(Protocol::Http11, b""));
        end_with_response(context, &deadline, stream, &plan, record).await;
        return None;
    }
    let handshake = async {
        let start = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
        // The most costly part follows.
        context.turns.wait(seat.client).await;
        let config = handshakes.of(&start.client_hello());
        start.into_stream(config).await
    };
    match deadline.bound(Box::pin(handshake), goes_on).await {
        Some(Ok(stream)) => {
            let versions = match stream.get_ref().1.alpn_protocol() {
                Some(b"h2") => Versions::Http2,
                Some(_) => Versions::Http1,
                // Without ALPN any version that is served here may follow.
                None => context.common.settings.versions(),
            };
            Some((stream, versions))
        }
        Some(Err(error)) => {
            tracing::debug!("a TLS handshake failed: {error}");
            None
        }
        None => {
            tracing::debug!("a TLS handshake took too long: {}", io::ErrorKind::TimedOut);
            None
        }
    }
}

impl ByteStream for TlsStream<TcpStream> {
    const TRANSPORT: Transport = Transport::PassesThrough;

    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }

    fn server_name(&self) -> Option<&str> {
        Some(self.get_ref().1.server_name().unwrap_or_default())
    }

    fn limit_buffer(&mut self, account: &Account) -> usize {
        let limit = account.room_up_to(SEALED);
        self.get_mut().1.set_buffer_limit(Some(limit));
        limit
    }

    /// `close_notify` (RFC 8446 section 6.1).
    fn announce_end(&mut self, context: &mut Context<'_>) {
        self.get_mut().1.send_close_notify();
        let _ = Pin::new(self).poll_flush(context);
    }
}
