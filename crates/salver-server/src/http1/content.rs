//! The content of a request while its answer is made: received as its handler takes it.

use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

use salver_http1::{CONTINUE, Event, OwnedRequestHead, Persistence, Phase, trailer_lines};
use salver_semantics::Refusal;

use super::{Http1Connection, SENT_AHEAD};
use crate::byte_stream::ByteStream;
use crate::handler::{IncomingContent, receive_step, trailers};
use crate::send_buffer::SendBuffer;
use crate::wire::ReceiveOutcome;

/// The bytes of a body that nobody wants which are received and dropped, so that the connection can go on. The end of a
/// connection costs less than more of them.
pub(super) const MOST_DRAINED: u64 = 64 * 1024;

/// A request whose body is not whole. Nobody wants it.
pub(super) enum UnfinishedRequest {
    /// It is answered when its body is whole.
    Awaited(Box<OwnedRequestHead>),
    /// It has been answered, and so many more bytes of its body are dropped before the connection ends.
    Answered { left: u64 },
}

impl UnfinishedRequest {
    /// Drops bytes of the body; true if these are too many for a request that has been answered.
    pub(super) fn drop_bytes(&mut self, count: usize) -> bool {
        let UnfinishedRequest::Answered { left } = self else {
            return false;
        };
        match left.checked_sub(u64::try_from(count).unwrap_or(u64::MAX)) {
            Some(rest) => {
                *left = rest;
                false
            }
            None => true,
        }
    }
}

/// The content of a request that is answered.
pub(super) struct RequestContent {
    incoming: IncomingContent,
    /// The bytes of it that nobody wanted.
    drained: u64,
    /// True if it is in another protocol, to which the connection is upgraded: all that comes, to the end.
    is_upgraded: bool,
}

impl RequestContent {
    pub(super) fn new(incoming: IncomingContent) -> Box<Self> {
        Box::new(RequestContent {
            incoming,
            drained: 0,
            is_upgraded: false,
        })
    }

    /// What comes if the connection is upgraded.
    pub(super) fn of_upgrade(incoming: IncomingContent) -> Box<Self> {
        Box::new(RequestContent {
            incoming,
            drained: 0,
            is_upgraded: true,
        })
    }
}

/// The fault that ends a request before its answer.
pub(super) enum Fault {
    /// It is refused.
    Refused(Refusal),
    /// The client is gone, or has to make room for others.
    Gone(io::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Fault::Gone(error)
    }
}

impl Fault {
    fn refused(status: u16, reason: &'static str) -> Self {
        Fault::Refused(Refusal { status, reason })
    }

    /// The same where the answer has begun, so that no other can be given.
    pub(super) fn into_error(self) -> io::Error {
        match self {
            Fault::Refused(refusal) => io::Error::other(refusal.reason),
            Fault::Gone(error) => error,
        }
    }
}

impl<S: ByteStream> Http1Connection<S> {
    /// Receives what the client sends while its request is answered: content, as there is room for it, then the
    /// beginning of its next requests. True if the client has ended its side.
    pub(super) fn receive_meanwhile(&mut self, context: &mut Context<'_>) -> Result<bool, Fault> {
        while self.has_content_to_come() {
            match self.receive_content(context)? {
                Poll::Ready(()) => {}
                // Of a client that is gone nothing is heard while there is no room for what it has sent.
                Poll::Pending => return Ok(self.wire.has_ended()?),
            }
        }
        if self.is_upgraded() {
            // Nothing follows the end.
            self.wire.has_ended()?;
            return Ok(true);
        }
        Ok(self.wire.receive_ahead(context, SENT_AHEAD)?)
    }

    /// True if content of the request that is answered is still to come.
    pub(super) fn has_content_to_come(&self) -> bool {
        let content = self.content.as_ref();
        content.is_some_and(|content| !content.incoming.sender.has_ended())
    }

    /// True if the connection is spoken on in another protocol.
    pub(super) fn is_upgraded(&self) -> bool {
        let content = self.content.as_ref();
        content.is_some_and(|content| content.is_upgraded)
    }

    /// Notes that a streamed answer begins. True if the client has to be told first to send its content.
    pub(super) fn begin_answer(&mut self) -> bool {
        let content = self.content.as_mut();
        content.is_some_and(|content| content.incoming.begin_answer())
    }

