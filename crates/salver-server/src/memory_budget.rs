//! The memory budget of connections: one bound for all of them together, and a fair share for each.
//!
//! These count: the connection itself, answers that a client has not taken, content that is read ahead, incomplete
//! input, the content of requests. Content of the cache does not: it is sent by reference and has a budget of its
//! own.
//!
//! Every connection has a little memory of its own: it is set aside when the connection begins, and without it none
//! does. The rest is lent: to each at most an eighth of what is not lent to others. So a server with few connections
//! never has to refuse memory, and on one that is flooded each is served from its own, old or new.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;

/// The bytes of each connection's own: a frame of HTTP/2, a record of TLS.
pub(crate) const LEAST: u64 = 16 * 1024;

/// The bytes that are set aside for a connection with TLS, about.
const USUAL: u64 = LEAST + 32 * 1024;

/// The divisor of the memory left, by which one connection's loan is limited.
const PART: u64 = 8;

/// The memory budget of all connections.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    /// The bytes that are set aside for connections.
    set_aside: AtomicU64,
    /// The bytes that are lent to connections.
    lent: AtomicU64,
    /// The bytes that may be set aside and lent together.
    most: AtomicU64,
    /// The bytes that are never lent: future connections need them for their own.
    reserve: AtomicU64,
}

/// The account of one connection's memory.
#[derive(Debug)]
pub(crate) struct Account {
    budget: Arc<MemoryBudget>,
    /// The bytes of the connection itself, and those of its own.
    set_aside: u64,
    /// The bytes that it holds besides.
    held: AtomicU64,
    /// The number of its answers that hold a file open.
    files: AtomicUsize,
}

/// An answer that holds a file open; it no longer counts when dropped.
#[derive(Debug)]
pub(crate) struct OpenFile(Arc<Account>);

/// A charge to an account: bytes that the connection holds, until it is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    account: Arc<Account>,
    bytes: u64,
}

impl MemoryBudget {
    /// A budget of `most` bytes for so many connections at most.
    pub(crate) fn new(most: u64, connections: usize) -> Arc<Self> {
        Arc::new(MemoryBudget {
            set_aside: AtomicU64::new(0),
            lent: AtomicU64::new(0),
            most: AtomicU64::new(most),
            reserve: AtomicU64::new(reserve(most, connections)),
        })
    }

    /// Sets another bound. What is set aside and lent stays so.
    pub(crate) fn limit(&self, most: u64, connections: usize) {
        self.most.store(most, Ordering::Relaxed);
        let reserve = reserve(most, connections);
        self.reserve.store(reserve, Ordering::Relaxed);
    }

    /// Opens an account for a connection that takes `base` bytes itself; `None` if these and those of its own do not
    /// fit any more, unless another connection `makes_room`.
    pub(crate) fn open(self: &Arc<Self>, base: u64, makes_room: bool) -> Option<Arc<Account>> {
        let set_aside = base.saturating_add(LEAST);
        (self.left() >= set_aside || makes_room).then(|| {
            self.set_aside.fetch_add(set_aside, Ordering::Relaxed);
            Arc::new(Account {
                budget: Arc::clone(self),
                set_aside,
                held: AtomicU64::new(0),
                files: AtomicUsize::new(0),
            })
        })
    }

    /// The bytes that are set aside or lent.
    pub(crate) fn in_use(&self) -> u64 {
        self.set_aside.load(Ordering::Relaxed) + self.lent.load(Ordering::Relaxed)
    }

    /// The most of them.
    pub(crate) fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }

    /// The bytes that are left.
    fn left(&self) -> u64 {
        self.most().saturating_sub(self.in_use())
    }

    /// The bytes that can still be lent.
    fn lendable(&self) -> u64 {
        let reserve = self.reserve.load(Ordering::Relaxed);
        let kept = self.set_aside.load(Ordering::Relaxed).max(reserve);
        let lent = self.lent.load(Ordering::Relaxed);
        let most = self.most.load(Ordering::Relaxed);
        most.saturating_sub(kept.saturating_add(lent))
    }
}

/// The bytes of a budget that are kept for the memory of each connection's own.
fn reserve(most: u64, connections: usize) -> u64 {
    let connections = u64::try_from(connections).unwrap_or(u64::MAX);
    connections.saturating_mul(USUAL).min(most / 4 * 3)
}

impl Account {
    /// The bytes that the connection may hold beyond those that it holds.
    pub(crate) fn room(&self) -> u64 {
        let held = self.held.load(Ordering::Relaxed);
        let own = LEAST.saturating_sub(held);
        own + (self.budget.lendable() / PART).saturating_sub(lent(held))
    }

    /// The room in bytes, but at most `most`, and always some: an answer that has begun must go on.
    pub(crate) fn room_up_to(&self, most: usize) -> usize {
        let room = self.room().max(LEAST / 4);
        usize::try_from(room).unwrap_or(usize::MAX).min(most).max(1)
    }

    /// Counts one more answer of the connection that holds a file open, of which `left` can still be opened;
    /// `None` if others may need them. One is always given.
    pub(crate) fn open_file(self: &Arc<Self>, left: usize) -> Option<OpenFile> {
        let mine = self.files.fetch_add(1, Ordering::Relaxed);
        let file = OpenFile(Arc::clone(self));
        (mine < left.max(1)).then_some(file)
    }

