//! Every interleaving of them, by loom: make loom.

use super::*;
use loom::future::block_on;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

const ABANDONED: u32 = 99;

fn fetch(flights: &SingleFlight<String, u32>, loads: &AtomicUsize) -> u32 {
    match flights.join("k") {
        Joined::Leader(leader) => {
            let follower = leader.follower();
            loads.fetch_add(1, Ordering::SeqCst);
            leader.complete(7);
            block_on(follower)
        }
        Joined::Follower(follower) => block_on(follower),
    }
}

/// So many ask at once; all get the load's answer.
fn all_get_it(askers: usize) {
    let flights = Arc::new(SingleFlight::<String, u32>::new(ABANDONED));
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
fn of_two_nobody_is_left_waiting() {
    loom::model(|| all_get_it(2));
}

/// Every interleaving of three would take hours; those with up to two preemptions are where
/// mistakes show (Musuvathi and Qadeer, PLDI 2007).
#[test]
fn of_three_nobody_is_left_waiting() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| all_get_it(3));
}

#[test]
fn an_abandoned_flight_wakes_its_follower() {
    loom::model(|| {
        let flights = Arc::new(SingleFlight::<String, u32>::new(ABANDONED));
        let Joined::Leader(leader) = flights.join("k") else {
            panic!()
        };
        let other = Arc::clone(&flights);
        let thread = thread::spawn(move || match other.join("k") {
            Joined::Follower(follower) => assert_eq!(block_on(follower), ABANDONED),
            Joined::Leader(leader) => leader.complete(1),
        });
        drop(leader);
        thread.join().unwrap();
        assert!(flights.open.hold().shared.is_empty());
    });
}

#[test]
fn what_is_forgotten_is_joined_by_nobody_and_ends_no_other() {
    loom::model(|| {
        let flights = Arc::new(SingleFlight::<String, u32>::new(ABANDONED));
        let Joined::Leader(old) = flights.join("k") else {
            panic!()
        };
        let thread = thread::spawn(move || old.complete(1));
        flights.forget(|_| true);
        let Joined::Leader(new) = flights.join("k") else {
            panic!("what it gives may be outdated")
        };
        thread.join().unwrap();
        let Joined::Follower(waits) = flights.join("k") else {
            panic!("the new one was ended by the old one")
        };
        new.complete(2);
        assert_eq!(block_on(waits), 2);
    });
}

#[test]
fn a_leaving_follower_races_with_landing() {
    loom::model(|| {
        let flights = Arc::new(SingleFlight::<String, u32>::new(ABANDONED));
        let Joined::Leader(leader) = flights.join("k") else {
            panic!()
        };
        let Joined::Follower(mut leaves) = flights.join("k") else {
            panic!()
        };
        let Joined::Follower(stays) = flights.join("k") else {
            panic!()
        };
        let waker = Waker::noop();
        let early = Pin::new(&mut leaves).poll(&mut Context::from_waker(waker));
        assert!(early.is_pending());
        let thread = thread::spawn(move || leader.complete(5));
        drop(leaves);
        assert_eq!(block_on(stays), 5);
        thread.join().unwrap();
    });
}
