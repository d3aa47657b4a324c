//! One HTTP/2 connection: its input goes through the protocol and the engine into a send buffer, and content follows
//! in the order that the protocol decides.
//!
//! ```text
//!                    ┌───────────────────────────────────────────────────────────┐
//!                    ▼                                                           │
//! accepted ──► turn: send what is left ─► receive, ask ─► fill the send_buffer ─► send ┘
//!                    │                        │
//!                    │ the peer is gone       │ GOAWAY is sent, nothing is left to send
//!                    ▼                        ▼
//!                  over ◄──────────────────  linger
//! ```
//!
//! While the socket takes nothing, nothing is received: so the output kept for a client is bounded by that of one
//! turn. An idle connection holds no buffer.

mod answering;
mod bounds;
mod request_content;
mod sending;
mod translate;

use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use salver_assets::Now;
use salver_http2::{Event, Phase};

use crate::access_log::record::LogRecord;
use crate::byte_stream::ByteStream;
use crate::context::WorkerBuffers;
use crate::dispatch::{PendingPlan, error_plan};
use crate::handler::trailers;
use crate::http2::request_content::RequestContent;
use crate::http2::sending::{Sending, end_all};
use crate::linger::linger;
use crate::listener_fields::ListenerFields;
use crate::memory_budget::Charge;
use crate::send_buffer::{ENOUGH, SendBuffer};
use crate::turns::{LoopTurn, REQUESTS_IN_TURN};
use crate::wire::{ReceiveOutcome, Wire};

/// The rounds of receiving and sending after which other connections have their turn.
const ROUNDS: u32 = 4;

/// The bytes that a connection sends while others have more to send, too, before they have their turn: TLS encrypts
/// as many at a time.
const SHARED_TURN: usize = 64 * 1024;

/// An answer that waits for a load or a handler.
struct PendingAnswer {
    stream: u32,
    plan: PendingPlan,
    record: Option<LogRecord>,
}

/// One HTTP/2 connection.
pub(crate) struct Http2Connection<S> {
    wire: Wire<S>,
    listener_fields: Rc<ListenerFields>,
    protocol: salver_http2::Connection<Sending>,
    /// The answers that wait for a load or a handler, by stream.
    pending: Vec<PendingAnswer>,
    /// The content of requests that is still to come, if handlers may want it.
    contents: Vec<RequestContent>,
    /// The phase and progress of the protocol for which the deadline was set.
    waits_in: (Phase, u64),
    /// The time of the last check that the client does not hold back its windows.
    checked: Instant,
    turn: LoopTurn,
    /// A reference that counts the connection as one that has more to send, while it has.
    sending: Option<Rc<()>>,
    /// The time at which the last GOAWAY is sent, after the first.
    leaves_at: Option<Instant>,
    /// True if the connection ends once everything is sent.
    ends: bool,
    /// The memory of streams.
    charge: Charge,
}

/// The end of a connection.
enum End {
    Over,
    Linger,
}

impl<S: ByteStream> Http2Connection<S> {
    /// A connection of a client that speaks HTTP/2. Its input so far is carried by `wire`.
    pub(crate) fn new(mut wire: Wire<S>, listener_fields: Rc<ListenerFields>) -> Self {
        let protocol = salver_http2::Connection::new();
        let mut send_buffer = SendBuffer::default();
        send_buffer.write(|buffer| protocol.begin(&wire.shared.http2_limits, buffer));
        let now = wire.shared.clock.now().instant;
        wire.keep(&mut send_buffer);
        let header_timeout = wire.shared.common.settings.header_timeout;
        wire.deadline.set_waiting(now + header_timeout, now);
        Http2Connection {
            charge: wire.seat.account.charge(0),
            wire,
            listener_fields,
            waits_in: (protocol.phase(), protocol.progress()),
            protocol,
            pending: Vec::new(),
            contents: Vec::new(),
            checked: now,
            turn: LoopTurn::default(),
            sending: None,
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
        end_all(self.protocol.end(), &self.wire, self.wire.unsent());
        // These are of no use while the client reads the last answers.
        self.pending.clear();
        self.contents.clear();
        match end {
            End::Over => {}
            End::Linger => Box::pin(linger(self.wire)).await,
        }
    }

    fn poll_turns(&mut self, context: &mut Context<'_>) -> Poll<End> {
        self.wire.deadline.register(context);
        let mut shared = Rc::clone(&self.wire.shared);
        // One that ends for another costs nothing.
        if !self.wire.deadline.makes_room() {
            let client = self.wire.seat.client;
            ready!(self.turn.poll(&shared.turns, client, context));
        }
        let mut now = shared.clock.now();
        if self.sending.is_none() {
            // The client could not hold up anything until now.
            self.checked = now.instant;
        }
        let others_send =
            Rc::strong_count(&shared.sending) > 1 + usize::from(self.sending.is_some());
        let turn = if others_send { SHARED_TURN } else { usize::MAX };
        let mut sent = 0;
        for _ in 0..ROUNDS {
            match ready!(self.wire.poll_flush(context)) {
                Ok(false) => {}
                Ok(true) => {
                    now = shared.clock.now();
                    // The client held up the connection, not its streams.
                    self.checked = now.instant;
                    self.update_deadline(now);
                }
                Err(_) => return Poll::Ready(End::Over),
            }
            if shared.superseded.get() {
                self.renew();
                shared = Rc::clone(&self.wire.shared);
            }
            if self.ends {
                return Poll::Ready(match self.wire.deadline.makes_room() {
                    true => End::Over,
                    false => End::Linger,
                });
            }
            self.wire.limit_buffer();
            let room = self.limit_streams();
            let mut scratch = shared.scratch.borrow_mut();
            // Empty, unless a connection's task has panicked, whose answers are dropped.
            scratch.send_buffer.clear();
            let Some(has_received) = self.receive(context, &mut scratch, now) else {
                return Poll::Ready(End::Over);
            };
            let send_buffer = &mut scratch.send_buffer;
            self.send_pending(context, send_buffer);
            self.protocol.retry();
            self.fill(context, send_buffer, ENOUGH.min(room).min(turn));
            if !self.contents.is_empty() {
                self.check_contents(context, now, send_buffer);
            }
            self.ends |= self.reset_stalled(now, send_buffer);
            if shared.drains() {
                self.send_goaway(now, send_buffer);
            }
            self.ends |= self.protocol.is_over();
            if send_buffer.is_empty()
                && !self.ends
                && !has_received
                && self.is_late(now, send_buffer)
            {
                self.ends = true;
            }
            if send_buffer.is_empty() && !self.ends {
                if has_received {
                    continue;
                }
                self.sending = self.has_more().then(|| Rc::clone(&shared.sending));
                self.wait_for_contents(now);
                return Poll::Pending;
            }
            sent += send_buffer.left();
            match self.wire.send(context, send_buffer) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => return Poll::Ready(End::Over),
                Poll::Pending => {
                    // The deadline is another now.
                    self.waits_in = (Phase::Head, u64::MAX);
                    self.sending
                        .get_or_insert_with(|| Rc::clone(&shared.sending));
                    return Poll::Pending;
                }
            }
            if sent >= turn || self.wire.carries_more {
                break;
            }
        }
        self.sending
            .get_or_insert_with(|| Rc::clone(&shared.sending));
        // Behind all that are ready, those included of which the loop has not heard yet.
        let _ = pin!(tokio::task::yield_now()).poll(context);
        Poll::Pending
    }

