//! One HTTP/3 connection (RFC 9114 section 3): its handshake, its streams, its end.
//!
//! ```text
//! handshake ──► streams, each request on a task of its own ──► draining: GOAWAY twice, the requests
//!                  │                                              under way, their delivery
//!                  └── nothing to do for long ──► closed ◄──────────┘
//! ```

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use quinn::{Connecting, RecvStream, SendStream, VarInt};
use salver_fields::Priority;
use salver_http3::{
    Code, ConnectionError, Control, ControlEvent, PeerStreams, StreamKind, goaway,
};
use salver_semantics::FloodGuard;
use tokio::task::spawn_local;
use tokio::time::sleep_until;

use super::Loop;
use super::control_stream::ControlStream;
use super::going_away::GoingAway;
use super::request::Exchange;
use super::send_order::SendOrder;
use super::transport::CONTENT_WINDOW;
use crate::context::Common;
use crate::deadlines::Deadline;
use crate::memory_budget::Charge;
use crate::seats::Seat;
use crate::transmit::reading::Loading;
use crate::turns::REQUESTS_IN_TURN;

/// How long the last answers may take to arrive before a connection is closed on them.
const LINGER: Duration = Duration::from_secs(2);

/// Bytes of memory that a request takes, its task and QUIC's stream: about.
const REQUEST: usize = 8 * 1024;

/// After so long a connection may begin as many again.
const LATELY: Duration = Duration::from_millis(250);

/// Requests that may be under way however short memory is.
const LEAST_REQUESTS: usize = 2;

/// Priorities that are remembered for streams of one connection: as many as may be open.
const PRIORITIES: usize = 128;

/// How much of what a client sends may lead to nothing at once; a tenth of it is forgiven each second, and one
/// for each answer that it took whole.
const IDLE_EVENTS: u32 = 1000;

/// A connection, shared by its tasks.
pub(super) struct Connection {
    pub(super) shared: Rc<Loop>,
    pub(super) quic: quinn::Connection,
    /// Requests under way.
    active: Cell<usize>,
    /// Requests that may still begin in this turn.
    left_in_turn: Cell<u32>,
    turn_began: Cell<Instant>,
    /// When a request was last begun or ended.
    used: Cell<Instant>,
    /// What is to be woken when the last request ends.
    waker: RefCell<Option<Waker>>,
    /// What the client said of answers, whether or not they have begun.
    priorities: RefCell<HashMap<u64, Priority>>,
    /// How often it said something.
    reprioritised: Cell<u64>,
    peer: RefCell<PeerStreams>,
    control: ControlStream,
    /// What led to nothing.
    flood_guard: RefCell<FloodGuard>,
    /// When the connection was made.
    begun: Instant,
    /// The answers that are on their way.
    pub(super) order: Rc<SendOrder>,
    deadline: Deadline,
    /// What QUIC may receive for handlers.
    _window: Option<Charge>,
    pub(super) seat: Seat,
}

/// A request that is under way; over when dropped.
pub(super) struct Active(Rc<Connection>);

impl Drop for Active {
    fn drop(&mut self) {
        self.0.active.set(self.0.active.get() - 1);
        self.0.used.set(self.0.shared.context.clock.now().instant);
        let drains = self.0.shared.context.draining.get();
        self.0.await_client();
        if drains && let Some(waker) = self.0.waker.take() {
            waker.wake();
        }
    }
}

/// What a connection waits for.
enum Next {
    Request(SendStream, RecvStream),
    /// The deadline has passed, or draining has begun or come further.
    Look,
    Lost,
}

/// Serves a connection from its handshake to its end.
pub(super) async fn serve(shared: Rc<Loop>, connecting: Connecting, seat: Seat) {
    let settings = &shared.context.common.settings;
    let deadlines = &shared.context.deadlines;
    let place = deadlines.add(Instant::now() + settings.header_timeout);
    let handshake = shared.handshakes.begin();
    let goes_on = || !shared.context.draining.get();
    let Some(Ok(quic)) = place.bound(connecting, goes_on).await else {
        return;
    };
    place.set(Instant::now() + settings.idle_timeout);
    drop(handshake);
    let mut said = Vec::new();
    salver_http3::settings(&mut said, &shared.limits);
    let control = ControlStream::open(&quic).filter(|control| control.say(&said));
    let Some(control) = control else {
        let reason = b"no room for the control stream";
        return quic.close(code(Code::StreamCreationError), reason);
    };
    let window = widen(&quic, &shared.context.common, &seat);
    let now = Instant::now();
    let connection = Rc::new(Connection {
        used: Cell::new(now),
        shared,
        quic,
        control,
        flood_guard: RefCell::default(),
        begun: now,
        active: Cell::default(),
        left_in_turn: Cell::new(REQUESTS_IN_TURN),
        turn_began: Cell::new(now),
        waker: RefCell::default(),
        priorities: RefCell::default(),
        reprioritised: Cell::default(),
        peer: RefCell::default(),
        order: Rc::default(),
        deadline: place,
        _window: window,
        seat,
    });
    connection.await_client();
    connection.run().await;
}

