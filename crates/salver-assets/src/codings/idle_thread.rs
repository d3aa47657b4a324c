//! An idle thread: one that works when no other wants the core, and is pushed aside at once by one that wakes. All that
//! takes a core for long is done there, encoding as well as hashing: a thread that is only less important than the loops
//! keeps them waiting for a tick of the scheduler. It takes no lock that anybody else waits for: who has so low a
//! priority may be kept from giving it back.
//!
//! On a machine that never rests it would never end. So if it gets next to nothing of a core for a while, the worker
//! does the work at its own priority, until the thread has noticed that its order was taken back.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use salver_os::ThreadClock;

use crate::codings::pace::Pace;

/// The time after which it is looked again whether work that goes on is still wanted.
const LOOK_AFTER: Duration = Duration::from_millis(250);

/// The time that an idle thread waits for a core before somebody else does its work. Each time that it got next to nothing
/// it is half as long for the next order, so that of many none takes as long on a machine that never rests. What was done
/// in a gap gives no patience back: a run that is long for it does.
const PATIENCE: Duration = Duration::from_secs(3);

/// The share of the time that it wants a core for, below which it gets next to nothing: a tenth.
const NEXT_TO_NOTHING: u32 = 10;

/// An idle thread, as its worker has it.
pub(super) struct IdleThread {
    work: Sender<Order>,
    done: Receiver<()>,
    times: Arc<Times>,
    percent: u32,
    /// The patience with the next order.
    patience: Duration,
    longest_patience: Duration,
    /// True while it has an order that was taken back.
    is_behind: bool,
}

/// What an idle thread does with its time.
#[derive(Default)]
struct Times {
    /// Set when it begins.
    clock: OnceLock<ThreadClock>,
    /// The rests that it has begun, in microseconds.
    rested: AtomicU64,
}

/// The time that an idle thread has spent.
#[derive(Clone, Copy, Debug)]
struct Spent {
    /// On a core; `None` if the system does not tell.
    ran: Option<Duration>,
    rested: Duration,
}

/// Work. It asks the function that it is given whether it is still wanted, as often as it can; that may rest.
type Work = dyn FnOnce(&dyn Fn() -> bool) + Send;

/// An order to an idle thread.
struct Order {
    work: Box<Work>,
    is_taken_back: Arc<AtomicBool>,
}

/// The thread has gone.
#[derive(Debug)]
pub(super) struct Gone;

impl IdleThread {
    /// Starts a thread with so many percent of a core; `None` if there can be no more threads.
    pub(super) fn start(percent: u32) -> Option<Self> {
        let (thread, orders, done) = IdleThread::new(percent, PATIENCE);
        let times = Arc::clone(&thread.times);
        let started = std::thread::Builder::new()
            .name("salver-encoder".to_owned())
            .spawn(move || {
                let _ = times.clock.set(ThreadClock::of_this_thread());
                salver_os::run_when_idle();
                let mut pace = Pace::new(percent, salver_os::thread_time());
                for order in orders {
                    let goes_on = || !order.is_taken_back.load(Ordering::Relaxed);
                    let rest = |rest| times.rest(rest);
                    pace.begin(salver_os::thread_time());
                    paced(order.work, &mut pace, &goes_on, &rest);
                    if done.send(()).is_err() {
                        return;
                    }
                }
            });
        started.ok().map(|_| thread)
    }

    fn new(percent: u32, patience: Duration) -> (Self, Receiver<Order>, Sender<()>) {
        let (work, orders) = channel();
        let (is_done, done) = channel();
        let thread = IdleThread {
            work,
            done,
            times: Arc::default(),
            percent,
            patience,
            longest_patience: patience,
            is_behind: false,
        };
        (thread, orders, is_done)
    }

    /// True if it has an order that was taken back, and what that takes.
    pub(super) fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Has work done, which is told to end once it is no longer wanted.
    pub(super) fn perform<T: Send + 'static>(
        &mut self,
        work: impl Fn(&dyn Fn() -> bool) -> T + Send + Sync + 'static,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<T, Gone> {
        if self.is_behind {
            match self.done.try_recv() {
                Ok(()) => self.is_behind = false,
                Err(TryRecvError::Empty) => return Ok(self.perform_here(work, is_wanted)),
                Err(TryRecvError::Disconnected) => return Err(Gone),
            }
        }
        let work = Arc::new(work);
        let is_taken_back = Arc::new(AtomicBool::new(false));
        let (give, take) = channel();
        let there = Arc::clone(&work);
        let order = Order {
            work: Box::new(move |wanted| drop(give.send(there(wanted)))),
            is_taken_back: Arc::clone(&is_taken_back),
        };
        let (began, before) = (Instant::now(), self.times.spent());
        self.work.send(order).map_err(|_| Gone)?;
        loop {
            let ended = self.done.recv_timeout(LOOK_AFTER);
            let (spent, passed) = (self.times.spent().since(before), began.elapsed());
            match ended {
                Ok(()) => {
                    self.learn(spent, passed);
                    return take.try_recv().map_err(|_| Gone);
                }
                Err(RecvTimeoutError::Disconnected) => return Err(Gone),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if !is_wanted() {
                is_taken_back.store(true, Ordering::Relaxed);
            }
            if spent.is_next_to_nothing(passed, self.patience) {
                is_taken_back.store(true, Ordering::Relaxed);
                self.is_behind = true;
                self.learn(spent, passed);
                // It may have been done, and only the rest after it has not ended.
                let done = take.try_recv();
                return Ok(done.unwrap_or_else(|_| self.perform_here(&*work, is_wanted)));
            }
        }
    }

