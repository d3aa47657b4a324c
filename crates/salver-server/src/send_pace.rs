//! The pace of a client that is sent an answer over TCP, and the check that it is not too slow.
//!
//! Acknowledged bytes count: the kernel's queue is deep, and to a slow client it may be too full for minutes to take
//! more from the server while the client is there and reads.

use std::time::{Duration, Instant};

use salver_semantics::RateCredit;

use crate::byte_stream::ByteStream;
use crate::deadlines::Deadline;
use crate::settings::Settings;

/// The number of checks in the time that a client may take nothing, which is never exceeded by more than one step.
const STEPS: u32 = 8;

/// The pace of one client while it keeps an answer waiting.
#[derive(Debug)]
pub(crate) struct SendPace {
    credit: RateCredit,
    /// The bytes that the client had acknowledged at the last check; `None` where the system does not tell.
    acknowledged: Option<u64>,
    looked: Instant,
    /// The bytes that the socket has taken since.
    accepted: u64,
}

/// The time between two checks.
pub(crate) fn step(settings: &Settings) -> Duration {
    settings.send_timeout / STEPS
}

impl SendPace {
    /// Begins to measure the pace; moves the deadline to the next check. While its client takes nothing the
    /// connection may have to make room for others.
    pub(crate) fn new<S: ByteStream>(stream: &S, deadline: &Deadline, settings: &Settings) -> Self {
        let now = Instant::now();
        deadline.set_waiting(now + step(settings), now);
        SendPace {
            credit: RateCredit::new(&settings.least_rate()),
            acknowledged: salver_os::acknowledged(stream.tcp()).ok(),
            looked: now,
            accepted: 0,
        }
    }

    /// Counts bytes that the socket has taken.
    pub(crate) fn accept(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.accepted = self.accepted.saturating_add(bytes);
    }

    /// True if the client has taken too little for too long. Checks only when the deadline has passed, and moves it
    /// to the next check.
    pub(crate) fn is_late<S: ByteStream>(
        &mut self,
        stream: &S,
        deadline: &Deadline,
        settings: &Settings,
    ) -> bool {
        let now = Instant::now();
        if deadline.makes_room() {
            return true;
        }
        if !deadline.has_passed(now) {
            return false;
        }
        let acknowledged = salver_os::acknowledged(stream.tcp()).ok();
        let taken = match (self.acknowledged, acknowledged) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => self.accepted,
        };
        let time = now.saturating_duration_since(self.looked);
        let in_time = self.credit.pass(&settings.least_rate(), time, taken);
        self.acknowledged = acknowledged;
        self.accepted = 0;
        self.looked = now;
        if taken > 0 {
            deadline.set_waiting(now + step(settings), now);
        } else {
            deadline.set(now + step(settings));
        }
        !in_time
    }
}
