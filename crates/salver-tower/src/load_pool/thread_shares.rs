//! Shares in Tokio's threads for blocking work, so that one disk that hangs takes from nobody else what it needs.
//!
//! Tokio's pool has 512 threads and a queue without a bound, and who waits for a disk that hangs holds one for as long.
//! Each share has a limit of its own, and takes no more than are left to all others: whatever hangs, there is as much for
//! who comes next, and the program has the rest of the pool for itself.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Threads that all shares of the process take together: three quarters of Tokio's.
const IN_ALL: usize = 384;

static PROCESS: ThreadBudget = ThreadBudget::new(IN_ALL);

/// Threads, and who has them.
#[derive(Debug)]
struct ThreadBudget(Mutex<Threads>);

#[derive(Debug)]
struct Threads {
    free: usize,
    /// The threads of each share that has any.
    taken: BTreeMap<u64, usize>,
    /// Who waits, by share and in order of arrival. Nobody waits who could be given a thread.
    waiting: BTreeMap<(u64, u64), Waiter>,
    arrivals: u64,
    /// The share that was given one of its waiters' threads last: the next ones have their turn.
    served: u64,
}

#[derive(Debug)]
struct Waiter {
    share: ThreadShare,
    sender: oneshot::Sender<ThreadPermit>,
}

/// A share in the threads. Copies are one share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadShare {
    id: u64,
    limit: usize,
    budget: &'static ThreadBudget,
}

/// The right to hold up one thread, until it is dropped.
#[derive(Debug)]
pub(crate) struct ThreadPermit(ThreadShare);

impl ThreadShare {
    /// A share in the threads of the process, of so many at most.
    pub(crate) fn new(limit: usize) -> Self {
        ThreadShare::of(&PROCESS, limit)
    }

    fn of(budget: &'static ThreadBudget, limit: usize) -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let id = LAST.fetch_add(1, Ordering::Relaxed);
        ThreadShare { id, limit, budget }
    }

    /// A thread, if there is one at once.
    pub(crate) fn try_acquire(self) -> Option<ThreadPermit> {
        self.budget.hold().take(self)
    }

    /// True if several threads of the process are held up.
    pub(crate) fn is_busy(self) -> bool {
        self.budget.hold().taken.values().sum::<usize>() > 1
    }

    /// A thread, as soon as there is one. Who no longer waits takes none.
    pub(crate) async fn acquire(self) -> Option<ThreadPermit> {
        let (place, receiver) = {
            let mut threads = self.budget.hold();
            if let Some(permit) = threads.take(self) {
                return Some(permit);
            }
            threads.arrivals += 1;
            let key = (self.id, threads.arrivals);
            let (sender, receiver) = oneshot::channel();
            let share = self;
            threads.waiting.insert(key, Waiter { share, sender });
            (PlaceInQueue(self.budget, key), receiver)
        };
        let permit = receiver.await;
        drop(place);
        permit.ok()
    }
}

