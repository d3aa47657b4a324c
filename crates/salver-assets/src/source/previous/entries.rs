//! The files that are kept, by path.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use bytes::Bytes;

use crate::source::digest::Digest;
use crate::source::{Identity, Timestamp};

/// The most files that are kept of a tree.
pub(super) const MOST_FILES: usize = 20_000;

/// A file that is kept.
#[derive(Clone, Debug)]
pub(super) struct KeptFile {
    /// The identity that it has here: no other file has it.
    pub(super) identity: Identity,
    /// The digest of its content.
    pub(super) digest: Digest,
    /// Its content, if that is in memory.
    pub(super) content: Option<Bytes>,
    /// The identity of the file in the tree; `None` if this process has not seen it there.
    pub(super) original: Option<Identity>,
    /// The moment of the look that did not find it any more; `None` if it was there at the last.
    pub(super) gone_since: Option<SystemTime>,
}

impl KeptFile {
    /// True if it is not to be answered any more.
    fn is_over(&self, time: Duration, now: SystemTime) -> bool {
        let gone = self.gone_since.map(|since| now.duration_since(since));
        // Of a clock that was put back nobody knows better.
        gone.is_some_and(|gone| gone.is_ok_and(|gone| gone >= time))
    }

    pub(super) fn modified(&self) -> Timestamp {
        self.identity.modified
    }
}

/// All that is kept of a tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    files: BTreeMap<Box<[u8]>, KeptFile>,
    /// Invariant: the sum of the lengths of all.
    bytes: u64,
    /// The number of the last one.
    last: u64,
}

impl Entries {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The number of files, their bytes, and how many of them are gone.
    pub(super) fn count(&self) -> (usize, u64, usize) {
        let gone = self.files.values().filter(|kept| kept.gone_since.is_some());
        (self.files.len(), self.bytes, gone.count())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], &KeptFile)> {
        self.files.iter().map(|(path, kept)| (&**path, kept))
    }

    pub(super) fn get(&self, path: &[u8]) -> Option<&KeptFile> {
        self.files.get(path)
    }

    /// The file at a path, unless its time is over.
    pub(super) fn find(&self, path: &[u8], time: Duration, now: SystemTime) -> Option<KeptFile> {
        let kept = self.files.get(path)?;
        (!kept.is_over(time, now)).then(|| kept.clone())
    }

    /// A number that no other file has.
    pub(super) fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Makes room for so many bytes more by forgetting what has been gone for longest; gives what went, and whether
    /// there is room.
    pub(super) fn make_room(&mut self, length: u64, most: u64) -> (Vec<KeptFile>, bool) {
        let mut forgotten = Vec::new();
        if length > most {
            return (forgotten, false);
        }
        while self.bytes.saturating_add(length) > most || self.files.len() >= MOST_FILES {
            let gone = self
                .files
                .iter()
                .filter_map(|(path, kept)| Some((kept.gone_since?, path)));
            let Some(oldest) = gone.min().map(|(_, path)| path.clone()) else {
                return (forgotten, false);
            };
            forgotten.extend(self.remove(&oldest));
        }
        (forgotten, true)
    }

    /// Adds a file, in the place of what had its path.
    pub(super) fn insert(&mut self, path: &[u8], kept: KeptFile) {
        self.remove(path);
        self.bytes = self.bytes.saturating_add(kept.identity.length);
        self.files.insert(path.into(), kept);
    }

    pub(super) fn remove(&mut self, path: &[u8]) -> Option<KeptFile> {
        let kept = self.files.remove(path)?;
        self.bytes = self.bytes.saturating_sub(kept.identity.length);
        Some(kept)
    }

    /// Notes of each file whether it is there, as `is_there` says (`None`: there is something else of its name, or nobody
    /// knows what), and forgets what is over. Gives what was forgotten, and whether anything is another.
    pub(super) fn note(
        &mut self,
        time: Duration,
        now: SystemTime,
        is_there: impl Fn(&[u8]) -> Option<bool>,
    ) -> (Vec<KeptFile>, bool) {
        let mut has_changed = false;
        let mut over = Vec::new();
        for (path, kept) in &mut self.files {
            let since = match is_there(path) {
                Some(true) => None,
                Some(false) => Some(kept.gone_since.unwrap_or(now)),
                None => {
                    over.push(path.clone());
                    continue;
                }
            };
            has_changed |= since != kept.gone_since;
            kept.gone_since = since;
            if kept.is_over(time, now) {
                over.push(path.clone());
            }
        }
        let forgotten: Vec<_> = over.iter().filter_map(|path| self.remove(path)).collect();
        has_changed |= !forgotten.is_empty();
        (forgotten, has_changed)
    }

    /// True if any file has this content.
    pub(super) fn have(&self, digest: Digest) -> bool {
        self.files.values().any(|kept| kept.digest == digest)
    }
}
