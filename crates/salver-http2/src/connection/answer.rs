//! The sending side: heads of answers, and their content as the windows allow.

use core::time::Duration;

use salver_semantics::{LeastRate, RateCredit};

use super::{Connection, content};
use crate::error::ErrorCode;
use crate::frame::{HEADER, LONGEST, flag, kind, push_header, push_number};
use crate::hpack::push_status;
use crate::response::RenderedHead;
use crate::streams::incoming::CONTENT_WINDOW;
use crate::streams::{SendTurn, Stream, StreamState};

/// The error of a client that takes nothing on the whole connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stalled;

impl<T> Connection<T> {
    /// Begins the answer on a stream: appends its head, and takes its content of `length` bytes, which may be
    /// [`UNKNOWN_LENGTH`](crate::UNKNOWN_LENGTH). `more` are fields in the form of
    /// [`render_fields`](crate::render_fields).
    ///
    /// Gives `content` back if it is not to be sent: it is empty, or the client has reset the stream.
    pub fn respond(
        &mut self,
        stream: u32,
        head: &RenderedHead,
        more: &[u8],
        date: &[u8; 29],
        (content, length): (T, u64),
        out: &mut Vec<u8>,
    ) -> Option<T> {
        if self.has_ended || self.streams.get(stream).is_none() {
            return Some(content);
        }
        let ends = if length == 0 { flag::END_STREAM } else { 0 };
        let at = out.len();
        let block = self.push_headers(stream, head.len() + more.len(), ends, out);
        head.write(out, date);
        out.extend_from_slice(more);
        if block > LONGEST {
            split(out, at, ends, stream);
        }
        if length == 0 {
            self.finish(stream, out);
            return Some(content);
        }
        if let Some(stream) = self.streams.get(stream) {
            stream.state = StreamState::Sending {
                content,
                left: length,
            };
        }
        self.streams.enqueue_id(stream);
        None
    }

    /// Appends 100 Continue, which has the client send the content of its request (RFC 9110 section 10.1.1), if that is
    /// awaited and the answer has not begun.
    pub fn send_continue(&mut self, stream: u32, out: &mut Vec<u8>) {
        let is_due = |stream: &mut Stream<T>| {
            !stream.is_whole && matches!(stream.state, StreamState::Answering)
        };
        if !self.streams.get(stream).is_some_and(is_due) {
            return;
        }
        let mut status = Vec::new();
        push_status(&mut status, 100);
        self.push_headers(stream, status.len(), 0, out);
        out.extend_from_slice(&status);
    }

    /// Begins a HEADERS frame for `length` bytes; returns the length of its field block.
    fn push_headers(&mut self, stream: u32, length: usize, flags: u8, out: &mut Vec<u8>) -> usize {
        let resize = std::mem::take(&mut self.resize);
        let block = usize::from(resize) + length;
        push_header(out, block, kind::HEADERS, flag::END_HEADERS | flags, stream);
        if resize {
            // A table of no bytes (RFC 7541 section 6.3).
            out.push(0x20);
        }
        block
    }

    /// The turn of the next stream to send content; `None` if no stream has content, or the windows are used up.
    #[inline]
    pub fn next_turn(&mut self) -> Option<SendTurn> {
        if self.has_ended {
            return None;
        }
        let ahead = u64::try_from(self.window).unwrap_or(0);
        let most = usize::try_from(ahead).unwrap_or(LONGEST).min(LONGEST);
        self.streams.next(most, ahead)
    }

    /// The content of the stream whose turn it is.
    pub fn content(&mut self, turn: SendTurn) -> Option<&mut T> {
        match &mut self.streams.by_key(turn.key)?.state {
            StreamState::Sending { content, .. } => Some(content),
            StreamState::Receiving(_) | StreamState::Answering => None,
        }
    }

    /// Appends the header of a DATA frame, behind which exactly `length` bytes of content are to
    /// go: at least one, at most [`SendTurn::most`]. Gives the content back when that was all of it;
    /// then `after` is to go behind the content.
    pub fn send(
        &mut self,
        turn: SendTurn,
        length: usize,
        out: &mut Vec<u8>,
        after: &mut Vec<u8>,
    ) -> Option<T> {
        let id = self.streams.by_key(turn.key)?.id;
        let is_whole = self.streams.sent(turn, length);
        let bytes = u64::try_from(length).unwrap_or(u64::MAX);
        self.window = self.window.saturating_sub_unsigned(bytes);
        self.progress += 1;
        self.credit = self.credit.saturating_add(bytes);
        self.sent = self.sent.saturating_add(bytes);
        let ends = if is_whole { flag::END_STREAM } else { 0 };
        push_header(out, length, kind::DATA, ends, id);
        if is_whole {
            return self.finish(id, after);
        }
        None
    }

    /// Sets the bytes that are left of the content whose turn it is: they have become known.
    pub fn set_left(&mut self, turn: SendTurn, bytes: u64) {
        self.streams.set_left(turn, bytes);
    }

