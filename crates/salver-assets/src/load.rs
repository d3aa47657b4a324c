//! The part of an answer that touches files: look, compare with what is known, read or open.
//!
//! A [`Load`] is a value that anybody may perform: a loop that must not wait tries first, a thread
//! that may wait does the rest.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use salver_coalesce::Leader;
use salver_semantics::{AcceptEncoding, ContentCoding};

use crate::error::{LoadError, Stop, is_absence, too_many_files};
use crate::file_content::Promise;
use crate::growth::Growth;
use crate::held::Held;
use crate::locate::{Found, FoundFile, locate};
use crate::log::{PATHS, quoted};
use crate::memory::Kept;
use crate::policy::Key;
use crate::representation::Representation;
use crate::representations::{Handles, Original, build, read};
use crate::resource::{Entry, Offer, Resource};
use crate::shared::Shared;
use crate::siblings::Siblings;
use crate::snapshot::{Effort, PATIENCE, Sightings, is_still, settle};
use crate::source::{Identity, Opened, Patience, Reader, View};
use crate::strategy::{Way, way};

/// A file that changes between looking and reading is looked at again so often at once, and then
/// after pauses.
const ATTEMPTS: usize = 5;

/// So that a storage which contradicts itself does not keep a core busy.
const PAUSE: Duration = Duration::from_millis(1);

/// An old answer is given again for so long beyond `revalidate` while a file never rests: one look takes as
/// long.
const UNSETTLED_FOR: Duration = PATIENCE.saturating_add(Duration::from_secs(1));

/// The same while looking fails.
const FAILING_FOR: Duration = Duration::from_secs(10);

/// What a load gave, to all who wait for it.
#[derive(Clone, Debug)]
pub(crate) enum Landed {
    /// The resource as it is on disk, with the opened content of one representation if that is
    /// not in memory.
    Ready {
        entry: Arc<Entry>,
        opened: Option<Opened>,
    },
    /// The resource as it was, for want of better: how it is could not be found out.
    Kept(Arc<Entry>),
    /// Nothing.
    Failed(LoadError),
}

/// Work that has to be done before a request can be answered. Perform it and give the outcome to
/// [`Engine::finish`](crate::Engine::finish); a load that is dropped instead fails for all who
/// wait for it.
pub struct Load {
    pub(crate) shared: Arc<Shared>,
    pub(crate) leader: Leader<Key, Landed>,
    pub(crate) key: Key,
    pub(crate) mount: usize,
    pub(crate) relative: Vec<u8>,
    /// What the cache has; `None` if nothing.
    pub(crate) previous: Option<Previous>,
    /// Whose content is needed; `None` if none is.
    pub(crate) wanted: Option<AcceptEncoding>,
    /// Whether it was begun because a sibling has become known: it begins no other.
    pub(crate) again: bool,
    pub(crate) waits: Box<Waits>,
    /// Whether looking would have had to wait.
    pub(crate) looks_slowly: bool,
}

/// The entry that a load is to confirm or replace. While it exists others know that somebody is
/// looking.
pub(crate) struct Previous {
    pub(crate) entry: Arc<Entry>,
    /// Whether this look was announced at the entry.
    pub(crate) announced: bool,
}

impl Drop for Previous {
    fn drop(&mut self) {
        if self.announced {
            self.entry.end_check();
        }
    }
}

/// What performing a load gave. Give it to [`Engine::finish`](crate::Engine::finish).
pub struct Outcome {
    pub(crate) landed: Landed,
    /// When the look at the disk began.
    pub(crate) began: Duration,
    /// What the storage said, if that is why it failed.
    pub(crate) cause: Option<Arc<io::Error>>,
}

impl Outcome {
    /// For a load that cannot be performed, because there is no room in a queue, say.
    pub fn overloaded() -> Self {
        Outcome {
            landed: Landed::Failed(LoadError::Overloaded),
            began: Duration::ZERO,
            cause: None,
        }
    }
}

/// Says that a load would have had to wait and was not allowed to. Nothing is lost: perform it
/// again where it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WouldWait {
    /// Whether it was seen what is at the path, so that only the content is missing.
    pub(crate) looked: bool,
}

