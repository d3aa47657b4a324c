//! Delayed tasks: loads of files that have to rest before they can be read. All of them wait on one thread of
//! Tokio's pool for blocking work, which is there only while there are any: a file that is being written
//! would keep a thread of its own for seconds, and a program's runtime may have no timer.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A task that is begun at its time, and waits for nothing.
type Work = Box<dyn FnOnce() + Send>;

#[derive(Default)]
pub(crate) struct DelayedTasks {
    waiting: Mutex<TaskQueue>,
    changed: Condvar,
}

#[derive(Default)]
struct TaskQueue {
    /// The tasks by the moment at which they are to be begun; the number tells apart those of one moment.
    work: BTreeMap<(Instant, u64), Work>,
    number: u64,
    /// True while a thread waits for the first.
    is_watched: bool,
}

impl DelayedTasks {
    /// Has `work` begun within the runtime, not before `at`; it must not wait. If the runtime ends before, it is dropped.
    /// Call it within the runtime.
    pub(crate) fn until(self: &Arc<Self>, at: Instant, work: impl FnOnce() + Send + 'static) {
        let mut waiting = self.hold();
        waiting.number += 1;
        let number = waiting.number;
        waiting.work.insert((at, number), Box::new(work));
        if std::mem::replace(&mut waiting.is_watched, true) {
            drop(waiting);
            self.changed.notify_one();
        } else {
            drop(waiting);
            let mut watch = WatchDuty(Some(Arc::clone(self)));
            tokio::task::spawn_blocking(move || {
                if let Some(tasks) = watch.0.take() {
                    tasks.watch();
                }
            });
        }
    }

    /// Begins tasks as they become due, until there are none.
    fn watch(&self) {
        let mut waiting = self.hold();
        loop {
            let now = Instant::now();
            let due = match waiting.work.first_entry() {
                None => {
                    waiting.is_watched = false;
                    return;
                }
                Some(first) if first.key().0 <= now => {
                    let work = first.remove();
                    drop(waiting);
                    work();
                    waiting = self.hold();
                    continue;
                }
                Some(first) => first.key().0,
            };
            let time = due.saturating_duration_since(now);
            let waited = self.changed.wait_timeout(waiting, time);
            (waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn hold(&self) -> MutexGuard<'_, TaskQueue> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for DelayedTasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tasks = self.hold().work.len();
        f.debug_struct("DelayedTasks")
            .field("work", &tasks)
            .finish()
    }
}

/// The watch that a thread is to take over; if the runtime drops it before, the tasks are dropped as well.
struct WatchDuty(Option<Arc<DelayedTasks>>);

impl Drop for WatchDuty {
    fn drop(&mut self) {
        if let Some(tasks) = &self.0 {
            let mut waiting = tasks.hold();
            waiting.is_watched = false;
            let work = std::mem::take(&mut waiting.work);
            drop(waiting);
            drop(work);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A thousand tasks at the same time, where two threads are all there are.
    #[test]
    fn whatever_rests_takes_one_thread() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(2)
            .build()
            .unwrap();
        let tasks = Arc::new(DelayedTasks::default());
        let (sender, done) = std::sync::mpsc::channel();
        runtime.block_on(async {
            let now = Instant::now();
            for number in 0..1000_u64 {
                let sender = sender.clone();
                let rest = Duration::from_millis(20 + (number * 7) % 30);
                tasks.until(now + rest, move || {
                    let _ = sender.send(now.elapsed() >= rest);
                });
            }
            let other = tokio::task::spawn_blocking(|| 5).await.unwrap();
            assert_eq!(other, 5);
        });
        drop(sender);
        assert_eq!(done.iter().filter(|&late_enough| late_enough).count(), 1000);
    }

    #[test]
    fn what_rests_ends_with_the_runtime() {
        let tasks = Arc::new(DelayedTasks::default());
        let held = Arc::new(());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let held = Arc::clone(&held);
            tasks.until(Instant::now() + Duration::from_millis(50), move || {
                drop(held);
            });
        });
        drop(runtime);
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
