//! The circuit between a node and its store: it opens where the store does not answer, so that nobody waits for what will
//! not come, and closes slowly, so that all who were refused do not come at once.
//!
//! ```text
//!           failures in a row               the pause is over              it is answered
//! (closed) ───────────────────► (open) ──────────────────────► (half-open) ──────────────► (paced)
//!     ▲                           ▲  ▲                              │                        │ │
//!     │                           │  └──────────────────────────────┘ it fails: a longer     │ │
//!     │                           │                                   pause                  │ │
//!     │                           └───────────────────────────────────── failures in a row ──┘ │
//!     └───────────────────────────────────────────────────────────── twice as many each second ┘
//! ```

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The failures in a row after which the circuit opens.
const FAILURES: u32 = 5;

/// The pause before the first probe, and the longest, each with up to half of it more or less: nodes do not ask together.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

/// The requests of the first second after a probe was answered, evenly within it. In each further second there may be twice
/// as many.
const FIRST_SECOND: u32 = 32;

/// The time for which turns that nobody took are made up for: requests come in heaps.
const MADE_UP_FOR: Duration = Duration::from_millis(50);

/// The seconds after which nothing is held back any more.
const PACED_SECONDS: u32 = 10;

/// The time for which a failure says that the next request may fail as well: longer than the longest pause. What failed before
/// that may long be over, whether somebody has asked since or not.
pub(crate) const FAILS_FOR: Duration = Duration::from_secs(10);

/// A circuit. Time is passed in.
#[derive(Debug, Default)]
pub(crate) struct Circuit {
    seen: Mutex<Seen>,
    chance: RandomState,
}

/// What was seen of a store.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    state: State,
    /// The moment at which it last answered.
    answered: Option<Instant>,
    /// The moment at which it last failed, or kept somebody waiting, if it has answered nothing since.
    silent: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed {
        failures: u32,
    },
    Open {
        until: Instant,
        pause: Duration,
    },
    /// A probe is under way; if nothing comes of it until then, there is another.
    HalfOpen {
        since: Instant,
        until: Instant,
        pause: Duration,
    },
    Paced {
        since: Instant,
        /// The moment from which on the next request may go.
        next: Instant,
        failures: u32,
    },
}

impl Default for State {
    fn default() -> Self {
        State::Closed { failures: 0 }
    }
}

/// What a request may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Now,
    /// Its turn is after this time.
    After(Duration),
    Refused,
}

impl Circuit {
    /// True if requests are neither refused nor held back, and none has failed lately.
    pub(crate) fn is_well(&self, now: Instant) -> bool {
        let seen = *self.seen();
        let is_closed = match seen.state {
            State::Closed { .. } => true,
            State::Open { until, .. } | State::HalfOpen { until, .. } => now >= until + FAILS_FOR,
            State::Paced { since, .. } => is_over(since, now),
        };
        let is_silent = |silent: Instant| now < silent + FAILS_FOR;
        is_closed && !seen.silent.is_some_and(is_silent)
    }

    /// True if the store has failed, or kept somebody waiting, and has answered nothing since.
    pub(crate) fn is_silent(&self) -> bool {
        self.seen().silent.is_some()
    }

    /// Notes that somebody has waited for the store for longer than is worth it.
    pub(crate) fn note_silence(&self, now: Instant) {
        self.seen().silent = Some(now);
    }

    /// True if a request would be refused now.
    pub(crate) fn is_open(&self, now: Instant) -> bool {
        match self.seen().state {
            State::Open { until, .. } | State::HalfOpen { until, .. } => now < until,
            State::Closed { .. } | State::Paced { .. } => false,
        }
    }

    /// True if a request that nobody waits for may go now: it leaves the turns to those that somebody waits for.
    pub(crate) fn has_room(&self, now: Instant) -> bool {
        has_room(&self.seen().state, now)
    }

    /// Admits a request that nobody waits for, which is answered or fails within `limit`; false if it may not go now.
    pub(crate) fn admit_if_room(&self, now: Instant, limit: Duration) -> bool {
        // One at a time, so that many who ask at once do not all find the same room.
        let mut seen = self.seen();
        has_room(&seen.state, now) && admit(&mut seen.state, now, limit) == Admission::Now
    }

    /// Admits a request, which is answered or fails within `limit`.
    pub(crate) fn admit(&self, now: Instant, limit: Duration) -> Admission {
        admit(&mut self.seen().state, now, limit)
    }

    /// Notes that the store has answered, whatever it said.
    pub(crate) fn answered(&self, now: Instant) {
        let mut seen = self.seen();
        seen.answered = Some(now);
        seen.silent = None;
        match &mut seen.state {
            State::Closed { failures } | State::Paced { failures, .. } => *failures = 0,
            State::Open { .. } | State::HalfOpen { .. } => {
                seen.state = State::Paced {
                    since: now,
                    next: now,
                    failures: 0,
                };
            }
        }
    }

