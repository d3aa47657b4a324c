//! The content of a request while its answer is made: received as its handler takes it.

use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

use http::HeaderMap;
use salver_http3::{ErrorCode, Event, StreamFailure};

use super::super::receive_window::WindowLoan;
use super::super::shared_connection::{SharedConnection, code};
use super::super::transport::STREAM_WINDOW;
use super::{RequestFailure, RequestTask};
use crate::deadlines::Deadline;
use crate::handler::{IncomingContent, receive_step, trailers};

/// The content of a request that is answered.
pub(super) struct RequestContent {
    incoming: IncomingContent,
    /// The trailers, until the stream ends.
    trailers: Option<HeaderMap>,
    /// The deadline of the next check, while the client is waited for.
    deadline: Option<Deadline>,
    /// The bytes that may still come of what nobody wants.
    undrained: usize,
    /// The window for what lies unread, once something did.
    window: Option<WindowLoan>,
}

/// The bytes of content that nobody wants which are received and dropped before the client is told to send no more: a
/// little is often on its way already.
const MOST_DRAINED: usize = 64 * 1024;

impl RequestContent {
    pub(super) fn new(incoming: IncomingContent) -> Box<Self> {
        Box::new(RequestContent {
            incoming,
            trailers: None,
            deadline: None,
            undrained: MOST_DRAINED,
            window: None,
        })
    }
}

impl RequestTask {
    /// True if content of the request that is answered is still to come.
    pub(super) fn has_content_to_come(&self) -> bool {
        let content = self.content.as_ref();
        content.is_some_and(|content| !content.incoming.sender.has_ended())
    }

    /// Receives the content of the request that is answered, as there is room for it.
    pub(super) fn receive_content(
        &mut self,
        context: &mut Context<'_>,
    ) -> Result<(), RequestFailure> {
        while self.has_content_to_come() {
            if self.receive_piece(context)?.is_pending() {
                break;
            }
        }
        Ok(())
    }

    /// Receives a piece; `Pending` if there is none, or no room.
    fn receive_piece(&mut self, context: &mut Context<'_>) -> Result<Poll<()>, RequestFailure> {
        let account = &self.connection.seat.account;
        let Some(content) = &self.content else {
            return Ok(Poll::Pending);
        };
        let sender = &content.incoming.sender;
        let is_unwanted = sender.is_unwanted();
        let room = match is_unwanted {
            true => content.undrained,
            false => sender.room(account, context),
        };
        if room == 0 {
            match is_unwanted {
                true => self.stop_content(),
                false => self.lend_window(),
            }
            return Ok(Poll::Pending);
        }
        let piece = match self.next.take() {
            Some(mut next) => {
                let piece = next.split_to(room.min(next.len()));
                self.next = Some(next).filter(|rest| !rest.is_empty());
                Some(piece)
            }
            None => match self.poll_read(context, room) {
                Poll::Pending => return Ok(Poll::Pending),
                Poll::Ready(Ok(piece)) => piece,
                Poll::Ready(Err(_)) => {
                    let why = "the client went away";
                    self.fail_content(io::ErrorKind::ConnectionAborted, why);
                    return Err(RequestFailure::Gone);
                }
            },
        };
        let received = match piece {
            Some(piece) => self.parse(&piece),
            None => self
                .stream
                .end()
                .map_err(RequestFailure::from)
                .map(|()| self.finish_content()),
        };
        match &received {
            Err(RequestFailure::Full) => {
                let why = "there is no memory for the content";
                self.fail_content(io::ErrorKind::OutOfMemory, why);
            }
            Err(RequestFailure::Request(StreamFailure::Refused(refusal))) => {
                self.fail_content(io::ErrorKind::InvalidData, refusal.reason);
            }
            Err(_) => self.fail_content(io::ErrorKind::InvalidData, "the content is malformed"),
            Ok(()) => {}
        }
        received.map(Poll::Ready)
    }

