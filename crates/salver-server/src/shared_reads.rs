//! Shared reads: a block of a file that several answers need at about the same time is read once.
//!
//! The page cache does that, where there is one. Where there is none (FUSE file systems that pass every read on, some
//! of those over a network), a hundred downloads of one large file would have each of its bytes read a hundred times.
//! So files are read in blocks: an answer that needs a block which is being read waits for that read, and the last
//! blocks are kept for answers that are a little behind. The disk is slower than memory, so that they catch up with
//! the first.
//!
//! The key of a block has the identity of its file, which is checked after each read: so it is of the version that
//! the heads of all answers have promised.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use salver_assets::FileContent;
use salver_assets::source::Identity;
use salver_assets::strategy::Residency;
use tokio::sync::oneshot;

use crate::loader::Loader;

/// The size of a block, in bytes.
const BLOCK: u64 = 256 * 1024;

/// The most bytes that are kept for answers that are behind.
const MOST_KEPT: usize = 4 * 1024 * 1024;

/// The shared reads of a server.
#[derive(Debug, Default)]
pub(crate) struct SharedReads(Mutex<Blocks>);

/// The key of a block: the version of its file, and its number.
type BlockKey = (Identity, u64);

#[derive(Debug, Default)]
struct Blocks {
    /// The blocks that are being read, or kept. Invariant: those that have been read are those in `kept`.
    known: HashMap<BlockKey, BlockState>,
    /// The blocks that are kept, the oldest first.
    kept: VecDeque<BlockKey>,
    kept_bytes: usize,
}

#[derive(Debug)]
enum BlockState {
    /// The block is being read, for those who wait.
    Reading(Vec<oneshot::Sender<SharedResult>>),
    Read(Bytes),
}

/// The result of a read, shared. Errors cannot be shared; their kinds can.
type SharedResult = Result<Bytes, io::ErrorKind>;

/// The role of a task that needs a block.
enum BlockRole<'a> {
    Read(Bytes),
    Follower(oneshot::Receiver<SharedResult>),
    Leader(ReadLeader<'a>),
    /// The task reads its window alone, which is no whole block.
    Alone,
}

/// The leader, which reads a block for all who wait for it. If it is dropped, one of them does.
struct ReadLeader<'a> {
    reads: &'a SharedReads,
    key: BlockKey,
}

/// The beginning of a window, as far as it lies in one block.
pub(crate) fn within_block(window: Range<u64>) -> Range<u64> {
    let end = (window.start / BLOCK)
        .saturating_add(1)
        .saturating_mul(BLOCK);
    window.start..window.end.min(end)
}

impl SharedReads {
    /// Reads a window that lies [within one block](within_block), where that may wait.
    pub(crate) async fn read(
        &self,
        loader: &Loader,
        file: &FileContent,
        window: Range<u64>,
    ) -> io::Result<Bytes> {
        // The version of a file that is changing is of no use to others.
        if file.situation.changes_now {
            return loader.read(file, window).await;
        }
        let number = window.start / BLOCK;
        let start = number.saturating_mul(BLOCK);
        let block = within_block(start..file.identity.length);
        let key = (file.identity, number);
        let part = |bytes: &Bytes| part(bytes, window.start - start, window.end - start);
        loop {
            match self.join(key, window == block) {
                BlockRole::Read(bytes) => return part(&bytes),
                BlockRole::Follower(receiver) => match receiver.await {
                    Ok(Ok(bytes)) => return part(&bytes),
                    Ok(Err(kind)) => return Err(kind.into()),
                    Err(_) => {}
                },
                BlockRole::Leader(leader) => {
                    let result = loader.read(file, block.clone()).await;
                    // A block that is in the page cache need not be kept. Of a mount that keeps nothing nothing is
                    // kept here, either.
                    let keep = file.situation.keep_up_to > 0
                        && file.residency(&block, false) != Residency::Resident;
                    leader.end(&result, keep);
                    return result;
                }
                BlockRole::Alone => return loader.read(file, window).await,
            }
        }
    }

    /// Takes a role in reading a block; `whole` if all of it is needed.
    fn join(&self, key: BlockKey, whole: bool) -> BlockRole<'_> {
        match self.lock().known.entry(key) {
            std::collections::hash_map::Entry::Occupied(mut block) => match block.get_mut() {
                BlockState::Read(bytes) => BlockRole::Read(bytes.clone()),
                BlockState::Reading(others) => {
                    let (sender, receiver) = oneshot::channel();
                    others.push(sender);
                    BlockRole::Follower(receiver)
                }
            },
            std::collections::hash_map::Entry::Vacant(place) if whole => {
                place.insert(BlockState::Reading(Vec::new()));
                BlockRole::Leader(ReadLeader { reads: self, key })
            }
            std::collections::hash_map::Entry::Vacant(_) => BlockRole::Alone,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Blocks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReadLeader<'_> {
    fn end(self, result: &io::Result<Bytes>, keep: bool) {
        let shared = result.as_ref().map_err(io::Error::kind).cloned();
        let mut blocks = self.reads.lock();
        let others = blocks.end_reading(&self.key);
        if let (true, Ok(bytes)) = (keep, &shared) {
            blocks.keep(self.key, bytes.clone());
        }
        drop(blocks);
        for sender in others {
            // The follower may be gone.
            let _ = sender.send(shared.clone());
        }
    }
}

impl Drop for ReadLeader<'_> {
    fn drop(&mut self) {
        // Followers see that their sender is gone, and one of them begins anew.
        drop(self.reads.lock().end_reading(&self.key));
    }
}

