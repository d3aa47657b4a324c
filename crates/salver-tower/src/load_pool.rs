//! The pool for loads: work that may wait for a disk, on Tokio's threads for blocking work.

mod thread_shares;

use std::io;
use std::ops::Range;
use std::sync::{Arc, LazyLock};
use std::time::{Instant, SystemTime};

use salver_assets::reading::{Disk, Read};
use salver_assets::strategy::Residency;
use salver_assets::{Content, FileContent, HttpDate, Load, Now, RunAgain, SiblingCheck};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::delayed_tasks::DelayedTasks;

use thread_shares::{ThreadPermit, ThreadShare};

/// Loads for requests that may wait at once; further ones are answered 503. Tokio's queue has no
/// bound.
const FOR_REQUESTS: usize = 1024;

/// Loads for the program's own reads that may wait at once; further ones wait for their turn, which
/// takes no thread. More than so many at once make no disk faster.
const FOR_READS: usize = 64;

/// Loads for requests that take a thread at once; further ones wait without one. More at once make no disk faster.
const LOADING: usize = 128;

/// Reads of the content of answers that take a thread at once.
const READING: usize = 128;

/// Reads of answers of which is not known whose they are.
static OF_PLANS: LazyLock<ContentReads> = LazyLock::new(ContentReads::new);

/// A pool that performs a bounded number of loads at once.
#[derive(Clone, Debug)]
pub(crate) struct LoadPool {
    places: Arc<Semaphore>,
    threads: ThreadShare,
    when_full: WhenFull,
    delayed: Arc<DelayedTasks>,
}

#[derive(Clone, Copy, Debug)]
enum WhenFull {
    Refuse,
    Queue,
}

impl LoadPool {
    /// The pool for requests. A client that is told to come back is better than a queue without end.
    pub(crate) fn for_requests() -> Self {
        LoadPool::new(FOR_REQUESTS, WhenFull::Refuse)
    }

    /// The pool for a program's own reads, whose number it knows itself.
    pub(crate) fn for_reads() -> Self {
        LoadPool::new(FOR_READS, WhenFull::Queue)
    }

    fn new(places: usize, when_full: WhenFull) -> Self {
        LoadPool {
            places: Arc::new(Semaphore::new(places)),
            threads: ThreadShare::new(places.min(LOADING)),
            when_full,
            delayed: Arc::default(),
        }
    }

    /// Performs a load that would wait, and finishes it: once what it waits for has come, where its source tells when that is, else
    /// where it may wait.
    pub(crate) fn load(&self, load: Load) {
        let Some(awaited) = load.awaited() else {
            return self.load_with_thread(load);
        };
        let (this, load) = (self.clone(), Box::new(load));
        tokio::spawn(async move {
            awaited.await;
            if let Err(load) = load.run_at_once(Instant::now()) {
                this.load_with_thread(*load);
            }
        });
    }

    fn load_with_thread(&self, load: Load) {
        let places = Arc::clone(&self.places);
        match (Arc::clone(&places).try_acquire_owned(), self.when_full) {
            (Ok(place), _) => self.place(load, place),
            (Err(_), WhenFull::Refuse) => load.refuse(),
            (Err(_), WhenFull::Queue) => {
                let this = self.clone();
                tokio::spawn(async move {
                    if let Ok(place) = places.acquire_owned().await {
                        this.place(load, place);
                    }
                });
            }
        }
    }

    /// Runs the load in a place, as soon as it may have a thread. If the runtime ends before, it is dropped, and fails for
    /// all who wait. The place is free again whatever became of the load.
    fn place(&self, load: Load, place: OwnedSemaphorePermit) {
        let this = self.clone();
        with_thread(self.threads, move || this.run(load, place));
    }

    /// Runs the load where it may wait for a disk; one whose file has to rest first becomes a delayed task.
    fn run(&self, load: Load, place: OwnedSemaphorePermit) {
        match Box::new(load).run(Instant::now()) {
            Ok(()) => drop(place),
            Err(RunAgain { load, after }) => {
                let this = self.clone();
                let again = move || this.place(*load, place);
                self.delayed.until(Instant::now() + after, again);
            }
        }
    }
}

/// Does work where it may wait for a disk, as soon as it may have a thread of this share. If the runtime ends before, it
/// is dropped. Call it within the runtime.
fn with_thread(share: ThreadShare, work: impl FnOnce() + Send + 'static) {
    let begin = move |thread: ThreadPermit| {
        tokio::task::spawn_blocking(move || {
            work();
            drop(thread);
        });
    };
    match share.try_acquire() {
        Some(thread) => begin(thread),
        None => {
            tokio::spawn(async move {
                if let Some(thread) = share.acquire().await {
                    begin(thread);
                }
            });
        }
    }
}

/// Performs the check of a precompressed sibling in the same pool; the engine has few of them at once.
pub(crate) fn check_sibling(check: SiblingCheck) {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(move || check.perform())),
        // Whoever loads without a runtime may wait.
        Err(_) => check.perform(),
    }
}

/// Reads of the content of answers, in the same pool. Each tree of files has its own share in the threads: a disk that hangs
/// holds up nobody else's. Copies are one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContentReads(ThreadShare);

impl ContentReads {
    pub(crate) fn new() -> Self {
        ContentReads(ThreadShare::new(READING))
    }

    /// Reads of answers that are made of a plan alone.
    pub(crate) fn of_plans() -> Self {
        *OF_PLANS
    }
}

impl Disk for ContentReads {
    fn residency(&self, file: &FileContent, window: &Range<u64>) -> Residency {
        let ContentReads(share) = self;
        file.residency(window, share.is_busy())
    }

    fn read(&self, file: &FileContent, window: Range<u64>) -> (u64, Read) {
        let ContentReads(share) = *self;
        let file = file.clone();
        let length = window.end - window.start;
        let read = async move {
            let thread = share.acquire().await;
            let read = tokio::task::spawn_blocking(move || {
                let bytes = file.read(&window);
                drop(thread);
                bytes
            });
            read.await.map_err(io::Error::other)?
        };
        (length, Box::pin(read))
    }

    fn discard(&self, content: Content) {
        let ContentReads(share) = *self;
        if content.may_wait_when_closed() && tokio::runtime::Handle::try_current().is_ok() {
            with_thread(share, move || drop(content));
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
