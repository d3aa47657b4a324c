//! Whether a client takes what is sent to it over TCP, as fast as it must.
//!
//! What counts is what its side has acknowledged: the kernel's queue is deep, and to a slow client it may
//! be too full for minutes to take more from us while the client is there and reads.

use std::time::{Duration, Instant};

use salver_semantics::RateCredit;

use crate::deadlines::Deadline;
use crate::settings::Settings;
use crate::byte_stream::Stream;

/// The patience is looked at in so many steps, so that it is never exceeded by more than one.
const STEPS: u32 = 8;

/// The pace of one client while it keeps an answer waiting.
#[derive(Debug)]
pub(crate) struct SendPace {
    credit: RateCredit,
    /// What the client had acknowledged when that was looked at last; `None` where the system does not tell.
    acknowledged: Option<u64>,
    looked: Instant,
    /// Bytes that the socket has taken since.
    accepted: u64,
}

/// The time until the patience is looked at again.
pub(crate) fn step(settings: &Settings) -> Duration {
    settings.send_timeout / STEPS
}

impl SendPace {
    /// The pace from now on; moves the deadline to the next look. While its client takes nothing the
    /// connection may have to make room for others.
    pub(crate) fn new<S: Stream>(stream: &S, deadline: &Deadline, settings: &Settings) -> Self {
        let now = Instant::now();
        deadline.set_waiting(now + step(settings), now);
        SendPace {
            credit: RateCredit::new(&settings.least_rate()),
            acknowledged: salver_os::acknowledged(stream.tcp()).ok(),
            looked: now,
            accepted: 0,
        }
    }

    /// Notes that the socket has taken so many bytes.
    pub(crate) fn accept(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.accepted = self.accepted.saturating_add(bytes);
    }

    /// Whether the client has taken too little for too long. Looks only when the deadline has passed, and
    /// moves it to the next look.
    pub(crate) fn is_late<S: Stream>(
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
