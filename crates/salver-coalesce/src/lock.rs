//! The lock of this crate, which loom can explore.

use std::sync::PoisonError;

#[cfg(loom)]
pub(crate) use loom::sync::Arc;
#[cfg(loom)]
use loom::sync::{Mutex, MutexGuard};
#[cfg(not(loom))]
pub(crate) use std::sync::Arc;
#[cfg(not(loom))]
use std::sync::{Mutex, MutexGuard};

/// A mutex that outlives a panic of its holder: what it guards is valid after every statement.
#[derive(Debug)]
pub(crate) struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Lock(Mutex::new(value))
    }

    pub(crate) fn hold(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
