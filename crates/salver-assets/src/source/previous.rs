//! Fingerprinted files that a tree has no longer, kept for those whose pages still ask for them.
//!
//! ```text
//!             found by a look              not there any more              the time is over
//! (unknown) ──────────────────► there ────────────────────────► gone ──────────────────────► (unknown)
//!                                 ▲                               │
//!                                 └───────────────────────────────┘ there again
//! ```
//!
//! What will be removed has to be known before: a look reads every fingerprinted file of the tree once, within bounds, and
//! keeps its content in memory or in a directory. It is the tree that answers as long as it has anything of a name.

mod content;
mod entries;
mod index;
mod look;
#[cfg(test)]
mod tests;
mod tree;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};

use salver_os::Patience;

use crate::error::is_absence;
use crate::source::previous::content::ContentDirectory;
use crate::source::previous::entries::{Entries, KeptFile};
use crate::source::previous::look::{KnownTree, Notices};
use crate::source::{
    Awaited, FileVersion, Kind, Metadata, Opened, Source, VersionedName, View, new_device,
};
use crate::sync::Lock;

/// The pause between two looks at the tree.
const PAUSE: Duration = Duration::from_secs(1);

/// The share of the time that looks may take: one in so many.
const SHARE: u32 = 20;

/// The longest pause. What takes long on a busy machine has mostly waited for its turn, and not worked.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// What is kept of a tree, and for how long.
#[derive(Clone, Debug)]
pub struct KeepPrevious {
    /// The name of the tree in the log.
    pub name: String,
    /// The time for which a file is kept once it has gone.
    pub time: Duration,
    /// The bytes that all of them may take, those included that are still there.
    pub most_bytes: u64,
    /// The directory that keeps them, where they outlive the process; `None` for memory. It is made if it is not there,
    /// is for this tree alone, and must not lie in one that is served.
    pub directory: Option<PathBuf>,
    /// True if names that begin with a dot are kept, too, as they are served.
    pub dotfiles: bool,
}

/// A [`Source`] of all that another one has, and of the fingerprinted files that it had lately
/// ([`is_fingerprinted`](salver_semantics::is_fingerprinted)): nobody gets a 404 for yesterday's chunk where a directory is
/// replaced. HTML is never kept, and nothing is that the other one did not show.
///
/// A kept file is answered only where there is nothing of its name. It is in no listing, and its content is that of
/// before, so that its entity tag is, too. It is found out by looks at directories whose identity has changed, as that of a
/// [`DirectorySource`](crate::DirectorySource) does with every name that comes or goes.
#[derive(Debug)]
pub struct PreviousSource {
    shared: Arc<Shared>,
    /// The end of what keeps the thread that looks alive.
    looking: Mutex<Option<Sender<()>>>,
}

#[derive(Debug)]
struct Shared {
    source: Arc<dyn Source>,
    keep: KeepPrevious,
    contents: Option<ContentDirectory>,
    entries: Lock<Entries>,
    /// Held by who looks, one at a time.
    known: Mutex<Option<KnownTree>>,
    notices: Notices,
    /// The device number of kept files.
    device: u64,
}

impl PreviousSource {
    /// A source that keeps what `source` had. It keeps nothing until it is [started](Self::start), or somebody
    /// [looks](Self::look).
    pub fn new(source: Arc<dyn Source>, keep: KeepPrevious) -> Self {
        PreviousSource {
            shared: Arc::new(Shared {
                source,
                contents: keep.directory.clone().map(ContentDirectory::new),
                keep,
                entries: Lock::new(Entries::default()),
                known: Mutex::new(None),
                notices: Notices::default(),
                device: new_device(),
            }),
            looking: Mutex::new(None),
        }
    }

    /// Looks at the tree again and again from now on, about once a second and on a thread behind all others, until this
    /// is dropped.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(&self) -> io::Result<()> {
        let mut looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        if looking.is_some() {
            return Ok(());
        }
        let (ends, end) = channel();
        let shared = Arc::downgrade(&self.shared);
        std::thread::Builder::new()
            .name("salver-previous".to_owned())
            .spawn(move || look_until(&end, &shared))?;
        *looking = Some(ends);
        Ok(())
    }

    /// Looks at the tree once: learns of new fingerprinted files, notes which have gone, and forgets what is over at
    /// this time. May wait.
    pub fn look(&self, now: SystemTime) {
        self.shared.look(now);
    }

    /// Takes over what another one has kept of the same tree, which this one takes the place of.
    pub fn take_over(&self, before: &PreviousSource) {
        let entries = before.shared.entries.hold().clone();
        // What is in another place is found there by who looks.
        if self.shared.contents == before.shared.contents {
            *self.shared.entries.hold() = entries;
        }
    }
}

