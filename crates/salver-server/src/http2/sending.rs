//! The content of answers on its way: in the order that the protocol decides, as the windows allow.

use std::io;
use std::task::{Context, Poll, ready};

use salver_http2::{SendTurn, render_fields};

use super::Http2Connection;
use crate::access_log::bytes;
use crate::access_log::record::LogRecord;
use crate::byte_stream::ByteStream;
use crate::handler::{NextPiece, StreamedContent, TrailerLines};
use crate::memory_budget::OpenFile;
use crate::report::report;
use crate::send_buffer::SendBuffer;
use crate::transmit::loader_disk::{LoaderDisk, Reading};
use crate::wire::Wire;

/// The content of an answer that is being sent.
pub(super) struct Sending {
    pub(super) reading: Reading,
    /// The content in the place of that, if a handler streams it.
    pub(super) streamed: Option<Box<StreamedContent>>,
    pub(super) _file: Option<OpenFile>,
    /// The record of the request, which is logged when this ends.
    pub(super) record: Option<LogRecord>,
}

impl Sending {
    /// The next piece, as [`Reading::poll_next`] gives it.
    fn poll_next(
        &mut self,
        disk: &LoaderDisk<'_>,
        context: &mut Context<'_>,
        turn: SendTurn,
    ) -> Poll<io::Result<NextPiece>> {
        let Some(content) = &mut self.streamed else {
            let next = self.reading.poll_next(disk, context, turn.most, turn.ahead);
            return next.map_ok(|piece| NextPiece::Content(piece, false));
        };
        let next = ready!(content.poll_next(context, turn.most))?;
        if let (NextPiece::Content(piece, _), Some(record)) = (&next, &mut self.record) {
            record.add_sent(bytes(piece.len()));
        }
        Poll::Ready(Ok(next))
    }
}

impl<S: ByteStream> Http2Connection<S> {
    /// Fills the send buffer with content until it has `enough` bytes.
    pub(super) fn fill(
        &mut self,
        context: &mut Context<'_>,
        send_buffer: &mut SendBuffer,
        enough: usize,
    ) {
        let common = &self.wire.shared.common;
        let disk = disk(&self.wire);
        let protocol = &mut self.protocol;
        while send_buffer.left() < enough.max(1)
            && let Some(turn) = protocol.next_turn()
            && let Some(sending) = protocol.content(turn)
        {
            let is_own = sending.streamed.is_some();
            let left = match sending.poll_next(&disk, context, turn) {
                Poll::Pending => {
                    protocol.stall(turn);
                    continue;
                }
                Poll::Ready(Ok(NextPiece::Content(piece, is_last))) if !piece.is_empty() => {
                    if is_last {
                        protocol.set_left(turn, bytes(piece.len()));
                    }
                    let mut after = Vec::new();
                    let left = send_buffer
                        .write(|buffer| protocol.send(turn, piece.len(), buffer, &mut after));
                    match is_own {
                        false => send_buffer.push(&piece),
                        true => send_buffer.push_own(&piece),
                    }
                    send_buffer.write(|buffer| buffer.append(&mut after));
                    left
                }
                Poll::Ready(Ok(NextPiece::End(trailers))) => {
                    end_content(protocol, turn, trailers, send_buffer)
                }
                Poll::Ready(failed) => {
                    let error = failed.err().unwrap_or(io::ErrorKind::UnexpectedEof.into());
                    report(common, &error);
                    send_buffer.write(|buffer| protocol.fail(turn, buffer))
                }
            };
            end_all(left, &self.wire, send_buffer.left());
        }
        if common.has_handlers && self.protocol.is_held_up() {
            self.end_held_up(context, send_buffer);
        }
    }

    /// Ends the streamed answers for which the client gives no window and of which nothing is left but the end: that needs
    /// none.
    fn end_held_up(&mut self, context: &mut Context<'_>, send_buffer: &mut SendBuffer) {
        let protocol = &mut self.protocol;
        for turn in protocol.held_up() {
            let content = protocol.content(turn);
            let Some(content) = content.and_then(|sending| sending.streamed.as_mut()) else {
                continue;
            };
            let left = match content.poll_end(context) {
                Poll::Pending => continue,
                Poll::Ready(Ok(trailers)) => end_content(protocol, turn, trailers, send_buffer),
                Poll::Ready(Err(error)) => {
                    report(&self.wire.shared.common, &error);
                    send_buffer.write(|buffer| protocol.fail(turn, buffer))
                }
            };
            end_all(left, &self.wire, send_buffer.left());
        }
    }

    /// True if there is more to send than the client has given windows for, or a disk is waited for.
    pub(super) fn has_more(&self) -> bool {
        let mut contents = self.protocol.contents();
        self.protocol.is_held_up() || contents.any(|sending| sending.streamed.is_none())
    }
}

/// Ends the answer whose turn it is, with these trailers; gives its content back.
fn end_content(
    protocol: &mut salver_http2::Connection<Sending>,
    turn: SendTurn,
    trailers: Option<TrailerLines>,
    send_buffer: &mut SendBuffer,
) -> Option<Sending> {
    let block = trailers.map(|trailers| {
        let lines = trailers.iter().map(|(name, value)| (&**name, &**value));
        render_fields(lines)
    });
    send_buffer.write(|buffer| protocol.end_content(turn, block.as_deref(), buffer))
}

/// Ends answers, whole or not; their last bytes are at the end of the `unsent` ones of the connection.
pub(super) fn end_all<S>(sent: impl IntoIterator<Item = Sending>, wire: &Wire<S>, unsent: usize) {
    for sending in sent {
        if let (Some(mut record), Some(log)) = (sending.record, &wire.log) {
            if sending.streamed.is_none() {
                record.set_unsent(sending.reading.left());
            }
            log.queue_ended(record, unsent);
        }
        sending.reading.end(&disk(wire));
    }
}

/// The disk for a connection's answers.
fn disk<S>(wire: &Wire<S>) -> LoaderDisk<'_> {
    LoaderDisk {
        common: &wire.shared.common,
        account: &wire.seat.account,
    }
}
