//! The state of an HTTP/3 connection that all of its tasks share.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use quinn::VarInt;
use quinn::crypto::rustls::HandshakeData;
use salver_fields::Priority;
use salver_http3::{ConnectionError, ErrorCode};
use salver_semantics::FloodGuard;

use super::Http3Context;
use super::control_stream::ControlStream;
use super::receive_window::ReceiveWindow;
use super::send_order::SendOrder;
use crate::access_log::ConnectionLog;
use crate::deadlines::Deadline;
use crate::listener::ListenerId;
use crate::seats::{QUIC_WINDOW, Seat};
use crate::transmit::loader_disk::LoaderDisk;

/// The longest time in which nothing is sent while an answer is awaited: clients have idle timeouts of their own, of
/// 30 seconds and more. It is a quarter of that of the server, if that is shorter.
const PING_INTERVAL: Duration = Duration::from_secs(10);

/// A frame of a reserved type, without payload.
const RESERVED_FRAME: [u8; 2] = [0x21, 0];

/// The number of priorities that are kept for streams of one connection: as many as may be open.
const PRIORITIES: usize = 128;

/// The number of a client's requests and frames that may lead to nothing at once; a tenth of it is forgiven each
/// second, and one for each answer that was taken whole.
const IDLE_EVENTS: u32 = 1000;

/// An HTTP/3 connection, shared by its tasks.
pub(super) struct SharedConnection {
    shared: RefCell<Rc<Http3Context>>,
    /// The listener that the connection came to.
    listener: ListenerId,
    pub(super) quic: quinn::Connection,
    /// The host that the client has named in its handshake, if there are several sites.
    server_name: Option<Box<str>>,
    /// The client's priority updates for answers, begun or not.
    priorities: RefCell<HashMap<u64, Priority>>,
    /// The number of priority updates so far.
    pub(super) reprioritised: Cell<u64>,
    pub(super) control: ControlStream,
    /// The guard against requests and frames that lead to nothing.
    flood_guard: RefCell<FloodGuard>,
    /// The time when the connection was made.
    begun: Instant,
    /// The order in which answers are sent.
    pub(super) order: Rc<SendOrder>,
    pub(super) deadline: Deadline,
    pub(super) seat: Seat,
    pub(super) receive_window: Rc<ReceiveWindow>,
    /// The number of its answers that wait for something else than its client.
    awaited: Cell<usize>,
    /// The access log of the connection, if there is one.
    log: RefCell<Option<Rc<ConnectionLog>>>,
}

impl SharedConnection {
    pub(super) fn new(
        (shared, listener): (Rc<Http3Context>, ListenerId),
        quic: quinn::Connection,
        control: ControlStream,
        deadline: Deadline,
        seat: Seat,
    ) -> Self {
        SharedConnection {
            log: RefCell::new(log(&shared, &seat)),
            server_name: match shared.context.common.sites.are_several() {
                true => server_name(&quic),
                false => None,
            },
            shared: RefCell::new(shared),
            listener,
            receive_window: ReceiveWindow::new(&quic, QUIC_WINDOW),
            awaited: Cell::default(),
            quic,
            priorities: RefCell::default(),
            reprioritised: Cell::default(),
            control,
            flood_guard: RefCell::default(),
            begun: Instant::now(),
            order: Rc::default(),
            deadline,
            seat,
        }
    }

    /// The state of its loop, of the current generation.
    pub(super) fn shared(&self) -> Rc<Http3Context> {
        let mut shared = self.shared.borrow_mut();
        if shared.context.superseded.get()
            && let Some(current) = shared.current.of(self.listener)
        {
            *shared = current;
            *self.log.borrow_mut() = log(&shared, &self.seat);
        }
        Rc::clone(&shared)
    }

    /// The same, and the access log that goes with it, if there is one.
    pub(super) fn shared_and_log(&self) -> (Rc<Http3Context>, Option<Rc<ConnectionLog>>) {
        let shared = self.shared();
        (shared, self.log.borrow().clone())
    }

    /// The host that the client has named in its handshake; empty if none.
    pub(super) fn server_name(&self) -> &str {
        self.server_name.as_deref().unwrap_or_default()
    }

    /// Applies a priority update for the answer on a stream.
    pub(super) fn prioritise(&self, stream: u64, priority: Priority) {
        let mut priorities = self.priorities.borrow_mut();
        // Those of answers that have ended, or too many.
        if priorities.len() >= PRIORITIES && !priorities.contains_key(&stream) {
            priorities.clear();
        }
        priorities.insert(stream, priority);
        self.reprioritised.set(self.reprioritised.get() + 1);
    }

