//! The task of an HTTP/3 connection (RFC 9114 section 3): its handshake, its streams, its end.
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
use salver_http3::{
    ConnectionError, Control, ControlEvent, ErrorCode, PeerStreams, StreamKind, goaway,
};
use tokio::task::spawn_local;
use tokio::time::sleep_until;

use super::control_stream::ControlStream;
use super::graceful_shutdown::GracefulShutdown;
use super::receive_window::WindowLoan;
use super::request::RequestTask;
use super::shared_connection::{SharedConnection, code};
use super::transport::CONTENT_WINDOW;
use super::{HandshakeGuard, Http3Context};
use crate::listener::ListenerId;
use crate::memory_budget::Charge;
use crate::seats::Seat;
use crate::turns::REQUESTS_IN_TURN;

/// The time for the last answers to arrive before the connection is closed.
const LINGER: Duration = Duration::from_secs(2);

/// The memory of a request, its task and QUIC's stream, in bytes, about.
const REQUEST: usize = 8 * 1024;

/// The interval of requests at which a connection waits for no turn.
const REQUEST_INTERVAL: Duration = Duration::from_millis(8);

/// The number of requests that it may begin at once all the same.
const REQUESTS_AT_ONCE: u32 = 4;

/// The number of requests that may be under way however short memory is.
const LEAST_REQUESTS: usize = 2;

/// The task of a connection, beside which each request has one.
struct ConnectionTask {
    connection: Rc<SharedConnection>,
    /// The number of requests under way.
    active: Cell<usize>,
    /// The number of requests that may still begin in this turn.
    left_in_turn: Cell<u32>,
    /// The time at which the next request would begin at [`REQUEST_INTERVAL`].
    request_due: Cell<Instant>,
    /// The time at which a request was last begun or ended.
    used: Cell<Instant>,
    /// The waker of the task, for the end of the last request.
    waker: RefCell<Option<Waker>>,
    peer: RefCell<PeerStreams>,
    /// The larger receive window of a connection whose requests may have content.
    _window: Option<WindowLoan>,
}

/// A request under way; over when dropped.
struct ActiveRequest(Rc<ConnectionTask>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let connection = &self.0.connection;
        self.0.active.set(self.0.active.get() - 1);
        let now = connection.shared().context.clock.now();
        self.0.used.set(now.instant);
        connection.await_client();
        if connection.drains()
            && let Some(waker) = self.0.waker.take()
        {
            waker.wake();
        }
    }
}

/// An event that a connection waits for.
enum ConnectionEvent {
    Request(SendStream, RecvStream),
    /// The deadline has passed, or draining has begun or come further.
    Check,
    Lost,
}

