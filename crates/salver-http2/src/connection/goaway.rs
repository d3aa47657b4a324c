//! GOAWAY: the announcement of a connection's end (RFC 9113 section 6.8).

use super::Connection;
use crate::error::ErrorCode;
use crate::frame::{MOST, kind, push_goaway, push_header};

/// The state of the announcement of a connection's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GoawayState {
    Unsent,
    /// Announced, with a PING; requests that come until its answer are answered.
    Announced,
    /// The client has answered the PING.
    Acknowledged,
    /// Sent, with the last stream that is answered.
    Sent(u32),
}

/// The PING that goes with the announcement of the end.
pub(super) const LAST_PING: &[u8; 8] = b"draining";

impl<T> Connection<T> {
    /// Announces that the connection is about to end, while all streams are still answered; a PING goes
    /// with it, whose answer shows that the client knows (RFC 9113 section 6.8).
    pub fn announce_goaway(&mut self, out: &mut Vec<u8>) {
        if self.goaway_state == GoawayState::Unsent && !self.has_ended {
            self.goaway_state = GoawayState::Announced;
            push_goaway(out, MOST, ErrorCode::NO_ERROR);
            push_header(out, LAST_PING.len(), kind::PING, 0, 0);
            out.extend_from_slice(LAST_PING);
        }
    }

    /// True if the client has answered the announcement.
    pub fn knows_goaway(&self) -> bool {
        self.goaway_state == GoawayState::Acknowledged
    }

    /// Appends the last GOAWAY: no further stream is answered; those that are open are (RFC 9113 section 6.8).
    pub fn go_away(&mut self, out: &mut Vec<u8>) {
        if !self.goes_away() && !self.has_ended {
            self.push_goaway(ErrorCode::NO_ERROR, out);
        }
    }

    /// True if the last GOAWAY has been sent.
    pub fn goes_away(&self) -> bool {
        matches!(self.goaway_state, GoawayState::Sent(_))
    }

    /// Appends a GOAWAY. The stream that it names never goes up (RFC 9113 section 6.8): a client may have sent the
    /// requests beyond it elsewhere already.
    pub(super) fn push_goaway(&mut self, code: ErrorCode, out: &mut Vec<u8>) {
        let last = match self.goaway_state {
            GoawayState::Sent(last) => last.min(self.last),
            GoawayState::Unsent | GoawayState::Announced | GoawayState::Acknowledged => self.last,
        };
        self.goaway_state = GoawayState::Sent(last);
        push_goaway(out, last, code);
    }
}
