//! Lingering: the end of a connection over TCP after its last answer (RFC 9112 section 9.6).

use std::task::Poll;
use std::time::{Duration, Instant};

use std::pin::Pin;
use tokio::io::{AsyncWriteExt, ReadBuf};

use crate::byte_stream::ByteStream;
use crate::wire::Wire;

/// The time that a peer has to read the last answer before the connection is dropped.
const LINGER: Duration = Duration::from_secs(2);

/// Shuts down the sending side, and discards input until the peer ends its side: to close at once would destroy the
/// last answer on its way (RFC 9112 section 9.6).
pub(crate) async fn linger<S: ByteStream>(wire: Wire<S>) {
    let Wire {
        shared,
        mut stream,
        deadline,
        ..
    } = wire;
    deadline.set(Instant::now() + LINGER);
    // Over TLS there is an alert to send first, for which there may be no room.
    let told = deadline.bound(stream.shutdown(), || true).await;
    if !matches!(told, Some(Ok(()))) {
        return;
    }
    std::future::poll_fn(|context| {
        deadline.register(context);
        let mut scratch = shared.scratch.borrow_mut();
        loop {
            if deadline.has_passed(shared.clock.now().instant) {
                return Poll::Ready(());
            }
            let mut buffer = ReadBuf::new(&mut scratch.input);
            match Pin::new(&mut stream).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {}
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    })
    .await;
}
