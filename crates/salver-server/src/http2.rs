//! One HTTP/2 connection: what was received goes through the protocol and the engine into an
//! outbox, and content follows in the order that the protocol says.
//!
//! ```text
//!                    ┌───────────────────────────────────────────────────────────┐
//!                    ▼                                                           │
//! accepted ──► turn: send what is left ─► receive, ask ─► fill the outbox ─► send ┘
//!                    │                        │
//!                    │ the peer is gone       │ GOAWAY is sent, nothing is left to send
//!                    ▼                        ▼
//!                  over ◄──────────────────  linger
//! ```
//!
//! While the socket takes nothing, nothing is received: so what a client can have us keep is bounded
//! by what one turn makes. An idle connection holds no buffer.

mod bounds;
mod incoming;
mod translate;

use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use salver_assets::{Content, Now, RequestPath, ResponsePlan};
use salver_fields::RequestHead;
use salver_http2::{Event, Phase, RenderedHead};

use crate::asking::{Asked, Awaited, ask, error, request};
use crate::awaited::unavailable;
use crate::context::{NoFile, Scratch, Sender};
use crate::ending::linger;
use crate::front::Front;
use crate::handler::{Full, Peer, given};
use crate::http2::incoming::Incoming;
use crate::http2::translate::rendered;
use crate::memory_budget::{Charge, OpenFile};
use crate::outbox::{ENOUGH, Outbox};
use crate::report::report;
use crate::stream::Stream;
use crate::transmit::reading::{Loading, Reading};
use crate::turns::{REQUESTS_IN_TURN, Turn};
use crate::wire::{Received, Wire};

/// Rounds of receiving and sending after which other connections have their turn.
const ROUNDS: u32 = 4;

/// Bytes that a connection sends while others have more to send, too, before they have their turn: what
/// TLS encrypts at a time.
const SHARED_TURN: usize = 64 * 1024;

type Protocol = salver_http2::Connection<Sending>;

/// An answer's content on its way.
struct Sending {
    reading: Reading,
    _file: Option<OpenFile>,
}

/// A connection.
pub(crate) struct Connection<S> {
    wire: Wire<S>,
    front: Rc<Front>,
    protocol: Protocol,
    /// Answers that wait for a load or a handler, by stream.
    awaited: Vec<(u32, Awaited)>,
    /// The content of requests that are not whole, if anybody is to have it.
    contents: Vec<Incoming>,
    /// For which state of the protocol the deadline was set.
    waits_in: (Phase, u64),
    /// When it was last looked whether the client holds back its windows.
    checked: Instant,
    turn: Turn,
    /// While there is more to send.
    sender: Option<Sender>,
    /// When the client is told its last stream, once it has heard of the end.
    leaves_at: Option<Instant>,
    /// Once everything is sent, the end begins.
    ends: bool,
    /// The memory of streams.
    charge: Charge,
}

/// How a connection ends.
enum End {
    Over,
    Linger,
}

impl<S: Stream> Connection<S> {
    /// A connection of a client that is known to speak HTTP/2; what has come of it is carried.
    pub(crate) fn new(mut wire: Wire<S>, front: Rc<Front>) -> Self {
        let protocol = Protocol::new();
        let mut outbox = Outbox::default();
        outbox.write(|buffer| protocol.begin(&wire.shared.http2_limits, buffer));
        let now = wire.shared.clock.now().instant;
        wire.keep(&mut outbox);
        let header_timeout = wire.shared.common.settings.header_timeout;
        wire.deadline.set_waiting(now + header_timeout, now);
        Connection {
            charge: wire.seat.account.charge(0),
            wire,
            front,
            waits_in: (protocol.phase(), protocol.progress()),
            protocol,
            awaited: Vec::new(),
            contents: Vec::new(),
            checked: now,
            turn: Turn::default(),
            sender: None,
            leaves_at: None,
            ends: false,
        }
    }

    /// Serves until the connection ends.
    pub(crate) async fn serve(mut self) {
        let end = std::future::poll_fn(|context| {
            let end = self.poll_turns(context);
            self.count_memory();
            end
        })
        .await;
        for sending in self.protocol.end() {
            sending.reading.end(&disk(&self.wire));
        }
        // Nobody waits for these while the client reads the last of it.
        self.awaited.clear();
        self.contents.clear();
        match end {
            End::Over => {}
            End::Linger => Box::pin(linger(self.wire)).await,
        }
    }