    /// Takes the current generation, for the requests that come.
    #[cold]
    fn renew(&mut self) {
        if let Some(fields) = self.wire.take_current() {
            self.listener_fields = fields;
        }
    }

    /// Receives once, and handles the input; true if there was any. `None` if the connection is over.
    fn receive(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut WorkerBuffers,
        now: Now,
    ) -> Option<bool> {
        let received = match self.wire.poll_receive(context, &mut scratch.input) {
            Poll::Pending => return Some(false),
            Poll::Ready(ReceiveOutcome::Bytes(received)) => received,
            Poll::Ready(ReceiveOutcome::Failed) => return None,
            Poll::Ready(ReceiveOutcome::End) => {
                // A connection whose answers are cut short ends without close_notify.
                if self.protocol.phase() == Phase::Idle {
                    self.wire.stream.announce_end(context);
                }
                return None;
            }
        };
        let received = scratch.input.get(..received).unwrap_or_default();
        let input = &*self.wire.take_input(received);
        let consumed = self.handle_frames(
            input,
            &mut scratch.http2,
            &mut scratch.send_buffer,
            (context, now),
        );
        let rest = input.get(consumed..).unwrap_or_default();
        self.wire.carry_over(rest);
        Some(true)
    }

    /// Handles the frames in `input`; returns the bytes consumed.
    fn handle_frames(
        &mut self,
        input: &[u8],
        scratch: &mut salver_http2::Scratch,
        send_buffer: &mut SendBuffer,
        (context, now): (&mut Context<'_>, Now),
    ) -> usize {
        let shared = Rc::clone(&self.wire.shared);
        let second = shared.common.uptime_at(now.instant).as_secs();
        let limits = &shared.http2_limits;
        let (mut at, mut asked) = (0, 0);
        self.wire.carries_more = false;
        loop {
            let rest = input.get(at..).unwrap_or_default();
            let protocol = &mut self.protocol;
            let (consumed, event) =
                send_buffer.write(|buffer| protocol.receive(limits, rest, second, scratch, buffer));
            at += consumed;
            match event {
                Event::Incomplete => return at,
                Event::Again => continue,
                Event::Ended => {
                    self.ends = true;
                    return at;
                }
                Event::Cancelled { stream, content } => {
                    self.pending.retain(|pending| pending.stream != stream);
                    self.drop_content(stream);
                    end_all(content, &self.wire, send_buffer.left());
                }
                Event::Content {
                    stream,
                    content,
                    ends,
                } => self.receive_content(stream, content, ends, send_buffer),
                Event::Trailers { stream, lines } => {
                    self.finish_content(stream, trailers(lines.iter()));
                }
                Event::Refused {
                    stream,
                    method,
                    refusal,
                } => {
                    asked += 1;
                    self.fail_content(stream, io::ErrorKind::InvalidData, refusal.reason);
                    let plan = error_plan(refusal.status, refusal.reason, method);
                    self.refuse(stream, plan, send_buffer);
                }
                Event::Request {
                    stream,
                    request,
                    is_whole,
                } => {
                    asked += 1;
                    let request = (request, is_whole);
                    self.answer(stream, request, send_buffer, (&mut *context, now));
                }
            }
            if send_buffer.left() > ENOUGH || asked >= REQUESTS_IN_TURN {
                self.wire.carries_more = true;
                return at;
            }
        }
    }
}
