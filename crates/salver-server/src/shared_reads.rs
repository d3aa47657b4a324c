//! What several read from a disk at about the same time is read once.
//!
//! The page cache does that, where there is one. Where there is none (FUSE file systems that pass every read on,
//! some of those over a network), a hundred who ask for one large file would have each of its bytes read a
//! hundred times. So files are read in blocks: whoever asks for a block that is being read waits for
//! that read, and what was read last is kept for those who are a little behind. The disk is slower than
//! memory, so that they catch up with who is ahead.
//!
//! Blocks are known by the identity of their file, which is looked at after each read: what is shared belongs
//! to the version that everybody's head has promised.

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

/// Where blocks begin, in bytes.
const BLOCK: u64 = 256 * 1024;

/// Bytes that are kept for those who are behind, at most.
const MOST_KEPT: usize = 4 * 1024 * 1024;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct SharedReads(Mutex<Blocks>);

/// One version of a file, and the number of a block.
type Key = (Identity, u64);

#[derive(Debug, Default)]
struct Blocks {
    /// Invariant: those that have been read are those in `kept`.
    known: HashMap<Key, Block>,
    /// The oldest first.
    kept: VecDeque<Key>,
    kept_bytes: usize,
}

#[derive(Debug)]
enum Block {
    /// For whom.
    Reading(Vec<oneshot::Sender<Shared>>),
    Read(Bytes),
}

/// Errors cannot be shared; their kinds can.
type Shared = Result<Bytes, io::ErrorKind>;

/// Who reads a block.
enum Who<'a> {
    Nobody(Bytes),
    Another(oneshot::Receiver<Shared>),
    Me(Duty<'a>),
    /// Me, and only what I want of it.
    MeAlone,
}

/// To read a block for all who want it. If it is dropped, one of them does.
struct Duty<'a> {
    reads: &'a SharedReads,
    key: Key,
}

/// As much of the beginning of a window as lies in one block.
pub(crate) fn within_block(window: Range<u64>) -> Range<u64> {
    let end = (window.start / BLOCK)
        .saturating_add(1)
        .saturating_mul(BLOCK);
    window.start..window.end.min(end)
}

impl SharedReads {
    /// Reads a window that lies [within one block](within_block), where that may wait.
    ///
    /// # Errors
    /// As [`Loader::read`].
    pub(crate) async fn read(
        &self,
        loader: &Loader,
        file: &FileContent,
        window: Range<u64>,
    ) -> io::Result<Bytes> {
        // Of what is changing nobody has the same version for long.
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
                Who::Nobody(bytes) => return part(&bytes),
                Who::Another(receiver) => match receiver.await {
                    Ok(Ok(bytes)) => return part(&bytes),
                    Ok(Err(kind)) => return Err(kind.into()),
                    Err(_) => {}
                },
                Who::Me(duty) => {
                    let result = loader.read(file, block.clone()).await;
                    // What the page cache has is there for others already. Of a mount that keeps
                    // nothing nothing is kept here, either.
                    let keep = file.situation.keep_up_to > 0
                        && file.residency(&block) != Residency::Resident;
                    duty.end(&result, keep);
                    return result;
                }
                Who::MeAlone => return loader.read(file, window).await,
            }
        }
    }

    /// `whole` says that all of the block is wanted.
    fn join(&self, key: Key, whole: bool) -> Who<'_> {
        match self.hold().known.entry(key) {
            std::collections::hash_map::Entry::Occupied(mut block) => match block.get_mut() {
                Block::Read(bytes) => Who::Nobody(bytes.clone()),
                Block::Reading(others) => {
                    let (sender, receiver) = oneshot::channel();
                    others.push(sender);
                    Who::Another(receiver)
                }
            },
            std::collections::hash_map::Entry::Vacant(place) if whole => {
                place.insert(Block::Reading(Vec::new()));
                Who::Me(Duty { reads: self, key })
            }
            std::collections::hash_map::Entry::Vacant(_) => Who::MeAlone,
        }
    }

    fn hold(&self) -> MutexGuard<'_, Blocks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Duty<'_> {
    fn end(self, result: &io::Result<Bytes>, keep: bool) {
        let shared = result.as_ref().map_err(io::Error::kind).cloned();
        let mut blocks = self.reads.hold();
        let others = blocks.end_reading(&self.key);
        if let (true, Ok(bytes)) = (keep, &shared) {
            blocks.keep(self.key, bytes.clone());
        }
        drop(blocks);
        for sender in others {
            // Whoever asked may be gone.
            let _ = sender.send(shared.clone());
        }
    }
}

