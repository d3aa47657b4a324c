//! Waiting for a future on a thread that may wait, whatever runtime the thread has or has not.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

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
    with_waker(|context| {
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return output;
            }
            thread::park();
        }
    })
}

/// The same, unless it takes longer than this.
pub(crate) fn wait_for<T>(future: impl Future<Output = T>, most: Duration) -> Option<T> {
    let mut future = pin!(future);
    let begun = Instant::now();
    with_waker(|context| {
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return Some(output);
            }
            match most.checked_sub(begun.elapsed()) {
                None | Some(Duration::ZERO) => return None,
                Some(left) => thread::park_timeout(left),
            }
        }
    })
}

fn with_waker<T>(poll: impl FnOnce(&mut Context<'_>) -> T) -> T {
    let waker = Waker::from(Arc::new(ThreadWaker(thread::current())));
    poll(&mut Context::from_waker(&waker))
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

    #[test]
    fn nobody_waits_longer_than_is_said() {
        let moment = Duration::from_millis(5);
        assert_eq!(wait_for(std::future::pending::<()>(), moment), None);
        assert_eq!(wait_for(async { 7 }, Duration::ZERO), Some(7));
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let waits = thread::spawn(move || wait_for(receiver, Duration::from_mins(1)));
        sender.send(7).unwrap();
        assert_eq!(waits.join().unwrap(), Some(Ok(7)));
    }
}