/// Looks until nobody needs it any more.
fn look_until(end: &Receiver<()>, shared: &Weak<Shared>) {
    salver_os::run_when_idle();
    loop {
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let began = Instant::now();
        shared.look(SystemTime::now());
        let took = began.elapsed();
        drop(shared);
        let pause = took.saturating_mul(SHARE).clamp(PAUSE, LONGEST_PAUSE);
        match end.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

impl Source for PreviousSource {
    fn view(&self, patience: Patience) -> io::Result<Arc<dyn View>> {
        let tree = match self.shared.source.view(patience) {
            Ok(tree) => Some(tree),
            // A tree that has gone as a whole had files, too.
            Err(error) if is_absence(&error) && !self.shared.entries.hold().is_empty() => None,
            Err(error) => return Err(error),
        };
        Ok(Arc::new(PreviousView {
            tree,
            shared: Arc::clone(&self.shared),
        }))
    }

    fn stale_if_error(&self) -> Duration {
        self.shared.source.stale_if_error()
    }

    fn invalidate(&self, path: &[u8]) {
        self.shared.source.invalidate(path);
    }

    fn invalidate_prefix(&self, prefix: &[u8]) {
        self.shared.source.invalidate_prefix(prefix);
    }

    fn make_due(&self, prefix: &[u8]) {
        self.shared.source.make_due(prefix);
    }
}

/// A tree, and what is kept of before.
struct PreviousView {
    tree: Option<Arc<dyn View>>,
    shared: Arc<Shared>,
}

impl PreviousView {
    /// What `ask` gives of the tree.
    fn of_tree<T>(&self, ask: impl FnOnce(&dyn View) -> io::Result<T>) -> io::Result<T> {
        match &self.tree {
            Some(tree) => ask(&**tree),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// The kept file at a path where the tree has nothing; else `absence`, which it gave.
    fn kept(
        &self,
        path: &[u8],
        patience: Patience,
        absence: io::Error,
    ) -> io::Result<(KeptFile, io::Error)> {
        if absence.kind() != io::ErrorKind::NotFound {
            return Err(absence);
        }
        let now = SystemTime::now();
        let found = self
            .shared
            .entries
            .hold()
            .find(path, self.shared.keep.time, now);
        let Some(kept) = found else {
            return Err(absence);
        };
        if patience == Patience::MustNotWait {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        // What may not be seen is there all the same: a link that leads out of the tree, say.
        let is_there = match &self.tree {
            Some(tree) => tree::has_name(&**tree, path)?,
            None => false,
        };
        match is_there {
            false => Ok((kept, absence)),
            true => Err(absence),
        }
    }
}

impl View for PreviousView {
    fn stat(&self, path: &[u8], patience: Patience) -> io::Result<Metadata> {
        let found = self.of_tree(|tree| tree.stat(path, patience));
        found.or_else(|absence| {
            let (kept, _) = self.kept(path, patience, absence)?;
            Ok(Metadata {
                kind: Kind::File,
                identity: kept.identity,
            })
        })
    }

    fn open(&self, path: &[u8], patience: Patience) -> io::Result<Opened> {
        let found = self.of_tree(|tree| tree.open(path, patience));
        found.or_else(|absence| {
            let (kept, absence) = self.kept(path, patience, absence)?;
            match self.shared.read(path, &kept) {
                Some(reader) => Ok(Opened {
                    metadata: Metadata {
                        kind: Kind::File,
                        identity: kept.identity,
                    },
                    reader,
                    local: true,
                }),
                None => Err(absence),
            }
        })
    }

    fn list(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.of_tree(|tree| tree.list(path))
    }

    fn names(&self, path: &[u8], most: usize) -> io::Result<Vec<Vec<u8>>> {
        self.of_tree(|tree| tree.names(path, most))
    }

    fn known(&self, path: &[u8]) -> Option<crate::source::KnownDigests> {
        self.tree.as_ref().and_then(|tree| tree.known(path))
    }

    fn versions(&self, path: &[u8], name: VersionedName<'_>) -> Option<Vec<FileVersion>> {
        self.tree.as_ref()?.versions(path, name)
    }

    fn age(&self) -> Duration {
        let tree = self.tree.as_ref();
        tree.map_or(Duration::ZERO, |tree| tree.age())
    }

    fn awaited(&self) -> Option<Awaited> {
        self.tree.as_ref()?.awaited()
    }
}