/// A place among those who wait, which is left when it is dropped.
struct PlaceInQueue(&'static ThreadBudget, (u64, u64));

impl Drop for PlaceInQueue {
    fn drop(&mut self) {
        let left = self.0.hold().waiting.remove(&self.1);
        drop(left);
    }
}

impl Drop for ThreadPermit {
    fn drop(&mut self) {
        let ThreadPermit(share) = self;
        let given = share.budget.hold().give_back(share.id);
        // What nobody wants any more is dropped, and given back in its turn: not while the budget is held.
        for (waiter, permit) in given {
            drop(waiter.sender.send(permit));
        }
    }
}

impl ThreadBudget {
    const fn new(free: usize) -> Self {
        ThreadBudget(Mutex::new(Threads {
            free,
            taken: BTreeMap::new(),
            waiting: BTreeMap::new(),
            arrivals: 0,
            served: 0,
        }))
    }

    fn hold(&self) -> MutexGuard<'_, Threads> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Threads {
    fn take(&mut self, share: ThreadShare) -> Option<ThreadPermit> {
        let taken = self.taken.get(&share.id).copied().unwrap_or_default();
        if taken >= share.limit.min(self.free) {
            return None;
        }
        self.free -= 1;
        self.taken.insert(share.id, taken + 1);
        Some(ThreadPermit(share))
    }

    /// Takes a thread back, and tells who gets one for it: more than one may, as each may have what is left to others.
    fn give_back(&mut self, share: u64) -> Vec<(Waiter, ThreadPermit)> {
        self.free += 1;
        if let Some(taken) = self.taken.get_mut(&share) {
            *taken -= 1;
            if *taken == 0 {
                self.taken.remove(&share);
            }
        }
        let mut given = Vec::new();
        while let Some(next) = self.next_in_turn() {
            given.push(next);
        }
        given
    }

    /// The first who waits in the next share that may have one more.
    fn next_in_turn(&mut self) -> Option<(Waiter, ThreadPermit)> {
        let (begin, end) = (self.served.saturating_add(1), self.served);
        self.next_between(begin, u64::MAX)
            .or_else(|| self.next_between(0, end))
    }

    fn next_between(&mut self, mut from: u64, to: u64) -> Option<(Waiter, ThreadPermit)> {
        while from <= to {
            let (&key, waiter) = self.waiting.range((from, 0)..=(to, u64::MAX)).next()?;
            let share = waiter.share;
            if let Some(permit) = self.take(share) {
                self.served = share.id;
                let waiter = self.waiting.remove(&key)?;
                return Some((waiter, permit));
            }
            from = share.id.checked_add(1)?;
        }
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use proptest::prelude::*;

    type Acquiring = Pin<Box<dyn Future<Output = Option<ThreadPermit>>>>;

    fn shares<const N: usize>(threads: usize, limit: usize) -> [ThreadShare; N] {
        let budget = Box::leak(Box::new(ThreadBudget::new(threads)));
        std::array::from_fn(|_| ThreadShare::of(budget, limit))
    }

    fn poll(acquiring: &mut Acquiring) -> Poll<Option<ThreadPermit>> {
        acquiring
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
    }

    fn taken_by(share: ThreadShare) -> Vec<ThreadPermit> {
        std::iter::from_fn(|| share.try_acquire()).collect()
    }

    /// As many shares hang as want to: the next one always has as many threads as each of them.
    #[test]
    fn a_share_takes_its_limit_and_no_more_than_are_left() {
        let shares: [_; 6] = shares(384, 128);
        let held: Vec<_> = shares.map(taken_by).into();
        let counts: Vec<_> = held.iter().map(Vec::len).collect();
        assert_eq!(counts, [128, 128, 64, 32, 16, 8]);
    }

    #[test]
    fn who_waits_is_given_what_is_given_back_in_turn() {
        let [first, second, third] = shares(4, 2);
        let mut held = taken_by(first);
        held.extend(taken_by(second));
        assert_eq!(held.len(), 3);
        let mut waiting: Vec<Acquiring> = vec![
            Box::pin(first.acquire()),
            Box::pin(first.acquire()),
            Box::pin(second.acquire()),
        ];
        for acquiring in &mut waiting {
            assert!(poll(acquiring).is_pending());
        }
        // Nobody but who has none may have the last.
        let last = third.try_acquire().unwrap();
        drop(last);
        drop(held);
        // All waiters of `first` and `second` now have one, and those are two and one.
        let got: Vec<_> = waiting.iter_mut().map(poll).collect();
        assert!(got.iter().all(|got| matches!(got, Poll::Ready(Some(_)))));
    }

    #[test]
    fn who_no_longer_waits_takes_nothing() {
        let [share] = shares(2, 1);
        let held = share.try_acquire().unwrap();
        let mut gone: Acquiring = Box::pin(share.acquire());
        let mut given_and_gone: Acquiring = Box::pin(share.acquire());
        let mut last: Acquiring = Box::pin(share.acquire());
        for acquiring in [&mut gone, &mut given_and_gone, &mut last] {
            assert!(poll(acquiring).is_pending());
        }
        drop(gone);
        drop(held);
        // It was given the thread, and goes away before it takes it.
        assert!(poll(&mut last).is_pending());
        drop(given_and_gone);
        assert!(matches!(poll(&mut last), Poll::Ready(Some(_))));
        drop(last);
        assert_eq!(share.budget.hold().free, 2);
        assert!(share.budget.hold().waiting.is_empty() && share.budget.hold().taken.is_empty());
    }

    proptest! {
        /// Whatever comes and goes: no share has more than its limit, all that is taken comes back, and nobody waits who
        /// could go on.
        #[test]
        fn threads_are_neither_lost_nor_found(steps in prop::collection::vec((0..4_usize, 0..3_u8), 1..200)) {
            let shares: [_; 4] = shares(9, 3);
            let budget = shares[0].budget;
            let mut held: [Vec<ThreadPermit>; 4] = Default::default();
            let mut waiting: [Vec<Acquiring>; 4] = Default::default();
            for (at, step) in steps {
                match step {
                    0 => waiting[at].push(Box::pin(shares[at].acquire())),
                    1 => drop(held[at].pop()),
                    _ => drop(waiting[at].pop()),
                }
                for (held, waiting) in held.iter_mut().zip(&mut waiting) {
                    waiting.retain_mut(|acquiring| match poll(acquiring) {
                        Poll::Ready(permit) => {
                            held.extend(permit);
                            false
                        }
                        Poll::Pending => true,
                    });
                }
                let all: usize = held.iter().map(Vec::len).sum();
                prop_assert_eq!(budget.hold().free, 9 - all);
                for (at, held) in held.iter().enumerate() {
                    prop_assert!(held.len() <= 3);
                    if !waiting[at].is_empty() {
                        prop_assert!(shares[at].try_acquire().is_none());
                    }
                }
            }
            drop((held, waiting));
            prop_assert_eq!(budget.hold().free, 9);
        }
    }
}
