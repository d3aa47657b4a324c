//! How a connection says that it takes no more requests (RFC 9114 section 5.2).

use std::time::{Duration, Instant};

/// The largest stream of a request that there can be: it promises nothing, and says that the end is near.
const ANY_REQUEST: u64 = (1 << 62) - 4;

/// From one request's stream to the next (RFC 9000 section 2.1).
const NEXT: u64 = 4;

/// Between the two, so that what was on its way is answered: about a round trip, within bounds.
const SHORTEST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(1);

/// What was said of the end of a connection. First that it is near, so that the client asks elsewhere; then,
/// once it has had the time to read that, with which request it was.
#[derive(Debug)]
pub(super) struct GoingAway {
    /// After the last request that was taken.
    next: u64,
    said: Said,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Said {
    Nothing,
    /// That the end is near; the rest is to be said then.
    Near(Instant),
    /// Which requests were the last ones.
    Last,
}

impl GoingAway {
    pub(super) fn new() -> Self {
        GoingAway {
            next: 0,
            said: Said::Nothing,
        }
    }

    /// Whether a request on `stream` is to be answered; those of a connection come in their order.
    pub(super) fn takes(&mut self, stream: u64) -> bool {
        if self.said == Said::Last {
            return false;
        }
        self.next = self.next.max(stream.saturating_add(NEXT));
        true
    }

    /// The GOAWAY that is to be sent now, if any: the stream that it names.
    pub(super) fn poll(&mut self, now: Instant, round_trip: Duration) -> Option<u64> {
        match self.said {
            Said::Nothing => {
                self.said = Said::Near(now + round_trip.clamp(SHORTEST, LONGEST));
                Some(ANY_REQUEST)
            }
            Said::Near(until) if now >= until => {
                self.said = Said::Last;
                Some(self.next)
            }
            Said::Near(_) | Said::Last => None,
        }
    }

    /// Whether something was said.
    pub(super) fn has_begun(&self) -> bool {
        self.said != Said::Nothing
    }

    /// When there is more to say.
    pub(super) fn due(&self) -> Option<Instant> {
        match self.said {
            Said::Near(until) => Some(until),
            Said::Nothing | Said::Last => None,
        }
    }

    /// Whether no further request is taken.
    pub(super) fn is_last(&self) -> bool {
        self.said == Said::Last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(round_trip: u64, pause: u64) {
        let (mut going, start) = (GoingAway::new(), Instant::now());
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
        let (mut going, now) = (GoingAway::new(), Instant::now());
        assert!(going.poll(now, Duration::ZERO).is_some());
        assert_eq!(going.poll(now + LONGEST, Duration::ZERO), Some(0));
    }
}
