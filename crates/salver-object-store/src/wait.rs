//! Waiting for a future on a thread that may wait, whatever runtime the thread has or has not.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Wakes a thread that waits.
struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The output of a future that somebody else drives on.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(ThreadWaker(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_is_woken_by_another_thread() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let waits = thread::spawn(move || wait(receiver));
        sender.send(7).unwrap();
        assert_eq!(waits.join().unwrap(), Ok(7));
    }
}
