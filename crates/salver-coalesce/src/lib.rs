#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! ```text
//!            join            join                    complete, or the leader is dropped
//! (no key) ───────► open ───────────► open + follower ───────────────► done: all woken,
//!           Leader         Follower                                    the key is free again
//! ```
//!
//! [`SingleFlight::join`] makes who comes first a [`Leader`], who must see to the load, and all others
//! [`Follower`]s, futures of what the load gives. A follower that is dropped takes its place in the queue with
//! it; a leader that is dropped without a result (its holder panicked) gives the value of abandonment. What is
//! loaded may turn out to be outdated before it is there: then the flight stays with those who wait for it, and
//! whoever comes joins another.
#![forbid(unsafe_code)]

mod lock;

use std::borrow::Borrow;
use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::lock::{Arc, Lock};

/// The loads that are under way, by key.
#[derive(Debug)]
pub struct SingleFlight<K, T> {
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
    result: Option<T>,
    wakers: slab::Slab<Waker>,
    /// The load began before its key was forgotten: its result may be wrong.
    outdated: bool,
}

/// The part of who joins a flight.
pub enum Joined<K: Eq + Hash, T: Clone> {
    /// Nobody was loading this: now you are.
    Leader(Leader<K, T>),
    /// Somebody is: wait for what it gives.
    Follower(Follower<T>),
}

/// The duty to give one flight its result.
#[must_use = "who follows waits for it"]
pub struct Leader<K: Eq + Hash, T: Clone> {
    open: Arc<Lock<Open<K, T>>>,
    flight: Arc<Flight<T>>,
    key: K,
    /// Among those that nobody can join.
    alone: Option<usize>,
    /// The result if there is no other; `None` once there is.
    otherwise: Option<T>,
}

/// A place among those who wait; resolves to the result.
#[must_use = "futures do nothing unless polled"]
pub struct Follower<T> {
    flight: Arc<Flight<T>>,
    place: Option<usize>,
}

impl<K: Eq + Hash + Clone, T: Clone> SingleFlight<K, T> {
    /// `abandoned` is what followers get when a leader is dropped without a result.
    pub fn new(abandoned: T) -> Self {
        SingleFlight {
            open: Arc::new(Lock::new(Open {
                shared: HashMap::new(),
                alone: slab::Slab::new(),
            })),
            abandoned,
        }
    }

    /// Leads the load of `key`, or follows who does.
    pub fn join<Q>(&self, key: &Q) -> Joined<K, T>
    where
        K: Borrow<Q> + for<'a> From<&'a Q>,
        Q: Eq + Hash + ?Sized,
    {
        let mut open = self.open.hold();
        if let Some(flight) = open.shared.get(key) {
            return Joined::Follower(Follower {
                flight: Arc::clone(flight),
                place: None,
            });
        }
        let key = K::from(key);
        let leader = self.leader(key.clone());
        open.shared.insert(key, Arc::clone(&leader.flight));
        Joined::Leader(leader)
    }

    /// A flight that nobody can join.
    pub fn alone(&self, key: K) -> Leader<K, T> {
        let mut leader = self.leader(key.clone());
        let flight = Arc::clone(&leader.flight);
        leader.alone = Some(self.open.hold().alone.insert((key, flight)));
        leader
    }

    /// Has the loads of the keys for which `of` says so outdated: nobody can join them any more.
    pub fn forget(&self, of: impl Fn(&K) -> bool) {
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

    fn leader(&self, key: K) -> Leader<K, T> {
        let flight = Flight(Lock::new(Progress {
            result: None,
            wakers: slab::Slab::new(),
            outdated: false,
        }));
        Leader {
            open: Arc::clone(&self.open),
            flight: Arc::new(flight),
            key,
            alone: None,
            otherwise: Some(self.abandoned.clone()),
        }
    }
}

impl<K: Eq + Hash, T: Clone> Leader<K, T> {
    /// A place among the followers for the leader itself.
    pub fn follower(&self) -> Follower<T> {
        Follower {
            flight: Arc::clone(&self.flight),
            place: None,
        }
    }

    /// Whether the key was [forgotten](SingleFlight::forget) since the flight began.
    pub fn is_outdated(&self) -> bool {
        self.flight.0.hold().outdated
    }

    /// Gives `value` to all who wait, and frees the key.
    pub fn complete(mut self, value: T) {
        self.otherwise = None;
        self.settle(value);
    }

    /// Frees the key without giving anything, if nobody waits. Else the duty stays.
    pub fn give_up(mut self) -> Option<Self> {
        let mut open = self.open.hold();
        // The leader's share and the table's: nobody has joined, and under the lock nobody can.
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
        progress.result = Some(value);
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

impl<K: Eq + Hash, T: Clone> Drop for Leader<K, T> {
    fn drop(&mut self) {
        if let Some(value) = self.otherwise.take() {
            self.settle(value);
        }
    }
}

impl<T> Follower<T> {
    /// Whether the key was [forgotten](SingleFlight::forget) since the flight began.
    pub fn is_outdated(&self) -> bool {
        self.flight.0.hold().outdated
    }
}

/// Another place.
impl<T> Clone for Follower<T> {
    fn clone(&self) -> Self {
        Follower {
            flight: Arc::clone(&self.flight),
            place: None,
        }
    }
}

impl<T: Clone> Future for Follower<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = &mut *self;
        let mut progress = this.flight.0.hold();
        if let Some(value) = &progress.result {
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

impl<T> Drop for Follower<T> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            // After the result the queue is empty and the place is nobody's.
            self.flight.0.hold().wakers.try_remove(place);
        }
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::panic, reason = "clippy takes this cfg for production code")]
mod tests;

#[cfg(all(test, loom))]
#[allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy takes this cfg for production code"
)]
#[path = "tests/loom.rs"]
mod loom_tests;
