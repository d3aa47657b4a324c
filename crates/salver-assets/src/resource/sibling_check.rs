//! The check of one precompressed sibling by a thread of its own, so that its original waits for it a
//! moment at most.
//!
//! ```text
//!                begin            a thread performs it, or it is dropped
//! (no check) ───────────► waits ───────► looked ───────► ended: a verdict among the digests, or none
//!                           │              │                │
//!                           └──────────────┴─ a load that does not wait any longer leaves its path:
//!                                             what is kept there is loaded again if the sibling fits
//! ```
//!
//! A file system may take as long as it likes for a sibling, or for ever; there is one check of each, and
//! so many in all. What finds no place is done at a later look: until then there is no such sibling.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read};
use std::sync::{Arc, Weak};
use std::thread::Thread;
use std::time::{Duration, Instant};

use salver_semantics::coding::ContentCoding;

use crate::cache::policy::Key;
use crate::engine::Engine;
use crate::error::Stop;
use crate::resource::build::Handles;
use crate::resource::cached_content::Held;
use crate::resource::shared::Shared;
use crate::resource::siblings::{decode, is_worth_it, say};
use crate::source::digest::{Decoded, Hashed, of_reader};
use crate::source::snapshot::{Effort, Sightings, changed_within, may_change_unseen, steady};
use crate::source::{Identity, Kind, Metadata, Patience, View};
use crate::strategy::{Way, way};
use crate::sync::Lock;

/// Checks that may wait or run at once: three for each thread of a driver, and more. One mount has no more of
/// them than it leaves to others.
const MOST: usize = 512;

/// A mount that has so many which began longer ago than [`SLOW`] gets no more of them: its disk hangs, and
/// there is nothing to wait for.
const MOST_SLOW: usize = 8;

/// See [`MOST_SLOW`].
const SLOW: Duration = Duration::from_secs(1);

/// Paths that one check has loaded again, at most.
const MOST_LEFT: usize = 16;

/// A check to be performed where it may wait; see
/// [`Engine::hand_sibling_checks_to`](crate::Engine::hand_sibling_checks_to). One that is dropped instead
/// is done at a later look.
pub struct SiblingCheck {
    /// A check holds no engine up that nobody else has any more.
    shared: Weak<Shared>,
    view: Arc<dyn View>,
    subject: Subject,
    check: Arc<Check>,
}

/// What is checked.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) mount: usize,
    /// Of the sibling.
    pub(crate) path: Vec<u8>,
    pub(crate) coding: ContentCoding,
    pub(crate) original: (Vec<u8>, Identity),
    /// Whether its content may be kept.
    pub(crate) cached: bool,
}

/// A check that waits for a thread, or runs.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) began: Instant,
    progress: Lock<Progress>,
}

#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// What is at the sibling's path, once it was looked at: a file, or nothing that could be one.
    pub(crate) looked: Option<Option<Identity>>,
    /// Of this version, if it is to be kept and was read.
    content: Option<(Identity, Held)>,
    ended: bool,
    waiting: Vec<Thread>,
    left: Vec<Key>,
}

impl Check {
    /// Waits until `ready` says so or the check has ended, but not beyond `until`: then `left` is loaded
    /// again if the sibling turns out to fit.
    pub(crate) fn wait<T>(
        &self,
        until: Instant,
        left: Option<&Key>,
        ready: impl Fn(&mut Progress) -> Option<T>,
    ) -> Option<T> {
        loop {
            let now = Instant::now();
            let mut progress = self.progress.hold();
            if let Some(value) = ready(&mut progress) {
                return Some(value);
            }
            if progress.ended {
                return None;
            }
            if now >= until {
                if let Some(key) = left.filter(|key| !progress.left.contains(key))
                    && progress.left.len() < MOST_LEFT
                {
                    progress.left.push(Key::clone(key));
                }
                return None;
            }
            progress.waiting.push(std::thread::current());
            drop(progress);
            std::thread::park_timeout(until - now);
        }
    }

    /// The version and the content that it has read, if that is to be kept.
    pub(crate) fn content(&self) -> Option<(Identity, Held)> {
        self.progress.hold().content.clone()
    }

