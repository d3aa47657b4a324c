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

mod translate;

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use salver_assets::{Content, Now, ResponsePlan};
use salver_http2::{Event, Phase, RenderedHead};
use tokio::io::ReadBuf;

use crate::asking::{Asked, Awaited, ask};
use crate::context::{Context as Loop, Scratch, Seat};
use crate::deadlines::Deadline;
use crate::ending::{linger, report};
use crate::front::Front;
use crate::handler::{Full, Held, Peer};
use crate::http2::translate::{given, refused, rendered, request};
use crate::outbox::{ENOUGH, Outbox};
use crate::stream::Stream;
use crate::transmit::reading::{Loading, Reading};
use crate::transmit::{expect_progress, poll_send, poll_unsent};

/// Rounds of receiving and sending after which other connections have their turn.
const ROUNDS: u32 = 4;

type Protocol = salver_http2::Connection<Reading>;

/// A connection.
pub(crate) struct Connection<S> {
    shared: Rc<Loop>,
    stream: S,
    front: Rc<Front>,
    protocol: Protocol,
    /// Received and not consumed.
    carry: Vec<u8>,
    /// Whether `carry` may hold a whole frame.
    carries_more: bool,
    /// Frames that the socket had no room for.
    unsent: Option<Box<Outbox>>,
    /// Answers that wait for a load or a handler, by stream.
    awaited: Vec<(u32, Awaited)>,
    /// The content of requests that are not whole, if anybody is to have it.
    contents: Vec<Incoming>,
    deadline: Deadline,
    /// For which state of the protocol the deadline was set.
    waits_in: (Phase, u64),
    /// Once everything is sent, the end begins.
    ends: bool,
    _seat: Seat,
}

/// The content of a request, as far as it has come.
struct Incoming {
    stream: u32,
    content: Held,
    /// When all of it must be here: what others of the connection do does not prolong that.
    until: Instant,
}

/// How a connection ends.
enum End {
    Over,
    Linger,
}

impl<S: Stream> Connection<S> {
    pub(crate) fn new(
        shared: Rc<Loop>,
        stream: S,
        front: Rc<Front>,
        deadline: Deadline,
        seat: Seat,
    ) -> Self {
        let protocol = Protocol::new();
        let mut outbox = Outbox::default();
        outbox.write(|buffer| protocol.begin(&shared.http2_limits, buffer));
        deadline.set(shared.clock.now().instant + shared.common.settings.header_timeout);
        Connection {
            shared,
            stream,
            front,
            waits_in: (protocol.phase(), protocol.progress()),
            protocol,
            carry: Vec::new(),
            carries_more: false,
            unsent: Some(Box::new(outbox)),
            awaited: Vec::new(),
            contents: Vec::new(),
            deadline,
            ends: false,
            _seat: seat,
        }
    }

    /// The same, when some of what the client sent has been received already.
    pub(crate) fn after(mut self, received: Vec<u8>) -> Self {
        self.carries_more = !received.is_empty();
        self.carry = received;
        self
    }

    /// Serves until the connection ends.
    pub(crate) async fn serve(mut self) {
        let end = std::future::poll_fn(|context| self.poll_turns(context)).await;
        let common = &self.shared.common;
        for reading in self.protocol.end() {
            reading.end(&Loading(common));
        }
        // Nobody waits for these while the client reads the last of it.
        self.awaited.clear();
        self.contents.clear();
        match end {
            End::Over => {}
            End::Linger => Box::pin(linger(self.shared, self.stream, self.deadline)).await,
        }
    }

