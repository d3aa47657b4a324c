//! What a connection may take: time for what is waited for, and room for the content of requests.

use salver_assets::Now;
use salver_http1::Phase;

use super::Connection;
use crate::stream::Stream;

/// Whether a connection for which nothing has come is waited for.
pub(super) enum Wait {
    On,
    NoLonger,
    TooLate,
}

impl<S: Stream> Connection<S> {
    /// An answer is out: the time for the next request begins.
    pub(super) fn wait_for_request(&mut self, now: Now) {
        self.waits_in = Phase::Idle;
        self.is_new = false;
        let until = now.instant + self.wire.shared.common.settings.idle_timeout;
        self.wire.deadline.set_waiting(until, now.instant);
    }

    /// What to do when nothing more can be received now.
    pub(super) fn wait(&mut self, now: Now) -> Wait {
        let phase = self.parser.phase();
        let settings = &self.wire.shared.common.settings;
        let idle = matches!(phase, Phase::Idle | Phase::Closed);
        // Half a head is no request yet: who sends it so slowly can send it elsewhere.
        let asks = idle || phase == Phase::Head;
        if asks && self.wire.shared.draining.get() || self.wire.deadline.makes_room() {
            return Wait::NoLonger;
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
            return Wait::On;
        }
        match (self.wire.deadline.has_passed(now.instant), idle) {
            (false, _) => Wait::On,
            (true, true) => Wait::NoLonger,
            (true, false) => Wait::TooLate,
        }
    }

    /// Whether there is no room for the content that has come.
    pub(super) fn is_too_much(&mut self) -> bool {
        let content = self.held.as_mut().and_then(|held| held.content.as_mut());
        content.is_some_and(|content| content.count().is_err())
    }
}
