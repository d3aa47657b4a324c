//! One load per key, many waiters.
//!
//! ```text
//!            join            join                    land, or the ticket is dropped
//! (no key) ───────► open ───────────► open + waiter ───────────────► landed: all woken,
//!           Ticket         Waiter                                    the key is free again
//! ```
//!
//! Whoever joins first gets a [`Ticket`] and must see to the load; all others get a [`Waiter`], a
//! future of what the load gave. A waiter that is dropped takes its place in the queue with it;
//! a ticket that is dropped without landing (its holder panicked) lands the value of abandonment,
//! so nobody waits for ever. What is loaded may turn out to be outdated before it lands: then the
//! flight stays with those who wait for it, and whoever comes joins another. Nothing here knows what
//! is loaded.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::sync::{Arc, Lock};

/// The loads that are under way, by key.
#[derive(Debug)]
pub(crate) struct Flights<K, T> {
    open: Arc<Lock<Open<K, T>>>,
    abandoned: T,
}

#[derive(Debug)]
struct Open<K, T> {
    shared: HashMap<K, Arc<Flight<T>>>,
    /// Those that nobody can join.
    alone: slab::Slab<(K, Arc<Flight<T>>)>,
}

#[derive(Debug)]
struct Flight<T>(Lock<Progress<T>>);

#[derive(Debug)]
struct Progress<T> {
    landed: Option<T>,
    wakers: slab::Slab<Waker>,
    /// Whether what is loaded may already be wrong.
    outdated: bool,
}

/// What joining a flight gives.
pub(crate) enum Joined<K: Eq + Hash, T: Clone> {
    /// Nobody was loading this: now you are.
    First(Ticket<K, T>),
    /// Somebody is: wait for what it gives.
    Later(Waiter<T>),
}

/// The duty to land one flight.
pub(crate) struct Ticket<K: Eq + Hash, T: Clone> {
    open: Arc<Lock<Open<K, T>>>,
    flight: Arc<Flight<T>>,
    key: K,
    /// Among those that nobody can join.
    alone: Option<usize>,
    /// What lands if nothing else did; `None` once landed.
    otherwise: Option<T>,
}

/// A place among those who wait; resolves to what was landed.
pub(crate) struct Waiter<T> {
    flight: Arc<Flight<T>>,
    place: Option<usize>,
}

impl<K: Eq + Hash + Clone, T: Clone> Flights<K, T> {
    /// `abandoned` is what waiters get when a ticket is dropped without landing.
    pub(crate) fn new(abandoned: T) -> Self {
        Flights {
            open: Arc::new(Lock::new(Open {
                shared: HashMap::new(),
                alone: slab::Slab::new(),
            })),
            abandoned,
        }
    }

    pub(crate) fn join<Q>(&self, key: &Q) -> Joined<K, T>
    where
        K: Borrow<Q> + for<'a> From<&'a Q>,
        Q: Eq + Hash + ?Sized,
    {
        let mut open = self.open.hold();
        if let Some(flight) = open.shared.get(key) {
            return Joined::Later(Waiter {
                flight: Arc::clone(flight),
                place: None,
            });
        }
        let key = K::from(key);
        let ticket = self.ticket(key.clone());
        open.shared.insert(key, Arc::clone(&ticket.flight));
        Joined::First(ticket)
    }

    /// A flight that nobody can join.
    pub(crate) fn alone(&self, key: K) -> Ticket<K, T> {
        let mut ticket = self.ticket(key.clone());
        let flight = Arc::clone(&ticket.flight);
        ticket.alone = Some(self.open.hold().alone.insert((key, flight)));
        ticket
    }

    /// What is being loaded by the keys for which `of` says so is outdated: nobody can join it any
    /// more.
    pub(crate) fn forget(&self, of: impl Fn(&K) -> bool) {
        let mut open = self.open.hold();
        open.shared.retain(|key, flight| {
            let goes = of(key);
            if goes {
                flight.0.hold().outdated = true;
            }
            !goes
        });
        for (_, (key, flight)) in &open.alone {
            if of(key) {
                flight.0.hold().outdated = true;
            }
        }
    }

