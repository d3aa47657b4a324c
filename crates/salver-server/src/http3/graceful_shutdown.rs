//! The graceful shutdown of a connection by two GOAWAY (RFC 9114 section 5.2).

use std::time::{Duration, Instant};

/// The largest possible stream of a request: a GOAWAY with it refuses none, and announces that the end is near.
const ANY_REQUEST: u64 = (1 << 62) - 4;

/// The distance from one request's stream to the next (RFC 9000 section 2.1).
const NEXT: u64 = 4;

/// The bounds of the time between the two, a round trip: requests on their way are answered.
const SHORTEST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(1);

/// The shutdown of one connection. The first GOAWAY announces it, so that the client asks elsewhere; the second, once
/// the client has had the time to read that, names the last request.
#[derive(Debug)]
pub(super) struct GracefulShutdown {
    /// The stream after the last request that was accepted.
    next: u64,
    state: GoawayState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GoawayState {
    Unsent,
    /// The end is announced; the last GOAWAY is due then.
    Announced(Instant),
    /// The last request is named.
    Sent,
}

impl GracefulShutdown {
    pub(super) fn new() -> Self {
        GracefulShutdown {
            next: 0,
            state: GoawayState::Unsent,
        }
    }

    /// True if a request on `stream` is to be answered; those of a connection come in their order.
    pub(super) fn takes(&mut self, stream: u64) -> bool {
        if self.state == GoawayState::Sent {
            return false;
        }
        self.next = self.next.max(stream.saturating_add(NEXT));
        true
    }

    /// The stream of the GOAWAY that is to be sent now, if one is due.
    pub(super) fn poll(&mut self, now: Instant, round_trip: Duration) -> Option<u64> {
        match self.state {
            GoawayState::Unsent => {
                self.state = GoawayState::Announced(now + round_trip.clamp(SHORTEST, LONGEST));
                Some(ANY_REQUEST)
            }
            GoawayState::Announced(until) if now >= until => {
                self.state = GoawayState::Sent;
                Some(self.next)
            }
            GoawayState::Announced(_) | GoawayState::Sent => None,
        }
    }

    /// True if the first GOAWAY was sent.
    pub(super) fn has_begun(&self) -> bool {
        self.state != GoawayState::Unsent
    }

    /// The time at which the last GOAWAY is due.
    pub(super) fn due(&self) -> Option<Instant> {
        match self.state {
            GoawayState::Announced(until) => Some(until),
            GoawayState::Unsent | GoawayState::Sent => None,
        }
    }

    /// True if the last GOAWAY was sent, and no further request is accepted.
    pub(super) fn is_last(&self) -> bool {
        self.state == GoawayState::Sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(round_trip: u64, pause: u64) {
        let (mut going, start) = (GracefulShutdown::new(), Instant::now());
        let (round_trip, pause) = (
            Duration::from_millis(round_trip),
            Duration::from_millis(pause),
        );
        assert!(going.takes(0) && going.takes(4));
        assert!(!going.has_begun() && going.due().is_none());
        assert_eq!(
            going.poll(start, round_trip),
            Some(4_611_686_018_427_387_900)
        );
        assert_eq!(going.due(), Some(start + pause));
        // What was on its way is taken.
        assert!(going.takes(8) && going.has_begun() && !going.is_last());
        let before = start + pause - Duration::from_millis(1);
        assert_eq!(going.poll(before, Duration::ZERO), None);
        assert!(going.takes(12));
        assert_eq!(going.poll(start + pause, round_trip), Some(16));
        // And nothing after it, so that the number never goes up.
        assert!(going.is_last() && !going.takes(16) && going.due().is_none());
        assert_eq!(going.poll(start + 2 * pause, round_trip), None);
    }

    #[test]
    fn it_is_near_for_about_a_round_trip() {
        check(100, 100);
        check(0, 20);
        check(5000, 1000);
    }

    #[test]
    fn without_a_request_there_is_none_that_was_the_last() {
        let (mut going, now) = (GracefulShutdown::new(), Instant::now());
        assert!(going.poll(now, Duration::ZERO).is_some());
        assert_eq!(going.poll(now + LONGEST, Duration::ZERO), Some(0));
    }
}
