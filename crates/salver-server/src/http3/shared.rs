//! One HTTP/3 connection as its requests see it: what all of its tasks share.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::task::Context;
use std::time::Instant;

use quinn::VarInt;
use salver_fields::Priority;
use salver_http3::{Code, ConnectionError};
use salver_semantics::FloodGuard;

use super::Loop;
use super::control_stream::ControlStream;
use super::send_order::SendOrder;
use crate::deadlines::Deadline;
use crate::seats::Seat;
use crate::transmit::reading::Loading;

/// Priorities that are remembered for streams of one connection: as many as may be open.
const PRIORITIES: usize = 128;

/// How much of what a client sends may lead to nothing at once; a tenth of it is forgiven each second, and one
/// for each answer that it took whole.
const IDLE_EVENTS: u32 = 1000;

/// A connection, shared by its tasks.
pub(super) struct Connection {
    pub(super) shared: Rc<Loop>,
    pub(super) quic: quinn::Connection,
    /// What the client said of answers, whether or not they have begun.
    priorities: RefCell<HashMap<u64, Priority>>,
    /// How often it said something.
    reprioritised: Cell<u64>,
    pub(super) control: ControlStream,
    /// What led to nothing.
    flood_guard: RefCell<FloodGuard>,
    /// When the connection was made.
    begun: Instant,
    /// The answers that are on their way.
    pub(super) order: Rc<SendOrder>,
    pub(super) deadline: Deadline,
    pub(super) seat: Seat,
}

impl Connection {
    pub(super) fn new(
        shared: Rc<Loop>,
        quic: quinn::Connection,
        control: ControlStream,
        deadline: Deadline,
        seat: Seat,
    ) -> Self {
        Connection {
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

    /// The client says this of the answer on a stream.
    pub(super) fn prioritise(&self, stream: u64, priority: Priority) {
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
        let now = self.shared.context.clock.now().instant;
        let idle = self.shared.context.common.settings.idle_timeout;
        self.deadline.set_waiting(now + idle, now);
    }

    /// It is not the client that is waited for.
    pub(super) fn await_answer(&self) {
        self.deadline.set_busy();
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
    pub(super) fn sent(&self) -> u64 {
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

    /// Ends the connection.
    pub(super) fn close(&self, why: Code, reason: &str) {
        self.quic.close(code(why), reason.as_bytes());
    }
}

/// An error code as QUIC takes it.
pub(super) fn code(code: Code) -> VarInt {
    // They are below 2^62 all of them.
    VarInt::from_u64(code.value()).unwrap_or(VarInt::MAX)
}
