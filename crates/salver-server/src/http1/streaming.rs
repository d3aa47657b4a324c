//! Answers whose content a handler streams: sent as it comes and as the client takes it, while the content of the
//! request may still be received.

use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use salver_http1::{CHUNK_END, Version, write_chunk_begin, write_last_chunk};

use super::Http1Connection;
use super::content::Fault;
use crate::access_log::bytes;
use crate::access_log::record::LogRecord;
use crate::byte_stream::ByteStream;
use crate::handler::{NextPiece, StreamedContent, TrailerLines};
use crate::send_buffer::SendBuffer;

/// The bytes of content that are sent at a time.
const PIECE: usize = 64 * 1024;

/// The bytes that an answer may send before others have their turn.
const TURN: usize = 256 * 1024;

/// The time that an answer still goes on while it has nothing to send and the client has ended its side of the
/// connection: it may have ended both.
pub(super) const HALF_CLOSED: Duration = Duration::from_secs(2);

/// The framing of an answer's content (RFC 9112 section 6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Framing {
    /// Its length stands in the head.
    Sized,
    /// The chunked transfer coding, with trailers if the client takes them.
    Chunked { trailers: bool },
    /// It ends with the connection: for a client of HTTP/1.0.
    UntilClose,
}

impl Framing {
    /// The framing of this content for a client of this version.
    pub(super) fn of(content: &StreamedContent, version: Version, takes_trailers: bool) -> Self {
        match (content.left(), version) {
            (Some(_), _) => Framing::Sized,
            (None, Version::Http11) => Framing::Chunked {
                trailers: takes_trailers,
            },
            (None, Version::Http10) => Framing::UntilClose,
        }
    }

    fn push(self, send_buffer: &mut SendBuffer, piece: &Bytes) {
        let Framing::Chunked { .. } = self else {
            return send_buffer.push_own(piece);
        };
        send_buffer.write(|buffer| write_chunk_begin(buffer, piece.len()));
        send_buffer.push_own(piece);
        send_buffer.write(|buffer| buffer.extend_from_slice(CHUNK_END));
    }

    fn end(self, send_buffer: &mut SendBuffer, trailers: Option<TrailerLines>) {
        let Framing::Chunked { trailers: takes } = self else {
            return;
        };
        let trailers = trailers.filter(|_| takes).unwrap_or_default();
        let lines = trailers.iter().map(|(name, value)| (&**name, &**value));
        send_buffer.write(|buffer| write_last_chunk(buffer, lines));
    }
}

/// A streamed answer on its way.
struct Streaming {
    /// The head, until it is sent with the first piece.
    head: SendBuffer,
    content: Box<StreamedContent>,
    framing: Framing,
    /// The bytes of content that were handed to the wire.
    sent: u64,
    /// The same in this turn, with what frames them.
    in_turn: usize,
    has_ended: bool,
    /// The time at which the client was found to have ended its side, or at which it has been sent something since.
    half_closed: Option<Instant>,
}

impl<S: ByteStream> Http1Connection<S> {
    /// Sends an answer whose content is streamed, with its head.
    ///
    /// # Errors
    /// The client is gone or takes too little, or the content did not become what the head says: the connection must
    /// end.
    pub(super) async fn send_streamed(
        &mut self,
        head: SendBuffer,
        mut content: Box<StreamedContent>,
        framing: Framing,
        record: Option<LogRecord>,
    ) -> io::Result<()> {
        content.charge_to(&self.wire.seat.account);
        let mut streaming = Streaming {
            head,
            content,
            framing,
            sent: 0,
            in_turn: 0,
            has_ended: false,
            half_closed: None,
        };
        let sent = loop {
            match poll_fn(|context| self.poll_streaming(context, &mut streaming)).await {
                Ok(()) if streaming.has_ended => break Ok(()),
                Ok(()) => {}
                Err(error) => break Err(error),
            }
            // Even if the socket takes everything at once others have their turn.
            tokio::task::yield_now().await;
            let turns = Rc::clone(&self.wire.shared.turns);
            turns.wait_for_window(self.wire.seat.client).await;
            streaming.in_turn = 0;
            self.wire.limit_buffer();
        };
        if let (Some(mut record), Some(log)) = (record, &self.wire.log) {
            record.add_sent(streaming.sent);
            log.queue_ended(record, self.wire.unsent());
        }
        sent
    }

