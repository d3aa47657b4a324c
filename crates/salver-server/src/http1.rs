//! One HTTP/1.1 connection: its input goes through the parser and the engine into a send buffer. Requests that can be
//! answered at once are, in one turn with one `recv` and one send.
//!
//! ```text
//!                    ┌──────────────────────────── answered ────────────────────────────┐
//!                    ▼                                                                   │
//! accepted ──► turn: send what is left, receive, answer ── needs a load or a file ──► slow
//!                    │                      │
//!                    │ the peer is gone     │ no longer persistent, refused, late head
//!                    ▼                      ▼
//!                  over ◄─────────────── linger
//! ```
//!
//! `wire.rs` receives and sends.

mod answering;
mod bounds;
mod content;
mod slow;
mod streaming;
mod translate;

use std::rc::Rc;
use std::task::{Context, Poll, ready};

use salver_assets::Now;
use salver_http1::{CONTINUE, Event, Phase, RequestHead};

use crate::byte_stream::ByteStream;
use crate::http1::bounds::WaitOutcome;
use crate::http1::content::{RequestContent, UnfinishedRequest};
use crate::http1::slow::SlowResponse;
use crate::http2::Http2Connection;
use crate::linger::linger;
use crate::listener_fields::ListenerFields;
use crate::rendered_responses::RenderedResponses;
use crate::report::report;
use crate::send_buffer::{ENOUGH, SendBuffer};
use crate::turns::LoopTurn;
use crate::wire::{ReceiveOutcome, Wire};

/// The bytes of answers that are made at a time however short memory is.
const LEAST_ANSWERS: usize = 4 * 1024;

/// The bytes that a client may send ahead while an answer is awaited.
const SENT_AHEAD: usize = 16 * 1024;

/// One HTTP/1.1 connection.
pub(crate) struct Http1Connection<S> {
    wire: Wire<S>,
    listener_fields: Rc<ListenerFields>,
    parser: salver_http1::Connection,
    /// True if the client may begin with the preface of HTTP/2.
    may_switch: bool,
    /// The request whose body is not whole, while none is answered.
    unfinished: Option<UnfinishedRequest>,
    /// The content of the request that is answered, if a handler may want it.
    content: Option<Box<RequestContent>>,
    /// The phase for which the deadline was set.
    waits_in: Phase,
    /// True until the first answer: the time of the first head begins with the connection.
    is_new: bool,
    /// True if the next requests wait for the turn of this client if the loop is crowded: the first ones, which come
    /// as often as connections do, and those pipelined behind others.
    needs_turn: bool,
    turn: LoopTurn,
    /// True if no further request is answered: once everything is sent, the end begins. Never by closing at once:
    /// further input would destroy the last answer on its way (RFC 9112 section 9.6).
    ends: bool,
}

/// The end of a turn.
enum TurnEnd {
    Over,
    Linger,
    Slow(Box<SlowResponse>),
    /// The client speaks HTTP/2.
    Switch,
}

/// The reason why answering stopped.
enum Flow {
    /// All input is parsed.
    NeedsInput,
    /// The send buffer is full.
    Enough,
    /// No further request.
    Ends,
    /// The only answer is a rendered response.
    Rendered(usize),
    Slow(Box<SlowResponse>),
}

impl<S: ByteStream> Http1Connection<S> {
    pub(crate) fn new(wire: Wire<S>, listener_fields: Rc<ListenerFields>) -> Self {
        Http1Connection {
            wire,
            listener_fields,
            may_switch: false,
            parser: salver_http1::Connection::new(),
            unfinished: None,
            content: None,
            waits_in: Phase::Idle,
            is_new: true,
            needs_turn: true,
            turn: LoopTurn::default(),
            ends: false,
        }
    }

    /// Sets if the client may begin with HTTP/2 (prior knowledge, RFC 9113 section 3.3).
    pub(crate) fn with_prior_knowledge(mut self, may_switch: bool) -> Self {
        self.may_switch = may_switch;
        self
    }

