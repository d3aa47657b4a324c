//! The end of a connection as the client is told of it: GOAWAY (RFC 9113 section 6.8).

use super::Connection;
use crate::error::ErrorCode;
use crate::frame::{MOST, kind, push_goaway, push_header};

/// How much of the end the client has been told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Goodbye {
    Unsaid,
    /// That there will be one; what it sends until it has heard that is answered.
    Announced,
    /// It has.
    Heard,
    /// The last stream that is answered.
    Said(u32),
}

/// The PING that goes with the announcement of the end.
pub(super) const LAST_PING: &[u8; 8] = b"draining";

impl<T> Connection<T> {
    /// Announces that the connection is about to end, while all streams are still answered; a PING goes
    /// with it, whose answer shows that the client knows (RFC 9113 section 6.8).
    pub fn announce_goaway(&mut self, out: &mut Vec<u8>) {
        if self.goodbye == Goodbye::Unsaid && !self.has_ended {
            self.goodbye = Goodbye::Announced;
            push_goaway(out, MOST, ErrorCode::NO_ERROR);
            push_header(out, LAST_PING.len(), kind::PING, 0, 0);
            out.extend_from_slice(LAST_PING);
        }
    }

    /// Whether the client has answered the announcement.
    pub fn knows_goaway(&self) -> bool {
        self.goodbye == Goodbye::Heard
    }

    /// Says that no further stream is answered; those that are open are (RFC 9113 section 6.8).
    pub fn go_away(&mut self, out: &mut Vec<u8>) {
        if !self.goes_away() && !self.has_ended {
            self.push_goaway(ErrorCode::NO_ERROR, out);
        }
    }

    /// Whether the client has been told the last stream.
    pub fn goes_away(&self) -> bool {
        matches!(self.goodbye, Goodbye::Said(_))
    }

    /// Appends a GOAWAY. The stream that it names never goes up (RFC 9113 section 6.8): a client may have
    /// sent elsewhere already what was beyond it.
    pub(super) fn push_goaway(&mut self, code: ErrorCode, out: &mut Vec<u8>) {
        let last = match self.goodbye {
            Goodbye::Said(last) => last.min(self.last),
            Goodbye::Unsaid | Goodbye::Announced | Goodbye::Heard => self.last,
        };
        self.goodbye = Goodbye::Said(last);
        push_goaway(out, last, code);
    }
}
