//! What HTTP/1.1 and HTTP/2 share of a connection: bytes that are received and sent, and what is kept
//! of either from one turn to the next.
//!
//! An idle connection holds no buffer: input and output are the loop's until a turn leaves something
//! over.

use std::borrow::Cow;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::io::ReadBuf;

use crate::context::Context as Loop;
use crate::deadlines::Deadline;
use crate::memory_budget::Charge;
use crate::outbox::Outbox;
use crate::seats::Seat;
use crate::stream::Stream;
use crate::transmit::{Unsent, poll_send, send_or_keep};

/// A connection's stream, with what was received and not consumed, and what could not be sent yet.
pub(crate) struct Wire<S> {
    pub(crate) shared: Rc<Loop>,
    pub(crate) stream: S,
    /// Received and not consumed.
    pub(crate) carry: Vec<u8>,
    /// The memory of `carry`, when there is any.
    carried: Option<Charge>,
    /// Whether `carry` may be enough to go on with: then nothing is received first.
    pub(crate) carries_more: bool,
    /// What the socket had no room for.
    unsent: Option<Box<Unsent>>,
    pub(crate) deadline: Deadline,
    pub(crate) seat: Seat,
}

/// What came of receiving once.
pub(crate) enum Received {
    /// So many bytes; none if what is carried may be enough.
    Bytes(usize),
    /// The client has ended its side.
    End,
    /// The socket failed.
    Failed,
}

impl<S: Stream> Wire<S> {
    /// A connection that has been made: its client is waited for.
    pub(crate) fn new(shared: Rc<Loop>, stream: S, seat: Seat) -> Self {
        let now = Instant::now();
        let until = now + shared.common.settings.header_timeout;
        let deadline = shared.deadlines.add(until);
        deadline.set_waiting(until, now);
        Wire {
            shared,
            stream,
            carry: Vec::new(),
            carried: None,
            carries_more: false,
            unsent: None,
            deadline,
            seat,
        }
    }

    /// Sends what the socket had no room for: whether there was anything. `Pending` while something is left;
    /// the client has to take it at its pace.
    ///
    /// # Errors
    /// The socket's, or that the client took too little for too long.
    #[inline]
    pub(crate) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let Some(unsent) = &mut self.unsent else {
            return Poll::Ready(Ok(false));
        };
        let common = &*self.shared.common;
        ready!(unsent.poll(common, &mut self.stream, &self.deadline, context))?;
        self.unsent = None;
        Poll::Ready(Ok(true))
    }

    /// Receives once into `buffer`, unless what is carried may be enough.
    #[inline]
    pub(crate) fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Received> {
        if self.carries_more {
            return Poll::Ready(Received::Bytes(0));
        }
        let mut buffer = ReadBuf::new(buffer);
        let received = ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer));
        Poll::Ready(match (received, buffer.filled().len()) {
            (Err(_), _) => Received::Failed,
            (Ok(()), 0) => Received::End,
            (Ok(()), length) => Received::Bytes(length),
        })
    }

    /// What there is to look at: what is carried, and behind it what was received.
    #[inline]
    pub(crate) fn take_input<'a>(&mut self, received: &'a [u8]) -> Cow<'a, [u8]> {
        let mut carry = std::mem::take(&mut self.carry);
        if carry.is_empty() {
            return Cow::Borrowed(received);
        }
        carry.extend_from_slice(received);
        Cow::Owned(carry)
    }

    /// Carries what was not consumed. In the common case there is nothing, and nothing is held.
    #[inline]
    pub(crate) fn carry_over(&mut self, rest: &[u8]) {
        if rest.is_empty() && self.carried.is_none() {
            return;
        }
        self.carry = rest.to_vec();
        self.count_carry();
    }

    /// Receives what comes while an answer is awaited, up to so many bytes in all; whether the client has
    /// ended its side.
    ///
    /// # Errors
    /// The socket's.
    pub(crate) fn receive_ahead(
        &mut self,
        context: &mut Context<'_>,
        most: usize,
    ) -> io::Result<bool> {
        let shared = Rc::clone(&self.shared);
        let mut scratch = shared.scratch.borrow_mut();
        while self.carry.len() < most {
            let mut buffer = ReadBuf::new(&mut scratch.input);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Pending => return Ok(false),
                Poll::Ready(received) => received?,
            }
            if buffer.filled().is_empty() {
                return Ok(true);
            }
            self.carry.extend_from_slice(buffer.filled());
            self.carries_more = true;
            self.count_carry();
        }
        Ok(false)
    }

    /// Counts the memory of what was received and not consumed.
    #[inline]
    fn count_carry(&mut self) {
        let length = self.carry.capacity();
        match &mut self.carried {
            None if length == 0 => {}
            None => self.carried = Some(self.seat.account.charge(length)),
            Some(_) if length == 0 => self.carried = None,
            Some(carried) => carried.set(length),
        }
    }

    /// Sends what `outbox` holds. `Pending` if the socket has no room for all of it: the rest is kept, and
    /// sent by [`poll_flush`](Self::poll_flush).
    ///
    /// # Errors
    /// The socket's.
    #[inline]
    pub(crate) fn send(
        &mut self,
        context: &mut Context<'_>,
        outbox: &mut Outbox,
    ) -> Poll<io::Result<()>> {
        let sent = poll_send(&mut self.stream, context, outbox);
        match &sent {
            Poll::Ready(Ok(())) => outbox.rest(),
            Poll::Ready(Err(_)) => outbox.clear(),
            Poll::Pending => self.keep(outbox),
        }
        sent
    }

    /// As [`send`](Self::send) for an answer that stands ready; `outbox` is empty.
    ///
    /// # Errors
    /// The socket's.
    #[inline]
    pub(crate) fn send_ready(
        &mut self,
        context: &mut Context<'_>,
        answer: &[u8],
        outbox: &mut Outbox,
    ) -> Poll<io::Result<()>> {
        let sent = send_or_keep(&mut self.stream, context, answer, outbox);
        if sent.is_pending() {
            self.keep(outbox);
        }
        sent
    }

    /// Keeps for this connection what `outbox` still holds.
    pub(crate) fn keep(&mut self, outbox: &mut Outbox) {
        let (common, account) = (&self.shared.common, &self.seat.account);
        let unsent = Unsent::of(outbox, common, account, &mut self.stream, &self.deadline);
        self.unsent = Some(unsent);
    }

    /// Has the stream hold no more of what is to be sent than there is room for.
    #[inline]
    pub(crate) fn limit_buffer(&mut self) {
        self.stream.limit_buffer(&self.seat.account);
    }
}
