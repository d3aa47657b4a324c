//! A waker that counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

/// The number of times that its wakers have woken.
#[derive(Debug, Default)]
pub struct Wakes(AtomicUsize);

impl Wakes {
    /// None so far, and a waker that counts here.
    pub fn new() -> (Arc<Self>, Waker) {
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        (wakes, waker)
    }

    /// So many until now.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// So many until now, counted from 0 again afterwards.
    pub fn take(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}
