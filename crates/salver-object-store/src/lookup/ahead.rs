//! Looks that are under way before somebody waits for them, or without anybody.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use object_store::path::Path;
use salver_coalesce::{Joined, Leader};

use super::by_page::PageUnderWay;
use super::{Found, LookupResult, Lookups};
use crate::bucket;
use crate::pages::Turn;
use crate::runtime::{Flight, Place};

type LookLeader = Leader<Arc<[u8]>, LookupResult>;

impl Lookups {
    /// Begins to look at a path for whoever is about to wait for it, if the store may be asked at once: it is under way before a
    /// thread is found that waits, or needs none.
    pub(super) fn begin_look(self: &Arc<Self>, key: &Path, path: &[u8]) -> Option<Flight<Found>> {
        // Where each look is a question, it would be another one.
        if self.times.reuse.is_zero() || self.tier.may_have_object(key) {
            return None;
        }
        let (ahead, leader) = self.lead_look(path)?;
        let begun = leader.follower();
        // Without a thread nothing is begun.
        self.look_ahead(path, ahead, leader).ok().map(|()| begun)
    }

    /// Begins to look at a path by itself, on this event loop if it is one.
    fn look_ahead(
        self: &Arc<Self>,
        path: &[u8],
        ahead: bucket::Turn,
        leader: LookLeader,
    ) -> io::Result<()> {
        let (lookups, path) = (Arc::clone(self), Arc::<[u8]>::from(path));
        let flight = leader.follower();
        let look = async move { lookups.look_unless_known(path, Some(ahead), &flight).await };
        self.runtime.lead(Place::EventLoop, leader, look)
    }

    /// Begins to compare a path whose object has this key, and which was compared then, by itself or with others, if somebody does
    /// not already and the store may be asked.
    pub(super) fn compare_in_background(
        self: &Arc<Self>,
        (key, path): (&Path, &[u8]),
        compared: Instant,
    ) {
        if self.pages().is_under_way(key.as_ref()) {
            return;
        }
        let Some((ahead, leader)) = self.lead_look(path) else {
            return;
        };
        let turn = self.pages().turn(key.as_ref(), compared, self.clock.now());
        let (page, leader) = match turn {
            Turn::Alone => (None, Some(leader)),
            Turn::Page(span) => (Some(PageUnderWay::new(self, span)), Some(leader)),
            // Unless somebody has joined it in this moment.
            Turn::Later => (None, leader.give_up()),
        };
        let Some(leader) = leader else {
            return self.bucket.give_back(ahead);
        };
        // Without a thread there is no comparison.
        let Some(page) = page else {
            return drop(self.look_ahead(path, ahead, leader));
        };
        let (lookups, path) = (Arc::clone(self), Arc::<[u8]>::from(path));
        let flight = leader.follower();
        let compare = async move {
            let asked = page.compare(ahead).await;
            let known = lookups.known().get(&*path);
            match known.filter(|known| !known.is_invalid && known.asked >= asked) {
                Some(known) => Ok(known.found),
                None => lookups.look_unless_known(path, None, &flight).await,
            }
        };
        drop(self.runtime.lead(Place::Thread, leader, compare));
    }

    /// The turn of a look that nobody waits for, and the lead of it, unless somebody has that or the store may not be asked at once.
    /// The turn comes first: whoever joins has something to join.
    fn lead_look(&self, path: &[u8]) -> Option<(bucket::Turn, LookLeader)> {
        let ahead = self.bucket.turn_ahead()?;
        match self.flights.join(path) {
            Joined::Leader(leader) => Some((ahead, leader)),
            Joined::Follower(_) => {
                self.bucket.give_back(ahead);
                None
            }
        }
    }
}
