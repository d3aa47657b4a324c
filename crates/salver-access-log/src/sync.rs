//! The locks and atomics that the loops share with the writer, so that loom can explore them.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU8, AtomicU64, Ordering};
#[cfg(loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
#[cfg(not(loom))]
pub(crate) use std::sync::{Mutex, MutexGuard};

/// What a lock guards, also after a panic of its holder: it is valid after every statement.
pub(crate) fn hold<T>(result: LockResult<MutexGuard<'_, T>>) -> MutexGuard<'_, T> {
    result.unwrap_or_else(PoisonError::into_inner)
}

/// What a lock guards, if nobody holds it.
pub(crate) fn try_hold<T>(result: TryLockResult<MutexGuard<'_, T>>) -> Option<MutexGuard<'_, T>> {
    match result {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