/// Says that a file has to rest before it can be read, or keeps changing: perform the load again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerformAgain {
    /// In so long.
    pub after: Duration,
}

/// What a load has to remember between two attempts.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// When it was first attempted where it may wait, also as time since the engine's epoch.
    since: Cell<Option<(Instant, Duration)>>,
    sightings: Sightings,
    /// What the attempts have seen of the file's growth.
    growth: RefCell<Growth>,
    resting: RefCell<Option<Resting>>,
}

/// What an attempt found that stopped because a file had not rested for long enough. The next goes on with it, unless
/// the file has been written to: one that is replaced again and again would else never be found at rest.
struct Resting {
    /// When it was looked.
    began: Duration,
    view: Arc<dyn View>,
    file: FoundFile,
    opened: Vec<(Vec<u8>, Opened)>,
}

impl Resting {
    /// Whether nobody has written to the files meanwhile, whatever has their names by now.
    fn is_still(&self) -> bool {
        let mut opened = self.opened.iter();
        opened.all(|(_, opened)| is_still(opened).unwrap_or(false))
    }
}

impl fmt::Debug for Resting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Resting").field(&self.file).finish()
    }
}

impl Load {
    /// Looks at the files and reads or opens what is needed.
    ///
    /// # Errors
    /// [`WouldWait`] if it must not wait and would have to, or if it would take so long
    /// (decompressing a sibling to compare it, hashing a large file) that others would.
    pub fn perform(&self, patience: Patience, now: Instant) -> Result<Outcome, WouldWait> {
        if patience == Patience::MustNotWait {
            let looked = Cell::new(false);
            let performed = self.attempts(patience, now, &looked);
            let looked = looked.get();
            return performed.map_err(|_| WouldWait { looked });
        }
        loop {
            // A look may be dated before it was, and never after.
            match self.perform_without_sleeping(now) {
                Ok(outcome) => return Ok(outcome),
                Err(PerformAgain { after }) => std::thread::sleep(after),
            }
        }
    }

    /// The same where it may wait for a disk, but has better to do than to wait for whoever writes a file: as
    /// long as that may take, other loads need the thread.
    ///
    /// # Errors
    /// [`PerformAgain`] if a file has not been at rest for long enough.
    pub fn perform_without_sleeping(&self, now: Instant) -> Result<Outcome, PerformAgain> {
        self.attempts(Patience::MayWait, now, &Cell::new(false))
    }

    /// Gives the load up, if nobody waits for what it gives.
    pub(crate) fn give_up(mut self) -> Option<Self> {
        self.leader = self.leader.give_up()?;
        Some(self)
    }

    /// `looked` is set once it is known what is at the path.
    fn attempts(
        &self,
        patience: Patience,
        now: Instant,
        looked: &Cell<bool>,
    ) -> Result<Outcome, PerformAgain> {
        let first = self.shared.since_epoch(now);
        let begun = Instant::now();
        let (since, waited_from) = match patience {
            Patience::MustNotWait => (begun, first),
            Patience::MayWait => {
                let since = self.waits.since.get().unwrap_or((begun, first));
                self.waits.since.set(Some(since));
                since
            }
        };
        let sightings = &self.waits.sightings;
        let effort = Effort {
            patience,
            since,
            sightings,
            grows: false,
        };
        let resting = self.waits.resting.borrow();
        // What an earlier attempt found was looked at then.
        let mut began = resting.as_ref().map_or(first, |resting| resting.began);
        drop(resting);
        let mut attempts = 0;
        let mut cause = None;
        let landed = loop {
            attempts += 1;
            let after = match self.attempt(effort, began, looked) {
                Ok(ready) => break ready,
                Err(Stop::WouldWait) if patience == Patience::MustNotWait => Duration::ZERO,
                Err(Stop::Changed | Stop::WouldWait) if attempts < ATTEMPTS => {
                    began = first.saturating_add(begun.elapsed());
                    continue;
                }
                Err(Stop::Changed | Stop::WouldWait) => PAUSE,
                Err(Stop::Rests(after)) => after,
                Err(Stop::Io(error)) => {
                    let failure = LoadError::from(&error);
                    let previous = match failure {
                        // A disk that fails for a moment, and the want of a descriptor to look with.
                        LoadError::Failed | LoadError::Overloaded => {
                            self.answer_within(FAILING_FOR, began)
                        }
                        LoadError::Forbidden | LoadError::Unsettled => None,
                    };
                    self.say_failure(failure, previous.is_some(), began, &error);
                    if let Some(entry) = previous {
                        break Landed::Kept(entry);
                    }
                    cause = Some(Arc::new(error));
                    break Landed::Failed(failure);
                }
            };
            if patience == Patience::MustNotWait || !effort.is_spent() {
                return Err(PerformAgain { after });
            }
            break self.unsettled(waited_from.saturating_add(since.elapsed()));
        };
        Ok(Outcome {
            landed,
            began,
            cause,
        })
    }