impl Drop for Duty<'_> {
    fn drop(&mut self) {
        // Those who wait see that their sender is gone, and one of them begins anew.
        drop(self.reads.hold().end_reading(&self.key));
    }
}

impl Blocks {
    fn end_reading(&mut self, key: &Key) -> Vec<oneshot::Sender<Shared>> {
        if let Some(Block::Reading(_)) = self.known.get(key)
            && let Some(Block::Reading(others)) = self.known.remove(key)
        {
            return others;
        }
        Vec::new()
    }

    fn keep(&mut self, key: Key, bytes: Bytes) {
        self.kept_bytes += bytes.len();
        self.known.insert(key, Block::Read(bytes));
        self.kept.push_back(key);
        while self.kept_bytes > MOST_KEPT {
            let Some(oldest) = self.kept.pop_front() else {
                return;
            };
            if let Some(Block::Read(bytes)) = self.known.remove(&oldest) {
                self.kept_bytes = self.kept_bytes.saturating_sub(bytes.len());
            }
        }
    }
}

/// A part of a block; a small one does not keep all of it.
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

    fn me(who: Who<'_>) -> Duty<'_> {
        match who {
            Who::Me(duty) => duty,
            _ => panic!("nobody reads it"),
        }
    }

    #[test]
    fn one_reads_for_all_and_the_next_find_what_was_read() {
        let reads = SharedReads::default();
        let key = (file().identity, 0);
        let duty = me(reads.join(key, true));
        let mut others: Vec<_> = (0..100)
            .map(|number| match reads.join(key, number % 2 == 0) {
                Who::Another(receiver) => receiver,
                _ => panic!("somebody reads it"),
            })
            .collect();
        assert!(others[0].try_recv().is_err());
        duty.end(&Ok(Bytes::from_static(b"block")), true);
        for mut other in others {
            assert_eq!(other.try_recv().unwrap().unwrap(), b"block"[..]);
        }
        assert!(matches!(reads.join(key, false), Who::Nobody(bytes) if bytes == b"block"[..]));
    }

    #[test]
    fn what_is_given_up_or_fails_is_begun_anew() {
        let reads = SharedReads::default();
        let key = (file().identity, 3);
        assert!(matches!(reads.join(key, false), Who::MeAlone));
        let duty = me(reads.join(key, true));
        let Who::Another(mut waits) = reads.join(key, true) else {
            panic!("somebody reads it")
        };
        drop(duty);
        assert!(waits.try_recv().is_err());
        let duty = me(reads.join(key, true));
        duty.end(&Err(io::ErrorKind::InvalidData.into()), true);
        let duty = me(reads.join(key, true));
        duty.end(&Ok(Bytes::from_static(b"not kept")), false);
        me(reads.join(key, true));
        assert!(reads.hold().known.is_empty());
    }

    #[test]
    fn no_more_is_kept_than_may_be() {
        let reads = SharedReads::default();
        let identity = file().identity;
        let key = |number| (identity, number);
        let block = Bytes::from(vec![7; usize::try_from(BLOCK).unwrap()]);
        for number in 0..1000 {
            me(reads.join(key(number), true)).end(&Ok(block.clone()), true);
            let blocks = reads.hold();
            assert!(blocks.kept_bytes <= MOST_KEPT);
            assert_eq!(blocks.known.len(), blocks.kept.len());
            assert_eq!(blocks.kept.len() * block.len(), blocks.kept_bytes);
        }
        assert_eq!(reads.hold().kept_bytes, MOST_KEPT);
        assert!(matches!(reads.join(key(999), true), Who::Nobody(_)));
        assert!(matches!(reads.join(key(0), true), Who::Me(_)));
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