impl Connection {
    async fn run(self: Rc<Self>) {
        spawn_local(Rc::clone(&self).take_streams());
        let mut going = GoingAway::new();
        let mut delivered = 0;
        loop {
            match self.next(&going).await {
                Next::Lost => return,
                Next::Request(mut send, mut receive) => {
                    if !going.takes(VarInt::from(send.id()).into_inner()) {
                        // RFC 9114 section 5.2: it can be sent again elsewhere.
                        let _ = send.reset(code(Code::RequestRejected));
                        let _ = receive.stop(code(Code::RequestRejected));
                        continue;
                    }
                    self.take_turn().await;
                    let Some(charge) = self.begin_request() else {
                        self.came_to_nothing();
                        let _ = send.reset(code(Code::RequestRejected));
                        let _ = receive.stop(code(Code::RequestRejected));
                        continue;
                    };
                    self.active.set(self.active.get() + 1);
                    self.used.set(self.shared.context.clock.now().instant);
                    let active = Active(Rc::clone(&self));
                    let exchange = Exchange::new(Rc::clone(&self), send, receive, charge);
                    spawn_local(async move {
                        exchange.serve().await;
                        drop(active);
                    });
                }
                Next::Look if self.shared.context.draining.get() => {
                    let now = Instant::now();
                    if let Some(stream) = going.poll(now, self.quic.rtt()) {
                        let mut said = Vec::new();
                        goaway(&mut said, stream);
                        // The client reads it, or will see the end.
                        self.control.say(&said);
                    }
                    let until = self.used.get() + LINGER;
                    if going.is_last() && self.active.get() == 0 && now >= until {
                        return self.close(Code::NoError, "the server ends");
                    }
                    self.deadline.set(until.max(now + Duration::from_millis(1)));
                }
                Next::Look if self.deadline.makes_room() => {
                    return self.close(Code::NoError, "others need the room");
                }
                Next::Look => {
                    let until = self.used.get() + self.shared.context.common.settings.idle_timeout;
                    let now = Instant::now();
                    let sent = self.sent();
                    if self.active.get() > 0 || sent != delivered {
                        delivered = sent;
                        let idle = self.shared.context.common.settings.idle_timeout;
                        self.deadline.set(now + idle);
                    } else if now >= until {
                        return self.close(Code::NoError, "there was no request for long");
                    } else {
                        self.deadline.set(until);
                    }
                }
            }
        }
    }

    /// Waits for a turn, if the connection has begun many requests lately: an ordinary one never waits here.
    async fn take_turn(&self) {
        let context = &self.shared.context;
        let now = || context.clock.now().instant;
        let is_over = now().saturating_duration_since(self.turn_began.get()) >= LATELY;
        let left = self.left_in_turn.get();
        if is_over || left == 0 {
            if !is_over {
                context.turns.wait(self.seat.client).await;
            }
            self.turn_began.set(now());
            self.left_in_turn.set(REQUESTS_IN_TURN - 1);
        } else {
            self.left_in_turn.set(left - 1);
        }
    }

