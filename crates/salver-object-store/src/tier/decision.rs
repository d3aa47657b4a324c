//! Something that is decided once, and that some wait for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A decision that is made some time.
#[derive(Debug, Default)]
pub(super) struct Decision {
    is_made: AtomicBool,
    made: (Mutex<()>, Condvar),
}

impl Decision {
    pub(super) fn is_made(&self) -> bool {
        self.is_made.load(Ordering::Acquire)
    }

    pub(super) fn make(&self) {
        let _made = self.made.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_made.store(true, Ordering::Release);
        self.made.1.notify_all();
    }

    /// Waits for it, but no longer than this. Then it counts as made: nobody else waits as long.
    pub(super) fn wait(&self, most: Duration) {
        let made = self.made.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .made
            .1
            .wait_timeout_while(made, most, |()| !self.is_made());
        drop(waited);
        self.make();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_waited_in_vain_has_waited_for_all() {
        let decision = Decision::default();
        assert!(!decision.is_made());
        decision.wait(Duration::ZERO);
        assert!(decision.is_made());
        // It would never return.
        decision.wait(Duration::MAX);
    }
}
