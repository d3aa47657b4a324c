//! An encoder: a thread that encodes when no other wants the core. It takes no lock that anybody else waits for: who has
//! so low a priority may be kept from giving it back.
//!
//! On a machine that never rests it would never end. So if it gets next to nothing of a core for a while, the worker
//! encodes at its own priority, until the encoder has noticed that its order was taken back.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use salver_os::ThreadClock;

use crate::codings::coder::{self, Encoded};
use crate::codings::key::MadeAs;
use crate::codings::pace::Pace;

/// The time after which it is looked again whether a coding that is at work is still wanted.
const LOOK_AFTER: Duration = Duration::from_millis(250);

/// The time that an encoder waits for a core before somebody else does its work. Each time that it got next to nothing
/// it is half as long for the next order, so that of many none takes as long on a machine that never rests.
const PATIENCE: Duration = Duration::from_secs(3);

/// The share of the time that it wants a core for, below which it gets next to nothing: a tenth.
const NEXT_TO_NOTHING: u32 = 10;

/// An encoder, as its worker has it.
pub(super) struct Encoder {
    work: Sender<Order>,
    done: Receiver<Encoded>,
    times: Arc<Times>,
    percent: u32,
    /// The patience with the next order.
    patience: Duration,
    longest_patience: Duration,
    /// True while it has an order that was taken back.
    is_behind: bool,
}

/// What the thread of an encoder does with its time.
#[derive(Default)]
struct Times {
    /// Set when it begins.
    clock: OnceLock<ThreadClock>,
    /// The rests that it has begun, in microseconds.
    rested: AtomicU64,
}

/// The time that the thread of an encoder has spent.
#[derive(Clone, Copy, Debug)]
struct Spent {
    /// On a core; `None` if the system does not tell.
    ran: Option<Duration>,
    rested: Duration,
}

/// An order to an encoder.
struct Order {
    content: Bytes,
    dictionary: Bytes,
    made: MadeAs,
    is_taken_back: Arc<AtomicBool>,
}

/// The encoder has gone.
pub(super) struct Gone;

impl Encoder {
    /// Starts an encoder with so many percent of a core; `None` if there can be no more threads.
    pub(super) fn start(percent: u32) -> Option<Self> {
        let (encoder, orders, results) = Encoder::new(percent, PATIENCE);
        let times = Arc::clone(&encoder.times);
        let started = std::thread::Builder::new()
            .name("salver-encoder".to_owned())
            .spawn(move || {
                let _ = times.clock.set(ThreadClock::of_this_thread());
                salver_os::run_when_idle();
                let mut pace = Pace::new(percent, salver_os::thread_time());
                for order in orders {
                    let goes_on = || !order.is_taken_back.load(Ordering::Relaxed);
                    let rest = |rest| times.rest(rest);
                    let parts = (&*order.content, &*order.dictionary);
                    let encoded = encode(parts, &order.made, &mut pace, &goes_on, &rest);
                    if results.send(encoded).is_err() {
                        return;
                    }
                }
            });
        started.ok().map(|_| encoder)
    }

    fn new(percent: u32, patience: Duration) -> (Self, Receiver<Order>, Sender<Encoded>) {
        let (work, orders) = channel();
        let (results, done) = channel();
        let encoder = Encoder {
            work,
            done,
            times: Arc::default(),
            percent,
            patience,
            longest_patience: patience,
            is_behind: false,
        };
        (encoder, orders, results)
    }