    /// Says in the log why a request is answered by an error, for whoever can do something about it.
    fn say_failure(&self, failure: LoadError, kept: bool, now: Duration, error: &io::Error) {
        let (said, (status, _)) = (&self.shared.said, failure.status());
        let what = match kept {
            true => "sending the last version for a while".to_owned(),
            false => format!("answering {status}"),
        };
        let kind = match failure {
            LoadError::Forbidden => &said.forbidden,
            LoadError::Overloaded => &said.overloaded,
            LoadError::Unsettled => &said.unsettled,
            LoadError::Failed => &said.failed,
        };
        if said.first(kind, now, (&self.key, status, kept)) {
            tracing::warn!(
                "{}: {what}: {} (at most {PATHS} such lines a minute)",
                quoted(&self.key),
                // A source may name the path in it.
                error.to_string().escape_debug()
            );
        }
    }

    /// A file that is written without a pause has no state that could be sent; the last whole one
    /// is better than none, until that would be older than one look explains.
    fn unsettled(&self, now: Duration) -> Landed {
        let said = &self.shared.said;
        let is_first = |what: &str| said.first(&said.unsettled, now, (&self.key, what));
        match self.answer_within(UNSETTLED_FOR, now) {
            Some(entry) => {
                if is_first("kept") {
                    tracing::warn!(
                        "{}: is being rewritten all the time; the last whole version is sent",
                        quoted(&self.key)
                    );
                }
                Landed::Kept(entry)
            }
            None => {
                if is_first("unsettled") {
                    tracing::warn!(
                        "{}: is being rewritten all the time; answering 503",
                        quoted(&self.key)
                    );
                }
                Landed::Failed(LoadError::Unsettled)
            }
        }
    }

    /// The old answer, if there is one that could be given again and `revalidate` is over for no longer than
    /// `time`.
    fn answer_within(&self, time: Duration, now: Duration) -> Option<Arc<Entry>> {
        let entry = &self.previous.as_ref()?.entry;
        let most = self.shared.config.revalidate.saturating_add(time);
        let may_be_given = self.is_served_by(entry) && !entry.is_older_than(now, most);
        may_be_given.then(|| Arc::clone(entry))
    }

    fn previous_offer(&self) -> Option<&Offer> {
        match &self.previous.as_ref()?.entry.resource {
            Resource::File(offer) => Some(offer),
            Resource::Directory | Resource::Missing => None,
        }
    }

    /// Whether `entry` is a file and has in memory what is wanted of it.
    fn is_served_by(&self, entry: &Entry) -> bool {
        let Resource::File(offer) = &entry.resource else {
            return false;
        };
        let selected = self.wanted.and_then(|accept| offer.select(&accept));
        selected.is_none_or(|(_, representation)| representation.content.is_some())
    }

    /// The number of the mount whose files it touches, in the order of the configuration.
    pub fn mount(&self) -> usize {
        self.mount
    }

    /// Whether the load is to confirm an entry that may be used meanwhile.
    pub fn confirms(&self) -> bool {
        self.previous.is_some()
    }

