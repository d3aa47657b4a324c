//! The runtimes of a source: one thread each, which talks to the bucket and is started when it is first needed. What is short goes
//! on on the event loop that asks for it.

use std::borrow::Borrow;
use std::convert::Infallible;
use std::hash::Hash;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use salver_coalesce::{Follower, Joined, Leader, SingleFlight};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tracing::Dispatch;
use tracing::dispatcher::set_default;
use tracing::instrument::WithSubscriber as _;

use crate::failure::Failure;
use crate::tier::DiskTier;
use crate::wait::{wait, wait_for};

/// The name of its threads.
const NAME: &str = "salver-bucket";

/// The most threads beside it, which look names of hosts up and read what credentials lie in files.
const MOST_BLOCKING: usize = 4;

/// The work that is under way, by its key.
pub(crate) type Flights<K, T> = SingleFlight<K, Result<T, Failure>>;

/// The flight that work is done for, by which it is seen whether its key was forgotten meanwhile.
pub(crate) type Flight<T> = Follower<Result<T, Failure>>;

/// Where work goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// On the thread of the runtime.
    Thread,
    /// On the event loop that this thread is, if it is one and the work never blocks: the way to another thread and back takes as
    /// long as what is short.
    EventLoop,
}

/// A runtime that is started when it is first needed: a process may give its rights up before it has a second thread.
#[derive(Debug, Default)]
pub(crate) struct LazyRuntime {
    runtime: Mutex<Option<Driven>>,
    is_apart: bool,
    /// The tier that is told of what it has to write once those who wait have it.
    tier: Option<Arc<DiskTier>>,
    /// True if no work blocks, so that event loops may do it.
    serves_loops: bool,
}

/// A runtime on a thread of its own, which ends when this is dropped; nobody waits for that: whoever drops it may be a loop, or that
/// thread.
#[derive(Debug)]
struct Driven {
    handle: Handle,
    #[expect(dead_code, reason = "it ends when it is dropped")]
    end: oneshot::Sender<Infallible>,
}

impl LazyRuntime {
    /// A runtime for what somebody waits for, and has a tier write. Work that never blocks may go on on [event loops](Place).
    pub(crate) fn new(tier: Option<Arc<DiskTier>>, never_blocks: bool) -> Self {
        LazyRuntime {
            tier,
            serves_loops: never_blocks,
            ..LazyRuntime::default()
        }
    }

    /// A runtime for what takes long and nobody waits for, beside that of what somebody waits for.
    pub(crate) fn apart() -> Self {
        LazyRuntime {
            is_apart: true,
            ..LazyRuntime::default()
        }
    }

    /// The runtime's handle.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn handle(&self) -> io::Result<Handle> {
        let mut runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(runtime) = &*runtime {
            return Ok(runtime.handle.clone());
        }
        let begin = match self.is_apart {
            true => begin_apart,
            false => begin,
        };
        let started = Builder::new_current_thread()
            .max_blocking_threads(MOST_BLOCKING)
            .thread_name(NAME)
            .on_thread_start(begin)
            .enable_all()
            .build()?;
        let (handle, (end, ended)) = (started.handle().clone(), oneshot::channel());
        let thread = std::thread::Builder::new().name(NAME.to_owned());
        thread.spawn(move || {
            begin();
            // Nothing is ever sent.
            let _ = started.block_on(ended);
            started.shutdown_background();
        })?;
        Ok(runtime.insert(Driven { handle, end }).handle.clone())
    }

    /// The result of work for a key, which is done once however many want it: it is under way, or begins. Waits for it.
    ///
    /// # Errors
    /// The work's, or the system gives no thread.
    pub(crate) fn once<K, Q, T, F>(
        &self,
        flights: &Flights<K, T>,
        key: &Q,
        work: impl Fn(Flight<T>) -> F,
    ) -> io::Result<T>
    where
        K: Eq + Hash + Clone + Borrow<Q> + for<'a> From<&'a Q> + Send + 'static,
        Q: Eq + Hash + ?Sized,
        T: Clone + Send + 'static,
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        match wait(self.follow(flights, key, &work)?) {
            // The loop that it went on on has ended.
            Err(failure) if failure.is_given_up() => Ok(wait(self.follow(flights, key, &work)?)?),
            result => Ok(result?),
        }
    }

    /// The same, but waits no longer than `most`: then `None`, and the work goes on.
    ///
    /// # Errors
    /// As of [`once`](Self::once).
    pub(crate) fn once_within<K, Q, T, F>(
        &self,
        flights: &Flights<K, T>,
        key: &Q,
        most: Duration,
        work: impl FnOnce(Flight<T>) -> F,
    ) -> io::Result<Option<T>>
    where
        K: Eq + Hash + Clone + Borrow<Q> + for<'a> From<&'a Q> + Send + 'static,
        Q: Eq + Hash + ?Sized,
        T: Clone + Send + 'static,
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        Ok(wait_for(self.follow(flights, key, work)?, most).transpose()?)
    }

    fn follow<K, Q, T, F>(
        &self,
        flights: &Flights<K, T>,
        key: &Q,
        work: impl FnOnce(Flight<T>) -> F,
    ) -> io::Result<Follower<Result<T, Failure>>>
    where
        K: Eq + Hash + Clone + Borrow<Q> + for<'a> From<&'a Q> + Send + 'static,
        Q: Eq + Hash + ?Sized,
        T: Clone + Send + 'static,
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        Ok(match flights.join(key) {
            Joined::Follower(follower) => follower,
            Joined::Leader(leader) => {
                let (follower, flight) = (leader.follower(), leader.follower());
                self.lead(Place::Thread, leader, work(flight))?;
                follower
            }
        })
    }

    /// Begins work for all who wait with the leader, at this place.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn lead<K, T>(
        &self,
        place: Place,
        leader: Leader<K, Result<T, Failure>>,
        work: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> io::Result<()>
    where
        K: Eq + Hash + Clone + Send + 'static,
        T: Clone + Send + 'static,
    {
        let is_here = place == Place::EventLoop && self.serves_loops && salver_os::is_event_loop();
        let handle = match Handle::try_current() {
            Ok(here) if is_here => here,
            _ => self.handle()?,
        };
        let tier = self.tier.clone();
        let work = async move {
            leader.complete(work.await);
            if let Some(tier) = tier {
                // Those who wait on this thread go on before.
                yield_now().await;
                tier.tell();
            }
        };
        // The engine says what becomes of it.
        handle.spawn(work.with_subscriber(Dispatch::none()));
        Ok(())
    }
}

/// Has this thread log nothing: each attempt that fails would be a line, and the engine says what becomes of them all, within
/// limits.
fn log_nothing() {
    // For as long as the thread lives.
    std::mem::forget(set_default(&Dispatch::none()));
}

/// The start of a thread that somebody waits for: loops go before it, as they ask for shorter slices.
fn begin() {
    log_nothing();
}

/// The start of a thread that nobody waits for.
fn begin_apart() {
    log_nothing();
    salver_os::run_behind_others();
}