    /// True if it has an order that was taken back, and what that takes.
    pub(super) fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Has content encoded, against a dictionary if it is to be, as long as that is wanted.
    pub(super) fn encode(
        &mut self,
        (content, dictionary): (&Bytes, &Bytes),
        made: MadeAs,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<Encoded, Gone> {
        if self.is_behind {
            match self.done.try_recv() {
                Ok(_) => self.is_behind = false,
                Err(TryRecvError::Empty) => {
                    return Ok(self.encode_here((content, dictionary), &made, is_wanted));
                }
                Err(TryRecvError::Disconnected) => return Err(Gone),
            }
        }
        let is_taken_back = Arc::new(AtomicBool::new(false));
        let order = Order {
            content: content.clone(),
            dictionary: dictionary.clone(),
            made,
            is_taken_back: Arc::clone(&is_taken_back),
        };
        let (began, before) = (Instant::now(), self.times.spent());
        self.work.send(order).map_err(|_| Gone)?;
        loop {
            match self.done.recv_timeout(LOOK_AFTER) {
                Ok(encoded) => {
                    self.patience = self.longest_patience;
                    return Ok(encoded);
                }
                Err(RecvTimeoutError::Disconnected) => return Err(Gone),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if !is_wanted() {
                is_taken_back.store(true, Ordering::Relaxed);
            }
            let spent = self.times.spent().since(before);
            if spent.is_next_to_nothing(began.elapsed(), self.patience) {
                is_taken_back.store(true, Ordering::Relaxed);
                self.is_behind = true;
                self.patience = (self.patience / 2).max(LOOK_AFTER.min(self.longest_patience));
                return Ok(self.encode_here((content, dictionary), &made, is_wanted));
            }
        }
    }

    /// Encodes on this thread.
    fn encode_here(
        &self,
        (content, dictionary): (&Bytes, &Bytes),
        made: &MadeAs,
        is_wanted: &dyn Fn() -> bool,
    ) -> Encoded {
        let mut pace = Pace::new(self.percent, salver_os::thread_time());
        encode(
            (content, dictionary),
            made,
            &mut pace,
            is_wanted,
            &std::thread::sleep,
        )
    }
}

impl Times {
    fn spent(&self) -> Spent {
        let clock = self.clock.get();
        Spent {
            ran: clock.map_or(Some(Duration::ZERO), ThreadClock::time),
            rested: Duration::from_micros(self.rested.load(Ordering::Relaxed)),
        }
    }

    fn rest(&self, rest: Duration) {
        let micros = u64::try_from(rest.as_micros()).unwrap_or(u64::MAX);
        self.rested.fetch_add(micros, Ordering::Relaxed);
        std::thread::sleep(rest);
    }
}

impl Spent {
    /// What was spent since then.
    fn since(self, before: Spent) -> Spent {
        let ran = self.ran.zip(before.ran);
        Spent {
            ran: ran.map(|(now, before)| now.saturating_sub(before)),
            rested: self.rested.saturating_sub(before.rested),
        }
    }

    /// True if a thread that has spent this while so much time `passed` has waited for a core for all of the rest, but for
    /// next to nothing, and longer than `patience`.
    fn is_next_to_nothing(self, passed: Duration, patience: Duration) -> bool {
        self.ran.is_some_and(|ran| {
            let waited = passed.saturating_sub(ran).saturating_sub(self.rested);
            waited > patience && waited > ran * NEXT_TO_NOTHING
        })
    }
}

/// Encodes as long as it `goes_on`, and rests in proportion.
fn encode(
    (content, dictionary): (&[u8], &[u8]),
    made: &MadeAs,
    pace: &mut Pace,
    goes_on: &dyn Fn() -> bool,
    rest: &dyn Fn(Duration),
) -> Encoded {
    let pace = RefCell::new(pace);
    let wanted = || {
        let worked = salver_os::thread_time();
        pace.borrow_mut().keep(worked, goes_on, rest)
    };
    let encoded = coder::encode(content, made, dictionary, &wanted);
    wanted();
    encoded
}

#[cfg(all(test, feature = "compress"))]
mod tests {
    use salver_semantics::ContentCoding;

    use super::*;

    const GZIP: MadeAs = MadeAs::Coded(ContentCoding::Gzip);

    #[test]
    fn what_waits_for_a_core_for_long_is_encoded_here() {
        let content = Bytes::from(b"words and words, ".repeat(100));
        let check = |encoder: &mut Encoder| {
            let encoded = encoder.encode((&content, &Bytes::new()), GZIP, &|| true);
            let Ok(Encoded::To(coded)) = encoded else {
                panic!("it is worth it");
            };
            assert!(coder::is_of(&coded, &GZIP, &content, b""));
        };
        // A thread that never gets a core.
        let (mut encoder, orders, results) = Encoder::new(100, Duration::ZERO);
        check(&mut encoder);
        let order = orders.try_recv().unwrap();
        assert!(encoder.is_behind && order.is_taken_back.load(Ordering::Relaxed));
        check(&mut encoder);
        assert!(orders.try_recv().is_err(), "it has one already");
        // It gets one, and the next order.
        assert!(results.send(Encoded::Cancelled).is_ok());
        check(&mut encoder);
        assert!(orders.try_recv().is_ok());
        drop((orders, results));
        let gone = encoder.encode((&content, &Bytes::new()), GZIP, &|| true);
        assert!(gone.is_err());
    }

    #[test]
    fn any_share_of_a_core_is_enough() {
        let content = Bytes::from(b"words and words, ".repeat(20));
        for percent in [1, 50, 99, 100] {
            let mut encoder = Encoder::start(percent).unwrap();
            let encoded = encoder.encode((&content, &Bytes::new()), GZIP, &|| true);
            assert!(matches!(encoded, Ok(Encoded::To(_))), "{percent}");
            let here = encoder.encode_here((&content, &Bytes::new()), &GZIP, &|| true);
            assert!(matches!(here, Encoded::To(_)), "{percent}");
        }
    }

    #[test]
    fn rest_and_work_are_no_waiting() {
        let check = |passed: u64, ran: Option<u64>, rested: u64, expected: bool| {
            let of = |milliseconds| Duration::from_millis(milliseconds);
            let spent = Spent {
                ran: ran.map(of),
                rested: of(rested),
            };
            let found = spent.is_next_to_nothing(of(passed), of(3000));
            assert_eq!(found, expected, "{passed} {spent:?}");
        };
        // It has not begun.
        check(3000, Some(0), 0, false);
        check(3001, Some(0), 0, true);
        // It has a core for itself, with and without rests.
        check(60_000, Some(60_000), 0, false);
        check(60_000, Some(600), 59_400, false);
        // A third of one, a fiftieth of one, and that only at times.
        check(60_000, Some(20_000), 0, false);
        check(60_000, Some(1000), 0, true);
        check(60_000, Some(1000), 57_000, false);
        // Where nobody can tell.
        check(60_000, None, 0, false);
    }
}