impl Blocks {
    fn end_reading(&mut self, key: &BlockKey) -> Vec<oneshot::Sender<SharedResult>> {
        if let Some(BlockState::Reading(_)) = self.known.get(key)
            && let Some(BlockState::Reading(others)) = self.known.remove(key)
        {
            return others;
        }
        Vec::new()
    }

    fn keep(&mut self, key: BlockKey, bytes: Bytes) {
        self.kept_bytes += bytes.len();
        self.known.insert(key, BlockState::Read(bytes));
        self.kept.push_back(key);
        while self.kept_bytes > MOST_KEPT {
            let Some(oldest) = self.kept.pop_front() else {
                return;
            };
            if let Some(BlockState::Read(bytes)) = self.known.remove(&oldest) {
                self.kept_bytes = self.kept_bytes.saturating_sub(bytes.len());
            }
        }
    }
}

/// A part of a block, copied if it is small: so it does not keep all of the block.
fn part(block: &Bytes, start: u64, end: u64) -> io::Result<Bytes> {
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    let range = place(start)..place(end);
    let part = block.get(range.clone());
    let part = part.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    if part.len() < block.len() / 2 {
        return Ok(Bytes::copy_from_slice(part));
    }
    Ok(block.slice(range))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::tests::file;

    fn me(who: BlockRole<'_>) -> ReadLeader<'_> {
        match who {
            BlockRole::Leader(leader) => leader,
            _ => panic!("nobody reads it"),
        }
    }

    #[test]
    fn one_reads_for_all_and_the_next_find_what_was_read() {
        let reads = SharedReads::default();
        let key = (file().identity, 0);
        let leader = me(reads.join(key, true));
        let mut others: Vec<_> = (0..100)
            .map(|number| match reads.join(key, number % 2 == 0) {
                BlockRole::Follower(receiver) => receiver,
                _ => panic!("somebody reads it"),
            })
            .collect();
        assert!(others[0].try_recv().is_err());
        leader.end(&Ok(Bytes::from_static(b"block")), true);
        for mut other in others {
            assert_eq!(other.try_recv().unwrap().unwrap(), b"block"[..]);
        }
        assert!(matches!(reads.join(key, false), BlockRole::Read(bytes) if bytes == b"block"[..]));
    }

    #[test]
    fn what_is_given_up_or_fails_is_begun_anew() {
        let reads = SharedReads::default();
        let key = (file().identity, 3);
        assert!(matches!(reads.join(key, false), BlockRole::Alone));
        let leader = me(reads.join(key, true));
        let BlockRole::Follower(mut waits) = reads.join(key, true) else {
            panic!("somebody reads it")
        };
        drop(leader);
        assert!(waits.try_recv().is_err());
        let leader = me(reads.join(key, true));
        leader.end(&Err(io::ErrorKind::InvalidData.into()), true);
        let leader = me(reads.join(key, true));
        leader.end(&Ok(Bytes::from_static(b"not kept")), false);
        me(reads.join(key, true));
        assert!(reads.lock().known.is_empty());
    }

    #[test]
    fn no_more_is_kept_than_may_be() {
        let reads = SharedReads::default();
        let identity = file().identity;
        let key = |number| (identity, number);
        let block = Bytes::from(vec![7; usize::try_from(BLOCK).unwrap()]);
        for number in 0..1000 {
            me(reads.join(key(number), true)).end(&Ok(block.clone()), true);
            let blocks = reads.lock();
            assert!(blocks.kept_bytes <= MOST_KEPT);
            assert_eq!(blocks.known.len(), blocks.kept.len());
            assert_eq!(blocks.kept.len() * block.len(), blocks.kept_bytes);
        }
        assert_eq!(reads.lock().kept_bytes, MOST_KEPT);
        assert!(matches!(reads.join(key(999), true), BlockRole::Read(_)));
        assert!(matches!(reads.join(key(0), true), BlockRole::Leader(_)));
    }

    #[test]
    fn windows_end_with_their_block_and_small_parts_are_copies() {
        assert_eq!(within_block(5..BLOCK * 3), 5..BLOCK);
        assert_eq!(within_block(BLOCK..BLOCK + 7), BLOCK..BLOCK + 7);
        assert_eq!(within_block(u64::MAX - 9..u64::MAX), u64::MAX - 9..u64::MAX);
        let block = Bytes::from(vec![1; 100]);
        let of_block = |bytes: &Bytes| block.as_ptr_range().contains(&bytes.as_ptr());
        assert!(!of_block(&part(&block, 10, 50).unwrap()));
        assert!(of_block(&part(&block, 10, 70).unwrap()));
        assert!(part(&block, 10, 101).is_err());
    }
}
