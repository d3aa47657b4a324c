//! Open handles of files whose content is not kept in memory, so that a request for a large file
//! costs no `open`.
//!
//! A handle is used only for a representation that was compared with the disk as any other and
//! still has the handle's identity. It is given up when its file is found replaced or gone, when
//! others need its place, and when nobody has asked for it in a while: an open handle keeps a
//! deleted file's space.

use std::fs::File;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::cache::bounded::{BoundedCache, Cached, UseCounter};
use crate::cache::key::{BorrowedKey, CacheKey};
use crate::cache::micros;
use crate::cache::recent_checks::RecentChecks;
use crate::source::{Identity, Opened, Reader};
use crate::sync::Lock;

/// The time after which a handle that no request has used is closed.
const IDLE_FOR: Duration = Duration::from_secs(10);

/// The time between two looks for such handles.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct OpenHandle {
    key: CacheKey,
    opened: Opened,
    checks: Arc<RecentChecks>,
    uses: UseCounter,
    /// The moment of its last use, in microseconds since the engine's epoch.
    used: AtomicU64,
}

impl Cached for OpenHandle {
    fn key(&self) -> &CacheKey {
        &self.key
    }
    fn weight(&self) -> usize {
        1
    }
    fn uses(&self) -> &UseCounter {
        &self.uses
    }
}

/// The files that are open for answers.
#[derive(Debug)]
pub(crate) struct OpenFiles {
    /// The files that stay open between requests.
    kept: BoundedCache<OpenHandle>,
    /// All files that are open for answers.
    open: Lock<OpenList>,
    /// The most files that may be open.
    most_open: AtomicUsize,
    /// The anonymous files of content that no tree has.
    anonymous: Arc<AtomicUsize>,
    /// The moment at which the next sweep is due, in microseconds since the engine's epoch.
    sweep_at: AtomicU64,
}

/// The files that were opened. Some may have been closed since.
#[derive(Debug, Default)]
struct OpenList {
    files: Vec<Weak<File>>,
    /// The index of the file that is looked at next.
    hand: usize,
}

/// The files that are looked at for each that is opened: so at most about a sixteenth of the list is closed.
const LOOKED_AT: usize = 16;

/// The files that are looked at where there is no room. A look at all of them for each request would cost a
/// flooded server more than the requests.
const LOOKED_AT_WITHOUT_ROOM: usize = 256;

impl OpenList {
    /// Looks at the next `count` files, and forgets those that are closed.
    fn prune(&mut self, count: usize) {
        for _ in 0..count.min(self.files.len()) {
            if self.hand >= self.files.len() {
                self.hand = 0;
            }
            match self.files.get(self.hand).map(Weak::strong_count) {
                Some(0) => drop(self.files.swap_remove(self.hand)),
                _ => self.hand += 1,
            }
        }
    }
}

/// An anonymous file that counts as open.
#[derive(Debug)]
pub(crate) struct AnonymousCharge(Arc<AtomicUsize>);

impl Drop for AnonymousCharge {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl OpenFiles {
    /// Keeps at most `most` handles.
    pub(crate) fn new(most: usize) -> Self {
        OpenFiles {
            kept: BoundedCache::new(most),
            open: Lock::new(OpenList::default()),
            most_open: AtomicUsize::new(usize::MAX),
            anonymous: Arc::default(),
            sweep_at: AtomicU64::new(0),
        }
    }

    /// The handle for exactly this version, with what was found of it a moment ago. `now` is the time since the
    /// engine's epoch, here and below.
    pub(crate) fn get(
        &self,
        identity: &Identity,
        now: Duration,
    ) -> Option<(Opened, Arc<RecentChecks>)> {
        let file = self.kept.get(borrowed(&key(identity)))?;
        if file.opened.metadata.identity != *identity {
            return None;
        }
        file.uses.touch();
        file.used.store(micros(now), Ordering::Relaxed);
        Some((file.opened.clone(), Arc::clone(&file.checks)))
    }

    /// Keeps a handle, if it is one that spares something: where reading has to go elsewhere
    /// anyway, it is better to look at the disk each time.
    pub(crate) fn keep(&self, opened: &Opened, now: Duration) {
        if !matches!(opened.reader, Reader::File(_) | Reader::Stored(_)) || !opened.local {
            return;
        }
        let file = OpenHandle {
            key: CacheKey::new(0, &key(&opened.metadata.identity)),
            opened: opened.clone(),
            checks: Arc::default(),
            uses: UseCounter::default(),
            used: AtomicU64::new(micros(now)),
        };
        self.kept.insert(Arc::new(file));
    }

    /// True if one more file may be opened. Files that only stay open for later are closed for it.
    pub(crate) fn has_room(&self) -> bool {
        let looked_again = || {
            self.open.hold().prune(LOOKED_AT_WITHOUT_ROOM);
            self.left() > 0
        };
        self.left() > 0 || looked_again() || self.kept.clear() > 0 && looked_again()
    }

    /// The number of files that may still be opened, at least.
    pub(crate) fn left(&self) -> usize {
        let most = self.most_open.load(Ordering::Relaxed);
        if most == usize::MAX {
            return most;
        }
        let anonymous = self.anonymous.load(Ordering::Relaxed);
        most.saturating_sub(self.open.hold().files.len() + anonymous)
    }

