//! Connection ids that name their worker, by which datagrams are routed.
//!
//! Each worker has a socket of its own at the same address, and the kernel spreads datagrams over
//! them by the addresses and ports of both sides. A client whose address changes - it went from one
//! network to another, or its NAT forgot it - so lands at another worker than the one that knows its
//! connection. Therefore a connection id says to which worker it belongs, in a way that only this
//! server can read.

use std::hash::{BuildHasher, RandomState};

use quinn::{ConnectionId, ConnectionIdGenerator};

/// The length of the server's connection ids, in bytes.
pub(super) const ID_LENGTH: usize = 8;

/// The bytes of an id that tell it from others; the rest names the worker.
const NONCE: usize = 6;

/// The maker and reader of connection ids, the same for all workers of a server.
#[derive(Clone, Debug)]
pub(super) struct ConnectionIds {
    /// The hash of numbers to nonces, so that no observer can tell which ids belong to one connection.
    nonces: RandomState,
    /// The hash of nonces to the masks that hide workers' numbers.
    masks: RandomState,
    workers: u16,
}

impl ConnectionIds {
    pub(super) fn new(workers: u16) -> Self {
        ConnectionIds {
            nonces: RandomState::new(),
            masks: RandomState::new(),
            workers,
        }
    }

    fn mask(&self, nonce: &[u8; NONCE]) -> u16 {
        let [first, second, ..] = self.masks.hash_one(nonce).to_le_bytes();
        u16::from_le_bytes([first, second])
    }

    fn make(&self, worker: u16, number: u64) -> [u8; ID_LENGTH] {
        let [a, b, c, d, e, f, ..] = self.nonces.hash_one((worker, number)).to_le_bytes();
        let nonce = [a, b, c, d, e, f];
        let [high, low] = (worker ^ self.mask(&nonce)).to_be_bytes();
        [a, b, c, d, e, f, high, low]
    }

    /// The worker of an id; `None` for an id that is not of this server, but for a few by accident.
    fn worker(&self, id: &[u8]) -> Option<u16> {
        let [a, b, c, d, e, f, high, low] = *id.as_array::<ID_LENGTH>()?;
        let worker = u16::from_be_bytes([high, low]) ^ self.mask(&[a, b, c, d, e, f]);
        (worker < self.workers).then_some(worker)
    }

    /// The worker of a datagram; `None` if it names none, and may stay where it came. The ids of first packets are
    /// the client's choice. They are followed too, for the client uses the server's id once it has had an answer.
    pub(super) fn destination(&self, datagram: &[u8]) -> Option<u16> {
        let id = match datagram {
            // A long header: version, then the length of the id (RFC 8999 section 5.1).
            [first, _, _, _, _, length, rest @ ..] if first & 0x80 != 0 => {
                rest.get(..usize::from(*length))?
            }
            // A short header: the id, whose length the server knows (RFC 8999 section 5.2).
            [_, rest @ ..] => rest.get(..ID_LENGTH)?,
            [] => return None,
        };
        self.worker(id)
    }
}

/// The generator of one worker's ids.
pub(super) struct IdGenerator {
    ids: ConnectionIds,
    worker: u16,
    number: u64,
}

impl IdGenerator {
    pub(super) fn new(ids: ConnectionIds, worker: u16) -> Self {
        IdGenerator {
            ids,
            worker,
            number: 0,
        }
    }
}

impl ConnectionIdGenerator for IdGenerator {
    fn generate_cid(&mut self) -> ConnectionId {
        self.number += 1;
        ConnectionId::new(&self.ids.make(self.worker, self.number))
    }

    fn cid_len(&self) -> usize {
        ID_LENGTH
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn long(id: &[u8]) -> Vec<u8> {
        let length = u8::try_from(id.len()).unwrap();
        [&[0xc3, 0, 0, 0, 1, length], id, &[0; 20]].concat()
    }

    fn short(id: &[u8]) -> Vec<u8> {
        [&[0x43], id, &[0; 20]].concat()
    }

    #[test]
    fn an_id_names_its_worker_to_this_server_alone() {
        let (ids, other) = (ConnectionIds::new(5), ConnectionIds::new(5));
        let mut seen = HashSet::new();
        let (mut known, mut total) = (0, 0);
        for worker in 0..5 {
            let mut generator = IdGenerator::new(ids.clone(), worker);
            for _ in 0..1000 {
                let id = generator.generate_cid();
                assert!(seen.insert(id), "an id twice");
                assert_eq!(ids.destination(&long(&id)), Some(worker));
                assert_eq!(ids.destination(&short(&id)), Some(worker));
                assert_eq!(generator.cid_len(), id.len());
                known += usize::from(other.worker(&id).is_some());
                total += 1;
            }
        }
        // By accident one in 13,000 is.
        assert!(
            known < total / 50,
            "{known} of {total} say the same to another server"
        );
    }

    #[test]
    fn what_says_nothing_stays_where_it_came() {
        let ids = ConnectionIds::new(2);
        let id = ids.make(1, 7);
        for datagram in [
            vec![],
            vec![0x43],
            vec![0xc3],
            vec![0xc3, 0, 0, 0, 1],
            vec![0xc3, 0, 0, 0, 1, 8, 1, 2],
            long(&[]),
            long(&id[..7]),
            long(&[&id[..], &[0]].concat()),
            short(&id)[..8].to_vec(),
        ] {
            assert_eq!(ids.destination(&datagram), None, "{datagram:x?}");
        }
        // A worker that does not exist.
        assert_eq!(
            ConnectionIds {
                workers: 1,
                ..ids.clone()
            }
            .destination(&short(&id)),
            None
        );
    }
}
