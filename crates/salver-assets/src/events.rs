//! Events of the cache, for an observer: to log them, to test by them, to tell browsers to reload.
//! Hits are no events: the [counters](crate::Statistics) have them.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::error::LoadError;
use crate::path::path_of_key;

/// An event of the cache. Paths are as they are asked for, decoded, with their mount's prefix:
/// `/blog/`, `/app.js`; bytes that are no UTF-8 are replaced by U+FFFD.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The resource at a path was loaded: it was not known, or not with its content.
    Loaded {
        /// The path.
        path: Arc<str>,
        /// The kind of the resource.
        kind: ResourceKind,
    },
    /// A look at the disk confirmed an entry.
    Confirmed {
        /// The path.
        path: Arc<str>,
    },
    /// A look at the disk found another version than the cached one, and that was loaded.
    Changed {
        /// The path.
        path: Arc<str>,
        /// The kind of the resource now.
        kind: ResourceKind,
    },
    /// A load failed; all who waited for it were told so. One whose driver gave it up has no event.
    Failed {
        /// The path.
        path: Arc<str>,
        /// The error, which says who must act.
        error: LoadError,
        /// The error of the storage, if it was asked.
        cause: Option<Arc<io::Error>>,
    },
    /// An entry was pushed out by the byte budget.
    Evicted {
        /// The path.
        path: Arc<str>,
    },
    /// A path was invalidated by the program.
    Invalidated {
        /// The path, as the program gave it.
        path: Arc<str>,
        /// The number of entries that were removed.
        entries: usize,
    },
    /// All paths that begin with a prefix were invalidated by the program.
    InvalidatedPrefix {
        /// The prefix, as the program gave it.
        prefix: Arc<str>,
        /// The number of entries that were removed.
        entries: usize,
    },
    /// All answers of a group were invalidated by the program.
    InvalidatedGroup {
        /// The group, as the program gave it.
        group: Arc<str>,
        /// The number of entries that were removed.
        entries: usize,
    },
    /// The cache was cleared.
    Cleared {
        /// The number of entries that were removed.
        entries: usize,
    },
    /// The cache was paused: every request is answered from disk.
    Paused,
    /// The cache is used again after a pause.
    Resumed,
}

/// The kind of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResourceKind {
    /// A file, or the index of a directory.
    File,
    /// A directory, asked for without its slash.
    Directory,
    /// Nothing that could be served.
    Nothing,
    /// A redirect, by rules or to the one path of a page.
    Redirect,
    /// What rules say of each request.
    ByRequest,
    /// The entries of a directory without an index.
    Listing,
}

/// An observer of the cache's events.
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
/// Called by the thread that did it, holding no lock, before the requests that wait for a load have
/// its result: it must not wait for anything, and should be done in a moment.
pub trait Observer: fmt::Debug + Send + Sync + 'static {
    /// True if the observer wants to be told. Asked before each event, so that none is made in vain.
    fn is_listening(&self) -> bool {
        true
    }

    /// Takes an event.
    fn observe(&self, event: Event);
}

/// The path of a resource with this key, as events have it.
pub(crate) fn path(key: &[u8]) -> Arc<str> {
    String::from_utf8_lossy(path_of_key(key).0).into()
}