    fn ticket(&self, key: K) -> Ticket<K, T> {
        let flight = Flight(Lock::new(Progress {
            landed: None,
            wakers: slab::Slab::new(),
            outdated: false,
        }));
        Ticket {
            open: Arc::clone(&self.open),
            flight: Arc::new(flight),
            key,
            alone: None,
            otherwise: Some(self.abandoned.clone()),
        }
    }
}

impl<K: Eq + Hash, T: Clone> Ticket<K, T> {
    /// A place among the waiters for whoever holds the ticket.
    pub(crate) fn waiter(&self) -> Waiter<T> {
        Waiter {
            flight: Arc::clone(&self.flight),
            place: None,
        }
    }

    /// Whether the key was [forgotten](Flights::forget) since the flight began.
    pub(crate) fn is_outdated(&self) -> bool {
        self.flight.0.hold().outdated
    }

    /// Gives `value` to all who wait, and frees the key.
    pub(crate) fn land(mut self, value: T) {
        self.otherwise = None;
        self.settle(value);
    }

    /// Frees the key without giving anything, if nobody waits. Else the duty stays.
    pub(crate) fn give_up(mut self) -> Option<Self> {
        let mut open = self.open.hold();
        // The ticket's and the table's: nobody has joined, and under the lock nobody can.
        if Arc::strong_count(&self.flight) > 2 {
            drop(open);
            return Some(self);
        }
        self.free(&mut open);
        drop(open);
        self.otherwise = None;
        None
    }

    fn settle(&self, value: T) {
        // The key goes first: whoever joins from here on starts a load that sees what this one
        // may have missed.
        self.free(&mut self.open.hold());
        let mut progress = self.flight.0.hold();
        progress.landed = Some(value);
        let wakers = std::mem::take(&mut progress.wakers);
        drop(progress);
        // Woken outside of the lock: a waker may run anything.
        for (_, waker) in wakers {
            waker.wake();
        }
    }

    fn free(&self, open: &mut Open<K, T>) {
        if let Some(place) = self.alone {
            open.alone.try_remove(place);
        } else if open
            .shared
            .get(&self.key)
            .is_some_and(|flight| Arc::ptr_eq(flight, &self.flight))
        {
            open.shared.remove(&self.key);
        }
    }
}

impl<K: Eq + Hash, T: Clone> Drop for Ticket<K, T> {
    fn drop(&mut self) {
        if let Some(value) = self.otherwise.take() {
            self.settle(value);
        }
    }
}

impl<T: Clone> Future for Waiter<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = &mut *self;
        let mut progress = this.flight.0.hold();
        if let Some(value) = &progress.landed {
            this.place = None;
            return Poll::Ready(value.clone());
        }
        match this.place.and_then(|place| progress.wakers.get_mut(place)) {
            Some(waker) => waker.clone_from(context.waker()),
            None => this.place = Some(progress.wakers.insert(context.waker().clone())),
        }
        Poll::Pending
    }
}