    fn advance(&self, change: impl FnOnce(&mut Progress)) {
        let mut progress = self.progress.hold();
        change(&mut progress);
        let waiting = std::mem::take(&mut progress.waiting);
        drop(progress);
        waiting.iter().for_each(Thread::unpark);
    }
}

type HandOver = Arc<dyn Fn(SiblingCheck) + Send + Sync>;

/// By mount and path.
type Open = HashMap<(usize, Vec<u8>), Arc<Check>>;

/// The checks that wait or run, and who performs them.
#[derive(Default)]
pub(crate) struct Checks {
    open: Lock<Open>,
    /// The mounts that have a check of a large original: two at once would only share a disk.
    large: Lock<Vec<usize>>,
    hand_over: Lock<Option<HandOver>>,
}

impl fmt::Debug for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checks")
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}

impl Checks {
    pub(crate) fn hand_to(&self, hand_over: HandOver) {
        *self.hand_over.hold() = Some(hand_over);
    }

    /// Whether there is somebody who performs them.
    pub(crate) fn are_performed(&self) -> bool {
        self.hand_over.hold().is_some()
    }

    /// The check of `subject`: the one that is open already, or a new one; `None` if there are too many.
    pub(crate) fn begin(
        &self,
        shared: &Arc<Shared>,
        view: &Arc<dyn View>,
        subject: Subject,
    ) -> Option<Arc<Check>> {
        let hand_over = self.hand_over.hold().clone()?;
        let mut open = self.open.hold();
        let key = (subject.mount, subject.path.clone());
        if let Some(check) = open.get(&key) {
            return Some(Arc::clone(check));
        }
        let mine = open.iter().filter(|((mount, _), _)| *mount == key.0);
        let slow = mine
            .clone()
            .filter(|(_, check)| check.began.elapsed() > SLOW);
        if slow.count() >= MOST_SLOW || mine.count() >= MOST.saturating_sub(open.len()) {
            return None;
        }
        let check = Arc::new(Check {
            began: Instant::now(),
            progress: Lock::default(),
        });
        open.insert(key, Arc::clone(&check));
        drop(open);
        hand_over(SiblingCheck {
            shared: Arc::downgrade(shared),
            view: Arc::clone(view),
            subject,
            check: Arc::clone(&check),
        });
        Some(check)
    }

    fn end(&self, subject: &Subject) {
        let key = (subject.mount, subject.path.clone());
        self.open.hold().remove(&key);
    }

    /// The right to check an original of any length of this mount, while it lives.
    fn begin_large(&self, mount: usize) -> Option<Large<'_>> {
        let mut large = self.large.hold();
        if large.contains(&mount) {
            return None;
        }
        large.push(mount);
        Some(Large(self, mount))
    }
}

struct Large<'a>(&'a Checks, usize);

impl Drop for Large<'_> {
    fn drop(&mut self) {
        self.0.large.hold().retain(|mount| *mount != self.1);
    }
}

impl SiblingCheck {
    /// The number of the mount whose files it touches, in the order of the configuration.
    pub fn mount(&self) -> usize {
        self.subject.mount
    }

    /// Looks at the sibling, and decodes it if nobody has. May wait for as long as the storage likes, and
    /// read both files whole.
    pub fn perform(self) {
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        let hashed = match self.examine(&shared) {
            Ok(hashed) => hashed,
            Err(stop) => {
                if let Stop::Io(error) = stop {
                    let Subject { path, coding, .. } = &self.subject;
                    let why = error.to_string();
                    say(&shared, path, *coding, &why.escape_debug().to_string());
                }
                None
            }
        };
        // Nothing has been sent for want of this verdict if it says no.
        let fits = hashed.is_some_and(|hashed| self.may_fit(&shared, &hashed));
        let left = self.end();
        for key in left.into_iter().filter(|_| fits) {
            Engine::load_again(&shared, key);
        }
    }

