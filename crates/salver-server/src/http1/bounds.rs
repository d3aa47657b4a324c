//! The bounds of a connection: time for requests.

use salver_assets::Now;
use salver_http1::Phase;

use super::Http1Connection;
use crate::byte_stream::ByteStream;

/// The outcome of waiting for a client that sends nothing.
pub(super) enum WaitOutcome {
    Continue,
    Close,
    TimedOut,
}

impl<S: ByteStream> Http1Connection<S> {
    /// Begins the time for the next request, after an answer.
    pub(super) fn wait_for_request(&mut self, now: Now) {
        self.waits_in = Phase::Idle;
        self.is_new = false;
        let until = now.instant + self.wire.shared.common.settings.idle_timeout;
        self.wire.deadline.set_waiting(until, now.instant);
    }

    /// Decides when there is no input: sets the deadline of the phase, or ends the connection after it.
    pub(super) fn wait(&mut self, now: Now) -> WaitOutcome {
        let phase = self.parser.phase();
        let settings = &self.wire.shared.common.settings;
        let idle = matches!(phase, Phase::Idle | Phase::Closed);
        // Half a head is no request yet: a slow client can send it elsewhere.
        let asks = idle || phase == Phase::Head;
        if asks && self.wire.shared.ends_idle() || self.wire.deadline.makes_room() {
            return WaitOutcome::Close;
        }
        let is_first_head = self.is_new && phase != Phase::Body;
        if phase != self.waits_in && !is_first_head {
            self.waits_in = phase;
            let (now, deadline) = (now.instant, &self.wire.deadline);
            match phase {
                Phase::Head => deadline.set_waiting(now + settings.header_timeout, now),
                Phase::Idle | Phase::Closed | Phase::Body => {
                    deadline.set_waiting(now + settings.idle_timeout, now);
                }
            }
            return WaitOutcome::Continue;
        }
        match (self.wire.deadline.has_passed(now.instant), idle) {
            (false, _) => WaitOutcome::Continue,
            (true, true) => WaitOutcome::Close,
            (true, false) => WaitOutcome::TimedOut,
        }
    }
}