    /// Notes that the store has not answered a request that was admitted then. One that began before another was answered says
    /// nothing of the store as it is: all that hung while it stalled fail in one moment, when it is well again.
    pub(crate) fn failed(&self, now: Instant, began: Instant) {
        let mut seen = self.seen();
        if seen.answered.is_some_and(|answered| began < answered) {
            return;
        }
        seen.silent = Some(now);
        let pause = match &mut seen.state {
            State::Closed { failures } | State::Paced { failures, .. } => {
                *failures += 1;
                if *failures < FAILURES {
                    return;
                }
                FIRST_PAUSE
            }
            // The probe is still on its way.
            State::HalfOpen { since, .. } if began < *since => return,
            State::HalfOpen { pause, .. } => pause.saturating_mul(2).min(LONGEST_PAUSE),
            // It was under way when the others failed.
            State::Open { .. } => return,
        };
        seen.state = State::Open {
            until: now + self.jittered(pause, now),
            pause,
        };
    }

    /// Notes that a request which was admitted at this time is not sent: if it was the probe, another may be.
    pub(crate) fn give_back(&self, now: Instant) {
        let mut seen = self.seen();
        if let State::HalfOpen { pause, .. } = seen.state {
            seen.state = State::Open { until: now, pause };
        }
    }

    /// From half of a pause to half as much again.
    fn jittered(&self, pause: Duration, now: Instant) -> Duration {
        let thousandths = u32::try_from(self.chance.hash_one(now) % 1000).unwrap_or(0);
        pause / 2 + pause / 1000 * thousandths
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn has_room(state: &State, now: Instant) -> bool {
    match *state {
        State::Open { until, .. } | State::HalfOpen { until, .. } => now >= until,
        State::Closed { .. } => true,
        State::Paced { next, .. } => now >= next,
    }
}

fn admit(state: &mut State, now: Instant, limit: Duration) -> Admission {
    match *state {
        State::Closed { .. } => Admission::Now,
        State::Open { until, .. } | State::HalfOpen { until, .. } if now < until => {
            Admission::Refused
        }
        State::Open { pause, .. } | State::HalfOpen { pause, .. } => {
            *state = State::HalfOpen {
                since: now,
                until: now + limit,
                pause,
            };
            Admission::Now
        }
        State::Paced {
            since,
            next,
            failures,
        } => {
            if is_over(since, now) {
                *state = State::Closed { failures };
                return Admission::Now;
            }
            let turn = next.max(now.checked_sub(MADE_UP_FOR).unwrap_or(now));
            *state = State::Paced {
                since,
                next: turn + interval(turn.saturating_duration_since(since)),
                failures,
            };
            match turn.saturating_duration_since(now) {
                Duration::ZERO => Admission::Now,
                pause => Admission::After(pause),
            }
        }
    }
}

/// True if nothing is held back any more, of what was paced since then.
fn is_over(since: Instant, now: Instant) -> bool {
    now >= since + Duration::from_secs(u64::from(PACED_SECONDS))
}

/// The time between two requests, so long after the first answer.
fn interval(since: Duration) -> Duration {
    let seconds = u32::try_from(since.as_secs()).unwrap_or(PACED_SECONDS);
    Duration::from_secs(1) / (FIRST_SECOND << seconds.min(PACED_SECONDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(3);

    fn open(circuit: &Circuit, now: Instant) {
        for _ in 0..FAILURES {
            assert!(!circuit.is_open(now));
            circuit.failed(now, now);
        }
        assert!(circuit.is_open(now) && !circuit.is_well(now));
    }

    #[test]
    fn it_opens_after_failures_in_a_row() {
        let (circuit, now) = (Circuit::default(), Instant::now());
        for _ in 0..10 {
            for _ in 1..FAILURES {
                circuit.failed(now, now);
            }
            circuit.answered(now);
        }
        assert_eq!(circuit.admit(now, LIMIT), Admission::Now);
        open(&circuit, now);
        assert_eq!(circuit.admit(now, LIMIT), Admission::Refused);
        assert!(!circuit.has_room(now));
        // One that was under way.
        circuit.failed(now, now);
        assert!(circuit.is_open(now + FIRST_PAUSE / 2 - Duration::from_millis(1)));
    }

    #[test]
    fn one_probe_goes_and_each_that_fails_doubles_the_pause() {
        let (circuit, mut now) = (Circuit::default(), Instant::now());
        open(&circuit, now);
        for pause in [1000, 2000, 4000, 4000] {
            let pause = Duration::from_millis(pause);
            assert!(circuit.is_open(now + pause / 2 - Duration::from_millis(1)));
            now += pause * 3 / 2;
            assert!(circuit.has_room(now));
            assert_eq!(circuit.admit(now, LIMIT), Admission::Now);
            assert_eq!(circuit.admit(now, LIMIT), Admission::Refused);
            circuit.failed(now, now);
        }
        now += LONGEST_PAUSE * 2;
        assert_eq!(circuit.admit(now, LIMIT), Admission::Now);
        // Nothing came of it.
        assert_eq!(circuit.admit(now + LIMIT, LIMIT), Admission::Now);
        circuit.answered(now + LIMIT);
        assert!(!circuit.is_open(now + LIMIT) && !circuit.is_well(now + LIMIT));
    }

    #[test]
    fn a_store_that_is_back_is_asked_twice_as_much_each_second() {
        let (circuit, now) = (Circuit::default(), Instant::now());
        open(&circuit, now);
        let back = now + FIRST_PAUSE * 2;
        assert_eq!(circuit.admit(back, LIMIT), Admission::Now);
        circuit.answered(back);
        let mut seconds = [0_u64; 4];
        for _ in 0..480 {
            let after = match circuit.admit(back, LIMIT) {
                Admission::Now => Duration::ZERO,
                Admission::After(pause) => pause,
                Admission::Refused => panic!("it is back"),
            };
            seconds[usize::try_from(after.as_secs()).unwrap()] += 1;
        }
        assert_eq!(seconds, [32, 64, 128, 256]);
        // Who is waited for comes first.
        assert!(!circuit.has_room(back + Duration::from_millis(3990)));
        let then = back + Duration::from_secs(8);
        assert!(circuit.admit_if_room(then, LIMIT));
        // What could have gone until then does not go at once, but for a moment's.
        let at_once = (0..10_000).take_while(|_| circuit.admit_if_room(then, LIMIT));
        let of_a_moment = (FIRST_SECOND << 8) / 20;
        assert!(at_once.count() <= usize::try_from(of_a_moment).unwrap());
        assert!(circuit.admit_if_room(then + Duration::from_millis(1), LIMIT));
        for _ in 1..FAILURES {
            circuit.failed(back, back);
        }
        circuit.answered(back);
        let later = back + Duration::from_secs(u64::from(PACED_SECONDS));
        // Whether somebody asks by then or not.
        assert!(circuit.is_well(later));
        assert_eq!(circuit.admit(later, LIMIT), Admission::Now);
        assert!(circuit.is_well(later));
    }

    #[test]
    fn what_has_failed_long_ago_says_nothing_of_now() {
        let (circuit, now) = (Circuit::default(), Instant::now());
        let check = |after: Duration, expected: bool| {
            assert_eq!(circuit.is_well(now + after), expected, "{after:?}");
        };
        check(Duration::ZERO, true);
        circuit.note_silence(now);
        check(FAILS_FOR - Duration::from_millis(1), false);
        check(FAILS_FOR, true);
        // One look after the other all the same.
        assert!(circuit.is_silent());
        circuit.answered(now);
        assert!(circuit.is_well(now) && !circuit.is_silent());
        open(&circuit, now);
        check(FAILS_FOR, false);
        check(FAILS_FOR + FIRST_PAUSE * 2, true);
        assert_eq!(circuit.admit(now + FIRST_PAUSE * 2, LIMIT), Admission::Now);
        check(FIRST_PAUSE * 2 + FAILS_FOR, false);
        check(FIRST_PAUSE * 2 + LIMIT + FAILS_FOR, true);
    }

    #[test]
    fn what_began_before_an_answer_says_nothing_of_the_store() {
        let (circuit, now) = (Circuit::default(), Instant::now());
        // It stalls for nine seconds, and all that hung fail a second later.
        let (back, late) = (now + Duration::from_secs(9), now + Duration::from_secs(10));
        circuit.answered(back);
        for _ in 0..64 {
            circuit.failed(late, now);
        }
        assert!(circuit.is_well(late) && circuit.admit(late, LIMIT) == Admission::Now);
        open(&circuit, late);
        // Nor of a probe that is on its way.
        let probe = late + FIRST_PAUSE * 2;
        assert_eq!(circuit.admit(probe, LIMIT), Admission::Now);
        circuit.failed(probe, late);
        circuit.answered(probe);
        assert!(!circuit.is_open(probe));
        for _ in 0..64 {
            circuit.failed(probe, late);
        }
        assert!(!circuit.is_open(probe));
    }

    #[test]
    fn a_probe_that_is_not_sent_leaves_its_turn() {
        let (circuit, now) = (Circuit::default(), Instant::now());
        open(&circuit, now);
        let probe = now + FIRST_PAUSE * 2;
        assert!(circuit.admit_if_room(probe, LIMIT) && circuit.is_open(probe));
        circuit.give_back(probe);
        assert!(circuit.admit_if_room(probe, LIMIT) && circuit.is_open(probe));
        circuit.answered(probe);
        circuit.give_back(probe);
        assert!(!circuit.is_open(probe));
    }
}
