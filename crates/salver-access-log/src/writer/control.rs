//! What a program asks of the thread that writes.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::open_log::OpenLog;
use crate::bell::Bell;

/// What a program asks of the thread that writes; after each change the bell is rung.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) bell: Arc<Bell>,
    /// Logs that were opened, and that the thread has not seen yet.
    opened: Mutex<Vec<OpenLog>>,
    /// True if files are to be opened anew.
    pub(super) reopen: AtomicBool,
    /// The time until which the last lines may be written, once it is to end.
    end: Mutex<Option<Instant>>,
}

impl Control {
    pub(super) fn new(bell: Arc<Bell>) -> Control {
        Control {
            bell,
            opened: Mutex::default(),
            reopen: AtomicBool::new(false),
            end: Mutex::default(),
        }
    }

    pub(super) fn opened(&self) -> MutexGuard<'_, Vec<OpenLog>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn end(&self) -> Option<Instant> {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn end_at(&self, end: Instant) {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
    }
}
