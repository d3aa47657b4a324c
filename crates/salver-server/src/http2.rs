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
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use salver_assets::{Content, Now, ResponsePlan};
use salver_fields::RequestHead;
use salver_http2::{Event, Phase, RenderedHead};
use tokio::io::ReadBuf;

use crate::asking::{Asked, Awaited, ask, error, request};
use crate::awaited::unavailable;
use crate::context::{Context as Loop, NoFile, Scratch, Sender};
use crate::deadlines::Deadline;
use crate::ending::{linger, report};
use crate::front::Front;
use crate::handler::{Full, Peer, given};
use crate::http2::incoming::Incoming;
use crate::http2::translate::rendered;
use crate::memory_budget::{Charge, OpenFile};
use crate::outbox::{ENOUGH, Outbox};
use crate::seats::Seat;
use crate::stream::Stream;
use crate::transmit::reading::{Loading, Reading};
use crate::transmit::{Unsent, poll_send};
use crate::turns::{REQUESTS_IN_TURN, Turn};

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
    shared: Rc<Loop>,
    stream: S,
    front: Rc<Front>,
    protocol: Protocol,
    /// Received and not consumed.
    carry: Vec<u8>,
    /// Whether `carry` may hold a whole frame.
    carries_more: bool,
    /// Frames that the socket had no room for.
    unsent: Option<Box<Unsent>>,
    /// Answers that wait for a load or a handler, by stream.
    awaited: Vec<(u32, Awaited)>,
    /// The content of requests that are not whole, if anybody is to have it.
    contents: Vec<Incoming>,
    deadline: Deadline,
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
    /// The memory of streams and of input that is not whole.
    charge: Charge,
    seat: Seat,
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
        let now = shared.clock.now().instant;
        let mut stream = stream;
        let (common, account) = (&shared.common, &seat.account);
        let unsent = Unsent::of(&mut outbox, common, account, &mut stream, &deadline);
        deadline.set_waiting(now + common.settings.header_timeout, now);
        Connection {
            charge: account.charge(0),
            shared,
            stream,
            front,
            waits_in: (protocol.phase(), protocol.progress()),
            protocol,
            carry: Vec::new(),
            carries_more: false,
            unsent: Some(unsent),
            awaited: Vec::new(),
            contents: Vec::new(),
            deadline,
            checked: now,
            turn: Turn::default(),
            sender: None,
            leaves_at: None,
            ends: false,
            seat,
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
        let end = std::future::poll_fn(|context| {
            let end = self.poll_turns(context);
            self.count_memory();
            end
        })
        .await;
        for sending in self.protocol.end() {
            sending.reading.end(&disk(&self.shared, &self.seat));
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
        // One that ends for another costs nothing.
        if !self.deadline.makes_room() {
            let client = self.seat.client;
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
            if let Some(unsent) = &mut self.unsent {
                let (common, deadline) = (&*shared.common, &self.deadline);
                match unsent.poll(common, &mut self.stream, deadline, context) {
                    Poll::Ready(Ok(())) => self.unsent = None,
                    Poll::Ready(Err(_)) => return Poll::Ready(End::Over),
                    Poll::Pending => return Poll::Pending,
                }
                now = shared.clock.now();
                // The client held up the connection, not its streams.
                self.checked = now.instant;
                self.wait_anew(now);
            }
            if self.ends {
                return Poll::Ready(match self.deadline.makes_room() {
                    true => End::Over,
                    false => End::Linger,
                });
            }
            let account = &self.seat.account;
            self.stream.limit_buffer(account);
            let room = usize::try_from(account.room()).unwrap_or(usize::MAX);
            self.protocol
                .limit_held(self.charge.bytes().saturating_add(room));
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
            match poll_send(&mut self.stream, context, outbox) {
                Poll::Ready(Ok(())) => outbox.rest(),
                Poll::Ready(Err(_)) => {
                    outbox.clear();
                    return Poll::Ready(End::Over);
                }
                Poll::Pending => {
                    let (common, account) = (&shared.common, &self.seat.account);
                    let (stream, deadline) = (&mut self.stream, &self.deadline);
                    self.unsent = Some(Unsent::of(outbox, common, account, stream, deadline));
                    // The deadline is another now.
                    self.waits_in = (Phase::Head, u64::MAX);
                    self.sender.get_or_insert_with(|| shared.sender());
                    return Poll::Pending;
                }
            }
            if sent >= turn || self.carries_more {
                break;
            }
        }
        self.sender.get_or_insert_with(|| shared.sender());
        // Behind all that are ready, those included of which the loop has not heard yet.
        let _ = pin!(tokio::task::yield_now()).poll(context);
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
        let (mut at, mut asked) = (0, 0);
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
                    if let Some(sending) = content {
                        sending.reading.end(&disk(&shared, &self.seat));
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
                self.carries_more = true;
                return at;
            }
        }
    }

    fn answer(
        &mut self,
        stream: u32,
        head: RequestHead<'_>,
        outbox: &mut Outbox,
        now: Now,
    ) {
        let content = self.take_content(stream);
        let (request, lines) = request(head);
        let given = || {
            let (version, peer) = (http::Version::HTTP_2, Peer::of(&self.stream));
            given(version, &request, lines.iter(), content, peer)
        };
        match ask(&self.shared, &self.seat.account, &request, given, now) {
            Asked::Plan(plan) => self.respond(stream, plan, outbox),
            Asked::Later(plan) => self.awaited.push((stream, plan)),
        }
    }

    fn respond(&mut self, stream: u32, mut plan: ResponsePlan, outbox: &mut Outbox) {
        let file = match self
            .shared
            .common
            .open_file(&self.seat.account, &plan.content)
        {
            Ok(file) => file,
            Err(NoFile) => {
                self.shared.common.loader.discard(plan.content);
                plan = unavailable("Service Unavailable: too many files are being sent");
                None
            }
        };
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
        let sending = Sending {
            reading,
            _file: file,
        };
        let left = outbox
            .write(|buffer| protocol.respond(stream, head, more, date, (sending, length), buffer));
        if let Some(sending) = left {
            sending.reading.end(&disk(&self.shared, &self.seat));
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
        let common = &self.shared.common;
        let disk = disk(&self.shared, &self.seat);
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
fn disk<'a>(shared: &'a Loop, seat: &'a Seat) -> Loading<'a> {
    Loading {
        common: &shared.common,
        account: &seat.account,
    }
}
