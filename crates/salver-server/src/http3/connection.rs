//! One HTTP/3 connection (RFC 9114 section 3): its handshake, its streams, its end.
//!
//! ```text
//! handshake ──► streams, each request on a task of its own ──► draining: GOAWAY twice, the requests
//!                  │                                              under way, their delivery
//!                  └── nothing to do for long ──► closed ◄──────────┘
//! ```

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use quinn::{Connecting, RecvStream, SendStream, VarInt};
use salver_http3::{Code, ConnectionError, Control, ControlEvent, PeerStreams, StreamKind, goaway};
use tokio::task::spawn_local;
use tokio::time::sleep_until;

use super::Loop;
use super::control_stream::ControlStream;
use super::going_away::GoingAway;
use super::request::Exchange;
use super::shared::{Connection, code};
use super::transport::CONTENT_WINDOW;
use crate::context::Common;
use crate::memory_budget::Charge;
use crate::seats::Seat;
use crate::turns::REQUESTS_IN_TURN;

/// How long the last answers may take to arrive before a connection is closed on them.
const LINGER: Duration = Duration::from_secs(2);

/// Bytes of memory that a request takes, its task and QUIC's stream: about.
const REQUEST: usize = 8 * 1024;

/// A connection that begins a request no more often than this waits for no turn.
const REQUEST_INTERVAL: Duration = Duration::from_millis(8);

/// Requests that it may begin at once all the same.
const REQUESTS_AT_ONCE: u32 = 4;

/// Requests that may be under way however short memory is.
const LEAST_REQUESTS: usize = 2;

/// The task of a connection, beside which each request has one.
struct ConnectionTask {
    connection: Rc<Connection>,
    /// Requests under way.
    active: Cell<usize>,
    /// Requests that may still begin in this turn.
    left_in_turn: Cell<u32>,
    /// When the next request would begin at the pace that waits for no turn.
    request_due: Cell<Instant>,
    /// When a request was last begun or ended.
    used: Cell<Instant>,
    /// What is to be woken when the last request ends.
    waker: RefCell<Option<Waker>>,
    peer: RefCell<PeerStreams>,
    /// What QUIC may receive for handlers.
    _window: Option<Charge>,
}

/// A request that is under way; over when dropped.
struct Active(Rc<ConnectionTask>);

