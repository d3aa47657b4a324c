//! Seats: how many connections there are at once, and how many of one client.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use salver_assets::ClientKey;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The seats of a server. Clones are one.
#[derive(Clone, Debug)]
pub(crate) struct Seats {
    free: Arc<Semaphore>,
    by_client: Arc<Mutex<HashMap<ClientKey, usize>>>,
    most_of_client: usize,
}

/// The seat of one connection, which is free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    client: ClientKey,
    by_client: Arc<Mutex<HashMap<ClientKey, usize>>>,
    _place: OwnedSemaphorePermit,
}

impl Seat {
    /// Whose it is.
    pub(crate) fn client(&self) -> ClientKey {
        self.client
    }
}

impl Seats {
    pub(crate) fn new(most: usize, most_of_client: usize) -> Self {
        Seats {
            free: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))),
            by_client: Arc::default(),
            most_of_client,
        }
    }

    /// Waits for a place: until then nobody is accepted.
    pub(crate) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).acquire_owned().await.ok()
    }

    /// The seat of a client at that place; `None` if it has as many as it may.
    pub(crate) fn take(&self, client: IpAddr, place: OwnedSemaphorePermit) -> Option<Seat> {
        let client = ClientKey::of(client);
        let mut all = hold(&self.by_client);
        let taken = all.entry(client).or_default();
        if *taken >= self.most_of_client {
            return None;
        }
        *taken += 1;
        drop(all);
        Some(Seat {
            client,
            by_client: Arc::clone(&self.by_client),
            _place: place,
        })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut all = hold(&self.by_client);
        if let Some(taken) = all.get_mut(&self.client) {
            *taken -= 1;
            if *taken == 0 {
                all.remove(&self.client);
            }
        }
    }
}

fn hold(all: &Mutex<HashMap<ClientKey, usize>>) -> MutexGuard<'_, HashMap<ClientKey, usize>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_client_has_no_more_than_its_share() {
        let seats = Seats::new(3, 2);
        let (one, other): (IpAddr, IpAddr) =
            ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let first = seats.take(one, seats.place().await.unwrap()).unwrap();
        let second = seats.take(one, seats.place().await.unwrap()).unwrap();
        assert!(seats.take(one, seats.place().await.unwrap()).is_none());
        let third = seats.take(other, seats.place().await.unwrap()).unwrap();
        assert_eq!(seats.free.available_permits(), 0);
        drop(first);
        assert!(seats.take(one, seats.place().await.unwrap()).is_some());
        drop((second, third));
        assert!(hold(&seats.by_client).is_empty());
        assert_eq!(seats.free.available_permits(), 3);
    }
}
