//! The state of an HTTP/3 connection that all of its tasks share.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Instant;

use quinn::VarInt;
use salver_fields::Priority;
use salver_http3::{ConnectionError, ErrorCode};
use salver_semantics::FloodGuard;

use super::Http3Context;
use super::control_stream::ControlStream;
use super::send_order::SendOrder;
use crate::access_log::ConnectionLog;
use crate::deadlines::Deadline;
use crate::seats::Seat;
use crate::transmit::loader_disk::LoaderDisk;

/// The number of priorities that are kept for streams of one connection: as many as may be open.
const PRIORITIES: usize = 128;

/// The number of a client's requests and frames that may lead to nothing at once; a tenth of it is forgiven each
/// second, and one for each answer that was taken whole.
const IDLE_EVENTS: u32 = 1000;

/// An HTTP/3 connection, shared by its tasks.
pub(super) struct SharedConnection {
    pub(super) shared: Rc<Http3Context>,
    pub(super) quic: quinn::Connection,
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
    /// The access log of the connection, if there is one.
    pub(super) log: Option<Box<ConnectionLog>>,
}

impl SharedConnection {
    pub(super) fn new(
        shared: Rc<Http3Context>,
        quic: quinn::Connection,
        control: ControlStream,
        deadline: Deadline,
        seat: Seat,
    ) -> Self {
        SharedConnection {
            log: ConnectionLog::new(shared.context.log.as_ref(), seat.address),
            shared,
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
        let now = self.shared.context.clock.now().instant;
        let idle = self.shared.context.common.settings.idle_timeout;
        self.deadline.set_waiting(now + idle, now);
    }

    /// Notes that the connection waits for an answer, not for its client.
    pub(super) fn await_answer(&self) {
        self.deadline.set_busy();
    }

    /// Counts a request or a frame that leads to nothing; too many of them end the connection.
    pub(super) fn count_fruitless(&self) {
        let now = self.shared.context.clock.now().instant;
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
        self.shared.context.draining.get()
    }

    /// The disk for its answers.
    pub(super) fn disk(&self) -> LoaderDisk<'_> {
        LoaderDisk {
            common: &self.shared.context.common,
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

/// An error code as QUIC takes it.
pub(super) fn code(code: ErrorCode) -> VarInt {
    // All of them are below 2^62.
    VarInt::from_u64(code.value()).unwrap_or(VarInt::MAX)
}
