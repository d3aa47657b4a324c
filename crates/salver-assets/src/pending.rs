//! Requests between two steps: how far they have come, and the load that they wait for.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use crate::resource::in_flight::{LoadFollower, LoadKey, LoadResult};
use crate::resource::load::Previous;

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
    /// True if the fallback is asked for instead of the path, which is unknown.
    pub(crate) fallback: bool,
    pub(crate) loads: u8,
    /// The moment at which the request came.
    pub(crate) asked: Instant,
}

/// The need for a load.
pub(crate) struct LoadRequest {
    pub(crate) key: LoadKey,
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
