//! Seats: the limits on the number of connections, in all and of one client.
//!
//! An IPv4 address counts as one client. With IPv6 it is the /56 network of a subscriber, within which clients choose
//! their addresses. Behind one IPv4 address there may be many people, or a proxy; hence a share of all seats, not a
//! small number.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use salver_semantics::ClientKey;

use crate::memory_budget::{Account, MemoryBudget};

/// The number of requests that may be under way on one connection over QUIC.
pub(crate) const QUIC_REQUESTS: u32 = 128;

/// The bytes that a client may send on all streams of a connection over QUIC before they are read: a hundred usual
/// requests at once. It may come in an order that has QUIC hold all of it, so a connection costs as much more.
pub(crate) const QUIC_WINDOW: u32 = 32 * 1024;

/// The seats of a server.
#[derive(Debug)]
pub(crate) struct Seats {
    taken: AtomicUsize,
    most: AtomicUsize,
    most_of_one: AtomicUsize,
    by_client: Mutex<HashMap<ClientKey, usize>>,
    memory: Arc<MemoryBudget>,
}

/// The error of a connection that gets no seat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoSeat {
    /// All are taken, or all memory for connections is.
    Full,
    /// This client has its share already.
    Share,
}

/// The kind of a connection, which decides its memory before it holds anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConnectionKind {
    /// TCP without TLS.
    Plain,
    /// TLS over TCP.
    Tls,
    /// QUIC.
    Quic,
}

impl ConnectionKind {
    /// The memory of a connection before it holds anything, in bytes. Measured, with thousands of connections that
    /// are kept busy by hostile clients: 1.2 KB; 30 KB with TLS, whose buffers grow with the first records; 50 KB
    /// with QUIC, which besides may have to keep a window of unread input, and about a kilobyte for each stream that
    /// a client may open, refused or not.
    fn base(self) -> u64 {
        match self {
            ConnectionKind::Plain => 2 * 1024,
            ConnectionKind::Tls => 32 * 1024,
            ConnectionKind::Quic => {
                48 * 1024 + u64::from(QUIC_WINDOW) + u64::from(QUIC_REQUESTS) * 1024
            }
        }
    }
}

/// The seat of one connection; free again when dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Arc<Seats>,
    pub(crate) client: ClientKey,
    /// The address of the client.
    pub(crate) address: IpAddr,
    /// The memory of the connection.
    pub(crate) account: Arc<Account>,
}

impl Seats {
    /// Seats for at most `most` connections, `most_of_one` of one client, within `memory`.
    pub(crate) fn new(most: usize, most_of_one: usize, memory: Arc<MemoryBudget>) -> Arc<Self> {
        Arc::new(Seats {
            taken: AtomicUsize::new(0),
            most: AtomicUsize::new(most),
            most_of_one: AtomicUsize::new(most_of_one),
            by_client: Mutex::default(),
            memory,
        })
    }

    /// Sets other limits. Seats that are taken stay taken.
    pub(crate) fn limit(&self, most: usize, most_of_one: usize, memory: u64) {
        self.most.store(most, Ordering::Relaxed);
        self.most_of_one.store(most_of_one, Ordering::Relaxed);
        self.memory.limit(memory, most);
    }

    /// Takes a seat for a client at `address`; with `makes_room` although all are taken, because another connection
    /// has just been told to end for it.
    pub(crate) fn take(
        self: &Arc<Self>,
        address: IpAddr,
        kind: ConnectionKind,
        makes_room: bool,
    ) -> Result<Seat, NoSeat> {
        let client = ClientKey::of(address);
        let mut by_client = self
            .by_client
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if by_client
            .get(&client)
            .is_some_and(|&count| count >= self.most_of_one.load(Ordering::Relaxed))
        {
            return Err(NoSeat::Share);
        }
        if self.taken.load(Ordering::Relaxed) >= self.most() && !makes_room {
            return Err(NoSeat::Full);
        }
        // The memory of that connection is free in a moment.
        let account = self.memory.open(kind.base(), makes_room);
        let account = account.ok_or(NoSeat::Full)?;
        *by_client.entry(client).or_default() += 1;
        self.taken.fetch_add(1, Ordering::Relaxed);
        Ok(Seat {
            seats: Arc::clone(self),
            client,
            address,
            account,
        })
    }

    /// The connections.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// The memory of connections.
    pub(crate) fn memory(&self) -> &MemoryBudget {
        &self.memory
    }

    /// The most connections.
    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let by_client = &self.seats.by_client;
        let mut by_client = by_client.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = by_client.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                by_client.remove(&self.client);
            }
        }
        self.seats.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seats(most: usize, most_of_one: usize) -> Arc<Seats> {
        Seats::new(most, most_of_one, MemoryBudget::new(1 << 30, 0))
    }

    #[test]
    fn one_client_has_its_share_and_all_have_no_more_than_there_is() {
        let seats = seats(4, 2);
        let take = |last: u8| seats.take([192, 0, 2, last].into(), ConnectionKind::Plain, false);
        let mut taken = vec![take(1).unwrap(), take(1).unwrap()];
        assert_eq!(take(1).err(), Some(NoSeat::Share));
        taken.extend([take(2).unwrap(), take(3).unwrap()]);
        assert_eq!(take(4).err(), Some(NoSeat::Full));
        let room = seats.take([192, 0, 2, 4].into(), ConnectionKind::Plain, true);
        assert!(room.is_ok());
        drop(room);
        taken.remove(0);
        assert!(take(1).is_ok());
        drop(taken);
        assert!(seats.by_client.lock().unwrap().is_empty());
        assert_eq!(seats.taken.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn connections_beyond_the_memory_are_refused() {
        let seats = Seats::new(100, 100, MemoryBudget::new(600 * 1024, 0));
        let take = || seats.take([127, 0, 0, 1].into(), ConnectionKind::Quic, false);
        let taken: Vec<_> = (0..2).map(|_| take().unwrap()).collect();
        assert_eq!(take().err(), Some(NoSeat::Full));
        drop(taken);
        assert!(take().is_ok());
    }
}
