//! The deadlines of a loop's connections: by then each has to have made progress.
//!
//! Setting a deadline is a store; a sweep wakes those that have passed. Deadlines are late by up
//! to a sweep's interval, which no client can tell.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use slab::Slab;

/// The interval at which [`Deadlines::sweep`] is to be called.
pub(crate) const SWEEP_INTERVAL: Duration = Duration::from_millis(250);

/// The deadlines of all connections of one loop.
#[derive(Default)]
pub(crate) struct Deadlines {
    slots: RefCell<Slab<DeadlineEntry>>,
    /// The connections that may be told to make room next.
    candidates: RefCell<Candidates>,
}

#[derive(Default)]
struct Candidates {
    waiting: Vec<(Instant, usize)>,
    /// The time until which no others are looked for, after none was found.
    none_until: Option<Instant>,
}

struct DeadlineEntry {
    at: Instant,
    activity: Activity,
    waker: Option<Waker>,
}

impl DeadlineEntry {
    /// Changes the activity of a connection that is not to end.
    fn set_activity(&mut self, activity: Activity) {
        if self.activity != Activity::MakesRoom {
            self.activity = activity;
        }
    }
}

/// The activity of a connection, as far as others may need its seat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Activity {
    /// A request or an answer is under way.
    Busy,
    /// Since then its client has sent no request, or not a whole one.
    Waits(Instant),
    /// The connection is to end, for another.
    MakesRoom,
}

/// The number of connections that are chosen together to make room: a look at all of them for each newcomer would
/// cost more than the newcomers.
const LOOKED_FOR: usize = 64;

/// The time before others are looked for, after none was found.
const PAUSE: Duration = Duration::from_millis(20);

/// The deadline of one connection; it ends when dropped.
pub(crate) struct Deadline {
    all: Rc<Deadlines>,
    key: usize,
}

impl Deadlines {
    /// Adds a deadline at `at`.
    pub(crate) fn add(self: &Rc<Self>, at: Instant) -> Deadline {
        let key = self.slots.borrow_mut().insert(DeadlineEntry {
            at,
            activity: Activity::Busy,
            waker: None,
        });
        Deadline {
            all: Rc::clone(self),
            key,
        }
    }

    /// Wakes the connections whose deadline has passed.
    pub(crate) fn sweep(&self, now: Instant) {
        self.wake(|slot| slot.at <= now);
    }

    /// Wakes all connections.
    pub(crate) fn wake_all(&self) {
        self.wake(|_| true);
    }

    /// The number of connections.
    pub(crate) fn len(&self) -> usize {
        self.slots.borrow().len()
    }

    /// Ends the connection that has waited longest for a request; `false` if none waits.
    pub(crate) fn make_room(&self, now: Instant) -> bool {
        let mut candidates = self.candidates.borrow_mut();
        let mut slots = self.slots.borrow_mut();
        loop {
            if candidates.waiting.is_empty() {
                if candidates.none_until.is_some_and(|until| now < until) {
                    return false;
                }
                let waits = |(key, slot): (usize, &DeadlineEntry)| match slot.activity {
                    Activity::Waits(since) if slot.waker.is_some() => Some((since, key)),
                    Activity::Waits(_) | Activity::Busy | Activity::MakesRoom => None,
                };
                let mut all: Vec<_> = slots.iter().filter_map(waits).collect();
                if let Some(last) = all.len().checked_sub(LOOKED_FOR).filter(|&rest| rest > 0) {
                    all.select_nth_unstable(LOOKED_FOR - 1);
                    all.truncate(all.len() - last);
                }
                all.sort_unstable_by(|one, other| other.cmp(one));
                candidates.none_until = all.is_empty().then_some(now + PAUSE);
                candidates.waiting = all;
            }
            let Some((since, key)) = candidates.waiting.pop() else {
                return false;
            };
            if let Some(slot) = slots.get_mut(key)
                && slot.activity == Activity::Waits(since)
            {
                slot.activity = Activity::MakesRoom;
                if let Some(waker) = &slot.waker {
                    waker.wake_by_ref();
                }
                return true;
            }
        }
    }

    fn wake(&self, which: impl Fn(&DeadlineEntry) -> bool) {
        // Waking a task of this loop only queues it.
        for (_, slot) in self.slots.borrow().iter() {
            if let Some(waker) = slot.waker.as_ref().filter(|_| which(slot)) {
                waker.wake_by_ref();
            }
        }
    }
}

