//! Loads: the part of an answer that touches files. They look, compare with what is known, and read or open.
//!
//! A [`Load`] is a value that any thread may perform: a loop that must not wait tries first, a thread that
//! may wait does the rest.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::alternative::alternative_of_key;
use crate::cache::key::CacheKey;
use crate::error::{LoadError, Stop};
use crate::log::PATHS;
use crate::path::path_of_key;
use crate::resource::coding_choice::CodingChoice;
use crate::resource::engine_state::EngineState;
use crate::resource::entry::{CacheEntry, Resource};
use crate::resource::in_flight::{LoadLeader, LoadResult};
use crate::resource::listed_page::ListedPage;
use crate::resource::resolve::Looked;
use crate::resource::ruling::Ruling;
use crate::source::growth::{Growth, Sample};
use crate::source::snapshot::{FirstSeen, ReadContext, SETTLE_LIMIT, is_still};
use crate::source::{Awaited, Identity, Opened, Patience, STALE_IF_ERROR, View};

/// The attempts at a file that changes between looking and reading that follow at once; further ones follow
/// after pauses.
const ATTEMPTS: usize = 5;

/// The pause between further attempts, so that a storage which contradicts itself keeps no core busy.
const PAUSE: Duration = Duration::from_millis(1);

/// The time beyond `revalidate` for which an old answer is given while a file never rests: one look takes as
/// long.
const UNSETTLED_FOR: Duration = SETTLE_LIMIT.saturating_add(Duration::from_secs(1));

/// The work that has to be done before a request can be answered. Perform it and give the outcome to
/// [`Engine::finish`](crate::Engine::finish); a load that is dropped instead fails for all who wait for it.
pub struct Load {
    pub(crate) shared: Arc<EngineState>,
    pub(crate) leader: LoadLeader,
    /// The latest change that was named when it began.
    pub(crate) latest_change: u64,
    pub(crate) key: CacheKey,
    pub(crate) mount: usize,
    pub(crate) relative: Vec<u8>,
    /// The ruling for one of several resources at the path.
    pub(crate) ruling: Option<Arc<Ruling>>,
    /// The entry that the cache has; `None` if nothing.
    pub(crate) previous: Option<Previous>,
    /// The page of a listing that is wanted, if it is one: then no file is looked at.
    pub(crate) listed: Option<Arc<ListedPage>>,
    /// The choice of the representation whose content is needed; `None` if none is.
    pub(crate) wanted: Option<CodingChoice>,
    /// True if it was begun because a sibling has become known: it begins no other.
    pub(crate) again: bool,
    pub(crate) retry: Box<RetryState>,
    /// True if looking would have had to wait.
    pub(crate) slow_to_check: bool,
}

/// The entry that a load is to confirm or replace. While this exists other requests know that a look is under
/// way.
pub(crate) struct Previous {
    pub(crate) entry: Arc<CacheEntry>,
    /// True if this look was announced at the entry.
    pub(crate) announced: bool,
}

impl Drop for Previous {
    fn drop(&mut self) {
        if self.announced {
            self.entry.end_check();
        }
    }
}

/// The outcome of performing a load. Give it to [`Engine::finish`](crate::Engine::finish).
pub struct Outcome {
    pub(crate) result: LoadResult,
    /// The moment since which it is known to hold: the look at the disk began then, if not what it goes by is older.
    pub(crate) known_since: Duration,
    /// The moment at which the source told what it knew, if it did not look itself.
    pub(crate) told: Option<Duration>,
    /// The error of the storage, if that is why it failed.
    pub(crate) cause: Option<Arc<io::Error>>,
}

impl Outcome {
    /// The outcome of a load that cannot be performed, because there is no room in a queue, say.
    pub fn overloaded() -> Self {
        Outcome {
            result: LoadResult::Failed(LoadError::Overloaded),
            known_since: Duration::ZERO,
            told: None,
            cause: None,
        }
    }
}

/// The refusal of a load that would have to wait and must not. Nothing is lost: perform it again
/// where it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WouldWait {
    /// True if it is known what is at the path, so that only the content is missing.
    pub(crate) looked: bool,
}

/// The refusal of a load whose file has to rest before it can be read, or keeps changing: perform it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryLater {
    /// The time after which to perform it again.
    pub after: Duration,
}

/// The refusal of a load that has to be [run](Load::run) again: its file has to rest first, or keeps changing.
pub struct RunAgain {
    /// The load.
    pub load: Box<Load>,
    /// The time after which to run it again.
    pub after: Duration,
}

/// The result of an attempt.
pub(super) struct Attempted {
    pub(super) result: LoadResult,
    /// As of [`Outcome`].
    pub(super) known_since: Duration,
    pub(super) told: Option<Duration>,
}

impl Attempted {
    /// The result of a look that was one.
    pub(super) fn now(result: LoadResult, began: Duration) -> Self {
        Attempted {
            result,
            known_since: began,
            told: None,
        }
    }
}

