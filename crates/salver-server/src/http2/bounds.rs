//! The bounds of a connection: time for its client, memory, and the time for its end.

use std::io;
use std::time::Duration;

use salver_assets::Now;
use salver_http2::Phase;

use super::request_content::RequestContent;
use super::sending::end_all;
use super::{Http2Connection, PendingAnswer};
use crate::byte_stream::ByteStream;
use crate::report::report;
use crate::send_buffer::SendBuffer;
use crate::send_pace::step;

/// The time between the two GOAWAY of a connection, for a client that does not answer the first (RFC 9113 section
/// 6.8).
const GOAWAY_DELAY: Duration = Duration::from_secs(1);

impl<S: ByteStream> Http2Connection<S> {
    /// Counts the memory that the connection holds from this turn to the next.
    pub(super) fn count_memory(&mut self) {
        let unsettled = self.pending.capacity() * size_of::<PendingAnswer>();
        // While there is unsent output its records are charged with it.
        let logged = self.wire.log.as_ref().filter(|_| self.wire.unsent() == 0);
        let logged = logged.map_or(0, |log| log.held());
        let contents = self.contents.capacity() * size_of::<RequestContent>();
        let held = self.protocol.held() + unsettled + contents + logged;
        self.charge.set(held);
    }

    /// Lets the client open streams as long as there is memory for them; the room that is left, in bytes.
    pub(super) fn limit_streams(&mut self) -> usize {
        let room = usize::try_from(self.wire.seat.account.room()).unwrap_or(usize::MAX);
        self.protocol
            .limit_held(self.charge.bytes().saturating_add(room));
        room
    }

    /// Announces the end of the connection by GOAWAY, and, when the client has answered, sends the last GOAWAY.
    pub(super) fn send_goaway(&mut self, now: Now, send_buffer: &mut SendBuffer) {
        let at = *self.leaves_at.get_or_insert(now.instant + GOAWAY_DELAY);
        if self.protocol.phase() == Phase::Head && self.protocol.open_streams() == 0
            || self.protocol.knows_goaway()
            || now.instant >= at
        {
            send_buffer.write(|buffer| self.protocol.go_away(buffer));
        } else {
            send_buffer.write(|buffer| self.protocol.announce_goaway(buffer));
        }
    }

    /// Resets the streams that the client holds up for too long; true if it holds up the connection.
    pub(super) fn reset_stalled(&mut self, now: Now, send_buffer: &mut SendBuffer) -> bool {
        let common = &self.wire.shared.common;
        if !self.protocol.is_sending() {
            return false;
        }
        let (time, step) = (now.instant - self.checked, step(&common.settings));
        if time < step {
            return false;
        }
        self.checked = now.instant;
        self.wire.deadline.set(now.instant + step);
        let rate = common.settings.least_rate();
        let protocol = &mut self.protocol;
        let Ok(stalled) = send_buffer.write(|buffer| protocol.reset_stalled(&rate, time, buffer))
        else {
            report(common, &io::ErrorKind::TimedOut.into());
            send_buffer.write(|buffer| self.protocol.go_away(buffer));
            return true;
        };
        for sending in stalled {
            report(common, &io::ErrorKind::TimedOut.into());
            end_all([sending], &self.wire, send_buffer.left());
        }
        false
    }

    /// Sets the deadline of the phase, if there was progress.
    pub(super) fn update_deadline(&mut self, now: Now) {
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
            Phase::Answering if self.protocol.is_held_up() => {
                deadline.set_waiting(self.checked + step(settings), now);
            }
            Phase::Answering => {
                deadline.set_busy();
                deadline.set(self.checked + step(settings));
            }
        }
    }

    /// True if the deadline has passed; then GOAWAY is appended.
    pub(super) fn is_late(&mut self, now: Now, send_buffer: &mut SendBuffer) -> bool {
        self.update_deadline(now);
        if let Some(at) = self.leaves_at
            && !self.protocol.goes_away()
        {
            self.wire.deadline.set(at);
        }
        if !self.wire.deadline.has_passed(now.instant) && !self.wire.deadline.makes_room() {
            return false;
        }
        if self.protocol.phase() == Phase::Answering && !self.wire.deadline.makes_room() {
            // The streams that the client holds up have been checked; else a disk takes its time.
            self.wire
                .deadline
                .set(now.instant + step(&self.wire.shared.common.settings));
            return false;
        }
        send_buffer.write(|buffer| self.protocol.go_away(buffer));
        true
    }
}