    /// `looked` is set once it is known what is at the path.
    fn attempt(
        &self,
        effort: Effort<'_>,
        began: Duration,
        looked: &Cell<bool>,
    ) -> Result<Landed, Stop> {
        let resting = self.waits.resting.take();
        let resting = resting.filter(|resting| resting.is_still());
        let goes_on = resting.is_some();
        let (view, mut found, opened) = match resting {
            Some(resting) => (resting.view, Found::File(resting.file), resting.opened),
            None => {
                let Some(mount) = self.shared.mounts.get(self.mount) else {
                    return Ok(Landed::Failed(LoadError::Failed));
                };
                let view = match mount.source.view(effort.patience) {
                    // A tree that has gone holds nothing.
                    Err(error) if is_absence(&error) => {
                        return Ok(self.without_content(&Found::Missing, Resource::Missing, began));
                    }
                    view => view?,
                };
                let config = &self.shared.config;
                let found = locate(&*view, &self.relative, config, effort.patience)?;
                (view, found, Vec::new())
            }
        };
        let files = Handles::with(&*view, opened);
        let mut is_whole = goes_on;
        let landed = self.land(&view, &mut found, &files, effort, began, &mut is_whole);
        if is_whole {
            looked.set(true);
        }
        if let (Err(Stop::Rests(_)), Found::File(file)) = (&landed, found)
            && is_whole
        {
            let opened = files.into_opened();
            self.waits.resting.replace(Some(Resting {
                began,
                view,
                file,
                opened,
            }));
        }
        landed
    }

    /// What comes of what was found. `is_whole` says whether siblings have been looked for.
    fn land(
        &self,
        view: &Arc<dyn View>,
        found: &mut Found,
        files: &Handles<'_>,
        effort: Effort<'_>,
        began: Duration,
        is_whole: &mut bool,
    ) -> Result<Landed, Stop> {
        let shared = &*self.shared;
        let patience = effort.patience;
        let cached = shared.is_cached(&self.key);
        let effort = Effort {
            grows: match &*found {
                Found::File(file) => {
                    let mut growth = self.waits.growth.borrow_mut();
                    growth.look(self.previous_offer(), &file.identity)
                }
                Found::Directory | Found::Missing => false,
            },
            ..effort
        };
        let key = Some(&self.key).filter(|_| !self.again);
        let mut siblings = Siblings::new(&self.shared, view, self.mount, effort, key, cached);
        let mut original = None;
        if let Found::File(file) = found
            && !*is_whole
        {
            siblings.look(file)?;
            // Beside the looks, if it has to be read.
            if siblings.are_awaited() && !self.knows(&file.identity) {
                original = Some(Original::read(
                    shared, self.mount, files, file, cached, effort,
                )?);
            }
            siblings.found(file);
        }
        *is_whole = true;
        let previous = self.previous.as_ref().map(|previous| &previous.entry);
        let still = previous.filter(|entry| match &entry.resource {
            still if !still.is_still(found) => false,
            Resource::File(offer) => !offer.open || siblings.stay_open(offer),
            Resource::Directory | Resource::Missing => true,
        });
        let file = match found {
            Found::Directory => {
                return Ok(self.without_content(found, Resource::Directory, began));
            }
            Found::Missing => return Ok(self.without_content(found, Resource::Missing, began)),
            Found::File(file) => file,
        };
        let old = previous.and_then(|entry| match &entry.resource {
            Resource::File(offer) => Some(offer),
            _ => None,
        });
        let (mut offer, mut changed) = match old {
            Some(offer) if still.is_some() => (offer.clone(), false),
            old => {
                let original = match original {
                    Some(original) => original,
                    None => Original::read(shared, self.mount, files, file, cached, effort)?,
                };
                let mount = self.mount;
                let file = file.clone();
                let built = build(&mut siblings, mount, files, file, original, old, effort)?;
                (built, true)
            }
        };
        let mut opened = None;
        while let Some((number, representation)) = self.wanted.and_then(|accept| {
            let (number, representation) = offer.select(&accept)?;
            let at_hand = representation.content.is_some() || opened.is_some();
            (!at_hand).then(|| (number, Arc::clone(representation)))
        }) {
            let identity = &representation.identity;
            let content = match siblings.content(identity) {
                Some(content) => Ok(Ok(content)),
                None => self.content(files, &representation, began, effort),
            };
            match content {
                Ok(Ok(content)) => {
                    if let Some(slot) = offer.representations.get_mut(number) {
                        *slot = Arc::new(representation.with_content(Some(content)));
                        changed = true;
                    }
                }
                // Window by window, which is the driver's part, or for this answer alone.
                Ok(Err(file)) => opened = Some(file),
                Err(Stop::WouldWait) if patience == Patience::MustNotWait => {
                    return Err(Stop::WouldWait);
                }
                // The original has what it has.
                Err(_) if representation.coding != ContentCoding::Identity => {
                    offer = offer.without(representation.coding);
                    changed = true;
                }
                Err(stop) => return Err(stop),
            }
        }
        match still.filter(|_| !changed) {
            Some(entry) => Ok(Landed::Ready {
                entry: Arc::clone(entry),
                opened,
            }),
            None => Ok(self.ready(Resource::File(offer), began, opened)),
        }
    }