    /// Becomes less patient if the thread has got next to nothing of a core, and patient again if it had one for long.
    fn learn(&mut self, spent: Spent, passed: Duration) {
        let least = LOOK_AFTER.min(self.longest_patience);
        if spent.is_next_to_nothing(passed, least) {
            self.patience = (self.patience / 2).max(least);
        } else if spent
            .ran
            .is_none_or(|ran| ran * NEXT_TO_NOTHING >= self.patience)
        {
            self.patience = self.longest_patience;
        }
    }

    fn perform_here<T>(
        &self,
        work: impl FnOnce(&dyn Fn() -> bool) -> T,
        is_wanted: &dyn Fn() -> bool,
    ) -> T {
        perform_here(self.percent, work, is_wanted)
    }
}

/// Does work on the calling thread, with so many percent of a core.
pub(super) fn perform_here<T>(
    percent: u32,
    work: impl FnOnce(&dyn Fn() -> bool) -> T,
    is_wanted: &dyn Fn() -> bool,
) -> T {
    let mut pace = Pace::new(percent, salver_os::thread_time());
    paced(work, &mut pace, is_wanted, &std::thread::sleep)
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

/// Works as long as it `goes_on`, and rests in proportion.
fn paced<T>(
    work: impl FnOnce(&dyn Fn() -> bool) -> T,
    pace: &mut Pace,
    goes_on: &dyn Fn() -> bool,
    rest: &dyn Fn(Duration),
) -> T {
    let pace = RefCell::new(pace);
    let wanted = || {
        let mut pace = pace.borrow_mut();
        pace.keep(&salver_os::thread_time, goes_on, rest)
    };
    let done = work(&wanted);
    wanted();
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The work of the tests.
    fn work(wanted: &dyn Fn() -> bool) -> bool {
        wanted()
    }

    #[test]
    fn what_waits_for_a_core_for_long_is_done_here() {
        // A thread that never gets a core.
        let (mut thread, orders, done) = IdleThread::new(100, Duration::ZERO);
        let check = |thread: &mut IdleThread| assert!(thread.perform(work, &|| true).unwrap());
        check(&mut thread);
        let order = orders.try_recv().unwrap();
        assert!(thread.is_behind && order.is_taken_back.load(Ordering::Relaxed));
        check(&mut thread);
        assert!(orders.try_recv().is_err(), "it has one already");
        // It gets one, and the next order.
        done.send(()).unwrap();
        check(&mut thread);
        assert!(orders.try_recv().is_ok());
        drop((orders, done));
        assert!(thread.perform(work, &|| true).is_err());
    }

    #[test]
    fn any_share_of_a_core_is_enough() {
        for percent in [1, 50, 99, 100] {
            let mut thread = IdleThread::start(percent).unwrap();
            assert!(thread.perform(work, &|| true).unwrap(), "{percent}");
            assert!(thread.perform_here(work, &|| true), "{percent}");
        }
    }

    #[test]
    fn patience_is_lost_by_waiting_and_won_back_by_a_long_run() {
        let of = Duration::from_millis;
        let check = |patience: u64, passed: u64, ran: Option<u64>, expected: u64| {
            let (mut thread, _, _) = IdleThread::new(100, PATIENCE);
            thread.patience = of(patience);
            let spent = Spent {
                ran: ran.map(of),
                rested: Duration::ZERO,
            };
            thread.learn(spent, of(passed));
            assert_eq!(thread.patience, of(expected), "{patience} {spent:?}");
        };
        check(3000, 3001, Some(0), 1500);
        check(3000, 400, Some(1), 1500);
        check(400, 251, Some(0), 250);
        check(250, 9000, Some(100), 250);
        // In a gap.
        check(1500, 1, Some(1), 1500);
        check(1500, 249, Some(1), 1500);
        // With a core.
        check(1500, 150, Some(149), 1500);
        check(1500, 150, Some(150), 3000);
        check(1500, 9000, None, 3000);
    }

    #[test]
    fn what_is_done_before_a_rest_is_not_done_again() {
        let (mut thread, orders, done) = IdleThread::new(100, Duration::ZERO);
        let times = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&times);
        let work = move |_: &dyn Fn() -> bool| counted.fetch_add(1, Ordering::Relaxed);
        let (ended, has_ended) = channel();
        let there = std::thread::spawn(move || {
            let order = orders.recv().unwrap();
            (order.work)(&|| true);
            ended.send(()).unwrap();
            // It never says that it has ended.
            (orders, done)
        });
        let is_wanted = || has_ended.recv().is_ok();
        thread.perform(work, &is_wanted).unwrap();
        assert_eq!(times.load(Ordering::Relaxed), 1);
        assert!(thread.is_behind());
        drop(there.join());
    }

    #[test]
    fn work_that_panics_is_told_of() {
        // As long as it takes until a busy machine gives it a core.
        const PATIENT: Duration = Duration::from_secs(3600);
        let (mut thread, orders, done) = IdleThread::new(100, PATIENT);
        let there = std::thread::spawn(move || {
            let _done = done;
            let order = orders.recv().unwrap();
            (order.work)(&|| true);
        });
        let panics = |_: &dyn Fn() -> bool| std::panic::panic_any("on purpose");
        assert!(thread.perform::<()>(panics, &|| true).is_err());
        assert!(there.join().is_err());
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
