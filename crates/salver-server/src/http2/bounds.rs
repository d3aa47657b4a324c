//! What a connection may take: time for what is waited for, memory for what it holds, and how it is told to
//! end.

use std::io;
use std::time::Duration;

use salver_assets::Now;
use salver_http2::Phase;

use super::{Connection, disk};
use crate::asking::Awaited;
use crate::outbox::Outbox;
use crate::report::report;
use crate::send_pace::step;
use crate::stream::Stream;

/// How long a client may take to hear that the connection is about to end, before it is told its last
/// stream (RFC 9113 section 6.8).
const GOODBYE: Duration = Duration::from_secs(1);

impl<S: Stream> Connection<S> {
    /// Counts the memory that the connection holds from this turn to the next.
    pub(super) fn count_memory(&mut self) {
        let unsettled = self.awaited.capacity() * size_of::<(u32, Awaited)>();
        let held = self.protocol.held() + unsettled;
        self.charge.set(held);
    }

    /// Has the client hear that the connection ends, and, when it has, which stream is the last.
    pub(super) fn say_goodbye(&mut self, now: Now, outbox: &mut Outbox) {
        let at = *self.leaves_at.get_or_insert(now.instant + GOODBYE);
        if self.protocol.phase() == Phase::Head && self.protocol.open_streams() == 0
            || self.protocol.knows_goaway()
            || now.instant >= at
        {
            outbox.write(|buffer| self.protocol.go_away(buffer));
        } else {
            outbox.write(|buffer| self.protocol.announce_goaway(buffer));
        }
    }

    /// Resets the streams that their client holds up for too long; whether it holds up all of them.
    pub(super) fn is_stalled(&mut self, now: Now, outbox: &mut Outbox) -> bool {
        let common = &self.wire.shared.common;
        let (time, step) = (now.instant - self.checked, step(&common.settings));
        if time < step || !self.protocol.is_sending() {
            return false;
        }
        self.checked = now.instant;
        self.wire.deadline.set(now.instant + step);
        let rate = common.settings.least_rate();
        let protocol = &mut self.protocol;
        let Ok(stalled) = outbox.write(|buffer| protocol.reset_stalled(&rate, time, buffer)) else {
            report(common, &io::ErrorKind::TimedOut.into());
            outbox.write(|buffer| self.protocol.go_away(buffer));
            return true;
        };
        for sending in stalled {
            report(common, &io::ErrorKind::TimedOut.into());
            sending.reading.end(&disk(&self.wire));
        }
        false
    }

    /// Sets the deadline for what is waited for from now on.
    pub(super) fn wait_anew(&mut self, now: Now) {
        let mut phase = self.protocol.phase();
        if phase == Phase::Idle && !self.wire.carry.is_empty() {
            phase = Phase::Head;
        }
        let state = (phase, self.protocol.progress());
        if state == self.waits_in {
            return;
        }
        self.waits_in = state;
        let settings = &self.wire.shared.common.settings;
        let (now, deadline) = (now.instant, &self.wire.deadline);
        match phase {
            Phase::Head => deadline.set_waiting(now + settings.header_timeout, now),
            Phase::Idle | Phase::Body => {
                deadline.set_waiting(now + settings.idle_timeout, now);
            }
            // A client that grants no window keeps it waiting; a disk does not.
            Phase::Answering if self.protocol.is_sending() => {
                deadline.set_waiting(self.checked + step(settings), now);
            }
            Phase::Answering => {
                deadline.set_busy();
                deadline.set(self.checked + step(settings));
            }
        }
    }

    /// Whether what is waited for has not come in time; then the client has been told.
    pub(super) fn is_late(&mut self, now: Now, outbox: &mut Outbox) -> bool {
        self.wait_anew(now);
        if let Some(at) = self.leaves_at
            && !self.protocol.goes_away()
        {
            self.wire.deadline.set(at);
        }
        if !self.wire.deadline.has_passed(now.instant) && !self.wire.deadline.makes_room() {
            return false;
        }
        if self.protocol.phase() == Phase::Answering && !self.wire.deadline.makes_room() {
            // What the client holds up has been looked at; else a disk takes its time.
            self.wire
                .deadline
                .set(now.instant + step(&self.wire.shared.common.settings));
            return false;
        }
        outbox.write(|buffer| self.protocol.go_away(buffer));
        true
    }
}