/// The result that the last answer is.
fn stale(entry: Arc<CacheEntry>) -> LoadResult {
    LoadResult::Stale {
        entry,
        opened: None,
    }
}

/// The state of a load between two attempts.
#[derive(Debug, Default)]
pub(crate) struct RetryState {
    /// The moment of the first attempt that may wait, also as time since the engine's epoch.
    since: Cell<Option<(Instant, Duration)>>,
    first_seen: FirstSeen,
    /// The growth of the file, as the attempts have seen it.
    pub(super) growth: RefCell<Growth>,
    pub(super) paused: RefCell<Option<PausedAttempt>>,
    pub(super) refused: RefCell<Option<RefusedAttempt>>,
    /// True once a driver has been told what to await: what is wanted after that needs a thread, which asks for all of it at once.
    pub(super) has_awaited: Cell<bool>,
}

/// The findings of an attempt that stopped because a file had not rested for long enough. The next goes on
/// with them, unless the file has been written to: one that is replaced again and again would else never be
/// found at rest.
pub(super) struct PausedAttempt {
    pub(super) looked: Looked,
    /// The moment at which it began.
    pub(super) began: Duration,
    pub(super) opened: Vec<(Vec<u8>, Opened)>,
}

impl PausedAttempt {
    /// True if the files have not been written to meanwhile, whatever has their names by now.
    pub(super) fn is_still(&self) -> bool {
        let mut opened = self.opened.iter();
        opened.all(|(_, opened)| is_still(opened).unwrap_or(false))
    }
}

/// The view of an attempt that had to wait and must not, where that tells when it is worth asking again. The next attempt goes
/// on with it.
pub(super) struct RefusedAttempt {
    pub(super) view: Arc<dyn View>,
    /// The moment at which it began.
    pub(super) began: Duration,
    /// What to await, until a driver does.
    pub(super) awaited: Option<Awaited>,
}

impl fmt::Debug for RefusedAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RefusedAttempt").field(&self.began).finish()
    }
}

impl fmt::Debug for PausedAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PausedAttempt")
            .field(&self.looked.found)
            .finish()
    }
}

impl RetryState {
    /// The moment at which the attempt began that the next one goes on with.
    fn began(&self) -> Option<Duration> {
        let paused = self.paused.borrow().as_ref().map(|paused| paused.began);
        let refused = || self.refused.borrow().as_ref().map(|refused| refused.began);
        paused.or_else(refused)
    }
}

