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
//! An idle connection holds no buffer: input and output are the loop's until a turn leaves
//! something over.

mod bounds;
mod slow;
mod translate;

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

use salver_assets::{Content, Method, Now, ResponsePlan};
use salver_http1::{
    CONTINUE, Event, OwnedRequestHead, Persistence, Phase, RequestHead, request_method,
};
use tokio::io::ReadBuf;

use crate::asking::{Asked, ask, error, method};
use crate::context::Context as Loop;
use crate::deadlines::Deadline;
use crate::ending::{linger, report};
use crate::front::Front;
use crate::handler::{Peer, RequestBody};
use crate::http1::bounds::Wait;
use crate::http1::slow::{Answer, Slow};
use crate::http1::translate::{given, push_content, push_head, request};
use crate::http2;
use crate::memory_budget::Charge;
use crate::outbox::{ENOUGH, Outbox};
use crate::ready::Ready;
use crate::seats::Seat;
use crate::stream::Stream;
use crate::transmit::{Unsent, poll_send, send_or_keep};

/// Bytes of answers that are made at a time however short memory is.
const LEAST_ANSWERS: usize = 4 * 1024;

/// What one connection may have sent ahead while an answer is awaited, in bytes.
const SENT_AHEAD: usize = 16 * 1024;

/// A connection.
pub(crate) struct Connection<S> {
    shared: Rc<Loop>,
    stream: S,
    front: Rc<Front>,
    parser: salver_http1::Connection,
    /// Whether what comes first may be the preface of HTTP/2.
    may_switch: bool,
    /// Received and not consumed.
    carry: Vec<u8>,
    /// The memory of `carry`, when there is any.
    carried: Option<Charge>,
    /// Whether `carry` may hold a whole request.
    carries_more: bool,
    /// Answers that the socket had no room for.
    unsent: Option<Box<Unsent>>,
    /// The request whose body is awaited.
    held: Option<Box<Waiting>>,
    deadline: Deadline,
    /// For which phase the deadline was set.
    waits_in: Phase,
    /// No request has come yet: its head has the time that began with the connection.
    is_new: bool,
    /// No further request is answered: once everything is sent, the end begins. Never by closing
    /// at once: whatever the peer still sends would destroy the last answer on its way (RFC 9112
    /// section 9.6).
    ends: bool,
    seat: Seat,
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
    pub(crate) fn new(shared: Rc<Loop>, stream: S, front: Rc<Front>, seat: Seat) -> Self {
        let now = Instant::now();
        let until = now + shared.common.settings.header_timeout;
        let deadline = shared.deadlines.add(until);
        deadline.set_waiting(until, now);
        Connection {
            shared,
            stream,
            front,
            may_switch: false,
            parser: salver_http1::Connection::new(),
            carry: Vec::new(),
            carried: None,
            carries_more: false,
            unsent: None,
            held: None,
            deadline,
            waits_in: Phase::Idle,
            is_new: true,
            ends: false,
            seat,
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
                Turn::Linger => {
                    return Box::pin(linger(self.shared, self.stream, self.deadline)).await;
                }
                Turn::Switch => {
                    let Connection {
                        shared,
                        stream,
                        front,
                        carry,
                        deadline,
                        seat,
                        ..
                    } = self;
                    let switched = http2::Connection::new(shared, stream, front, deadline, seat);
                    return Box::pin(switched.after(carry).serve()).await;
                }
                Turn::Slow(slow) => {
                    // Boxed, so that an idle connection is small.
                    if let Err(error) = Box::pin(self.answer_slowly(*slow)).await {
                        // Not even what the kernel still holds is to complete the answer: its
                        // pages may be those of a file that has changed.
                        let _ = self.stream.tcp().set_zero_linger();
                        return report(&self.shared.common, &error);
                    }
                }
            }
        }
    }

    fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<Turn> {
        self.deadline.register(context);
        let shared = Rc::clone(&self.shared);
        let now = shared.clock.now();
        loop {
            if let Some(unsent) = &mut self.unsent {
                let (common, deadline) = (&*shared.common, &self.deadline);
                match unsent.poll(common, &mut self.stream, deadline, context) {
                    Poll::Ready(Ok(())) => self.unsent = None,
                    Poll::Ready(Err(_)) => return Poll::Ready(Turn::Over),
                    Poll::Pending => return Poll::Pending,
                }
                self.wait_for_request(now);
            }
            if self.ends {
                return Poll::Ready(Turn::Linger);
            }
            let mut scratch = shared.scratch.borrow_mut();
            let scratch = &mut *scratch;
            let received = if self.carries_more {
                0
            } else {
                let mut buffer = ReadBuf::new(&mut scratch.input);
                match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                    Poll::Pending => match self.wait(now) {
                        Wait::On => return Poll::Pending,
                        Wait::NoLonger => {
                            self.stream.farewell(context);
                            return Poll::Ready(Turn::Over);
                        }
                        Wait::TooLate => {
                            let carry = std::mem::take(&mut self.carry);
                            self.refuse(408, "Request Timeout", &carry, &mut scratch.outbox);
                            self.ends = true;
                            self.hand_over(&mut scratch.outbox);
                            continue;
                        }
                    },
                    Poll::Ready(Err(_)) => return Poll::Ready(Turn::Over),
                    Poll::Ready(Ok(())) if buffer.filled().is_empty() => {
                        self.stream.farewell(context);
                        return Poll::Ready(Turn::Over);
                    }
                    Poll::Ready(Ok(())) => buffer.filled().len(),
                }
            };
            let received = scratch.input.get(..received).unwrap_or_default();
            let mut carry = std::mem::take(&mut self.carry);
            let input = if carry.is_empty() {
                received
            } else {
                carry.extend_from_slice(received);
                &carry
            };
            if self.may_switch {
                match compare(input, salver_http2::PREFACE) {
                    Likeness::Begins => {
                        self.carry = input.to_vec();
                        return Poll::Ready(Turn::Switch);
                    }
                    Likeness::MayBegin if !input.is_empty() => {
                        self.carry = input.to_vec();
                        continue;
                    }
                    Likeness::MayBegin | Likeness::Differs => self.may_switch = false,
                }
            }
            // Empty, unless a connection's task has panicked: its answers are nobody else's.
            scratch.outbox.clear();
            self.stream.limit_buffer(&self.seat.account);
            let (consumed, flow) =
                self.answer_all(input, &mut scratch.outbox, &mut scratch.ready, now);
            let rest = input.get(consumed..).unwrap_or_default();
            // A copy of what is left: in the common case there is nothing, and nothing is held.
            self.carry = rest.to_vec();
            self.count_carry();
            self.carries_more = !rest.is_empty() && !matches!(flow, Flow::NeedsInput);
            match flow {
                Flow::NeedsInput | Flow::Enough => {}
                Flow::Ready(number) => {
                    let (outbox, answer) = (&mut scratch.outbox, scratch.ready.get(number));
                    match send_or_keep(&mut self.stream, context, answer, outbox) {
                        Poll::Ready(Ok(())) => self.wait_for_request(now),
                        Poll::Ready(Err(_)) => return Poll::Ready(Turn::Over),
                        Poll::Pending => {
                            self.hand_over(outbox);
                            return Poll::Pending;
                        }
                    }
                }
                Flow::Ends => self.ends = true,
                Flow::Slow(mut slow) => {
                    self.deadline.set_busy();
                    slow.outbox = std::mem::take(&mut scratch.outbox);
                    return Poll::Ready(Turn::Slow(slow));
                }
            }
            if scratch.outbox.is_empty() {
                continue;
            }
            match poll_send(&mut self.stream, context, &mut scratch.outbox) {
                Poll::Ready(Ok(())) => {
                    scratch.outbox.rest();
                    self.wait_for_request(now);
                }
                Poll::Ready(Err(_)) => {
                    scratch.outbox.clear();
                    return Poll::Ready(Turn::Over);
                }
                Poll::Pending => {
                    self.hand_over(&mut scratch.outbox);
                    return Poll::Pending;
                }
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
            let (consumed, event) = self.parser.receive(&self.shared.limits, rest, content);
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
                    let content = self.shared.common.request_body(&self.seat.account);
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
            if outbox.left() > LEAST_ANSWERS && outbox.left() > self.seat.account.room_up_to(ENOUGH)
            {
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
        let given = || given(version, raw, &request, content, Peer::of(&self.stream));
        let plan = match ask(&self.shared, &self.seat.account, &request, given, now) {
            Asked::Plan(plan) => plan,
            Asked::Later(plan) => return Some(slow(Answer::Awaited(plan), persistence)),
        };
        if let Some(ready) = ready.filter(|_| persistence == Persistence::KeepAlive)
            && let Some(number) = ready.find(&plan, &self.shared.clock.date(), &self.front)
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
        let date = &self.shared.clock.date();
        push_head(outbox, plan, date, &self.front, persistence);
    }

    fn persistence(&self, head: &RequestHead<'_>) -> Persistence {
        let lasts = head.persistent && !self.shared.draining.get();
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