    /// Serves until the connection ends.
    pub(crate) async fn serve(mut self) {
        loop {
            match std::future::poll_fn(|context| self.poll_turn(context)).await {
                TurnEnd::Over => return,
                TurnEnd::Linger => return Box::pin(linger(self.wire)).await,
                TurnEnd::Switch => {
                    let switched = Http2Connection::new(self.wire, self.listener_fields);
                    return Box::pin(switched.serve()).await;
                }
                TurnEnd::Slow(slow) => {
                    // Boxed, so that an idle connection is small.
                    if let Err(error) = Box::pin(self.send_slow_response(*slow)).await {
                        // Not even the bytes that the kernel still holds may complete the answer: its pages may be
                        // those of a file that has changed.
                        let _ = self.wire.stream.tcp().set_zero_linger();
                        return report(&self.wire.shared.common, &error);
                    }
                }
            }
        }
    }

    fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<TurnEnd> {
        self.wire.deadline.register(context);
        let mut shared = Rc::clone(&self.wire.shared);
        let now = shared.clock.now();
        loop {
            match ready!(self.wire.poll_flush(context)) {
                Ok(false) => {}
                Ok(true) => self.wait_for_request(now),
                Err(_) => return Poll::Ready(TurnEnd::Over),
            }
            if shared.superseded.get() {
                self.renew();
                shared = Rc::clone(&self.wire.shared);
            }
            if self.ends {
                return Poll::Ready(TurnEnd::Linger);
            }
            if self.needs_turn {
                ready!(
                    self.turn
                        .poll(&shared.turns, self.wire.seat.client, context)
                );
                self.needs_turn = false;
            }
            let mut scratch = shared.scratch.borrow_mut();
            let scratch = &mut *scratch;
            let received = match self.wire.poll_receive(context, &mut scratch.input) {
                Poll::Ready(ReceiveOutcome::Bytes(received)) => received,
                Poll::Ready(ReceiveOutcome::Failed) => return Poll::Ready(TurnEnd::Over),
                Poll::Ready(ReceiveOutcome::End) => {
                    self.wire.stream.announce_end(context);
                    return Poll::Ready(TurnEnd::Over);
                }
                Poll::Pending => match self.wait(now) {
                    WaitOutcome::Continue => return Poll::Pending,
                    WaitOutcome::Close => {
                        self.wire.stream.announce_end(context);
                        return Poll::Ready(TurnEnd::Over);
                    }
                    WaitOutcome::TimedOut => {
                        let carry = std::mem::take(&mut self.wire.carry);
                        self.refuse(408, "Request Timeout", &carry, &mut scratch.send_buffer);
                        self.ends = true;
                        self.wire.keep(&mut scratch.send_buffer);
                        continue;
                    }
                },
            };
            let received = scratch.input.get(..received).unwrap_or_default();
            let input = &*self.wire.take_input(received);
            if self.may_switch {
                match match_prefix(input, salver_http2::PREFACE) {
                    PrefixMatch::Whole => {
                        self.wire.carry_over(input);
                        self.wire.carries_more = true;
                        return Poll::Ready(TurnEnd::Switch);
                    }
                    PrefixMatch::Partial if !input.is_empty() => {
                        self.wire.carry_over(input);
                        continue;
                    }
                    PrefixMatch::Partial | PrefixMatch::None => self.may_switch = false,
                }
            }
            // Empty, unless a connection's task has panicked, whose answers are dropped.
            scratch.send_buffer.clear();
            self.wire.limit_buffer();
            let (consumed, flow) = self.answer_all(
                context,
                input,
                &mut scratch.send_buffer,
                &mut scratch.rendered_responses,
                now,
            );
            let rest = input.get(consumed..).unwrap_or_default();
            self.wire.carry_over(rest);
            self.wire.carries_more = !rest.is_empty() && !matches!(flow, Flow::NeedsInput);
            self.needs_turn = self.wire.carries_more;
            let send_buffer = &mut scratch.send_buffer;
            let sent = match flow {
                Flow::Rendered(number) => {
                    let answer = scratch.rendered_responses.get(number);
                    self.wire.send_rendered(context, answer, send_buffer)
                }
                Flow::Slow(mut slow) => {
                    self.wire.deadline.set_busy();
                    slow.send_buffer = std::mem::take(send_buffer);
                    return Poll::Ready(TurnEnd::Slow(slow));
                }
                Flow::NeedsInput | Flow::Enough | Flow::Ends => {
                    self.ends = matches!(flow, Flow::Ends);
                    if send_buffer.is_empty() {
                        continue;
                    }
                    self.wire.send(context, send_buffer)
                }
            };
            match ready!(sent) {
                Ok(()) => self.wait_for_request(now),
                Err(_) => return Poll::Ready(TurnEnd::Over),
            }
        }
    }