    fn poll_turns(&mut self, context: &mut Context<'_>) -> Poll<End> {
        self.wire.deadline.register(context);
        let shared = Rc::clone(&self.wire.shared);
        // One that ends for another costs nothing.
        if !self.wire.deadline.makes_room() {
            let client = self.wire.seat.client;
            ready!(self.turn.poll(&shared.turns, client, context));
        }
        let mut now = shared.clock.now();
        if self.sender.is_none() {
            // Nothing was held up until now.
            self.checked = now.instant;
        }
        let others_send = shared.senders() > usize::from(self.sender.is_some());
        let turn = if others_send { SHARED_TURN } else { usize::MAX };
        let mut sent = 0;
        for _ in 0..ROUNDS {
            match ready!(self.wire.poll_flush(context)) {
                Ok(false) => {}
                Ok(true) => {
                    now = shared.clock.now();
                    // The client held up the connection, not its streams.
                    self.checked = now.instant;
                    self.wait_anew(now);
                }
                Err(_) => return Poll::Ready(End::Over),
            }
            if self.ends {
                return Poll::Ready(match self.wire.deadline.makes_room() {
                    true => End::Over,
                    false => End::Linger,
                });
            }
            self.wire.limit_buffer();
            let room = usize::try_from(self.wire.seat.account.room()).unwrap_or(usize::MAX);
            self.protocol
                .limit_held(self.charge.bytes().saturating_add(room));
            let mut scratch = shared.scratch.borrow_mut();
            // Empty, unless a connection's task has panicked: its answers are nobody else's.
            scratch.outbox.clear();
            let Some(has_received) = self.receive(context, &mut scratch, now) else {
                return Poll::Ready(End::Over);
            };
            let outbox = &mut scratch.outbox;
            self.refuse_late(now, outbox);
            self.answer_awaited(context, outbox);
            self.protocol.retry();
            self.fill(context, outbox, ENOUGH.min(room).min(turn));
            self.ends |= self.is_stalled(now, outbox);
            if shared.draining.get() {
                self.say_goodbye(now, outbox);
            }
            self.ends |= self.protocol.is_over();
            if outbox.is_empty() && !self.ends && !has_received && self.is_late(now, outbox) {
                self.ends = true;
            }
            if outbox.is_empty() && !self.ends {
                if has_received {
                    continue;
                }
                self.sender = None;
                if self.protocol.is_sending() {
                    self.sender = Some(shared.sender());
                }
                return Poll::Pending;
            }
            sent += outbox.left();
            match self.wire.send(context, outbox) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => return Poll::Ready(End::Over),
                Poll::Pending => {
                    // The deadline is another now.
                    self.waits_in = (Phase::Head, u64::MAX);
                    self.sender.get_or_insert_with(|| shared.sender());
                    return Poll::Pending;
                }
            }
            if sent >= turn || self.wire.carries_more {
                break;
            }
        }
        self.sender.get_or_insert_with(|| shared.sender());
        // Behind all that are ready, those included of which the loop has not heard yet.
        let _ = pin!(tokio::task::yield_now()).poll(context);
        Poll::Pending
    }

    /// Receives once, and looks at what has come: whether anything has. `None` if the connection is over.
    fn receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
        now: Now,
    ) -> Option<bool> {
        let received = match self.wire.poll_receive(context, &mut scratch.input) {
            Poll::Pending => return Some(false),
            Poll::Ready(Received::Bytes(received)) => received,
            Poll::Ready(Received::Failed) => return None,
            Poll::Ready(Received::End) => {
                // What is cut short ends without a word.
                if self.protocol.phase() == Phase::Idle {
                    self.wire.stream.farewell(context);
                }
                return None;
            }
        };
        let received = scratch.input.get(..received).unwrap_or_default();
        let input = &*self.wire.take_input(received);
        let consumed = self.take(input, &mut scratch.http2, &mut scratch.outbox, now);
        let rest = input.get(consumed..).unwrap_or_default();
        self.wire.carry_over(rest);
        Some(true)
    }

    /// Looks at `input`; how much of it is consumed.
    fn take(
        &mut self,
        input: &[u8],
        scratch: &mut salver_http2::Scratch,
        outbox: &mut Outbox,
        now: Now,
    ) -> usize {
        let shared = Rc::clone(&self.wire.shared);
        let second = shared.common.uptime().as_secs();
        let limits = &shared.http2_limits;
        let (mut at, mut asked) = (0, 0);
        self.wire.carries_more = false;
        loop {
            let rest = input.get(at..).unwrap_or_default();
            let protocol = &mut self.protocol;
            let (consumed, event) =
                outbox.write(|buffer| protocol.receive(limits, rest, second, scratch, buffer));
            at += consumed;
            match event {
                Event::Incomplete => return at,
                Event::Again => continue,
                Event::Ended => {
                    self.ends = true;
                    return at;
                }
                Event::Cancelled { stream, content } => {
                    self.awaited.retain(|(awaited, _)| *awaited != stream);
                    self.take_content(stream);
                    if let Some(sending) = content {
                        sending.reading.end(&disk(&self.wire));
                    }
                }
                Event::Content { stream, content } => {
                    if self.hold(stream, content, now).is_err() {
                        let method = self.protocol.method(stream);
                        self.refuse(stream, error(503, "Service Unavailable", method), outbox);
                    }
                }
                Event::Refused {
                    stream,
                    method,
                    refusal,
                } => {
                    asked += 1;
                    let plan = error(refusal.status, refusal.reason, method);
                    self.refuse(stream, plan, outbox);
                }
                Event::Request {
                    stream,
                    request,
                    content,
                } => match self.hold(stream, content, now) {
                    Ok(()) => {
                        asked += 1;
                        self.answer(stream, request, outbox, now);
                    }
                    Err(Full) => {
                        let plan = error(503, "Service Unavailable", Some(request.method));
                        self.refuse(stream, plan, outbox);
                    }
                },
            }
            if outbox.left() > ENOUGH || asked >= REQUESTS_IN_TURN {
                self.wire.carries_more = true;
                return at;
            }
        }
    }

    fn answer(&mut self, stream: u32, head: RequestHead<'_>, outbox: &mut Outbox, now: Now) {
        let content = self.take_content(stream);
        let (request, lines) = request(head);
        let wire = &self.wire;
        let given = |path: Option<&RequestPath<'_>>| {
            let (version, peer) = (http::Version::HTTP_2, Peer::of(&wire.stream));
            given(version, &request, path, lines.iter(), content, peer)
        };
        match ask(&wire.shared, &wire.seat.account, &request, given, now) {
            Asked::Plan(plan) => self.respond(stream, plan, outbox),
            Asked::Later(plan) => self.awaited.push((stream, plan)),
        }
    }

    fn respond(&mut self, stream: u32, mut plan: ResponsePlan, outbox: &mut Outbox) {
        let Wire { shared, seat, .. } = &self.wire;
        let file = match shared.common.open_file(&seat.account, &plan.content) {
            Ok(file) => file,
            Err(NoFile) => {
                shared.common.loader.discard(plan.content);
                plan = unavailable("Service Unavailable: too many files are being sent");
                None
            }
        };
        let content = std::mem::replace(&mut plan.content, Content::Empty);
        let date = &shared.clock.date();
        let made;
        let head: &RenderedHead = match rendered(&plan) {
            Some(head) => head,
            None => {
                made = translate::render(&plan);
                &made
            }
        };
        let more = self.front.block();
        let protocol = &mut self.protocol;
        let reading = Reading::new(content);
        let length = reading.left();
        let sending = Sending {
            reading,
            _file: file,
        };
        let left = outbox
            .write(|buffer| protocol.respond(stream, head, more, date, (sending, length), buffer));
        if let Some(sending) = left {
            sending.reading.end(&disk(&self.wire));
        }
    }

    /// Answers what waited for a load or a handler that has ended.
    fn answer_awaited(&mut self, context: &mut Context<'_>, outbox: &mut Outbox) {
        let mut place = 0;
        while let Some((stream, plan)) = self.awaited.get_mut(place) {
            match plan.as_mut().poll(context) {
                Poll::Pending => place += 1,
                Poll::Ready(plan) => {
                    let stream = *stream;
                    drop(self.awaited.swap_remove(place));
                    self.respond(stream, plan, outbox);
                }
            }
        }
    }

    /// Fills the outbox with content until there is enough of it.
    fn fill(&mut self, context: &mut Context<'_>, outbox: &mut Outbox, enough: usize) {
        let common = &self.wire.shared.common;
        let disk = disk(&self.wire);
        let protocol = &mut self.protocol;
        while outbox.left() < enough.max(1)
            && let Some(turn) = protocol.next_turn()
            && let Some(Sending { reading, .. }) = protocol.content(turn)
        {
            let left = match reading.poll_next(&disk, context, turn.most, turn.ahead) {
                Poll::Pending => {
                    protocol.stall(turn);
                    continue;
                }
                Poll::Ready(Ok(bytes)) if !bytes.is_empty() => {
                    let mut after = Vec::new();
                    let left =
                        outbox.write(|buffer| protocol.send(turn, bytes.len(), buffer, &mut after));
                    outbox.push(&bytes);
                    outbox.write(|buffer| buffer.append(&mut after));
                    left
                }
                Poll::Ready(failed) => {
                    let error = failed.err().unwrap_or(io::ErrorKind::UnexpectedEof.into());
                    report(common, &error);
                    outbox.write(|buffer| protocol.fail(turn, buffer))
                }
            };
            if let Some(sending) = left {
                sending.reading.end(&disk);
            }
        }
    }
}

/// The disk for a connection's answers.
fn disk<S>(wire: &Wire<S>) -> Loading<'_> {
    Loading {
        common: &wire.shared.common,
        account: &wire.seat.account,
    }
}
