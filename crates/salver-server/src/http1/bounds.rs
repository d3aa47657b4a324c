//! What a connection may take: memory for what it holds, and time for what is waited for.

use salver_assets::Now;
use salver_http1::Phase;

use super::Connection;
use crate::outbox::Outbox;
use crate::stream::Stream;
use crate::transmit::Unsent;

/// Whether a connection for which nothing has come is waited for.
pub(super) enum Wait {
    On,
    NoLonger,
    TooLate,
}

impl<S: Stream> Connection<S> {
    /// Keeps for this connection what the loop's outbox still holds.
    pub(super) fn hand_over(&mut self, outbox: &mut Outbox) {
        let (common, account) = (&self.shared.common, &self.seat.account);
        let unsent = Unsent::of(outbox, common, account, &mut self.stream, &self.deadline);
        self.unsent = Some(unsent);
    }

    /// Counts the memory of what was received and not consumed.
    pub(super) fn count_carry(&mut self) {
        let length = self.carry.capacity();
        match &mut self.carried {
            None if length == 0 => {}
            None => self.carried = Some(self.seat.account.charge(length)),
            Some(_) if length == 0 => self.carried = None,
            Some(carried) => carried.set(length),
        }
    }

    /// An answer is out: the time for the next request begins.
    pub(super) fn wait_for_request(&mut self, now: Now) {
        self.waits_in = Phase::Idle;
        self.is_new = false;
        let until = now.instant + self.shared.common.settings.idle_timeout;
        self.deadline.set_waiting(until, now.instant);
    }

    /// What to do when nothing more can be received now.
    pub(super) fn wait(&mut self, now: Now) -> Wait {
        let phase = self.parser.phase();
        let settings = &self.shared.common.settings;
        let idle = matches!(phase, Phase::Idle | Phase::Closed);
        // Half a head is no request yet: who sends it so slowly can send it elsewhere.
        let asks = idle || phase == Phase::Head;
        if asks && self.shared.draining.get() || self.deadline.makes_room() {
            return Wait::NoLonger;
        }
        let is_first_head = self.is_new && phase != Phase::Body;
        if phase != self.waits_in && !is_first_head {
            self.waits_in = phase;
            let (now, deadline) = (now.instant, &self.deadline);
            match phase {
                Phase::Head => deadline.set_waiting(now + settings.header_timeout, now),
                Phase::Idle | Phase::Closed | Phase::Body => {
                    deadline.set_waiting(now + settings.idle_timeout, now);
                }
            }
            return Wait::On;
        }
        match (self.deadline.has_passed(now.instant), idle) {
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