impl Drop for Active {
    fn drop(&mut self) {
        let connection = &self.0.connection;
        self.0.active.set(self.0.active.get() - 1);
        let now = connection.shared.context.clock.now();
        self.0.used.set(now.instant);
        connection.await_client();
        if connection.drains()
            && let Some(waker) = self.0.waker.take()
        {
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
    let connection = Connection::new(shared, quic, control, place, seat);
    let now = Instant::now();
    let task = Rc::new(ConnectionTask {
        connection: Rc::new(connection),
        active: Cell::default(),
        left_in_turn: Cell::default(),
        request_due: Cell::new(now),
        used: Cell::new(now),
        waker: RefCell::default(),
        peer: RefCell::default(),
        _window: window,
    });
    task.connection.await_client();
    task.run().await;
}

impl ConnectionTask {
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
                        self.connection.came_to_nothing();
                        let _ = send.reset(code(Code::RequestRejected));
                        let _ = receive.stop(code(Code::RequestRejected));
                        continue;
                    };
                    self.active.set(self.active.get() + 1);
                    self.used
                        .set(self.connection.shared.context.clock.now().instant);
                    let active = Active(Rc::clone(&self));
                    let mut exchange =
                        Exchange::new(Rc::clone(&self.connection), send, receive, charge);
                    // In a box: the runtime moves a task several times, and this one takes kilobytes.
                    spawn_local(Box::pin(async move {
                        exchange.serve().await;
                        drop(active);
                    }));
                }
                Next::Look if self.connection.drains() => {
                    let now = Instant::now();
                    if let Some(stream) = going.poll(now, self.connection.quic.rtt()) {
                        let mut said = Vec::new();
                        goaway(&mut said, stream);
                        // The client reads it, or will see the end.
                        self.connection.control.say(&said);
                    }
                    let until = self.used.get() + LINGER;
                    if going.is_last() && self.active.get() == 0 && now >= until {
                        return self.connection.close(Code::NoError, "the server ends");
                    }
                    self.connection
                        .deadline
                        .set(until.max(now + Duration::from_millis(1)));
                }
                Next::Look if self.connection.deadline.makes_room() => {
                    return self.connection.close(Code::NoError, "others need the room");
                }
                Next::Look => {
                    let idle = self.connection.shared.context.common.settings.idle_timeout;
                    let until = self.used.get() + idle;
                    let now = Instant::now();
                    let sent = self.connection.sent();
                    if self.active.get() > 0 || sent != delivered {
                        delivered = sent;
                        self.connection.deadline.set(now + idle);
                    } else if now >= until {
                        return self
                            .connection
                            .close(Code::NoError, "there was no request for long");
                    } else {
                        self.connection.deadline.set(until);
                    }
                }
            }
        }
    }

    /// Waits for a turn if requests come faster than from an ordinary client; those that have come with one that
    /// had its turn need no other.
    async fn take_turn(&self) {
        let context = &self.connection.shared.context;
        if let Some(left) = self.left_in_turn.get().checked_sub(1) {
            return self.left_in_turn.set(left);
        }
        let now = context.clock.now().instant;
        let due = self.request_due.get().max(now);
        if due.saturating_duration_since(now) < REQUEST_INTERVAL * REQUESTS_AT_ONCE {
            return self.request_due.set(due + REQUEST_INTERVAL);
        }
        context.turns.wait(self.connection.seat.client).await;
        self.left_in_turn.set(REQUESTS_IN_TURN - 1);
    }

    /// Waits for the next request, or for something else that is to be done.
    async fn next(&self, going: &GoingAway) -> Next {
        let mut accepting = pin!(self.connection.quic.accept_bi());
        let mut due = pin!(going.due().map(|due| sleep_until(due.into())));
        poll_fn(|context| {
            match accepting.as_mut().poll(context) {
                Poll::Ready(Ok((send, receive))) => {
                    return Poll::Ready(Next::Request(send, receive));
                }
                Poll::Ready(Err(_)) => return Poll::Ready(Next::Lost),
                Poll::Pending => {}
            }
            // Who comes later comes with another turn.
            self.left_in_turn.set(0);
            self.connection.deadline.register(context);
            let drains = self.connection.drains();
            let idle_now = drains && going.has_begun() && self.active.get() == 0;
            let due = due.as_mut().as_pin_mut();
            let now = self.connection.shared.context.clock.now().instant;
            if self.connection.deadline.has_passed(now)
                || self.connection.deadline.makes_room()
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
        while let Ok(stream) = self.connection.quic.accept_uni().await {
            let task = Rc::clone(&self);
            spawn_local(async move {
                if let Err(error) = task.read_stream(stream).await {
                    task.connection.fail(error);
                }
            });
        }
    }

    async fn read_stream(&self, mut stream: RecvStream) -> Result<(), ConnectionError> {
        let mut begun = Vec::new();
        let (kind, rest) = loop {
            let Ok(Some(chunk)) = stream.read_chunk(usize::MAX, true).await else {
                // RFC 9114 section 6.2: ended before anybody knew what it was for.
                self.connection.came_to_nothing();
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
                self.connection.came_to_nothing();
                return Ok(());
            }
        };
        let mut received = rest;
        loop {
            match &mut instructions {
                Some(instructions) => {
                    instructions.receive(&received)?;
                    self.connection.came_to_nothing();
                }
                None => {
                    let mut input = &*received;
                    while let Some(event) = control.receive(&mut input)? {
                        if let ControlEvent::Priority(stream, priority) = event {
                            self.connection.prioritise(stream, priority);
                        }
                        self.connection.came_to_nothing();
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

    /// The memory of one more request; `None` if there is none. A few are always begun.
    fn begin_request(&self) -> Option<Charge> {
        let account = &self.connection.seat.account;
        let room = account.room_up_to(REQUEST);
        if room < REQUEST && self.active.get() >= LEAST_REQUESTS {
            return None;
        }
        self.connection.await_client();
        Some(account.charge(REQUEST))
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
