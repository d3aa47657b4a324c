//! One test at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The turn of a test, for those of one program that measure their process; the next one begins when it is dropped.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
