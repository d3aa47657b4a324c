//! The table of checks of siblings that wait for a thread or run, and the loads that wait for them.
//!
//! There is one check of each sibling, and so many in all. A sibling whose check finds no place is checked at
//! a later look: until then it counts as absent.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::thread::Thread;
use std::time::{Duration, Instant};

use crate::cache::key::CacheKey;
use crate::resource::cached_content::CachedContent;
use crate::source::Identity;
use crate::sync::Lock;

/// The checks that may wait or run at once: three for each thread of a driver, and more. One mount has no
/// more of them than it leaves to others.
const MOST: usize = 512;

/// The slow checks that one mount may have before it gets no more: its disk hangs, and there is nothing to
/// wait for.
const MOST_SLOW: usize = 8;

/// The age from which on a check is slow.
const SLOW: Duration = Duration::from_secs(1);

/// The paths that one check has loaded again, at most.
const MOST_LEFT: usize = 16;

/// A check to be performed where it may wait; see
/// [`Engine::hand_sibling_checks_to`](crate::Engine::hand_sibling_checks_to). One that is dropped instead is
/// done at a later look.
pub struct SiblingCheck {
    mount: usize,
    path: Vec<u8>,
    perform: Box<dyn FnOnce() + Send>,
}

impl SiblingCheck {
    /// A check of the sibling at `path` that touches the files of `mount` when it is performed.
    pub(super) fn new(
        mount: usize,
        path: Vec<u8>,
        perform: impl FnOnce() + Send + 'static,
    ) -> Self {
        SiblingCheck {
            mount,
            path,
            perform: Box::new(perform),
        }
    }

    /// The number of the mount whose files it touches, among those of all [engines beside](crate::Engine::beside) its
    /// own.
    pub fn mount(&self) -> usize {
        self.mount
    }

    /// Looks at the sibling, and decodes it if that has not been done. May wait for as long as the storage
    /// likes, and read both files whole.
    pub fn perform(self) {
        (self.perform)();
    }
}

impl fmt::Debug for SiblingCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SiblingCheck")
            .field("mount", &self.mount)
            .field("path", &self.path.escape_ascii().to_string())
            .finish_non_exhaustive()
    }
}

/// A check that waits for a thread, or runs.
#[derive(Debug)]
pub(super) struct OngoingCheck {
    pub(super) began: Instant,
    state: Lock<CheckState>,
}

/// The findings of a check so far, and the loads that depend on it.
#[derive(Debug, Default)]
pub(super) struct CheckState {
    /// The file at the sibling's path, once that was looked at; `Some(None)` if there is none.
    pub(super) looked: Option<Option<Identity>>,
    /// The content of this version, if it is to be kept and was read.
    pub(super) content: Option<(Identity, CachedContent)>,
    ended: bool,
    waiting: Vec<Thread>,
    left: Vec<CacheKey>,
}

impl OngoingCheck {
    /// True if it has found a file.
    pub(super) fn has_found(&self) -> bool {
        matches!(self.state.hold().looked, Some(Some(_)))
    }

    /// Waits until `ready` returns a value or the check has ended, but not beyond `until`: then `left` is
    /// loaded again if the sibling turns out to fit.
    pub(super) fn wait<T>(
        &self,
        until: Instant,
        left: Option<&CacheKey>,
        ready: impl Fn(&mut CheckState) -> Option<T>,
    ) -> Option<T> {
        loop {
            let now = Instant::now();
            let mut state = self.state.hold();
            if let Some(value) = ready(&mut state) {
                return Some(value);
            }
            if state.ended {
                return None;
            }
            if now >= until {
                if let Some(key) = left.filter(|key| !state.left.contains(key))
                    && state.left.len() < MOST_LEFT
                {
                    state.left.push(key.clone());
                }
                return None;
            }
            state.waiting.push(std::thread::current());
            drop(state);
            std::thread::park_timeout(until - now);
        }
    }

    /// The version and the content that it has read, if that is to be kept.
    pub(super) fn content(&self) -> Option<(Identity, CachedContent)> {
        self.state.hold().content.clone()
    }

    /// Changes the state, and wakes the loads that wait for it to change.
    pub(super) fn advance(&self, change: impl FnOnce(&mut CheckState)) {
        let mut state = self.state.hold();
        change(&mut state);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.iter().for_each(Thread::unpark);
    }