impl<T> Drop for Waiter<T> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            // After landing the queue is empty and the place is nobody's.
            self.flight.0.hold().wakers.try_remove(place);
        }
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::panic, reason = "clippy takes this cfg for production code")]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn poll<T: Clone>(waiter: &mut Waiter<T>, wakes: &std::sync::Arc<Wakes>) -> Poll<T> {
        let waker = Waker::from(std::sync::Arc::clone(wakes));
        Pin::new(waiter).poll(&mut Context::from_waker(&waker))
    }

    fn first(flights: &Flights<String, u32>) -> Ticket<String, u32> {
        match flights.join("k") {
            Joined::First(ticket) => ticket,
            Joined::Later(_) => panic!("somebody else is loading"),
        }
    }

    fn later(flights: &Flights<String, u32>) -> Waiter<u32> {
        match flights.join("k") {
            Joined::Later(waiter) => waiter,
            Joined::First(_) => panic!("nobody is loading"),
        }
    }

    #[test]
    fn one_loads_and_all_get_it() {
        let flights = Flights::new(0);
        let wakes = std::sync::Arc::new(Wakes::default());
        let ticket = first(&flights);
        let mut waiters: Vec<_> = (0..1000).map(|_| later(&flights)).collect();
        for waiter in &mut waiters {
            assert!(poll(waiter, &wakes).is_pending());
        }
        ticket.land(7);
        assert_eq!(wakes.0.load(Ordering::SeqCst), 1000);
        for waiter in &mut waiters {
            assert_eq!(poll(waiter, &wakes), Poll::Ready(7));
        }
        drop(first(&flights));
    }

    #[test]
    fn a_waiter_that_goes_away_harms_nobody_and_leaves_nothing() {
        let flights = Flights::new(0);
        let wakes = std::sync::Arc::new(Wakes::default());
        let ticket = first(&flights);
        let (mut stays, mut goes) = (later(&flights), later(&flights));
        assert!(poll(&mut goes, &wakes).is_pending());
        assert!(poll(&mut stays, &wakes).is_pending());
        drop(goes);
        assert_eq!(ticket.flight.0.hold().wakers.len(), 1);
        ticket.land(3);
        assert_eq!(wakes.0.load(Ordering::SeqCst), 1);
        assert_eq!(poll(&mut stays, &wakes), Poll::Ready(3));
    }

    #[test]
    fn an_abandoned_load_is_told_and_not_kept() {
        let flights = Flights::new(99);
        let wakes = std::sync::Arc::new(Wakes::default());
        let ticket = first(&flights);
        let mut waiter = later(&flights);
        assert!(poll(&mut waiter, &wakes).is_pending());
        drop(ticket);
        assert_eq!(poll(&mut waiter, &wakes), Poll::Ready(99));
        first(&flights).land(1);
    }

    #[test]
    fn only_what_nobody_waits_for_is_given_up() {
        let flights = Flights::new(0);
        let wakes = std::sync::Arc::new(Wakes::default());
        assert!(first(&flights).give_up().is_none());
        assert!(flights.open.hold().shared.is_empty());
        let ticket = first(&flights);
        let mut waits = later(&flights);
        let ticket = ticket.give_up().unwrap();
        ticket.land(4);
        assert_eq!(poll(&mut waits, &wakes), Poll::Ready(4));
        assert!(flights.alone("k".to_owned()).give_up().is_none());
        assert!(flights.open.hold().alone.is_empty());
    }

    #[test]
    fn a_lone_flight_leaves_the_key_to_others() {
        let flights = Flights::new(0);
        let alone = flights.alone("k".to_owned());
        let ticket = first(&flights);
        alone.land(1);
        assert!(matches!(flights.join("k"), Joined::Later(_)));
        ticket.land(2);
        assert!(flights.open.hold().alone.is_empty());
    }

    #[test]
    fn what_is_outdated_stays_with_those_who_wait_and_nobody_joins_it() {
        let flights = Flights::new(0);
        let wakes = std::sync::Arc::new(Wakes::default());
        let (old, alone) = (first(&flights), flights.alone("k".to_owned()));
        let mut waits = later(&flights);
        flights.forget(|key| key == "other");
        assert!(!old.is_outdated() && !alone.is_outdated());
        flights.forget(|key| key == "k");
        assert!(old.is_outdated() && alone.is_outdated());
        let new = first(&flights);
        assert!(!new.is_outdated());
        old.land(1);
        assert_eq!(poll(&mut waits, &wakes), Poll::Ready(1));
        let mut waits = later(&flights);
        new.land(2);
        assert_eq!(poll(&mut waits, &wakes), Poll::Ready(2));
    }
}

