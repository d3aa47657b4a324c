//! Requests between two steps: how far they have come, and the load that they wait for.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use salver_semantics::CacheState;

use crate::resource::entry::CacheEntry;
use crate::resource::in_flight::{LoadFollower, LoadKey, LoadResult};
use crate::resource::listed_page::ListedPage;
use crate::resource::load::Previous;
use crate::resource::ruling::Ruling;

/// A request's place in a queue for a load; may be dropped at any time.
pub struct Pending {
    pub(crate) follower: LoadFollower,
    pub(crate) progress: RequestProgress,
    /// The number of the mount whose files it waits for, among those of the pool.
    pub(crate) mount: usize,
}

/// The result that a [`Pending`] resolves to.
pub struct LoadReady {
    pub(crate) result: LoadResult,
    pub(crate) progress: RequestProgress,
}

/// The progress of a request through its steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestProgress {
    pub(crate) key: AskedKey,
    pub(crate) loads: u8,
    /// True if it has waited for a load of another request.
    pub(crate) collapsed: bool,
    /// The moment at which the request came.
    pub(crate) asked: Instant,
    /// What the cache had of it when the first load began.
    pub(crate) known: KnownEntry,
}

/// The entry that the cache had when a load began: the same one after it was only compared with its source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KnownEntry {
    /// None, or one without the content.
    None,
    /// The one at this address, which the load refers to.
    At(usize),
    /// One that had to be used although it is stale.
    Stale,
}

impl RequestProgress {
    /// The same with one more load.
    pub(crate) fn with_load(self, wanted: &LoadRequest) -> Self {
        let previous = wanted.previous.as_ref();
        let known = match previous.filter(|_| self.loads == 0 && !wanted.needs_content) {
            Some(previous) => KnownEntry::At(Arc::as_ptr(&previous.entry).addr()),
            None => self.known,
        };
        RequestProgress {
            loads: self.loads + 1,
            known,
            ..self
        }
    }

    /// The same where the source could not be asked, or is being asked.
    pub(crate) fn with_stale(self) -> Self {
        RequestProgress {
            known: KnownEntry::Stale,
            ..self
        }
    }

    /// The same after it has joined a load.
    pub(crate) fn collapsed(self) -> Self {
        RequestProgress {
            collapsed: true,
            ..self
        }
    }

    /// How the cache had an entry that answers the request.
    pub(crate) fn cache_state(
        &self,
        entry: &Arc<CacheEntry>,
        is_cached: impl FnOnce() -> bool,
    ) -> CacheState {
        let is_same = |known| known == Arc::as_ptr(entry).addr();
        match self.known {
            KnownEntry::Stale => CacheState::Stale,
            _ if self.loads == 0 => CacheState::Hit,
            _ if !is_cached() => CacheState::Bypass,
            KnownEntry::None => CacheState::Miss,
            KnownEntry::At(known) if is_same(known) => CacheState::Revalidated,
            KnownEntry::At(_) => CacheState::Expired,
        }
    }
}

/// The key of the resource that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskedKey {
    /// That of the path.
    Path,
    /// That of an alternative to the file at the path.
    Alternative,
    /// That of the path again, as the alternative cannot be had.
    Original,
    /// That of the fallback, as the path is unknown.
    Fallback,
    /// That of what OPTIONS asks about the path.
    Options,
    /// That of the page for a load that failed.
    PageOfFailure,
    /// That of the page for a request that is refused with this status, whatever is at the path.
    Refusal(u16),
}

/// The need for a load.
pub(crate) struct LoadRequest {
    pub(crate) key: LoadKey,
    /// The ruling for one of several resources at the path.
    pub(crate) ruling: Option<Arc<Ruling>>,
    /// The entry that the cache has; `None` if nothing.
    pub(crate) previous: Option<Previous>,
    /// True if that entry is fresh and lacks the content of the selected representation.
    pub(crate) needs_content: bool,
    /// The page of a listing that is wanted, if it is one.
    pub(crate) listed: Option<Arc<ListedPage>>,
}

impl Pending {
    /// The number of the mount whose files are waited for, among those of all [engines beside](crate::Engine::beside)
    /// its own: they may all be slow together.
    pub fn mount(&self) -> usize {
        self.mount
    }
}

impl Future for Pending {
    type Output = LoadReady;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<LoadReady> {
        let progress = self.progress;
        Pin::new(&mut self.follower)
            .poll(context)
            .map(|result| LoadReady { result, progress })
    }
}
