//! What the cache does, told to whoever wants to know: to log it, to test it, to tell browsers to
//! reload. Hits are no events: the [counters](crate::Statistics) have them.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::error::LoadError;

/// Something that the cache did. Paths are as they are asked for, decoded, with their mount's prefix:
/// `/blog/`, `/app.js`; bytes that are no UTF-8 are replaced by U+FFFD.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// What is at a path was loaded: it was not known, or not with its content.
    Loaded {
        /// The path.
        path: Arc<str>,
        /// What is there.
        kind: ResourceKind,
    },
    /// A look at the disk found that what is cached is still right.
    Confirmed {
        /// The path.
        path: Arc<str>,
    },
    /// A look at the disk found something else than what was cached, and that was loaded.
    Changed {
        /// The path.
        path: Arc<str>,
        /// What is there now.
        kind: ResourceKind,
    },
    /// A load failed; all who waited for it were told so. One whose driver gave it up has no event.
    Failed {
        /// The path.
        path: Arc<str>,
        /// Who must act.
        error: LoadError,
        /// What the storage said, if it was asked.
        cause: Option<Arc<io::Error>>,
    },
    /// An entry was pushed out by the byte budget.
    Evicted {
        /// The path.
        path: Arc<str>,
    },
    /// What was cached of a path was let go of, because the program said so.
    Invalidated {
        /// The path, as the program gave it.
        path: Arc<str>,
        /// So many entries that was.
        entries: usize,
    },
    /// The same, for all paths that begin with a prefix.
    InvalidatedPrefix {
        /// The prefix, as the program gave it.
        prefix: Arc<str>,
        /// So many entries that was.
        entries: usize,
    },
    /// Everything was let go of.
    Cleared {
        /// So many entries that was.
        entries: usize,
    },
    /// From now on every request is answered from disk.
    Paused,
    /// From now on the cache is used again.
    Resumed,
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResourceKind {
    /// A file, or the index of a directory.
    File,
    /// A directory, asked for without its slash.
    Directory,
    /// Nothing that could be served.
    Nothing,
}

/// Whoever wants to know.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use salver_assets::{Config, Engine, Event, MemorySource, Mount, Observer, RequestPath};
///
/// #[derive(Debug, Default)]
/// struct Changes(Mutex<Vec<Arc<str>>>);
///
/// impl Observer for Changes {
///     fn observe(&self, event: Event) {
///         if let (Event::Changed { path, .. } | Event::Invalidated { path, .. }, Ok(mut changes)) =
///             (event, self.0.lock())
///         {
///             changes.push(path);
///         }
///     }
/// }
///
/// let changes = Arc::new(Changes::default());
/// let engine = Engine::new(Config {
///     mounts: vec![Mount::tree("/", Arc::new(MemorySource::new()))],
///     observer: Some(changes.clone()),
///     ..Config::default()
/// })?;
/// engine.invalidate(&RequestPath::parse(b"/app.js")?);
/// assert_eq!(&*changes.0.lock().unwrap()[0], "/app.js");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Called by the thread that did it, holding no lock, before those who wait
/// for a load have its result: it must not wait for anything, and should be done in a moment.
pub trait Observer: fmt::Debug + Send + Sync + 'static {
    /// Whether anybody listens. Asked before each event, so that none is made for nobody.
    fn is_listening(&self) -> bool {
        true
    }

    /// This was done.
    fn observe(&self, event: Event);
}

/// A path as events have it.
pub(crate) fn path(bytes: &[u8]) -> Arc<str> {
    String::from_utf8_lossy(bytes).into()
}
