//! The one lock type of the engine, so that tests can count it.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// A mutex that outlives a panic of its holder: what it guards is valid after every statement.
#[derive(Debug, Default)]
pub(crate) struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Lock(Mutex::new(value))
    }

    pub(crate) fn hold(&self) -> MutexGuard<'_, T> {
        #[cfg(test)]
        taken::count();
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, if nobody holds it.
    pub(crate) fn try_hold(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// A counter of the locks that this thread has taken, so that a test can show that a hit takes none.
#[cfg(test)]
pub(crate) mod taken {
    use std::cell::Cell;

    thread_local! {
        static TAKEN: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn count() {
        TAKEN.with(|taken| taken.set(taken.get() + 1));
    }

    pub(crate) fn so_far() -> u64 {
        TAKEN.with(Cell::get)
    }
}
