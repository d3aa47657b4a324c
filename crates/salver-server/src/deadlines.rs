//! When each connection of a loop has to have made progress.
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

/// How often somebody should call [`Deadlines::sweep`].
pub(crate) const SWEEP_INTERVAL: Duration = Duration::from_millis(250);

/// The deadlines of all connections of one loop.
#[derive(Default)]
pub(crate) struct Deadlines(RefCell<Slab<Slot>>);

struct Slot {
    at: Instant,
    queued: u64,
    waker: Option<Waker>,
}

/// One connection's place; leaves when it is dropped.
pub(crate) struct Deadline {
    all: Rc<Deadlines>,
    key: usize,
}

impl Deadlines {
    /// A place whose deadline is `at`.
    pub(crate) fn add(self: &Rc<Self>, at: Instant) -> Deadline {
        let key = self.0.borrow_mut().insert(Slot {
            at,
            queued: 0,
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

    /// How many connections there are.
    pub(crate) fn len(&self) -> usize {
        self.0.borrow().len()
    }

    fn wake(&self, which: impl Fn(&Slot) -> bool) {
        // Waking a task of this loop only queues it.
        for (_, slot) in self.0.borrow().iter() {
            if let Some(waker) = slot.waker.as_ref().filter(|_| which(slot)) {
                waker.wake_by_ref();
            }
        }
    }
}

impl Deadline {
    /// Moves the deadline.
    pub(crate) fn set(&self, at: Instant) {
        if let Some(slot) = self.all.0.borrow_mut().get_mut(self.key) {
            slot.at = at;
        }
    }

    /// Moves the deadline of one that sends, and notes the length of the kernel's queue by then.
    pub(crate) fn set_with_queue(&self, at: Instant, queued: u64) {
        if let Some(slot) = self.all.0.borrow_mut().get_mut(self.key) {
            slot.at = at;
            slot.queued = queued;
        }
    }

    /// The length that was noted last.
    pub(crate) fn queued(&self) -> u64 {
        self.all
            .0
            .borrow()
            .get(self.key)
            .map_or(0, |slot| slot.queued)
    }

    /// Whether the deadline has passed.
    pub(crate) fn has_passed(&self, now: Instant) -> bool {
        self.all
            .0
            .borrow()
            .get(self.key)
            .is_none_or(|slot| slot.at <= now)
    }

    /// Has the task woken when the deadline passes. A task's waker stays the same, so this costs
    /// a comparison after the first time.
    pub(crate) fn register(&self, context: &Context<'_>) {
        if let Some(slot) = self.all.0.borrow_mut().get_mut(self.key)
            && !slot
                .waker
                .as_ref()
                .is_some_and(|waker| waker.will_wake(context.waker()))
        {
            slot.waker = Some(context.waker().clone());
        }
    }
}

impl Deadline {
    /// What `work` gives; `None` if the deadline passes before, or `goes_on` no longer holds when
    /// the task is woken.
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
                Poll::Pending if self.has_passed(Instant::now()) || !goes_on() => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        let slot = self.all.0.borrow_mut().try_remove(self.key);
        // The waker goes outside of the borrow: dropping it may drop the task.
        drop(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_sweep_wakes_only_those_that_are_late() {
        let all = Rc::new(Deadlines::default());
        let start = Instant::now();
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&count));
        let context = Context::from_waker(&waker);
        let second = Duration::from_secs(1);
        let places: Vec<_> = (0..10u32).map(|n| all.add(start + second * n)).collect();
        places.iter().for_each(|place| place.register(&context));
        let woken = |change: &dyn Fn()| {
            let before = count.0.load(Ordering::SeqCst);
            change();
            count.0.load(Ordering::SeqCst) - before
        };
        assert_eq!(woken(&|| all.sweep(start + second * 3)), 4);
        assert!(places[3].has_passed(start + second * 3) && !places[4].has_passed(start));
        places[0].set(start + second * 9);
        assert_eq!(woken(&|| all.sweep(start + second * 3)), 3);
        assert_eq!(woken(&|| all.wake_all()), 10);
        drop(places);
        assert_eq!((all.len(), woken(&|| all.wake_all())), (0, 0));
    }
}