    /// Whether this version of the file is the one that the cache has.
    fn knows(&self, identity: &Identity) -> bool {
        let previous = self.previous.as_ref().map(|previous| &previous.entry);
        previous.is_some_and(|entry| match &entry.resource {
            Resource::File(offer) => offer.found.identity == *identity,
            Resource::Directory | Resource::Missing => false,
        })
    }

    /// The content of a representation in memory, or the open file that it is to be sent from.
    fn content(
        &self,
        files: &Handles<'_>,
        representation: &Representation,
        began: Duration,
        effort: Effort<'_>,
    ) -> Result<Result<Held, Opened>, Stop> {
        let shared = &*self.shared;
        let cached = shared.is_cached(&self.key);
        let identity = &representation.identity;
        let effort = Effort {
            // Of a sibling a part is worth nothing.
            grows: effort.grows && representation.coding == ContentCoding::Identity,
            ..effort
        };
        let open = || files.open(&representation.path, identity, effort);
        if way(&shared.situation(identity, cached)) == Way::Read {
            return read(shared, &open()?, effort).map(Ok);
        }
        let kept = shared.open_files.get(identity, began);
        let file = match kept.filter(|_| cached) {
            Some(file) => file,
            None => self.open_for_answer(open)?,
        };
        // Nobody has read it whole yet.
        if !matches!(representation.promise, Promise::Digest(_)) {
            settle(&file, effort)?;
        }
        Ok(match file.reader {
            Reader::Static(bytes) => Ok(Held::of_program(bytes)),
            Reader::File(_) | Reader::Memory(_) => Err(file),
        })
    }

    /// Opens a file that an answer will hold open, if there may be one more.
    fn open_for_answer(&self, open: impl Fn() -> Result<Opened, Stop>) -> Result<Opened, Stop> {
        let files = &self.shared.open_files;
        if !files.has_room() {
            return Err(Stop::Io(too_many_files()));
        }
        let opened = open()?;
        files.count(&opened);
        Ok(opened)
    }

    /// The entry that says what was found, where that has no content: the old one if it is right.
    fn without_content(&self, found: &Found, resource: Resource, began: Duration) -> Landed {
        let previous = self.previous.as_ref().map(|previous| &previous.entry);
        match previous.filter(|entry| entry.resource.is_still(found)) {
            Some(entry) => Landed::Ready {
                entry: Arc::clone(entry),
                opened: None,
            },
            None => self.ready(resource, began, None),
        }
    }

    fn ready(&self, resource: Resource, began: Duration, opened: Option<Opened>) -> Landed {
        let uses = self
            .previous
            .as_ref()
            .map_or(0, |previous| previous.entry.uses().get());
        let entry = Entry::new(Arc::clone(&self.key), resource, began, uses);
        Landed::Ready {
            entry: Arc::new(entry),
            opened,
        }
    }
}