    /// Ends the check, with or without a verdict; returns the paths of the loads that no longer wait for it.
    pub(super) fn end(&self) -> Vec<CacheKey> {
        let mut left = Vec::new();
        self.advance(|state| {
            state.ended = true;
            left = std::mem::take(&mut state.left);
        });
        left
    }
}

type HandOver = Arc<dyn Fn(SiblingCheck) + Send + Sync>;

/// The checks by mount and path.
type Table = HashMap<(usize, Vec<u8>), Arc<OngoingCheck>>;

/// The checks that wait or run, and the function that has them performed.
#[derive(Default)]
pub(crate) struct SiblingChecks {
    table: Lock<Table>,
    /// The checks of large originals.
    large: Lock<LargeChecks>,
    hand_over: Lock<Option<HandOver>>,
}

impl fmt::Debug for SiblingChecks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SiblingChecks")
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}

impl SiblingChecks {
    /// Has checks performed by `hand_over` from now on.
    pub(crate) fn hand_to(&self, hand_over: HandOver) {
        *self.hand_over.hold() = Some(hand_over);
    }

    /// True if a driver performs checks; else loads check siblings themselves.
    pub(super) fn are_performed(&self) -> bool {
        self.hand_over.hold().is_some()
    }

    /// The check of the sibling at `path`: the one in the table, or the one that `make` makes; `None` if
    /// there are too many.
    pub(super) fn begin(
        &self,
        mount: usize,
        path: &[u8],
        make: impl FnOnce(Arc<OngoingCheck>) -> SiblingCheck,
    ) -> Option<Arc<OngoingCheck>> {
        let hand_over = self.hand_over.hold().clone()?;
        let mut table = self.table.hold();
        let key = (mount, path.to_vec());
        if let Some(check) = table.get(&key) {
            return Some(Arc::clone(check));
        }
        let mine = table.iter().filter(|((of, _), _)| *of == mount);
        let slow = mine
            .clone()
            .filter(|(_, check)| check.began.elapsed() > SLOW);
        if slow.count() >= MOST_SLOW || mine.count() >= MOST.saturating_sub(table.len()) {
            return None;
        }
        let check = Arc::new(OngoingCheck {
            began: Instant::now(),
            state: Lock::default(),
        });
        table.insert(key, Arc::clone(&check));
        drop(table);
        hand_over(make(Arc::clone(&check)));
        Some(check)
    }

    /// Takes the check out of the table, so that a later look begins another.
    pub(super) fn remove(&self, mount: usize, path: &[u8], check: &OngoingCheck) {
        let mut table = self.table.hold();
        let key = (mount, path.to_vec());
        if table
            .get(&key)
            .is_some_and(|own| std::ptr::eq(&**own, check))
        {
            table.remove(&key);
        }
    }

    /// The right to check an original of any length of this mount, while it lives: two at once would only share a
    /// disk. One that has got nothing of a file for long hangs, and keeps no other from it.
    pub(super) fn begin_large(&self, mount: usize) -> Option<LargeCheck<'_>> {
        let mut large = self.large.hold();
        let mut of_mount = large.ongoing.iter().filter(|check| check.mount == mount);
        if of_mount.any(|check| check.progressed.elapsed() < SLOW) {
            return None;
        }
        large.begun += 1;
        let number = large.begun;
        large.ongoing.push(OngoingLargeCheck {
            mount,
            number,
            progressed: Instant::now(),
        });
        Some(LargeCheck(self, number))
    }
}

/// The checks of large originals that are under way.
#[derive(Default)]
struct LargeChecks {
    begun: u64,
    ongoing: Vec<OngoingLargeCheck>,
}

/// A check of a large original.
struct OngoingLargeCheck {
    mount: usize,
    number: u64,
    /// The moment at which it last got something of a file.
    progressed: Instant,
}

/// The turn of a check of a large original.
pub(super) struct LargeCheck<'a>(&'a SiblingChecks, u64);

impl LargeCheck<'_> {
    /// Notes that the disk has answered.
    pub(super) fn progress(&self) {
        let mut large = self.0.large.hold();
        let mut ongoing = large.ongoing.iter_mut();
        if let Some(own) = ongoing.find(|check| check.number == self.1) {
            own.progressed = Instant::now();
        }
    }
}

impl Drop for LargeCheck<'_> {
    fn drop(&mut self) {
        let mut large = self.0.large.hold();
        large.ongoing.retain(|check| check.number != self.1);
    }
}