    /// The client's priority for the answer on a stream, if it has sent one.
    pub(super) fn priority(&self, stream: u64) -> Option<Priority> {
        self.priorities.borrow().get(&stream).copied()
    }

    /// Notes that the connection waits for its client, to send a request or to take an answer: others may need its
    /// seat.
    pub(super) fn await_client(&self) {
        // The end has deadlines of its own.
        if self.drains() {
            return;
        }
        let shared = self.shared();
        let now = shared.context.clock.now().instant;
        let idle = shared.context.common.settings.idle_timeout;
        if self.awaits_answer() {
            // Its deadline is the next ping.
            return self.deadline.set_busy();
        }
        self.deadline.set_waiting(now + idle, now);
    }

    /// Notes that the connection waits for an answer, not for its client, for as long as what is returned is there.
    pub(super) fn await_answer(self: &Rc<Self>) -> AwaitedAnswer {
        if !self.awaits_answer() && !self.drains() {
            self.deadline.set(self.next_ping());
        }
        self.deadline.set_busy();
        self.awaited.set(self.awaited.get() + 1);
        AwaitedAnswer(Rc::clone(self))
    }

    /// True while an answer is awaited.
    pub(super) fn awaits_answer(&self) -> bool {
        self.awaited.get() > 0
    }

    /// The time of the next ping.
    pub(super) fn next_ping(&self) -> Instant {
        let shared = self.shared();
        let idle = shared.context.common.settings.idle_timeout;
        shared.context.clock.now().instant + PING_INTERVAL.min(idle / 4)
    }

    /// Sends something that means nothing, so that neither side takes the connection for dead while an answer is awaited:
    /// a frame of a reserved type (RFC 9114 section 7.2.8).
    pub(super) fn ping(&self) {
        self.control.write(&RESERVED_FRAME);
    }

    /// Counts a request or a frame that leads to nothing; too many of them end the connection.
    pub(super) fn count_fruitless(&self) {
        let now = self.shared().context.clock.now().instant;
        let second = now.saturating_duration_since(self.begun).as_secs();
        if !self.flood_guard.borrow_mut().spend(IDLE_EVENTS, second) {
            let reason = "too much of what was sent leads to nothing";
            self.close(ErrorCode::ExcessiveLoad, reason);
        }
    }

    /// Counts an answer that the client has taken whole.
    pub(super) fn count_delivered(&self) {
        self.flood_guard.borrow_mut().forgive(1);
    }

    /// A counter that grows while anything is sent.
    pub(super) fn frames_sent(&self) -> u64 {
        self.quic.stats().frame_tx.stream
    }

    /// A counter that grows while the client acknowledges data.
    pub(super) fn acks_received(&self) -> u64 {
        self.quic.stats().frame_rx.acks
    }

    /// True if no further request is answered.
    pub(super) fn drains(&self) -> bool {
        self.shared().context.drains()
    }

    /// The disk for its answers.
    pub(super) fn disk<'a>(&'a self, shared: &'a Http3Context) -> LoaderDisk<'a> {
        LoaderDisk {
            common: &shared.context.common,
            account: &self.seat.account,
        }
    }

    /// Ends the connection with an error of the client.
    pub(super) fn fail(&self, error: ConnectionError) {
        self.close(error.code, error.reason);
    }

    /// Ends the connection, with which nothing is wrong.
    pub(super) fn end(&self, reason: &str) {
        self.close(ErrorCode::NoError, reason);
    }

    /// Ends the connection.
    fn close(&self, why: ErrorCode, reason: &str) {
        self.quic.close(code(why), reason.as_bytes());
    }
}

/// An answer of a connection that waits for something else than its client.
pub(super) struct AwaitedAnswer(Rc<SharedConnection>);

impl Drop for AwaitedAnswer {
    fn drop(&mut self) {
        self.0.awaited.set(self.0.awaited.get() - 1);
    }
}

/// The host that a client has named in its handshake.
fn server_name(quic: &quinn::Connection) -> Option<Box<str>> {
    let data = quic.handshake_data()?.downcast::<HandshakeData>().ok()?;
    data.server_name.map(String::into_boxed_str)
}

/// An error code as QUIC takes it.
pub(super) fn code(code: ErrorCode) -> VarInt {
    // All of them are below 2^62.
    VarInt::from_u64(code.value()).unwrap_or(VarInt::MAX)
}

/// The access log of a connection in this seat, if there is one.
fn log(shared: &Http3Context, seat: &Seat) -> Option<Rc<ConnectionLog>> {
    let log = ConnectionLog::new(shared.context.log.as_ref(), seat.address);
    log.map(Rc::from)
}
