//! Requests between two steps: how far they have come, and the load that they wait for.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use crate::resource::in_flight::{LoadFollower, LoadKey, LoadResult};
use crate::resource::load::Previous;
use crate::resource::ruling::Ruling;

/// A request's place in a queue for a load; may be dropped at any time.
pub struct Pending {
    pub(crate) follower: LoadFollower,
    pub(crate) progress: RequestProgress,
    /// The number of the mount whose files it waits for.
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
    /// The moment at which the request came.
    pub(crate) asked: Instant,
}

/// The key of the resource that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskedKey {
    /// That of the path.
    Path,
    /// That of the fallback, as the path is unknown.
    Fallback,
    /// That of what OPTIONS asks about the path.
    Options,
    /// That of the page for a load that failed.
    PageOfFailure,
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
}

impl Pending {
    /// The number of the mount whose files are waited for, in the order of the configuration: they may all be
    /// slow together.
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