    /// Counts bytes that the connection holds, whether or not there was room.
    pub(crate) fn charge(self: &Arc<Self>, bytes: usize) -> Charge {
        let mut charge = Charge {
            account: Arc::clone(self),
            bytes: 0,
        };
        charge.set(bytes);
        charge
    }
}

impl Drop for Account {
    /// No charge outlives its account.
    fn drop(&mut self) {
        let all = &self.budget.set_aside;
        all.fetch_sub(self.set_aside, Ordering::Relaxed);
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.0.files.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Charge {
    /// The bytes that are held.
    pub(crate) fn bytes(&self) -> usize {
        usize::try_from(self.bytes).unwrap_or(usize::MAX)
    }

    /// These bytes, with which it lasts until the last reference to them is dropped.
    pub(crate) fn with(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(ChargedBytes {
            bytes,
            _charge: self,
        })
    }

    /// Sets the bytes that are held.
    pub(crate) fn set(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let (held, all) = (&self.account.held, &self.account.budget.lent);
        if let Some(more) = bytes.checked_sub(self.bytes) {
            if more > 0 {
                let before = held.fetch_add(more, Ordering::Relaxed);
                all.fetch_add(lent(before + more) - lent(before), Ordering::Relaxed);
            }
        } else {
            let less = self.bytes - bytes;
            let before = held.fetch_sub(less, Ordering::Relaxed);
            all.fetch_sub(lent(before) - lent(before - less), Ordering::Relaxed);
        }
        self.bytes = bytes;
    }
}

/// Bytes that count as memory of this account, and `besides` with them, until the last reference to them is dropped.
pub(crate) fn charged(account: &Arc<Account>, bytes: Bytes, besides: usize) -> Bytes {
    account.charge(bytes.len() + besides).with(bytes)
}

struct ChargedBytes {
    bytes: Bytes,
    _charge: Charge,
}

impl AsRef<[u8]> for ChargedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The part of the bytes held by a connection that is lent to it.
fn lent(held: u64) -> u64 {
    held.saturating_sub(LEAST)
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1024 * 1024;

    fn bytes(count: u64) -> usize {
        usize::try_from(count).unwrap()
    }

    #[test]
    fn whoever_came_first_everybody_has_their_own_and_the_bound_holds() {
        for count in [1, 2, 10, 1000] {
            let budget = MemoryBudget::new(100 * MIB, 0);
            let accounts: Vec<_> = (0..count).map(|_| budget.open(0, false).unwrap()).collect();
            let mut charges = Vec::new();
            // Greedy ones, the first of which take all that they get.
            for account in &accounts {
                assert!(account.room() >= LEAST, "{count}");
                while account.room() > 1000 {
                    charges.push(account.charge(bytes(account.room())));
                }
                let held = account.held.load(Ordering::Relaxed);
                assert!((LEAST..=LEAST + 100 * MIB / PART).contains(&held), "{held}");
            }
            assert!(budget.lendable() < 100 * MIB);
            let newcomer = budget.open(0, false);
            assert!(newcomer.is_some_and(|newcomer| newcomer.room() >= LEAST) || count == 1000);
            drop((charges, accounts));
            assert_eq!(budget.left(), 100 * MIB);
        }
    }

    #[test]
    fn what_those_need_who_have_not_come_is_not_lent() {
        let budget = MemoryBudget::new(100 * MIB, 1000);
        let greedy: Vec<_> = (0..20)
            .map(|_| budget.open(8 * 1024, false).unwrap())
            .collect();
        let _charges: Vec<_> = greedy
            .iter()
            .map(|account| account.charge(bytes(account.room())))
            .collect();
        let others: Vec<_> = (0..980)
            .map_while(|_| budget.open(24 * 1024, false))
            .collect();
        assert_eq!(others.len(), 980);
        assert!(others.iter().all(|account| account.room() >= LEAST));
    }

    #[test]
    fn a_connection_holds_no_more_files_than_it_leaves_to_others() {
        let account = MemoryBudget::new(MIB, 1).open(0, false).unwrap();
        let mut files = Vec::new();
        while let Some(file) = account.open_file(10 - files.len()) {
            files.push(file);
        }
        assert_eq!(files.len(), 5);
        files.clear();
        assert!(account.open_file(0).is_some());
    }

    #[test]
    fn what_is_on_its_way_goes_on() {
        let budget = MemoryBudget::new(MIB, 0);
        let one = budget.open(2048, false).unwrap();
        let other = budget.open(2048, false).unwrap();
        let set_aside = 2 * (2048 + LEAST);
        let mut all = one.charge(bytes(2 * MIB));
        assert_eq!((one.room(), budget.left()), (0, 0));
        assert_eq!(one.room_up_to(bytes(MIB)), bytes(LEAST / 4));
        assert_eq!(other.room(), LEAST);
        assert!(budget.open(0, false).is_none(), "no room for a third");
        assert!(budget.open(0, true).is_some(), "another makes room");
        all.set(0);
        assert_eq!(budget.left(), MIB - set_aside);
        assert_eq!(one.room_up_to(1000), 1000);
        // A charge counts until it is dropped, even if the connection has ended.
        all.set(bytes(LEAST + 1000));
        drop(one);
        assert_eq!(budget.left(), MIB - set_aside - 1000);
        drop(all);
        assert_eq!(budget.left(), MIB - 2048 - LEAST);
    }
}
