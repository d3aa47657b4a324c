//! What holds whoever asks, leaves or goes away.

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

fn poll<T: Clone>(follower: &mut Follower<T>, wakes: &std::sync::Arc<Wakes>) -> Poll<T> {
    let waker = Waker::from(std::sync::Arc::clone(wakes));
    Pin::new(follower).poll(&mut Context::from_waker(&waker))
}

fn first(flights: &SingleFlight<String, u32>) -> Leader<String, u32> {
    match flights.join("k") {
        Joined::Leader(leader) => leader,
        Joined::Follower(_) => panic!("somebody else is loading"),
    }
}

fn later(flights: &SingleFlight<String, u32>) -> Follower<u32> {
    match flights.join("k") {
        Joined::Follower(follower) => follower,
        Joined::Leader(_) => panic!("nobody is loading"),
    }
}

#[test]
fn one_loads_and_all_get_it() {
    let flights = SingleFlight::new(0);
    let wakes = std::sync::Arc::new(Wakes::default());
    let leader = first(&flights);
    let mut followers: Vec<_> = (0..1000).map(|_| later(&flights)).collect();
    for follower in &mut followers {
        assert!(poll(follower, &wakes).is_pending());
    }
    leader.complete(7);
    assert_eq!(wakes.0.load(Ordering::SeqCst), 1000);
    for follower in &mut followers {
        assert_eq!(poll(follower, &wakes), Poll::Ready(7));
    }
    drop(first(&flights));
}

#[test]
fn a_follower_that_goes_away_harms_nobody_and_leaves_nothing() {
    let flights = SingleFlight::new(0);
    let wakes = std::sync::Arc::new(Wakes::default());
    let leader = first(&flights);
    let (mut stays, mut goes) = (later(&flights), later(&flights));
    assert!(poll(&mut goes, &wakes).is_pending());
    assert!(poll(&mut stays, &wakes).is_pending());
    drop(goes);
    assert_eq!(leader.flight.0.hold().wakers.len(), 1);
    leader.complete(3);
    assert_eq!(wakes.0.load(Ordering::SeqCst), 1);
    assert_eq!(poll(&mut stays, &wakes), Poll::Ready(3));
}

#[test]
fn a_copy_of_a_place_is_a_place_of_its_own() {
    let flights = SingleFlight::new(0);
    let wakes = std::sync::Arc::new(Wakes::default());
    let leader = first(&flights);
    let mut waits = later(&flights);
    assert!(poll(&mut waits, &wakes).is_pending());
    let mut copy = waits.clone();
    assert!(poll(&mut copy, &wakes).is_pending());
    drop(waits);
    leader.complete(5);
    assert_eq!(wakes.0.load(Ordering::SeqCst), 1);
    assert_eq!(poll(&mut copy, &wakes), Poll::Ready(5));
}

#[test]
fn an_abandoned_load_is_told_and_not_kept() {
    let flights = SingleFlight::new(99);
    let wakes = std::sync::Arc::new(Wakes::default());
    let leader = first(&flights);
    let mut follower = later(&flights);
    assert!(poll(&mut follower, &wakes).is_pending());
    drop(leader);
    assert_eq!(poll(&mut follower, &wakes), Poll::Ready(99));
    first(&flights).complete(1);
}

#[test]
fn only_what_nobody_waits_for_is_given_up() {
    let flights = SingleFlight::new(0);
    let wakes = std::sync::Arc::new(Wakes::default());
    assert!(first(&flights).give_up().is_none());
    assert!(flights.open.hold().shared.is_empty());
    let leader = first(&flights);
    let mut waits = later(&flights);
    let leader = leader.give_up().unwrap();
    leader.complete(4);
    assert_eq!(poll(&mut waits, &wakes), Poll::Ready(4));
    assert!(flights.alone("k".to_owned()).give_up().is_none());
    assert!(flights.open.hold().alone.is_empty());
}

#[test]
fn a_lone_flight_leaves_the_key_to_others() {
    let flights = SingleFlight::new(0);
    let alone = flights.alone("k".to_owned());
    let leader = first(&flights);
    alone.complete(1);
    assert!(matches!(flights.join("k"), Joined::Follower(_)));
    leader.complete(2);
    assert!(flights.open.hold().alone.is_empty());
}

#[test]
fn what_is_outdated_stays_with_those_who_wait_and_nobody_joins_it() {
    let flights = SingleFlight::new(0);
    let wakes = std::sync::Arc::new(Wakes::default());
    let (old, alone) = (first(&flights), flights.alone("k".to_owned()));
    let mut waits = later(&flights);
    flights.forget(|key| key == "other");
    assert!(!old.is_outdated() && !alone.is_outdated());
    flights.forget(|key| key == "k");
    assert!(old.is_outdated() && alone.is_outdated());
    assert!(old.follower().is_outdated());
    let new = first(&flights);
    assert!(!new.is_outdated());
    old.complete(1);
    assert_eq!(poll(&mut waits, &wakes), Poll::Ready(1));
    let mut waits = later(&flights);
    new.complete(2);
    assert_eq!(poll(&mut waits, &wakes), Poll::Ready(2));
}
