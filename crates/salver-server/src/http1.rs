//! One HTTP/1.1 connection: what was received goes through the parser and the engine into an
//! outbox; what can be answered at once is, in one turn with one `recv` and one send.
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
//! Receiving and sending are `wire.rs`'s.

mod bounds;
mod slow;
mod translate;

use std::rc::Rc;
use std::task::{Context, Poll, ready};

use salver_assets::{Content, Method, Now, RequestPath, ResponsePlan};
use salver_http1::{
    CONTINUE, Event, OwnedRequestHead, Persistence, Phase, RequestHead, request_method,
};

use crate::asking::{Asked, ask, error, method};
use crate::ending::linger;
use crate::front::Front;
use crate::handler::{Peer, RequestBody};
use crate::http1::bounds::Wait;
use crate::http1::slow::{Answer, Slow};
use crate::http1::translate::{given, push_content, push_head, request};
use crate::http2;
use crate::outbox::{ENOUGH, Outbox};
use crate::ready::Ready;
use crate::report::report;
use crate::stream::Stream;
use crate::turns::Turn as LoopTurn;
use crate::wire::{Received, Wire};

/// Bytes of answers that are made at a time however short memory is.
const LEAST_ANSWERS: usize = 4 * 1024;

/// What one connection may have sent ahead while an answer is awaited, in bytes.
const SENT_AHEAD: usize = 16 * 1024;

/// A connection.
pub(crate) struct Connection<S> {
    wire: Wire<S>,
    front: Rc<Front>,
    parser: salver_http1::Connection,
    /// Whether what comes first may be the preface of HTTP/2.
    may_switch: bool,
    /// The request whose body is awaited.
    held: Option<Box<Waiting>>,
    /// For which phase the deadline was set.
    waits_in: Phase,
    /// No request has come yet: its head has the time that began with the connection.
    is_new: bool,
    /// What is next waits for the turn of this client if the loop is crowded: the first requests, which come
    /// as often as connections do, and those behind others that were sent without waiting.
    needs_turn: bool,
    turn: LoopTurn,
    /// No further request is answered: once everything is sent, the end begins. Never by closing
    /// at once: whatever the peer still sends would destroy the last answer on its way (RFC 9112
    /// section 9.6).
    ends: bool,
}

/// A request whose body is awaited.
struct Waiting {
    head: OwnedRequestHead,
    /// What has come of it, if anybody is to have it.
    content: Option<RequestBody>,
}

/// How a turn ends.
enum Turn {
    Over,
    Linger,
    Slow(Box<Slow>),
    /// The client speaks HTTP/2.
    Switch,
}

/// Why answering stopped.
enum Flow {
    /// All input is looked at.
    NeedsInput,
    /// There is enough to send.
    Enough,
    /// No further request.
    Ends,
    /// An answer stands ready, and there is no other.
    Ready(usize),
    Slow(Box<Slow>),
}

impl<S: Stream> Connection<S> {
    pub(crate) fn new(wire: Wire<S>, front: Rc<Front>) -> Self {
        Connection {
            wire,
            front,
            may_switch: false,
            parser: salver_http1::Connection::new(),
            held: None,
            waits_in: Phase::Idle,
            is_new: true,
            needs_turn: true,
            turn: LoopTurn::default(),
            ends: false,
        }
    }

    /// Whether the client may speak HTTP/2 without asking (prior knowledge, RFC 9113 section 3.3).
    pub(crate) fn or_http2(mut self, may_switch: bool) -> Self {
        self.may_switch = may_switch;
        self
    }

    /// Serves until the connection ends.
    pub(crate) async fn serve(mut self) {
        loop {
            match std::future::poll_fn(|context| self.poll_turn(context)).await {
                Turn::Over => return,
                Turn::Linger => return Box::pin(linger(self.wire)).await,
                Turn::Switch => {
                    let switched = http2::Connection::new(self.wire, self.front);
                    return Box::pin(switched.serve()).await;
                }
                Turn::Slow(slow) => {
                    // Boxed, so that an idle connection is small.
                    if let Err(error) = Box::pin(self.answer_slowly(*slow)).await {
                        // Not even what the kernel still holds is to complete the answer: its
                        // pages may be those of a file that has changed.
                        let _ = self.wire.stream.tcp().set_zero_linger();
                        return report(&self.wire.shared.common, &error);
                    }
                }
            }
        }
    }

    fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<Turn> {
        self.wire.deadline.register(context);
        let shared = Rc::clone(&self.wire.shared);
        let now = shared.clock.now();
        loop {
            match ready!(self.wire.poll_flush(context)) {
                Ok(false) => {}
                Ok(true) => self.wait_for_request(now),
                Err(_) => return Poll::Ready(Turn::Over),
            }
            if self.ends {
                return Poll::Ready(Turn::Linger);
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
                Poll::Ready(Received::Bytes(received)) => received,
                Poll::Ready(Received::Failed) => return Poll::Ready(Turn::Over),
                Poll::Ready(Received::End) => {
                    self.wire.stream.farewell(context);
                    return Poll::Ready(Turn::Over);
                }
                Poll::Pending => match self.wait(now) {
                    Wait::On => return Poll::Pending,
                    Wait::NoLonger => {
                        self.wire.stream.farewell(context);
                        return Poll::Ready(Turn::Over);
                    }
                    Wait::TooLate => {
                        let carry = std::mem::take(&mut self.wire.carry);
                        self.refuse(408, "Request Timeout", &carry, &mut scratch.outbox);
                        self.ends = true;
                        self.wire.keep(&mut scratch.outbox);
                        continue;
                    }
                },
            };
            let received = scratch.input.get(..received).unwrap_or_default();
            let input = &*self.wire.take_input(received);
            if self.may_switch {
                match compare(input, salver_http2::PREFACE) {
                    Likeness::Begins => {
                        self.wire.carry_over(input);
                        self.wire.carries_more = true;
                        return Poll::Ready(Turn::Switch);
                    }
                    Likeness::MayBegin if !input.is_empty() => {
                        self.wire.carry_over(input);
                        continue;
                    }
                    Likeness::MayBegin | Likeness::Differs => self.may_switch = false,
                }
            }
            // Empty, unless a connection's task has panicked: its answers are nobody else's.
            scratch.outbox.clear();
            self.wire.limit_buffer();
            let (consumed, flow) =
                self.answer_all(input, &mut scratch.outbox, &mut scratch.ready, now);
            let rest = input.get(consumed..).unwrap_or_default();
            self.wire.carry_over(rest);
            self.wire.carries_more = !rest.is_empty() && !matches!(flow, Flow::NeedsInput);
            self.needs_turn = self.wire.carries_more;
            let outbox = &mut scratch.outbox;
            let sent = match flow {
                Flow::Ready(number) => {
                    let answer = scratch.ready.get(number);
                    self.wire.send_ready(context, answer, outbox)
                }
                Flow::Slow(mut slow) => {
                    self.wire.deadline.set_busy();
                    slow.outbox = std::mem::take(outbox);
                    return Poll::Ready(Turn::Slow(slow));
                }
                Flow::NeedsInput | Flow::Enough | Flow::Ends => {
                    self.ends = matches!(flow, Flow::Ends);
                    if outbox.is_empty() {
                        continue;
                    }
                    self.wire.send(context, outbox)
                }
            };
            match ready!(sent) {
                Ok(()) => self.wait_for_request(now),
                Err(_) => return Poll::Ready(Turn::Over),
            }
        }
    }