impl Load {
    /// A future that ends once it is worth to [run the load at once](Self::run_at_once), after it was refused as it would have
    /// waited; `None` if a thread has to wait. It is told once.
    pub fn awaited(&self) -> Option<Awaited> {
        let awaited = self.retry.refused.borrow_mut().as_mut()?.awaited.take()?;
        self.retry.has_awaited.set(true);
        Some(awaited)
    }

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
                Err(RetryLater { after }) => std::thread::sleep(after),
            }
        }
    }

    /// Performs the load where it may wait for a disk, but not for a file to rest: as long as that
    /// may take, other loads need the thread.
    ///
    /// # Errors
    /// [`RetryLater`] if a file has not been at rest for long enough.
    pub fn perform_without_sleeping(&self, now: Instant) -> Result<Outcome, RetryLater> {
        self.attempts(Patience::MayWait, now, &Cell::new(false))
    }

    /// Gives the load up if no request waits for its result; else it stays.
    pub(crate) fn give_up(mut self) -> Option<Self> {
        self.leader = self.leader.give_up()?;
        Some(self)
    }

    /// Attempts the load again and again, as long as that makes sense without a pause. `looked` is set once
    /// it is known what is at the path.
    fn attempts(
        &self,
        patience: Patience,
        now: Instant,
        looked: &Cell<bool>,
    ) -> Result<Outcome, RetryLater> {
        let first = self.shared.since_epoch(now);
        let begun = Instant::now();
        let (since, waited_from) = match patience {
            Patience::MustNotWait => (begun, first),
            Patience::MayWait => {
                let since = self.retry.since.get().unwrap_or((begun, first));
                self.retry.since.set(Some(since));
                since
            }
        };
        let first_seen = &self.retry.first_seen;
        let context = ReadContext {
            patience,
            since,
            first_seen,
            grows: false,
        };
        // What an earlier attempt found was looked at then.
        let mut began = self.retry.began().unwrap_or(first);
        let mut attempts = 0;
        let mut cause = None;
        let Attempted {
            result,
            known_since,
            told,
        } = loop {
            attempts += 1;
            let after = match self.attempt(context, began, looked) {
                Ok(attempted) => break attempted,
                Err(Stop::WouldWait) if patience == Patience::MustNotWait => Duration::ZERO,
                Err(Stop::Changed | Stop::WouldWait) if attempts < ATTEMPTS => {
                    began = first.saturating_add(begun.elapsed());
                    continue;
                }
                Err(Stop::Changed | Stop::WouldWait) => PAUSE,
                Err(Stop::RetryAfter(after)) => after,
                Err(Stop::Io(error)) => {
                    let failure = LoadError::from(&error);
                    let previous = match failure {
                        LoadError::Failed(_) => self.answer_within(STALE_IF_ERROR, began),
                        // A store that is not there for a while, and the want of a descriptor to look with.
                        LoadError::Unavailable(_) | LoadError::Overloaded => {
                            self.answer_within(self.stale_if_error(), began)
                        }
                        LoadError::Forbidden | LoadError::Unsettled | LoadError::GivenUp => None,
                    };
                    self.say_failure(failure, previous.is_some(), began, &error);
                    if let Some(entry) = previous {
                        break Attempted::now(stale(entry), began);
                    }
                    cause = Some(Arc::new(error));
                    break Attempted::now(LoadResult::Failed(failure), began);
                }
            };
            if patience == Patience::MustNotWait || !context.is_spent() {
                return Err(RetryLater { after });
            }
            let now = waited_from.saturating_add(since.elapsed());
            break Attempted::now(self.unsettled(now), began);
        };
        Ok(Outcome {
            result,
            known_since,
            told,
            cause,
        })
    }

    /// Logs why a request is answered by an error, for the operator.
    fn say_failure(&self, failure: LoadError, kept: bool, now: Duration, error: &io::Error) {
        let (log, (status, _)) = (&self.shared.pool.log, failure.status());
        let (alternative, _) = alternative_of_key(&self.key);
        let what = match (kept, alternative) {
            (true, _) => "sending the last version for a while".to_owned(),
            (false, None) => format!("answering {status}"),
            (false, Some(alternative)) => {
                format!(
                    "sending it in the place of its .{}",
                    alternative.extension()
                )
            }
        };
        let kind = match failure {
            LoadError::Forbidden => &log.forbidden,
            LoadError::Overloaded => &log.overloaded,
            LoadError::Unsettled => &log.unsettled,
            LoadError::Failed(_) | LoadError::Unavailable(_) | LoadError::GivenUp => &log.failed,
        };
        if log.first(kind, now, (&self.key, status, kept)) {
            tracing::warn!(
                "{}: {what}: {}{}",
                self.shared.place(path_of_key(&self.key).0),
                // A source may name the path in it.
                error.to_string().escape_debug(),
                log.limit(PATHS)
            );
        }
    }

    /// The result for a file that is written without a pause and has no state that could be sent. The last
    /// whole one is better than none, until that would be older than one look explains.
    fn unsettled(&self, now: Duration) -> LoadResult {
        let log = &self.shared.pool.log;
        let is_first = |what: &str| log.first(&log.unsettled, now, (&self.key, what));
        match self.answer_within(UNSETTLED_FOR, now) {
            Some(entry) => {
                if is_first("kept") {
                    tracing::warn!(
                        "{}: is being rewritten all the time; the last whole version is sent",
                        self.shared.place(path_of_key(&self.key).0)
                    );
                }
                stale(entry)
            }
            None => {
                if is_first("unsettled") {
                    tracing::warn!(
                        "{}: is being rewritten all the time; answering 503",
                        self.shared.place(path_of_key(&self.key).0)
                    );
                }
                LoadResult::Failed(LoadError::Unsettled)
            }
        }
    }

    /// The time beyond `revalidate` for which an old answer is given while the source cannot be reached.
    fn stale_if_error(&self) -> Duration {
        let mount = self.shared.mounts.get(self.mount);
        mount.map_or(Duration::ZERO, |mount| mount.source.stale_if_error())
    }

    /// The old answer, if there is one that could be given again and `revalidate` is over for no longer than
    /// `time`.
    fn answer_within(&self, time: Duration, now: Duration) -> Option<Arc<CacheEntry>> {
        let entry = &self.previous.as_ref()?.entry;
        let most = self.shared.config.revalidate.saturating_add(time);
        let may_be_given = self.is_served_by(entry) && !entry.is_older_than(now, most);
        may_be_given.then(|| Arc::clone(entry))
    }

    /// The identity of the cached version, if that was seen growing, and what it had.
    pub(super) fn known_to_grow(&self) -> Option<(&Identity, Sample)> {
        let representations = self.previous.as_ref()?.entry.resource.representations()?;
        let grown = representations.grown?;
        Some((&representations.found.identity, grown))
    }

    /// True if `entry` is a file and has in memory what is wanted of it, or lists a directory.
    fn is_served_by(&self, entry: &CacheEntry) -> bool {
        if matches!(entry.resource, Resource::Listing(_)) {
            return true;
        }
        let Some(representations) = entry.resource.representations() else {
            return false;
        };
        let selected = self
            .wanted
            .and_then(|choice| representations.select(&choice));
        selected.is_none_or(|(_, representation)| representation.content.is_some())
    }

    /// The number of the mount whose files it touches, among those of all [engines beside](crate::Engine::beside) its
    /// own.
    pub fn mount(&self) -> usize {
        self.shared.number_in_pool(self.mount)
    }

    /// True if the load is to confirm an entry that may be used meanwhile.
    pub fn confirms(&self) -> bool {
        self.previous.is_some()
    }
}