/// Serves a connection from its handshake to its end.
pub(super) async fn serve(
    shared: Rc<Http3Context>,
    (connecting, handshake): (Connecting, HandshakeGuard),
    seat: Seat,
    listener: ListenerId,
) {
    let settings = &shared.context.common.settings;
    let deadlines = &shared.context.deadlines;
    let deadline = deadlines.add(Instant::now() + settings.header_timeout);
    let goes_on = || !shared.context.ends_idle();
    let Some(Ok(quic)) = deadline.bound(connecting, goes_on).await else {
        return;
    };
    deadline.set(Instant::now() + settings.idle_timeout);
    drop(handshake);
    let mut frame = Vec::new();
    salver_http3::settings(&mut frame, &shared.limits);
    let control = ControlStream::open(&quic).filter(|control| control.write(&frame));
    let Some(control) = control else {
        let reason = b"no room for the control stream";
        return quic.close(code(ErrorCode::StreamCreationError), reason);
    };
    let has_handlers = !shared.context.common.handlers.is_empty();
    let connection = SharedConnection::new((shared, listener), quic, control, deadline, seat);
    let window = &connection.receive_window;
    // Content is wanted where there are handlers, which are given as much of it.
    let widen = || window.widen(CONTENT_WINDOW, CONTENT_WINDOW, &connection.seat.account);
    let window = has_handlers.then(widen).flatten();
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
        let mut going = GracefulShutdown::new();
        let mut delivered = 0;
        loop {
            match self.next(&going).await {
                ConnectionEvent::Lost => return,
                ConnectionEvent::Request(mut send, mut receive) => {
                    if !going.takes(VarInt::from(send.id()).into_inner()) {
                        reject(&mut send, &mut receive);
                        continue;
                    }
                    self.take_turn().await;
                    let Some(charge) = self.begin_request() else {
                        self.connection.count_fruitless();
                        reject(&mut send, &mut receive);
                        continue;
                    };
                    self.active.set(self.active.get() + 1);
                    let now = self.connection.shared().context.clock.now();
                    self.used.set(now.instant);
                    let active = ActiveRequest(Rc::clone(&self));
                    let mut task =
                        RequestTask::new(Rc::clone(&self.connection), send, receive, charge);
                    // In a box: the runtime moves a task several times, and this one takes kilobytes.
                    spawn_local(Box::pin(async move {
                        task.serve().await;
                        drop(active);
                    }));
                }
                ConnectionEvent::Check if self.connection.drains() => {
                    let now = Instant::now();
                    if let Some(stream) = going.poll(now, self.connection.quic.rtt()) {
                        let mut frame = Vec::new();
                        goaway(&mut frame, stream);
                        // A client that does not read it will see the end.
                        self.connection.control.write(&frame);
                    }
                    let until = self.used.get() + LINGER;
                    if going.is_last() && self.active.get() == 0 && now >= until {
                        return self.connection.end("the server ends");
                    }
                    self.connection
                        .deadline
                        .set(until.max(now + Duration::from_millis(1)));
                }
                ConnectionEvent::Check if self.connection.deadline.makes_room() => {
                    return self.connection.end("others need the room");
                }
                ConnectionEvent::Check => {
                    let shared = self.connection.shared();
                    let idle = shared.context.common.settings.idle_timeout;
                    let until = self.used.get() + idle;
                    let now = Instant::now();
                    let sent = self.connection.frames_sent();
                    if self.connection.awaits_answer() {
                        if sent == delivered {
                            self.connection.ping();
                        }
                        delivered = sent;
                        let next = self.connection.next_ping();
                        self.connection.deadline.set(next);
                    } else if self.active.get() > 0 || sent != delivered {
                        delivered = sent;
                        self.connection.deadline.set(now + idle);
                    } else if now >= until {
                        return self.connection.end("there was no request for long");
                    } else {
                        self.connection.deadline.set(until);
                    }
                }
            }
        }
    }

    /// Waits for a turn if requests come faster than from an ordinary client; those that come with one that had its
    /// turn need no other.
    async fn take_turn(&self) {
        let shared = self.connection.shared();
        let context = &shared.context;
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

    /// Waits for the next event.
    async fn next(&self, going: &GracefulShutdown) -> ConnectionEvent {
        let mut accepting = pin!(self.connection.quic.accept_bi());
        let mut due = pin!(going.due().map(|due| sleep_until(due.into())));
        poll_fn(|context| {
            match accepting.as_mut().poll(context) {
                Poll::Ready(Ok((send, receive))) => {
                    return Poll::Ready(ConnectionEvent::Request(send, receive));
                }
                Poll::Ready(Err(_)) => return Poll::Ready(ConnectionEvent::Lost),
                Poll::Pending => {}
            }
            // Later requests need another turn.
            self.left_in_turn.set(0);
            self.connection.deadline.register(context);
            let drains = self.connection.drains();
            let idle_now = drains && going.has_begun() && self.active.get() == 0;
            let due = due.as_mut().as_pin_mut();
            let now = self.connection.shared().context.clock.now().instant;
            if self.connection.deadline.has_passed(now)
                || self.connection.deadline.makes_room()
                || (drains && !going.has_begun())
                || due.is_some_and(|due| due.poll(context).is_ready())
            {
                return Poll::Ready(ConnectionEvent::Check);
            }
            if drains && !idle_now {
                *self.waker.borrow_mut() = Some(context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    /// Reads the client's unidirectional streams, each on a task of its own.
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
                // RFC 9114 section 6.2: ended before its type was known.
                self.connection.count_fruitless();
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
                let _ = stream.stop(code(ErrorCode::StreamCreationError));
                self.connection.count_fruitless();
                return Ok(());
            }
        };
        let mut received = rest;
        loop {
            match &mut instructions {
                Some(instructions) => {
                    instructions.receive(&received)?;
                    self.connection.count_fruitless();
                }
                None => {
                    let mut input = &*received;
                    while let Some(event) = control.receive(&mut input)? {
                        if let ControlEvent::Priority(stream, priority) = event {
                            self.connection.prioritise(stream, priority);
                        }
                        self.connection.count_fruitless();
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

    /// Charges the memory of one more request; `None` if there is none. A few are always begun.
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

/// Rejects a request, which can be sent again elsewhere (RFC 9114 section 5.2).
fn reject(send: &mut SendStream, receive: &mut RecvStream) {
    let _ = send.reset(code(ErrorCode::RequestRejected));
    let _ = receive.stop(code(ErrorCode::RequestRejected));
}
