//! The bell that wakes the writer, where outputs are never waited for: a lock and a condition.

use std::convert::Infallible;
use std::io;
use std::marker::PhantomData;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The bell that wakes the writer. It rings until it is heard.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    is_ringing: Mutex<bool>,
    has_rung: Condvar,
}

/// What the writer waits for besides the bell: here there is nothing.
#[derive(Debug)]
#[allow(dead_code, reason = "of this type there is no value")]
pub(crate) struct Awaited<'a>(Infallible, PhantomData<&'a ()>);

impl Bell {
    pub(crate) fn new() -> io::Result<Bell> {
        Ok(Bell::default())
    }

    /// Wakes the writer.
    pub(crate) fn ring(&self) {
        *self.hold() = true;
        self.has_rung.notify_one();
    }

    /// Makes it silent again.
    pub(crate) fn hear(&self) {
        *self.hold() = false;
    }

    /// Waits until it rings, and for `most` at the longest.
    pub(crate) fn wait<'a>(&self, _: impl Iterator<Item = Awaited<'a>>, most: Option<Duration>) {
        let mut is_ringing = self.hold();
        let end = most.map(|most| Instant::now() + most);
        while !*is_ringing {
            let Some(end) = end else {
                let woken = self.has_rung.wait(is_ringing);
                is_ringing = woken.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let woken = self.has_rung.wait_timeout(is_ringing, left);
            is_ringing = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The lock, which everybody holds for a moment.
    fn hold(&self) -> MutexGuard<'_, bool> {
        self.is_ringing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