    /// Ends the answer whose turn it is and of whose content nothing is left; gives the content back. `trailers` are
    /// fields in the form of [`render_fields`](crate::render_fields), without pseudo-fields.
    pub fn end_content(
        &mut self,
        turn: SendTurn,
        trailers: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Option<T> {
        let id = self.streams.by_key(turn.key)?.id;
        match trailers {
            None => push_header(out, 0, kind::DATA, flag::END_STREAM, id),
            Some(lines) => {
                let at = out.len();
                let block = self.push_headers(id, lines.len(), flag::END_STREAM, out);
                out.extend_from_slice(lines);
                if block > LONGEST {
                    split(out, at, flag::END_STREAM, id);
                }
            }
        }
        self.progress += 1;
        self.finish(id, out)
    }

    /// Passes over the stream whose turn it is, whose next bytes have to be waited for, until [`Connection::retry`].
    pub fn stall(&mut self, turn: SendTurn) {
        self.streams.stall(turn);
    }

    /// Gives turns again to the streams that were passed over by [`Connection::stall`].
    pub fn retry(&mut self) {
        self.streams.unstall();
    }

    /// Resets the stream whose turn it is: its content failed, and the answer is cut short.
    pub fn fail(&mut self, turn: SendTurn, out: &mut Vec<u8>) -> Option<T> {
        let id = self.streams.by_key(turn.key)?.id;
        self.reset(id, ErrorCode::INTERNAL_ERROR, out)
            .and_then(content)
    }

    /// Resets a stream whose answer has begun and cannot become whole; gives its content back.
    pub fn cancel(&mut self, stream: u32, out: &mut Vec<u8>) -> Option<T> {
        self.streams.get(stream)?;
        let closed = self.reset(stream, ErrorCode::CANCEL, out);
        closed.and_then(content)
    }

    /// True if content is left to send.
    pub fn is_sending(&self) -> bool {
        self.streams.sending().next().is_some()
    }

    /// True if content is left to send for which the client gives no window.
    pub fn is_held_up(&self) -> bool {
        let mut sending = self.streams.sending();
        sending.any(|(_, window)| window.min(self.window) <= 0)
    }

    /// The turns of the streams that have content left for which the client gives no window: to end or to fail them, which
    /// needs none.
    pub fn held_up(&self) -> Vec<SendTurn> {
        self.streams.held_up(self.window)
    }

    /// The content of the answers that are being sent.
    pub fn contents(&self) -> impl Iterator<Item = &T> {
        self.streams.sending().map(|(content, _)| content)
    }

    /// Resets the streams whose client has held back their windows for too long, given the time since the last call.
    /// Returns the content of their answers, or an error if the client holds back the connection's window.
    ///
    /// Call it while content is left to send and the socket takes what there is.
    ///
    /// # Errors
    /// [`Stalled`]: the connection is to be ended.
    pub fn reset_stalled(
        &mut self,
        rate: &LeastRate,
        time: Duration,
        out: &mut Vec<u8>,
    ) -> Result<Vec<T>, Stalled> {
        let sent = std::mem::take(&mut self.sent);
        // A window that is open is not waited for.
        let waits = if self.window > 0 {
            Duration::ZERO
        } else {
            time
        };
        if !RateCredit::pass_or_begin(&mut self.pace, rate, waits, sent) {
            return Err(Stalled);
        }
        let stalled = self.streams.stalled(rate, time);
        let contents = stalled
            .into_iter()
            .filter_map(|id| self.reset(id, ErrorCode::CANCEL, out).and_then(content));
        Ok(contents.collect())
    }

    /// Ends all streams; returns the content of their answers.
    pub fn end(&mut self) -> impl Iterator<Item = T> {
        self.has_ended = true;
        self.streams.drain().filter_map(content)
    }

    /// Closes the stream of a whole answer. A client that still sends content may stop (section 8.1).
    fn finish(&mut self, id: u32, out: &mut Vec<u8>) -> Option<T> {
        let stream = self.streams.close(id)?;
        // A client that takes some answers may do without others: a proxy withdraws the requests that its own clients
        // do.
        self.flood_guard.forgive(1);
        if !stream.is_whole {
            let granted = stream.incoming.as_ref().map(|incoming| incoming.window());
            let granted = u64::from(granted.unwrap_or(CONTENT_WINDOW));
            self.granted = self.granted.saturating_add(granted);
            push_number(out, kind::RST_STREAM, id, ErrorCode::NO_ERROR.0);
            self.mark_reset(id);
        }
        content(stream)
    }
}

/// Splits the HEADERS frame at `at`, which is too long, into one and CONTINUATION frames (section 6.10).
#[cold]
fn split(out: &mut Vec<u8>, at: usize, ends: u8, stream: u32) {
    let frames = out.split_off(at);
    let block = frames.get(HEADER..).unwrap_or_default();
    let mut parts = block.chunks(LONGEST).peekable();
    let mut first = true;
    while let Some(part) = parts.next() {
        let (kind, ends) = match std::mem::take(&mut first) {
            true => (kind::HEADERS, ends),
            false => (kind::CONTINUATION, 0),
        };
        let last = if parts.peek().is_none() {
            flag::END_HEADERS
        } else {
            0
        };
        push_header(out, part.len(), kind, ends | last, stream);
        out.extend_from_slice(part);
    }
}