/// Every interleaving, by loom: `RUSTFLAGS="--cfg loom" cargo test -p salver-assets --lib loom`.
#[cfg(all(test, loom))]
#[allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy takes this cfg for production code"
)]
mod loom_tests {
    use super::*;
    use loom::future::block_on;
    use loom::sync::atomic::{AtomicUsize, Ordering};
    use loom::thread;

    const ABANDONED: u32 = 99;

    fn fetch(flights: &Flights<String, u32>, loads: &AtomicUsize) -> u32 {
        match flights.join("k") {
            Joined::First(ticket) => {
                let waiter = ticket.waiter();
                loads.fetch_add(1, Ordering::SeqCst);
                ticket.land(7);
                block_on(waiter)
            }
            Joined::Later(waiter) => block_on(waiter),
        }
    }

    /// So many ask at once; all get the load's answer.
    fn all_get_it(askers: usize) {
        let flights = Arc::new(Flights::<String, u32>::new(ABANDONED));
        let loads = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (1..askers)
            .map(|_| {
                let (flights, loads) = (Arc::clone(&flights), Arc::clone(&loads));
                thread::spawn(move || assert_eq!(fetch(&flights, &loads), 7))
            })
            .collect();
        assert_eq!(fetch(&flights, &loads), 7);
        for thread in threads {
            thread.join().unwrap();
        }
        assert!((1..=askers).contains(&loads.load(Ordering::SeqCst)));
        assert!(flights.open.hold().shared.is_empty());
    }

    #[test]
    fn loom_of_two_nobody_is_left_waiting() {
        loom::model(|| all_get_it(2));
    }

    /// Every interleaving of three would take hours; those with up to two preemptions are where
    /// mistakes show (Musuvathi and Qadeer, PLDI 2007).
    #[test]
    fn loom_of_three_nobody_is_left_waiting() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| all_get_it(3));
    }

    #[test]
    fn loom_an_abandoned_flight_wakes_its_waiter() {
        loom::model(|| {
            let flights = Arc::new(Flights::<String, u32>::new(ABANDONED));
            let Joined::First(ticket) = flights.join("k") else {
                panic!()
            };
            let other = Arc::clone(&flights);
            let thread = thread::spawn(move || match other.join("k") {
                Joined::Later(waiter) => assert_eq!(block_on(waiter), ABANDONED),
                Joined::First(ticket) => ticket.land(1),
            });
            drop(ticket);
            thread.join().unwrap();
            assert!(flights.open.hold().shared.is_empty());
        });
    }

    #[test]
    fn loom_what_is_forgotten_is_joined_by_nobody_and_ends_no_other() {
        loom::model(|| {
            let flights = Arc::new(Flights::<String, u32>::new(ABANDONED));
            let Joined::First(old) = flights.join("k") else {
                panic!()
            };
            let thread = thread::spawn(move || old.land(1));
            flights.forget(|_| true);
            let Joined::First(new) = flights.join("k") else {
                panic!("what it gives may be outdated")
            };
            thread.join().unwrap();
            let Joined::Later(waits) = flights.join("k") else {
                panic!("the new one was ended by the old one")
            };
            new.land(2);
            assert_eq!(block_on(waits), 2);
        });
    }

    #[test]
    fn loom_a_leaving_waiter_races_with_landing() {
        loom::model(|| {
            let flights = Arc::new(Flights::<String, u32>::new(ABANDONED));
            let Joined::First(ticket) = flights.join("k") else {
                panic!()
            };
            let Joined::Later(mut leaves) = flights.join("k") else {
                panic!()
            };
            let Joined::Later(stays) = flights.join("k") else {
                panic!()
            };
            let waker = Waker::noop();
            let early = Pin::new(&mut leaves).poll(&mut Context::from_waker(waker));
            assert!(early.is_pending());
            let thread = thread::spawn(move || ticket.land(5));
            drop(leaves);
            assert_eq!(block_on(stays), 5);
            thread.join().unwrap();
        });
    }
}