    /// Receives once; `Pending` if there is nothing, or no room.
    fn receive_content(&mut self, context: &mut Context<'_>) -> Result<Poll<()>, Fault> {
        let shared = Rc::clone(&self.wire.shared);
        let Some(content) = &mut self.content else {
            return Ok(Poll::Pending);
        };
        let RequestContent {
            incoming,
            drained,
            is_upgraded,
        } = &mut **content;
        let most = match incoming.sender.is_unwanted() {
            true => usize::try_from(MOST_DRAINED - *drained).unwrap_or(usize::MAX),
            false => incoming.sender.room(&self.wire.seat.account, context),
        };
        if most == 0 {
            return Ok(Poll::Pending);
        }
        let mut scratch = shared.scratch.borrow_mut();
        let most = most.min(scratch.input.len());
        let buffer = scratch.input.get_mut(..most).unwrap_or_default();
        let received = match self.wire.poll_receive(context, buffer) {
            Poll::Pending => return Ok(Poll::Pending),
            Poll::Ready(ReceiveOutcome::Bytes(received)) => received,
            Poll::Ready(ReceiveOutcome::End) if *is_upgraded => {
                incoming.sender.finish(None);
                return Ok(Poll::Ready(()));
            }
            Poll::Ready(ReceiveOutcome::End | ReceiveOutcome::Failed) => {
                let why = "the client went away";
                incoming.sender.fail(io::ErrorKind::ConnectionAborted, why);
                return Err(io::Error::from(io::ErrorKind::ConnectionAborted).into());
            }
        };
        let received = scratch.input.get(..received).unwrap_or_default();
        let input = &*self.wire.take_input(received);
        // More than there is room for may have come with the head. What is taken of that is carried no longer, so that it
        // counts once.
        let (input, later) = input.split_at(most.min(input.len()));
        self.wire.carry_over(later);
        let (parser, limits) = (&mut self.parser, &shared.limits);
        let ((consumed, event), counted) =
            incoming.receive(input.len(), |buffer| match is_upgraded {
                false => parser.receive(limits, input, Some(buffer)),
                true => {
                    buffer.content.extend_from_slice(input);
                    (input.len(), Event::Incomplete)
                }
            });
        if incoming.sender.is_unwanted() {
            let dropped = u64::try_from(consumed).unwrap_or(u64::MAX);
            *drained = drained.saturating_add(dropped).min(MOST_DRAINED);
        }
        let rest = input.get(consumed..).unwrap_or_default();
        if !rest.is_empty() {
            self.wire.carry_over(&[rest, later].concat());
        }
        self.wire.carries_more = !rest.is_empty() || !later.is_empty();
        if counted.is_err() {
            let why = "there is no memory for the content";
            incoming.sender.fail(io::ErrorKind::OutOfMemory, why);
            return Err(Fault::refused(503, "Service Unavailable"));
        }
        match event {
            Event::BodyEnd => {
                let section = incoming.sender.take_trailers();
                if trailer_lines(&section).count() > limits.max_fields {
                    return Err(Fault::refused(431, "Too many trailer fields"));
                }
                incoming.sender.finish(trailers(trailer_lines(&section)));
            }
            Event::Refuse(refusal) => {
                incoming
                    .sender
                    .fail(io::ErrorKind::InvalidData, refusal.reason);
                return Err(Fault::Refused(refusal));
            }
            // Of a body that has begun there is no other.
            Event::Incomplete | Event::Request(_) | Event::Body { .. } => {}
        }
        Ok(Poll::Ready(()))
    }

    /// Looks after the client whose content a handler waits for: tells it to go on, and moves the deadline to the next
    /// check.
    ///
    /// # Errors
    /// The client is too slow, or has to make room for others.
    pub(super) fn check_content(&mut self, context: &mut Context<'_>) -> Result<(), Fault> {
        let Some(content) = &mut self.content else {
            return Ok(());
        };
        let content = &mut content.incoming;
        let is_due = content.is_continue_due(context);
        let now = Instant::now();
        let settings = &self.wire.shared.common.settings;
        if content.is_late(now, settings) {
            let why = "the client sends too slowly";
            content.sender.fail(io::ErrorKind::TimedOut, why);
            return Err(Fault::refused(408, "Request Timeout"));
        }
        match content.waits_since() {
            Some(_) if self.wire.deadline.makes_room() => {
                return Err(io::Error::from(io::ErrorKind::ConnectionAborted).into());
            }
            Some(since) => {
                let next = now + receive_step(settings);
                self.wire.deadline.set_waiting(next, since);
            }
            None => self.wire.deadline.set_busy(),
        }
        if is_due {
            let mut told = SendBuffer::default();
            told.write(|buffer| buffer.extend_from_slice(CONTINUE));
            if let Poll::Ready(Err(error)) = self.wire.send(context, &mut told) {
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// True if the connection cannot go on behind an answer that is given now: too much content is left that nobody
    /// wants.
    pub(super) fn leaves_much(&self) -> bool {
        let left = self.parser.content_left();
        self.parser.phase() == Phase::Body && left.is_some_and(|left| left > MOST_DRAINED)
    }

    /// The persistence of the connection behind an answer that begins now, and that content of the request may still
    /// become a part of if it is streamed. A client that still waits to be told to send its content may or may not send
    /// it, so that nobody could tell where its next request begins.
    pub(super) fn persistence_after(
        &mut self,
        before: Persistence,
        is_streamed: bool,
    ) -> Persistence {
        let leaves_much = self.leaves_much();
        let Some(content) = &mut self.content else {
            return before;
        };
        let content = &mut content.incoming;
        let is_over = !is_streamed || content.sender.is_unwanted();
        match content.forget_continue() || leaves_much && is_over {
            true => Persistence::Close,
            false => before,
        }
    }

    /// Ends the content of a request that has been answered: what is left of it is dropped, up to a bound.
    pub(super) fn end_content(&mut self) {
        let Some(content) = self.content.take() else {
            return;
        };
        let RequestContent {
            incoming, drained, ..
        } = *content;
        if !incoming.sender.has_ended() {
            self.ends |= self.leaves_much();
            let left = MOST_DRAINED - drained;
            self.unfinished = Some(UnfinishedRequest::Answered { left });
        }
    }
}
