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

mod bounds;
mod request_content;
mod translate;

use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use salver_access_log::Protocol;
use salver_assets::strategy::Transport;
use salver_assets::{Content, Now, RequestPath, ResponsePlan};
use salver_fields::RequestHead;
use salver_http2::{Event, Phase, RenderedHead};

use crate::access_log::record::LogRecord;
use crate::byte_stream::ByteStream;
use crate::context::WorkerBuffers;
use crate::dispatch::{Dispatched, PendingPlan, dispatch, engine_request, error_plan};
use crate::handler::{MemoryExhausted, Peer, to_http_request};
use crate::http2::request_content::RequestContent;
use crate::http2::translate::rendered_head;
use crate::linger::linger;
use crate::listener_fields::ListenerFields;
use crate::memory_budget::{Charge, OpenFile};
use crate::report::report;
use crate::send_buffer::{ENOUGH, SendBuffer};
use crate::sites::Destination;
use crate::transmit::loader_disk::{LoaderDisk, Reading};
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

/// The content of an answer that is being sent.
struct Sending {
    reading: Reading,
    _file: Option<OpenFile>,
    /// The record of the request, which is logged when this ends.
    record: Option<LogRecord>,
}

/// One HTTP/2 connection.
pub(crate) struct Http2Connection<S> {
    wire: Wire<S>,
    listener_fields: Rc<ListenerFields>,
    protocol: salver_http2::Connection<Sending>,
    /// The answers that wait for a load or a handler, by stream.
    pending: Vec<PendingAnswer>,
    /// The content of requests that are not whole, if there are handlers.
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
            self.refuse_late(now, send_buffer);
            self.send_pending(context, send_buffer);
            self.protocol.retry();
            self.fill(context, send_buffer, ENOUGH.min(room).min(turn));
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
                self.sending = None;
                if self.protocol.is_sending() {
                    self.sending = Some(Rc::clone(&shared.sending));
                }
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
        let consumed = self.handle_frames(input, &mut scratch.http2, &mut scratch.send_buffer, now);
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
        now: Now,
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
                    self.take_content(stream);
                    end_all(content, &self.wire, send_buffer.left());
                }
                Event::Content { stream, content } => {
                    if self.keep_content(stream, content, now).is_err() {
                        let method = self.protocol.method(stream);
                        self.refuse(
                            stream,
                            error_plan(503, "Service Unavailable", method),
                            send_buffer,
                        );
                    }
                }
                Event::Refused {
                    stream,
                    method,
                    refusal,
                } => {
                    asked += 1;
                    let plan = error_plan(refusal.status, refusal.reason, method);
                    self.refuse(stream, plan, send_buffer);
                }
                Event::Request {
                    stream,
                    request,
                    content,
                } => match self.keep_content(stream, content, now) {
                    Ok(()) => {
                        asked += 1;
                        self.answer(stream, request, send_buffer, now);
                    }
                    Err(MemoryExhausted) => {
                        let plan = error_plan(503, "Service Unavailable", Some(request.method));
                        self.refuse(stream, plan, send_buffer);
                    }
                },
            }
            if send_buffer.left() > ENOUGH || asked >= REQUESTS_IN_TURN {
                self.wire.carries_more = true;
                return at;
            }
        }
    }

    fn answer(
        &mut self,
        stream: u32,
        head: RequestHead<'_>,
        send_buffer: &mut SendBuffer,
        now: Now,
    ) {
        let content = self.take_content(stream);
        let log = self.wire.log.as_deref();
        let record = log.map(|log| log.record_of(Protocol::Http2, &head, now.instant));
        let (mut request, more) = engine_request(head);
        let wire = &self.wire;
        let over_tls = S::TRANSPORT == Transport::PassesThrough;
        let authority = more.authority();
        request.secure_context = wire.secure_context(authority, &request.fields);
        let http_request = |path: Option<&RequestPath<'_>>| {
            let (version, peer) = (http::Version::HTTP_2, Peer::of(&wire.stream));
            to_http_request(version, &request, path, more.lines.iter(), content, peer)
        };
        let details = || more.details(over_tls, request.method);
        match dispatch(
            &wire.shared,
            &wire.seat,
            &request,
            http_request,
            details,
            || Destination {
                authority,
                server_name: wire.stream.server_name(),
            },
            now,
        ) {
            Dispatched::Ready(plan) => self.respond(stream, plan, record, send_buffer),
            Dispatched::Pending(plan) => {
                self.pending.push(PendingAnswer {
                    stream,
                    plan,
                    record,
                });
                // Its request is charged from now on.
                self.limit_streams();
            }
        }
    }

    fn respond(
        &mut self,
        stream: u32,
        mut plan: ResponsePlan,
        mut record: Option<LogRecord>,
        send_buffer: &mut SendBuffer,
    ) {
        let Wire { shared, seat, .. } = &self.wire;
        let file = shared.common.hold_open(&seat.account, &mut plan);
        if let Some(record) = &mut record {
            record.answer(&plan);
        }
        let content = std::mem::replace(&mut plan.content, Content::Empty);
        let date = &shared.clock.date();
        let made;
        let head: &RenderedHead = match rendered_head(&plan) {
            Some(head) => head,
            None => {
                made = translate::render_head(&plan);
                &made
            }
        };
        let more = self.listener_fields.of(&plan).block();
        let protocol = &mut self.protocol;
        let reading = Reading::new(content);
        let length = reading.left();
        let sending = Sending {
            reading,
            _file: file,
            record,
        };
        let left = send_buffer
            .write(|buffer| protocol.respond(stream, head, more, date, (sending, length), buffer));
        end_all(left, &self.wire, send_buffer.left());
    }

    /// Sends the answers that no longer wait for a load or a handler.
    fn send_pending(&mut self, context: &mut Context<'_>, send_buffer: &mut SendBuffer) {
        let mut place = 0;
        while let Some(pending) = self.pending.get_mut(place) {
            match pending.plan.as_mut().poll(context) {
                Poll::Pending => place += 1,
                Poll::Ready(plan) => {
                    let PendingAnswer { stream, record, .. } = self.pending.swap_remove(place);
                    self.respond(stream, plan, record, send_buffer);
                }
            }
        }
    }

    /// Fills the send buffer with content until it has `enough` bytes.
    fn fill(&mut self, context: &mut Context<'_>, send_buffer: &mut SendBuffer, enough: usize) {
        let common = &self.wire.shared.common;
        let disk = disk(&self.wire);
        let protocol = &mut self.protocol;
        while send_buffer.left() < enough.max(1)
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
                    let left = send_buffer
                        .write(|buffer| protocol.send(turn, bytes.len(), buffer, &mut after));
                    send_buffer.push(&bytes);
                    send_buffer.write(|buffer| buffer.append(&mut after));
                    left
                }
                Poll::Ready(failed) => {
                    let error = failed.err().unwrap_or(io::ErrorKind::UnexpectedEof.into());
                    report(common, &error);
                    send_buffer.write(|buffer| protocol.fail(turn, buffer))
                }
            };
            end_all(left, &self.wire, send_buffer.left());
        }
    }
}

/// Ends answers, whole or not; their last bytes are at the end of the `unsent` ones of the connection.
fn end_all<S>(sent: impl IntoIterator<Item = Sending>, wire: &Wire<S>, unsent: usize) {
    for sending in sent {
        if let (Some(mut record), Some(log)) = (sending.record, &wire.log) {
            record.set_unsent(sending.reading.left());
            log.queue_ended(record, unsent);
        }
        sending.reading.end(&disk(wire));
    }
}

/// The disk for a connection's answers.
fn disk<S>(wire: &Wire<S>) -> LoaderDisk<'_> {
    LoaderDisk {
        common: &wire.shared.common,
        account: &wire.seat.account,
    }
}