    /// Sends pieces until the turn of the answer or its content has ended.
    fn poll_streaming(
        &mut self,
        context: &mut Context<'_>,
        streaming: &mut Streaming,
    ) -> Poll<io::Result<()>> {
        self.wire.deadline.register(context);
        loop {
            let flushed = self.wire.poll_flush(context)?;
            if streaming.half_closed.is_none() {
                let has_ended = self.receive_meanwhile(context).map_err(Fault::into_error)?;
                // In another protocol an end of one side is not that of the other.
                let is_half = has_ended && !self.is_upgraded();
                streaming.half_closed = is_half.then(Instant::now);
            }
            if flushed.is_pending() {
                return Poll::Pending;
            }
            if streaming.has_ended || streaming.in_turn >= TURN {
                return Poll::Ready(Ok(()));
            }
            if self.wire.shared.superseded.get() {
                self.renew();
            }
            let shared = Rc::clone(&self.wire.shared);
            let mut scratch = shared.scratch.borrow_mut();
            let send_buffer = &mut scratch.send_buffer;
            // Empty, unless a connection's task has panicked, whose answers are dropped.
            send_buffer.clear();
            if !streaming.head.is_empty() {
                std::mem::swap(send_buffer, &mut streaming.head);
                streaming.head = SendBuffer::default();
            }
            let most = self.wire.seat.account.room_up_to(PIECE);
            let failed = streaming.fill(context, send_buffer, most).err();
            if !send_buffer.is_empty() {
                streaming.in_turn += send_buffer.left();
                streaming.half_closed = streaming.half_closed.map(|_| Instant::now());
                if let Poll::Ready(Err(error)) = self.wire.send(context, send_buffer) {
                    return Poll::Ready(Err(error));
                }
            } else if failed.is_none() && !streaming.has_ended {
                drop(scratch);
                return self.wait_for_content(context, streaming);
            }
            if let Some(error) = failed {
                return Poll::Ready(Err(error));
            }
        }
    }

    /// Waits for the next piece, unless the client has left meanwhile.
    fn wait_for_content(
        &mut self,
        context: &mut Context<'_>,
        streaming: &Streaming,
    ) -> Poll<io::Result<()>> {
        let now = Instant::now();
        let deadline = &self.wire.deadline;
        deadline.set(now + self.wire.shared.common.settings.idle_timeout);
        if let Some(since) = streaming.half_closed {
            if now.saturating_duration_since(since) >= HALF_CLOSED {
                return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
            }
            deadline.set(since + HALF_CLOSED);
        }
        deadline.set_busy();
        self.check_content(context).map_err(Fault::into_error)?;
        Poll::Pending
    }
}

impl Streaming {
    /// Appends the pieces that are there, up to about `most` bytes.
    ///
    /// # Errors
    /// The content cannot become what the head says. What was appended before is still to be sent.
    fn fill(
        &mut self,
        context: &mut Context<'_>,
        send_buffer: &mut SendBuffer,
        most: usize,
    ) -> io::Result<()> {
        while !self.has_ended && send_buffer.left() < most {
            if self.framing == Framing::Sized && self.content.is_complete() {
                // The client has all of it, whenever the body ends.
                self.has_ended = true;
                break;
            }
            match self.content.poll_next(context, most) {
                Poll::Pending => break,
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Ready(Ok(NextPiece::Content(piece, is_last))) => {
                    self.framing.push(send_buffer, &piece);
                    self.sent = self.sent.saturating_add(bytes(piece.len()));
                    if is_last {
                        self.framing.end(send_buffer, None);
                        self.has_ended = true;
                    }
                }
                Poll::Ready(Ok(NextPiece::End(trailers))) => {
                    self.framing.end(send_buffer, trailers);
                    self.has_ended = true;
                }
            }
        }
        Ok(())
    }
}