    /// Answers the requests in `input`; how much of it is consumed, and why it stopped.
    fn answer_all(
        &mut self,
        input: &[u8],
        outbox: &mut Outbox,
        ready: &mut Ready,
        now: Now,
    ) -> (usize, Flow) {
        let mut at = 0;
        loop {
            let rest = input.get(at..).unwrap_or_default();
            if rest.is_empty() {
                return (at, Flow::NeedsInput);
            }
            let content = self.held.as_mut().and_then(|held| held.content.as_mut());
            let content = content.map(RequestBody::buffer);
            let (consumed, event) = self.parser.receive(&self.wire.shared.limits, rest, content);
            at += consumed;
            if self.is_too_much() {
                self.refuse(503, "Service Unavailable", rest, outbox);
                return (input.len(), Flow::Ends);
            }
            let flow = match event {
                Event::Incomplete => return (at, Flow::NeedsInput),
                Event::Request(head) => {
                    let alone = at == input.len() && outbox.is_empty();
                    self.answer(head, None, outbox, alone.then_some(&mut *ready), now)
                }
                Event::Body {
                    head,
                    send_continue,
                } => {
                    let method = method(head.method);
                    let refused = matches!(method, Method::NotAllowed | Method::NotImplemented);
                    let (common, seat) = (&self.wire.shared.common, &self.wire.seat);
                    let content = common.request_body(&seat.account);
                    if send_continue && refused && content.is_none() {
                        // The client asked whether to send the body; it need not (RFC 9110
                        // section 10.1.1), and if it does all the same nobody reads it.
                        let head = RequestHead {
                            persistent: false,
                            ..head
                        };
                        self.answer(head, None, outbox, None, now);
                        return (input.len(), Flow::Ends);
                    }
                    if send_continue {
                        outbox.write(|buffer| buffer.extend_from_slice(CONTINUE));
                    }
                    let head = head.into_owned();
                    self.held = Some(Box::new(Waiting { head, content }));
                    None
                }
                Event::BodyEnd => self.held.take().and_then(|held| {
                    let Waiting { head, content } = *held;
                    self.answer(head.borrow(), content, outbox, None, now)
                }),
                Event::Refuse(refusal) => {
                    self.refuse(refusal.status, refusal.reason, rest, outbox);
                    return (input.len(), Flow::Ends);
                }
            };
            if let Some(flow) = flow {
                return (at, flow);
            }
            let account = &self.wire.seat.account;
            if outbox.left() > LEAST_ANSWERS && outbox.left() > account.room_up_to(ENOUGH) {
                return (at, Flow::Enough);
            }
        }
    }

    /// Puts the last answer of the connection into `outbox`: to the request whose body is awaited, else to
    /// the one that `input` begins with.
    fn refuse(&mut self, status: u16, reason: &str, input: &[u8], outbox: &mut Outbox) {
        let method = match self.held.take() {
            Some(held) => Some(held.head.borrow().method),
            None => request_method(input),
        };
        let plan = error(status, reason, method);
        self.push_head(outbox, &plan, Persistence::Close);
        push_content(outbox, &plan);
    }

    /// Answers one request; `None` if the answer is in the outbox and others may follow. `ready` is
    /// given if no other answer goes with it.
    fn answer(
        &self,
        head: RequestHead<'_>,
        content: Option<RequestBody>,
        outbox: &mut Outbox,
        ready: Option<&mut Ready>,
        now: Now,
    ) -> Option<Flow> {
        let persistence = self.persistence(&head);
        let (raw, version) = (head.raw, head.version);
        let request = request(head);
        let wire = &self.wire;
        let given = |path: Option<&RequestPath<'_>>| {
            let peer = Peer::of(&wire.stream);
            given(version, raw, &request, path, content, peer)
        };
        let plan = match ask(&wire.shared, &wire.seat.account, &request, given, now) {
            Asked::Plan(plan) => plan,
            Asked::Later(plan) => return Some(slow(Answer::Awaited(plan), persistence)),
        };
        if let Some(ready) = ready.filter(|_| persistence == Persistence::KeepAlive)
            && let Some(number) = ready.find(&plan, &wire.shared.clock.date(), &self.front)
        {
            return Some(Flow::Ready(number));
        }
        self.push_head(outbox, &plan, persistence);
        if let Content::File(_) | Content::Parts(_) = plan.content {
            return Some(slow(Answer::Ready(plan), persistence));
        }
        push_content(outbox, &plan);
        (persistence == Persistence::Close).then_some(Flow::Ends)
    }

    fn push_head(&self, outbox: &mut Outbox, plan: &ResponsePlan, persistence: Persistence) {
        let date = &self.wire.shared.clock.date();
        push_head(outbox, plan, date, &self.front, persistence);
    }

    fn persistence(&self, head: &RequestHead<'_>) -> Persistence {
        let lasts = head.persistent && !self.wire.shared.draining.get();
        Persistence::new(head.version, lasts)
    }
}

/// How some bytes are like others.
enum Likeness {
    Begins,
    MayBegin,
    Differs,
}

/// Whether `input` begins with `known`, or may when more has come.
fn compare(input: &[u8], known: &[u8]) -> Likeness {
    if input.starts_with(known) {
        Likeness::Begins
    } else if known.starts_with(input) {
        Likeness::MayBegin
    } else {
        Likeness::Differs
    }
}

fn slow(answer: Answer, persistence: Persistence) -> Flow {
    Flow::Slow(Box::new(Slow {
        outbox: Outbox::default(),
        answer,
        persistence,
    }))
}