    /// Lets the client send requests beside content that lies unread for a while.
    fn lend_window(&mut self) {
        if let Some(content) = &mut self.content
            && content.window.is_none()
        {
            let SharedConnection {
                receive_window,
                seat,
                ..
            } = &*self.connection;
            content.window = receive_window.widen(STREAM_WINDOW, 0, &seat.account);
        }
    }

    /// Has the client send no more of the content, which nobody wants (RFC 9114 section 4.1): what lies unread would take
    /// the window of other streams.
    fn stop_content(&mut self) {
        let _ = self.receive.stop(code(ErrorCode::NoError));
        self.next = None;
        self.finish_content();
    }

    /// Takes what a piece of the stream has of content.
    fn parse(&mut self, mut piece: &[u8]) -> Result<(), RequestFailure> {
        let shared = Rc::clone(&self.shared);
        let mut scratch = shared.scratch.borrow_mut();
        let Some(content) = &mut self.content else {
            return Ok(());
        };
        if content.incoming.sender.is_unwanted() {
            content.undrained = content.undrained.saturating_sub(piece.len());
        }
        loop {
            let (stream, limits) = (&mut self.stream, &shared.limits);
            let (event, counted) = content.incoming.receive(piece.len(), |buffer| {
                stream.receive(limits, &mut piece, &mut scratch, Some(&mut buffer.content))
            });
            let event = event?;
            if counted.is_err() {
                return Err(RequestFailure::Full);
            }
            match event {
                Event::Trailers => content.trailers = trailers(scratch.section.lines().iter()),
                Event::Incomplete => break,
                // There is one head, which has been read.
                Event::Head => {}
            }
        }
        let held = self.base + self.stream.held();
        let more = held.saturating_sub(self.charge.bytes());
        if more > 0 && self.connection.seat.account.room_up_to(more) < more {
            return Err(RequestFailure::Full);
        }
        self.charge.set(held.max(self.charge.bytes()));
        Ok(())
    }

    /// Ends the content, which is whole.
    fn finish_content(&mut self) {
        if let Some(content) = &mut self.content {
            content.incoming.sender.finish(content.trailers.take());
            content.window = None;
        }
    }

    /// Ends the content, which is not whole.
    fn fail_content(&self, kind: io::ErrorKind, why: &'static str) {
        if let Some(content) = &self.content {
            content.incoming.sender.fail(kind, why);
        }
    }

    /// Looks after the client whose content a handler waits for: tells it to go on, and has the task woken for the next
    /// check.
    pub(super) fn check_content(
        &mut self,
        context: &mut Context<'_>,
    ) -> Result<(), RequestFailure> {
        let Some(content) = &mut self.content else {
            return Ok(());
        };
        let is_due = content.incoming.is_continue_due(context);
        let now = Instant::now();
        let settings = &self.shared.context.common.settings;
        if content.incoming.is_late(now, settings) {
            self.fail_content(io::ErrorKind::TimedOut, "the client sends too slowly");
            return Err(RequestFailure::Late);
        }
        if content.incoming.waits_since().is_some() {
            let next = now + receive_step(settings);
            let deadlines = &self.shared.deadlines;
            let deadline = content.deadline.get_or_insert_with(|| deadlines.add(next));
            deadline.set(next);
            deadline.register(context);
        } else {
            content.deadline = None;
        }
        if is_due {
            self.send_continue(context);
        }
        Ok(())
    }

    /// Notes that the answer waits for its handler, unless that waits for the client.
    pub(super) fn await_answer(&mut self) {
        let content = self.content.as_ref();
        if content.is_some_and(|content| content.incoming.waits_since().is_some()) {
            self.awaited = None;
            self.connection.await_client();
        } else if self.awaited.is_none() {
            self.awaited = Some(self.connection.await_answer());
        }
    }

    /// Notes that a streamed answer begins. True if the client has to be told first to send its content.
    pub(super) fn begin_answer(&mut self) -> bool {
        let content = self.content.as_mut();
        content.is_some_and(|content| content.incoming.begin_answer())
    }

    /// Has a client that waits to be told never told: its answer begins.
    pub(super) fn forget_continue(&mut self) {
        if let Some(content) = &mut self.content {
            content.incoming.forget_continue();
        }
    }
}