    fn poll_turns(&mut self, context: &mut Context<'_>) -> Poll<End> {
        self.deadline.register(context);
        let shared = Rc::clone(&self.shared);
        for _ in 0..ROUNDS {
            if let Some(unsent) = &mut self.unsent {
                let (common, deadline) = (&*shared.common, &self.deadline);
                match poll_unsent(common, &mut self.stream, deadline, context, unsent) {
                    Poll::Ready(Ok(())) => self.unsent = None,
                    Poll::Ready(Err(_)) => return Poll::Ready(End::Over),
                    Poll::Pending => return Poll::Pending,
                }
                self.wait_anew(shared.clock.now());
            }
            if self.ends {
                return Poll::Ready(End::Linger);
            }
            let now = shared.clock.now();
            let mut scratch = shared.scratch.borrow_mut();
            // Empty, unless a connection's task has panicked: its answers are nobody else's.
            scratch.outbox.clear();
            let Ok(has_received) = self.receive(context, &mut scratch, now) else {
                return Poll::Ready(End::Over);
            };
            let outbox = &mut scratch.outbox;
            self.refuse_late(now, outbox);
            self.answer_awaited(context, outbox);
            self.protocol.retry();
            self.fill(context, outbox);
            if shared.draining.get() {
                outbox.write(|buffer| self.protocol.go_away(buffer));
            }
            self.ends |= self.protocol.is_over();
            if outbox.is_empty() && !self.ends && !has_received && self.is_late(now, outbox) {
                self.ends = true;
            }
            if outbox.is_empty() && !self.ends {
                if has_received {
                    continue;
                }
                return Poll::Pending;
            }
            match poll_send(&mut self.stream, context, outbox) {
                Poll::Ready(Ok(())) => outbox.rest(),
                Poll::Ready(Err(_)) => {
                    outbox.clear();
                    return Poll::Ready(End::Over);
                }
                Poll::Pending => {
                    self.unsent = Some(Box::new(std::mem::take(outbox)));
                    let timeout = shared.common.settings.send_timeout;
                    expect_progress(&self.stream, &self.deadline, timeout);
                    return Poll::Pending;
                }
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Receives once, and looks at what has come. Whether anything has.
    fn receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut Scratch,
        now: Now,
    ) -> io::Result<bool> {
        let received = if self.carries_more {
            0
        } else {
            let mut buffer = ReadBuf::new(&mut scratch.input);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Pending => return Ok(false),
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Ready(Ok(())) if buffer.filled().is_empty() => {
                    // What is cut short ends without a word.
                    if self.protocol.phase() == Phase::Idle {
                        self.stream.farewell(context);
                    }
                    return Err(io::ErrorKind::UnexpectedEof.into());
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
        let consumed = self.take(input, &mut scratch.http2, &mut scratch.outbox, now);
        self.carry = input.get(consumed..).unwrap_or_default().to_vec();
        Ok(true)
    }

    /// Looks at `input`; how much of it is consumed.
    fn take(
        &mut self,
        input: &[u8],
        scratch: &mut salver_http2::Scratch,
        outbox: &mut Outbox,
        now: Now,
    ) -> usize {
        let shared = Rc::clone(&self.shared);
        let second = shared.common.uptime().as_secs();
        let limits = &shared.http2_limits;
        let mut at = 0;
        self.carries_more = false;
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
                    if let Some(reading) = content {
                        reading.end(&Loading(&shared.common));
                    }
                }
                Event::Content { stream, content } => {
                    if self.hold(stream, content, now).is_err() {
                        self.refuse(stream, 503, outbox);
                    }
                }
                Event::Request {
                    stream,
                    request,
                    content,
                } => match self.hold(stream, content, now) {
                    Ok(()) => self.answer(stream, request, outbox, now),
                    Err(Full) => self.refuse(stream, 503, outbox),
                },
            }
            if outbox.left() > ENOUGH {
                self.carries_more = true;
                return at;
            }
        }
    }

    fn answer(
        &mut self,
        stream: u32,
        asked: salver_http2::Request<'_>,
        outbox: &mut Outbox,
        now: Now,
    ) {
        let content = self.take_content(stream);
        if let Some(plan) = refused(&asked) {
            return self.respond(stream, plan, outbox);
        }
        let (request, lines) = request(asked);
        let given = || given(&lines, &request, content, Peer::of(&self.stream));
        match ask(&self.shared, &request, given, now) {
            Asked::Plan(plan) => self.respond(stream, plan, outbox),
            Asked::Later(plan) => self.awaited.push((stream, plan)),
        }
    }

    /// Keeps a piece of a request's content, if anybody is to have it.
    fn hold(&mut self, stream: u32, piece: &[u8], now: Now) -> Result<(), Full> {
        if piece.is_empty() {
            return Ok(());
        }
        let mut known = self.contents.iter_mut();
        let incoming = match known.find(|incoming| incoming.stream == stream) {
            Some(incoming) => incoming,
            None => {
                let common = &self.shared.common;
                let Some(content) = common.hold() else {
                    return Ok(());
                };
                self.contents.push_mut(Incoming {
                    stream,
                    content,
                    until: now.instant + common.settings.idle_timeout,
                })
            }
        };
        incoming.content.buffer().extend_from_slice(piece);
        incoming.content.count()
    }

    fn take_content(&mut self, stream: u32) -> Option<Held> {
        let mut contents = self.contents.iter();
        let place = contents.position(|incoming| incoming.stream == stream)?;
        Some(self.contents.swap_remove(place).content)
    }

    /// There is no room for the content of a request, or no time. It may be one of HEAD, so that
    /// there is no text.
    fn refuse(&mut self, stream: u32, status: u16, outbox: &mut Outbox) {
        self.take_content(stream);
        let plan = ResponsePlan::own(status, vec![], Bytes::new());
        self.respond(stream, plan, outbox);
    }

    /// Refuses requests whose content takes too long.
    fn refuse_late(&mut self, now: Now, outbox: &mut Outbox) {
        let is_late = |incoming: &&Incoming| incoming.until <= now.instant;
        while let Some(late) = self.contents.iter().find(is_late) {
            self.refuse(late.stream, 408, outbox);
        }
    }

    fn respond(&mut self, stream: u32, mut plan: ResponsePlan, outbox: &mut Outbox) {
        let content = std::mem::replace(&mut plan.content, Content::Empty);
        let date = &self.shared.clock.date();
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
        let left = outbox
            .write(|buffer| protocol.respond(stream, head, more, date, (reading, length), buffer));
        if let Some(reading) = left {
            reading.end(&Loading(&self.shared.common));
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

    /// Fills the outbox with content.
    fn fill(&mut self, context: &mut Context<'_>, outbox: &mut Outbox) {
        let common = &self.shared.common;
        let protocol = &mut self.protocol;
        while outbox.left() < ENOUGH
            && let Some(turn) = protocol.next_turn()
            && let Some(reading) = protocol.content(turn)
        {
            let left = match reading.poll_next(&Loading(common), context, turn.most) {
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
            if let Some(reading) = left {
                reading.end(&Loading(common));
            }
        }
    }

    /// Sets the deadline for what is waited for from now on.
    fn wait_anew(&mut self, now: Now) {
        let mut phase = self.protocol.phase();
        if phase == Phase::Idle && !self.carry.is_empty() {
            phase = Phase::Head;
        }
        let state = (phase, self.protocol.progress());
        if state == self.waits_in {
            return;
        }
        self.waits_in = state;
        let settings = &self.shared.common.settings;
        self.deadline.set(
            now.instant
                + match phase {
                    Phase::Head => settings.header_timeout,
                    Phase::Idle | Phase::Body => settings.idle_timeout,
                    Phase::Answering => settings.send_timeout,
                },
        );
    }

    /// Whether what is waited for has not come in time; then the client has been told.
    fn is_late(&mut self, now: Now, outbox: &mut Outbox) -> bool {
        self.wait_anew(now);
        if !self.deadline.has_passed(now.instant) {
            return false;
        }
        match self.protocol.phase() {
            // Nobody waits for the client: a disk takes its time.
            Phase::Answering if !self.protocol.is_sending() => return false,
            Phase::Answering => report(&self.shared.common, &io::ErrorKind::TimedOut.into()),
            Phase::Idle | Phase::Head | Phase::Body => {}
        }
        outbox.write(|buffer| self.protocol.go_away(buffer));
        true
    }
}