    /// Counts an anonymous file until what is returned is dropped; `None` if there are as many as half of the files that
    /// may stay open, so that the other half is for files.
    pub(crate) fn charge_anonymous(&self) -> Option<AnonymousCharge> {
        let before = self.anonymous.fetch_add(1, Ordering::Relaxed);
        let charge = AnonymousCharge(Arc::clone(&self.anonymous));
        (before < self.kept.budget() / 2).then_some(charge)
    }

    /// Counts a file that was opened, until it is closed.
    pub(crate) fn count(&self, opened: &Opened) {
        let file = match &opened.reader {
            Reader::File(file) => file,
            Reader::Stored(stored) => stored.file(),
            Reader::Memory(_) | Reader::Static(_) | Reader::Remote(_) => return,
        };
        let most = self.most_open.load(Ordering::Relaxed);
        if most != usize::MAX {
            let mut open = self.open.hold();
            open.files.push(Arc::downgrade(file));
            open.prune(LOOKED_AT);
        }
    }

    /// Allows at most `most` open files from now on.
    pub(crate) fn limit_open(&self, most: usize) {
        self.most_open.store(most, Ordering::Relaxed);
    }

    /// Closes the file that had this identity: it is no longer served.
    pub(crate) fn forget(&self, identity: &Identity) {
        self.kept.remove(borrowed(&key(identity)));
    }

    pub(crate) fn clear(&self) {
        self.kept.clear();
    }

    /// Keeps at most `most` handles from now on.
    pub(crate) fn limit(&self, most: usize) {
        self.kept.limit(most);
    }

    pub(crate) fn len(&self) -> usize {
        self.kept.size().0
    }

    /// Closes idle files; does nothing most of the time.
    pub(crate) fn sweep(&self, now: Duration) {
        let due = self.sweep_at.load(Ordering::Relaxed);
        let next = micros(now.saturating_add(SWEEP_EVERY));
        let mine = micros(now) >= due
            && self
                .sweep_at
                .compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if mine {
            let oldest = micros(now.saturating_sub(IDLE_FOR));
            self.kept
                .take(|file| file.used.load(Ordering::Relaxed) < oldest);
        }
    }
}

/// The key of a file, which stays the same whatever is written to it. (The identity is compared besides.)
fn key(identity: &Identity) -> [u8; 16] {
    let mut key = [0; 16];
    let (device, inode) = key.split_at_mut(8);
    device.copy_from_slice(&identity.device.to_ne_bytes());
    inode.copy_from_slice(&identity.inode.to_ne_bytes());
    key
}

/// The key to look for: a handle is of a file, whichever site it is opened for.
fn borrowed(file: &[u8; 16]) -> BorrowedKey<'_> {
    BorrowedKey {
        site: 0,
        path: file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Metadata;

    fn open() -> Opened {
        let file = tempfile::tempfile().unwrap();
        Opened {
            metadata: Metadata::of(&file).unwrap(),
            reader: Reader::File(Arc::new(file)),
            local: true,
        }
    }

    fn second(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    #[test]
    fn a_handle_serves_its_version_alone() {
        let files = OpenFiles::new(10);
        let opened = open();
        let identity = opened.metadata.identity;
        files.keep(&opened, second(0));
        assert!(files.get(&identity, second(1)).is_some());
        let mut other = identity;
        other.length += 1;
        assert!(files.get(&other, second(1)).is_none());
        files.forget(&identity);
        assert!(files.get(&identity, second(1)).is_none());
        let memory = Opened {
            reader: Reader::Memory(bytes::Bytes::new()),
            ..opened
        };
        files.keep(&memory, second(0));
        assert_eq!(files.len(), 0, "what is no handle");
    }

    #[test]
    fn no_more_are_open_than_may_be_kept_or_not() {
        let files = OpenFiles::new(10);
        assert_eq!((files.left(), files.has_room()), (usize::MAX, true));
        files.limit_open(32);
        let mut sent: Vec<_> = (0..20).map(|_| open()).collect();
        sent.iter().for_each(|opened| files.count(opened));
        for _ in 0..12 {
            let opened = open();
            files.count(&opened);
            files.keep(&opened, second(0));
        }
        // Two are neither sent nor kept, which is seen in time. What is kept goes when its place is needed.
        assert_eq!(files.len(), 10);
        assert!(files.left() <= 2, "{}", files.left());
        for _ in 0..11 {
            assert!(files.has_room());
            sent.push(open());
            files.count(sent.last().unwrap());
        }
        assert_eq!(files.len(), 0);
        sent.push(open());
        files.count(sent.last().unwrap());
        assert!(!files.has_room());
        sent.truncate(16);
        assert!(files.has_room());
        assert_eq!(files.left(), 16);
    }

    #[test]
    fn the_idle_are_closed_and_never_more_kept_than_may_be() {
        let files = OpenFiles::new(3);
        let all: Vec<Opened> = (0..5).map(|_| open()).collect();
        all.iter().for_each(|opened| files.keep(opened, second(0)));
        assert_eq!(files.len(), 3);
        let kept: Vec<_> = all
            .iter()
            .map(|opened| opened.metadata.identity)
            .filter(|identity| files.get(identity, second(5)).is_some())
            .collect();
        files.sweep(second(15));
        assert_eq!(files.len(), 3, "used 10 s ago");
        assert!(files.get(&kept[0], second(15)).is_some());
        files.sweep(second(15));
        files.sweep(second(16));
        assert_eq!(files.len(), 1);
        files.limit(0);
        assert_eq!(files.len(), 0);
    }
}