    /// Waits for the next request, or for something else that is to be done.
    async fn next(&self, going: &GoingAway) -> Next {
        let mut accepting = pin!(self.quic.accept_bi());
        let mut due = pin!(going.due().map(|due| sleep_until(due.into())));
        poll_fn(|context| {
            match accepting.as_mut().poll(context) {
                Poll::Ready(Ok((send, receive))) => {
                    return Poll::Ready(Next::Request(send, receive));
                }
                Poll::Ready(Err(_)) => return Poll::Ready(Next::Lost),
                Poll::Pending => {}
            }
            self.deadline.register(context);
            let drains = self.shared.context.draining.get();
            let idle_now = drains && going.has_begun() && self.active.get() == 0;
            let due = due.as_mut().as_pin_mut();
            if self.deadline.has_passed(Instant::now())
                || self.deadline.makes_room()
                || (drains && !going.has_begun())
                || due.is_some_and(|due| due.poll(context).is_ready())
            {
                return Poll::Ready(Next::Look);
            }
            if drains && !idle_now {
                *self.waker.borrow_mut() = Some(context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    /// Reads the client's streams of one direction, each on a task of its own.
    async fn take_streams(self: Rc<Self>) {
        while let Ok(stream) = self.quic.accept_uni().await {
            let connection = Rc::clone(&self);
            spawn_local(async move {
                if let Err(error) = connection.read_stream(stream).await {
                    connection.fail(error);
                }
            });
        }
    }

    async fn read_stream(&self, mut stream: RecvStream) -> Result<(), ConnectionError> {
        let mut begun = Vec::new();
        let (kind, rest) = loop {
            let Ok(Some(chunk)) = stream.read_chunk(usize::MAX, true).await else {
                // RFC 9114 section 6.2: ended before anybody knew what it was for.
                self.came_to_nothing();
                return Ok(());
            };
            begun.extend_from_slice(&chunk.bytes);
            let mut input = &*begun;
            let kind = self.peer.borrow_mut().open(&mut input)?;
            if let Some(kind) = kind {
                break (kind, input.to_vec());
            }
        };
        let mut control = Control::default();
        let mut instructions = match kind {
            StreamKind::Control => None,
            StreamKind::Qpack(instructions) => Some(instructions),
            StreamKind::Unknown => {
                let _ = stream.stop(code(Code::StreamCreationError));
                self.came_to_nothing();
                return Ok(());
            }
        };
        let mut received = rest;
        loop {
            match &mut instructions {
                Some(instructions) => {
                    instructions.receive(&received)?;
                    self.came_to_nothing();
                }
                None => {
                    let mut input = &*received;
                    while let Some(event) = control.receive(&mut input)? {
                        if let ControlEvent::Priority(stream, priority) = event {
                            self.prioritise(stream, priority);
                        }
                        self.came_to_nothing();
                    }
                }
            }
            match stream.read_chunk(usize::MAX, true).await {
                Ok(Some(chunk)) => received = chunk.bytes.to_vec(),
                Ok(None) | Err(quinn::ReadError::Reset(_)) => return Err(Control::closed()),
                Err(_) => return Ok(()),
            }
        }
    }

    fn prioritise(&self, stream: u64, priority: Priority) {
        let mut priorities = self.priorities.borrow_mut();
        // What is left of answers that have ended, or what is too much.
        if priorities.len() >= PRIORITIES && !priorities.contains_key(&stream) {
            priorities.clear();
        }
        priorities.insert(stream, priority);
        self.reprioritised.set(self.reprioritised.get() + 1);
    }

    /// How often the client has said something about priorities.
    pub(super) fn reprioritised(&self) -> u64 {
        self.reprioritised.get()
    }

    /// What the client has said about the answer on a stream.
    pub(super) fn priority(&self, stream: u64) -> Option<Priority> {
        self.priorities.borrow().get(&stream).copied()
    }

    /// The client is waited for from now on, to ask for something or to take it: others may need the place.
    pub(super) fn await_client(&self) {
        // The end has deadlines of its own.
        if self.drains() {
            return;
        }
        let now = Instant::now();
        let idle = self.shared.context.common.settings.idle_timeout;
        self.deadline.set_waiting(now + idle, now);
    }

    /// It is not the client that is waited for.
    pub(super) fn await_answer(&self) {
        self.deadline.set_busy();
    }

    /// The memory of one more request; `None` if there is none. A few are always begun.
    fn begin_request(&self) -> Option<Charge> {
        let account = &self.seat.account;
        let room = account.room_up_to(REQUEST);
        if room < REQUEST && self.active.get() >= LEAST_REQUESTS {
            return None;
        }
        self.await_client();
        Some(account.charge(REQUEST))
    }

    /// The client has caused something that leads to nothing; too much of it ends the connection.
    pub(super) fn came_to_nothing(&self) {
        let now = self.shared.context.clock.now().instant;
        let second = now.saturating_duration_since(self.begun).as_secs();
        if !self.flood_guard.borrow_mut().spend(IDLE_EVENTS, second) {
            let reason = "too much of what was sent leads to nothing";
            self.close(Code::ExcessiveLoad, reason);
        }
    }

    /// The client has taken an answer whole.
    pub(super) fn came_to_something(&self) {
        self.flood_guard.borrow_mut().forgive(1);
    }

    /// Whether QUIC takes anything of any answer; if not, the task is woken when it does.
    pub(super) fn has_room(&self, context: &mut Context<'_>) -> bool {
        self.control.connection_has_room(context)
    }

    /// Something that becomes more while anything is sent.
    fn sent(&self) -> u64 {
        self.quic.stats().frame_tx.stream
    }

    /// Something that becomes more while the client acknowledges what was sent.
    pub(super) fn acknowledged(&self) -> u64 {
        self.quic.stats().frame_rx.acks
    }

    /// Whether no further request is answered.
    pub(super) fn drains(&self) -> bool {
        self.shared.context.draining.get()
    }

    /// The disk for its answers.
    pub(super) fn disk(&self) -> Loading<'_> {
        Loading {
            common: &self.shared.context.common,
            account: &self.seat.account,
        }
    }

    /// Ends the connection for what the client did.
    pub(super) fn fail(&self, error: ConnectionError) {
        self.close(error.code, error.reason);
    }

    fn close(&self, why: Code, reason: &str) {
        self.quic.close(code(why), reason.as_bytes());
    }
}

/// Has QUIC receive more at a time where there are handlers that want content, if there is memory for it.
fn widen(quic: &quinn::Connection, common: &Common, seat: &Seat) -> Option<Charge> {
    let more = usize::try_from(CONTENT_WINDOW).unwrap_or(usize::MAX);
    let has_room = || seat.account.room_up_to(more) >= more;
    if common.handlers.is_empty() || !has_room() {
        return None;
    }
    quic.set_receive_window(CONTENT_WINDOW.into());
    Some(seat.account.charge(more))
}

/// An error code as QUIC takes it.
pub(super) fn code(code: Code) -> VarInt {
    // They are below 2^62 all of them.
    VarInt::from_u64(code.value()).unwrap_or(VarInt::MAX)
}
