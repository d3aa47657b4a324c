//! A server that has no room for more, or no descriptors.

use crate::child::Child;
use crate::common::client::{Client, get, is_served};
use crate::common::{Site, until};

fn site() -> Site {
    Site::with(&[("index.html", b"hello"), ("a", b"alpha")])
}

#[test]
fn without_descriptors_those_who_are_there_are_served_on() {
    let site = site();
    let child = Child::start(site.root(), 1000, Some(20));
    let mut kept: Vec<_> = (0..5).map(|_| Client::new(child.address)).collect();
    for client in &mut kept {
        assert!(client.is_served("/a"));
    }
    // More than there are descriptors for: the last of them are turned away.
    let mut more = Vec::new();
    let mut turned_away = 0;
    while turned_away < 20 {
        let mut client = Client::new(child.address);
        match client.is_served("/a") {
            true => more.push(client),
            false => turned_away += 1,
        }
        assert!(more.len() < 100, "there is no end of descriptors");
        assert!(kept.iter_mut().all(|client| client.is_served("/a")));
    }
    // An uncached file cannot be opened now: that is no 404. While the last one is turned away there may be room for
    // a moment.
    let mut late = String::new();
    let mut asked = 0;
    until("all descriptors are in use", || {
        asked += 1;
        late = format!("/late{asked}");
        site.write(late.trim_start_matches('/'), b"late");
        match kept[0].get(&late).status {
            503 => true,
            200 => false,
            other => panic!("{late}: {other}"),
        }
    });
    more.clear();
    until("there is room again", || is_served(child.address, &late));
    let log = child.end();
    let said = log.matches("cannot accept connections").count();
    assert_eq!(said, 1, "{log}");
}

#[test]
fn a_refusal_is_logged_once() {
    let site = site();
    let child = Child::start(site.root(), 1, None);
    let mut kept = Vec::new();
    until("the only place is taken", || {
        let mut client = Client::new(child.address);
        client.send(get("/stuck/cold0"));
        kept.push(client);
        !is_served(child.address, "/a")
    });
    for _ in 0..50 {
        assert!(!is_served(child.address, "/a"));
    }
    drop(kept);
    let log = child.end();
    assert_eq!(
        log.matches("all 1 connections are in use").count(),
        1,
        "{log}"
    );
}
