//! The log's lines on an outage: that what is held is sent, why, and that it is over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// The time after which it is said again.
const SAID_AGAIN_AFTER: Duration = Duration::from_mins(1);

/// An outage of a bucket, as the log tells it.
#[derive(Debug)]
pub(crate) struct Outage {
    place: String,
    state: Mutex<State>,
    /// True if it was said that it has begun, and not that it is over.
    is_said: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    failure: Option<Failure>,
    said: Option<Instant>,
}

impl Outage {
    /// No outage so far, of the bucket at a place.
    pub(crate) fn new(place: &str) -> Self {
        Outage {
            place: place.to_owned(),
            state: Mutex::default(),
            is_said: AtomicBool::new(false),
        }
    }

    /// Notes why something could not be asked.
    pub(crate) fn failed(&self, failure: &Failure) {
        self.state().failure = Some(failure.clone());
    }

    /// Says that something is sent which could not be compared, unless that was said lately.
    pub(crate) fn say(&self, now: Instant) {
        let mut state = self.state();
        let since = state.said.map(|said| now.saturating_duration_since(said));
        if since.is_some_and(|since| since < SAID_AGAIN_AFTER) {
            return;
        }
        state.said = Some(now);
        self.is_said.store(true, Ordering::Relaxed);
        let failure = state.failure.clone();
        drop(state);
        let why = failure.as_ref().map_or("it fails", Failure::text);
        tracing::warn!(
            "{}: sending what is held of it, as it cannot be asked: {}",
            self.place,
            why.escape_debug()
        );
    }

    /// Says that it is over, if it was said that it had begun and it is.
    pub(crate) fn say_if_over(&self, is_over: impl FnOnce() -> bool) {
        if !self.is_said.load(Ordering::Relaxed) || !is_over() {
            return;
        }
        // Not to be said again at once: a store may fail now and then.
        if self.is_said.swap(false, Ordering::Relaxed) {
            tracing::info!("{}: it answers again", self.place);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
