//! Work that may wait for a disk, in Tokio's pool for that.

use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use salver_assets::reading::Disk;
use salver_assets::{Content, Engine, FileContent, HttpDate, Load, Now, Outcome, Patience};

/// Loads that may wait at once; further ones are answered 503. Tokio's queue has no bound.
const MOST: usize = 1024;

/// How many loads wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loading(Arc<AtomicUsize>);

impl Loading {
    /// Performs a load where it may wait, and finishes it; one that finds no place fails.
    pub(crate) fn load(&self, engine: &Engine, load: Load) {
        if self.0.fetch_add(1, Ordering::Relaxed) >= MOST {
            self.0.fetch_sub(1, Ordering::Relaxed);
            return engine.finish(load, Outcome::overloaded());
        }
        let place = Place(Arc::clone(&self.0));
        let engine = engine.clone();
        // If the runtime ends before, the load is dropped, and fails for all who wait for it.
        tokio::task::spawn_blocking(move || {
            let _place = place;
            let outcome = load.perform(Patience::MayWait, Instant::now());
            engine.finish(load, outcome.unwrap_or_else(|_| Outcome::overloaded()));
        });
    }
}

/// Free again when dropped, whatever became of the load.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reads content in the same pool.
pub(crate) struct Blocking;

impl Disk for Blocking {
    fn read(
        &self,
        file: &FileContent,
        window: Range<u64>,
    ) -> (u64, Pin<Box<dyn Future<Output = io::Result<Bytes>> + Send>>) {
        let file = file.clone();
        let length = window.end - window.start;
        let read = tokio::task::spawn_blocking(move || file.read(&window));
        (
            length,
            Box::pin(async { read.await.map_err(io::Error::other)? }),
        )
    }

    fn discard(&self, content: Content) {
        if content.may_wait_when_closed()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn_blocking(move || drop(content));
        }
    }
}

/// The time.
pub(crate) fn now() -> Now {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    // A clock before 1970 is wrong anyway.
    let seconds = since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    });
    Now {
        instant: Instant::now(),
        date: HttpDate::from_unix_seconds(seconds),
    }
}
