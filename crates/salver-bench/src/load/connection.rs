//! One connection of a load, and what it waits for.
//!
//! ```text
//!          ┌────── retry later ◄── refused ──┐
//!          ▼                                 │
//! Down ──► Connecting ───────────────────────┘
//!              │ open
//!              ▼      send            answered
//!            Idle ──────────► Busy ─────────────► Idle
//!              │                │ time-out, end, nonsense
//!              └── closed ──────┴───────────────► Connecting
//! ```

use std::time::Instant;

use crate::answer::Answer;
use crate::load::accounts::SentRequest;
use crate::protocol::wire::Wire;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    Down,
    Connecting,
    Idle,
    Busy,
}

pub(crate) struct Connection<'a> {
    pub(crate) wire: Option<Wire>,
    pub(crate) at: At,
    /// Since when it is there; in [`At::Busy`] the moment at which the request was sent.
    pub(crate) since: Instant,
    pub(crate) asked: Option<SentRequest<'a>>,
    /// Bytes of it that are sent.
    pub(crate) sent: usize,
    pub(crate) answer: Answer,
}

impl Connection<'_> {
    pub(crate) fn new(now: Instant) -> Self {
        Connection {
            wire: None,
            at: At::Down,
            since: now,
            asked: None,
            sent: 0,
            answer: Answer::default(),
        }
    }
}