    /// Takes the current generation, for the requests that come.
    #[cold]
    fn renew(&mut self) {
        if let Some(fields) = self.wire.take_current() {
            self.listener_fields = fields;
        }
    }

    /// Answers the requests in `input`; returns the bytes consumed, and the reason why it stopped.
    fn answer_all(
        &mut self,
        context: &mut Context<'_>,
        input: &[u8],
        send_buffer: &mut SendBuffer,
        responses: &mut RenderedResponses,
        now: Now,
    ) -> (usize, Flow) {
        let mut at = 0;
        loop {
            let rest = input.get(at..).unwrap_or_default();
            if rest.is_empty() {
                return (at, Flow::NeedsInput);
            }
            let (consumed, event) = self.parser.receive(&self.wire.shared.limits, rest, None);
            at += consumed;
            if let Some(unfinished) = &mut self.unfinished
                && unfinished.drop_bytes(consumed)
            {
                return (input.len(), Flow::Ends);
            }
            let flow = match event {
                Event::Incomplete => return (at, Flow::NeedsInput),
                Event::Request(head) => {
                    let alone = at == input.len() && send_buffer.is_empty();
                    self.answer(
                        head,
                        None,
                        send_buffer,
                        alone.then_some((&mut *responses, &mut *context)),
                        now,
                    )
                }
                Event::Body { head, .. } if self.wire.shared.common.has_handlers => {
                    self.answer_before_content(head, send_buffer, now)
                }
                Event::Body {
                    head,
                    send_continue,
                } => {
                    if send_continue && !head.method.is_served() {
                        // The client waits before it sends the body; it need not send it (RFC 9110 section 10.1.1),
                        // and if it does all the same it is not read.
                        let head = RequestHead {
                            persistent: false,
                            ..head
                        };
                        self.answer(head, None, send_buffer, None, now);
                        return (input.len(), Flow::Ends);
                    }
                    if send_continue {
                        send_buffer.write(|buffer| buffer.extend_from_slice(CONTINUE));
                    }
                    let awaited = Box::new(head.into_owned());
                    self.unfinished = Some(UnfinishedRequest::Awaited(awaited));
                    None
                }
                Event::BodyEnd => match self.unfinished.take() {
                    Some(UnfinishedRequest::Awaited(head)) => {
                        self.answer(head.borrow(), None, send_buffer, None, now)
                    }
                    Some(UnfinishedRequest::Answered { .. }) | None => None,
                },
                Event::Refuse(refusal) => {
                    self.refuse(refusal.status, refusal.reason, rest, send_buffer);
                    return (input.len(), Flow::Ends);
                }
            };
            if let Some(flow) = flow {
                return (at, flow);
            }
            let account = &self.wire.seat.account;
            if send_buffer.left() > LEAST_ANSWERS && send_buffer.left() > account.room_up_to(ENOUGH)
            {
                return (at, Flow::Enough);
            }
        }
    }
}

/// The match of an input with a known beginning.
enum PrefixMatch {
    Whole,
    Partial,
    None,
}

/// Matches the beginning of `input` with `known`, which may be whole only with more input.
fn match_prefix(input: &[u8], known: &[u8]) -> PrefixMatch {
    if input.starts_with(known) {
        PrefixMatch::Whole
    } else if known.starts_with(input) {
        PrefixMatch::Partial
    } else {
        PrefixMatch::None
    }
}