    /// What the sibling decodes to; `None` if that is not to be found out now.
    fn examine(&self, shared: &Arc<Shared>) -> Result<Option<Hashed>, Stop> {
        let Subject {
            mount,
            path,
            coding,
            original: (original, of),
            ..
        } = &self.subject;
        let is_file = |metadata: &Metadata| metadata.kind == Kind::File;
        let found = self.view.stat(path, Patience::MayWait).ok();
        let found = found.filter(is_file).map(|found| found.identity);
        self.check.advance(|progress| progress.looked = Some(found));
        let Some(identity) = found.filter(|found| is_worth_it(found, of)) else {
            return Ok(None);
        };
        // Of what may change unseen nothing is remembered.
        if may_change_unseen(&identity) || may_change_unseen(of) {
            return Ok(None);
        }
        let large = of.length > shared.config.hash_up_to;
        if let Some(hashed) = shared.digests.get(&identity, *coding)
            && hashed.is_of(of.length)
            && (!large || self.of_original(shared).is_some())
        {
            return Ok(Some(hashed));
        }
        let restless = |identity| changed_within(identity, shared.config.restless);
        // Who compresses it may take a while yet, and it would be read in vain each time.
        if large && (restless(&identity) || restless(of)) {
            return Ok(None);
        }
        let turn = large.then(|| shared.checks.begin_large(*mount));
        if matches!(turn, Some(None)) {
            return Ok(None);
        }
        let files = Handles::new(&*self.view);
        let sightings = Sightings::default();
        let effort = Effort {
            patience: Patience::MayWait,
            since: Instant::now(),
            sightings: &sightings,
            grows: false,
        };
        let opened = files.open(path, &identity, effort)?;
        let keeps = way(&shared.situation(&identity, self.subject.cached)) == Way::Read;
        let goes_on = || self.shared.strong_count() > 1;
        let decode = || decode(shared, &opened, *coding, of.length, keeps, effort, &goes_on);
        let (hashed, content) = match decode() {
            // One that was written a moment ago is worth a moment; what is still being written is not.
            Err(Stop::Rests(after)) => {
                std::thread::sleep(after);
                decode()?
            }
            decoded => decoded?,
        };
        shared.digests.remember(&identity, *coding, hashed);
        if let Some(content) = content {
            let content = Some((identity, content));
            self.check.advance(|progress| progress.content = content);
        }
        if large && matches!(hashed.decoded, Decoded::To(_)) && self.of_original(shared).is_none() {
            let opened = files.open(original, of, effort)?;
            let digest = steady(&opened, effort, |cursor| {
                of_reader(&mut WhileWanted(cursor, &goes_on))
            })?;
            shared.counters.bytes_loaded.add(of.length);
            let hashed = Hashed::plain(digest);
            shared.digests.remember(of, ContentCoding::Identity, hashed);
        }
        Ok(Some(hashed))
    }

    fn of_original(&self, shared: &Shared) -> Option<Hashed> {
        let (_, of) = &self.subject.original;
        shared.digests.get(of, ContentCoding::Identity)
    }

    /// Whether `hashed` is the original's, as far as that is known by now.
    fn may_fit(&self, shared: &Shared, hashed: &Hashed) -> bool {
        let (original, of) = &self.subject.original;
        let known = self.view.known(original).map(|known| known.digest);
        let known = known.or_else(|| self.of_original(shared).map(|known| known.digest));
        match known {
            Some(digest) => hashed.fits(digest, of.length) == Some(true),
            None => matches!(hashed.decoded, Decoded::To(_)),
        }
    }

    /// The check is over, however it ended; the paths that were left by those who did not wait.
    fn end(&self) -> Vec<Key> {
        if let Some(shared) = self.shared.upgrade() {
            shared.checks.end(&self.subject);
        }
        let mut left = Vec::new();
        self.check.advance(|progress| {
            progress.ended = true;
            left = std::mem::take(&mut progress.left);
        });
        left
    }
}

impl Drop for SiblingCheck {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for SiblingCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SiblingCheck").field(&self.subject).finish()
    }
}

/// A reader that fails once nobody wants to know any more.
pub(crate) struct WhileWanted<'a, R>(pub(crate) &'a mut R, pub(crate) &'a dyn Fn() -> bool);

impl<R: Read> Read for WhileWanted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !(self.1)() {
            return Err(io::ErrorKind::Other.into());
        }
        self.0.read(buffer)
    }
}