impl Deadline {
    /// Moves the deadline; the activity stays.
    pub(crate) fn set(&self, at: Instant) {
        self.with_entry(|entry| entry.at = at);
    }

    /// Moves the deadline of a connection that waits for its client since `since`. It may have to make room for
    /// others.
    pub(crate) fn set_waiting(&self, at: Instant, since: Instant) {
        self.with_entry(|entry| {
            entry.at = at;
            entry.set_activity(Activity::Waits(since));
        });
    }

    /// Notes that a request or an answer is under way: the connection need not make room.
    pub(crate) fn set_busy(&self) {
        self.with_entry(|entry| entry.set_activity(Activity::Busy));
    }

    /// True if the connection is to end, for another.
    pub(crate) fn makes_room(&self) -> bool {
        self.with_entry(|entry| entry.activity == Activity::MakesRoom) == Some(true)
    }

    /// True if the deadline has passed.
    pub(crate) fn has_passed(&self, now: Instant) -> bool {
        self.with_entry(|entry| entry.at <= now) != Some(false)
    }

    /// Registers the task to be woken when the deadline passes.
    pub(crate) fn register(&self, context: &Context<'_>) {
        self.with_entry(|entry| keep_waker(&mut entry.waker, context));
    }

    /// What `act` gives; there is an entry for as long as this lives.
    fn with_entry<T>(&self, act: impl FnOnce(&mut DeadlineEntry) -> T) -> Option<T> {
        self.all.slots.borrow_mut().get_mut(self.key).map(act)
    }

    /// The output of `work`; `None` if the deadline passes before, or `goes_on` is false when the task is woken.
    pub(crate) async fn bound<F: Future>(
        &self,
        work: F,
        goes_on: impl Fn() -> bool,
    ) -> Option<F::Output> {
        let mut work = pin!(work);
        poll_fn(|context| {
            self.register(context);
            match work.as_mut().poll(context) {
                Poll::Ready(output) => Poll::Ready(Some(output)),
                Poll::Pending
                    if self.has_passed(Instant::now()) || self.makes_room() || !goes_on() =>
                {
                    Poll::Ready(None)
                }
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

/// Keeps the waker of a task. That stays the same, so this costs a comparison after the first time.
pub(crate) fn keep_waker(slot: &mut Option<Waker>, context: &Context<'_>) {
    match slot {
        Some(waker) => waker.clone_from(context.waker()),
        None => *slot = Some(context.waker().clone()),
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        let slot = self.all.slots.borrow_mut().try_remove(self.key);
        // The waker goes outside of the borrow: dropping it may drop the task.
        drop(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use salver_test::Wakes;

    #[test]
    fn a_sweep_wakes_only_those_that_are_late() {
        let all = Rc::new(Deadlines::default());
        let start = Instant::now();
        let (wakes, waker) = Wakes::new();
        let context = Context::from_waker(&waker);
        let second = Duration::from_secs(1);
        let places: Vec<_> = (0..10u32).map(|n| all.add(start + second * n)).collect();
        places.iter().for_each(|place| place.register(&context));
        let woken = |change: &dyn Fn()| {
            let before = wakes.count();
            change();
            wakes.count() - before
        };
        assert_eq!(woken(&|| all.sweep(start + second * 3)), 4);
        assert!(places[3].has_passed(start + second * 3) && !places[4].has_passed(start));
        places[0].set(start + second * 9);
        assert_eq!(woken(&|| all.sweep(start + second * 3)), 3);
        assert_eq!(woken(&|| all.wake_all()), 10);
        // The longest waiting makes room, once, unless it has been asked for something meanwhile.
        for (age, place) in (1..).zip(places.iter().rev()) {
            place.set_waiting(start + second * 99, start + second * age);
        }
        places[9].set_busy();
        assert_eq!(woken(&|| assert!(all.make_room(start))), 1);
        assert!(places[8].makes_room() && !places[9].makes_room());
        places[8].set_waiting(start, start);
        places[8].set_busy();
        assert!(places[8].makes_room());
        places[7].set_waiting(start, start + second * 99);
        assert!((0..8).all(|_| all.make_room(start)));
        assert!(!all.make_room(start), "all others have");
        places[9].set_waiting(start, start);
        assert!(!all.make_room(start), "it was looked a moment ago");
        assert!(all.make_room(start + second));
        drop(places);
        assert_eq!((all.len(), woken(&|| all.wake_all())), (0, 0));
    }
}
