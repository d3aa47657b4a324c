//! When a disk answers: each job a while after it was asked for, in their order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

type Job = Box<dyn FnOnce() + Send>;

/// Ends, with everything done at once that still waits, when it is dropped.
pub(crate) struct Queue {
    jobs: Option<Sender<(Instant, Job)>>,
    thread: Option<JoinHandle<()>>,
    waiting: Arc<AtomicUsize>,
}

impl Queue {
    /// Each job takes `delay`, longer where many wait: two are never done less than `apart` from
    /// each other.
    pub(crate) fn new(delay: Duration, apart: Duration) -> Self {
        let (jobs, receiver) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&waiting);
        let thread = std::thread::spawn(move || work(&receiver, delay, apart, &count));
        Queue {
            jobs: Some(jobs),
            thread: Some(thread),
            waiting,
        }
    }

    /// Has `job` done when the disk would have it.
    pub(crate) fn submit(&self, job: impl FnOnce() + Send + 'static) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let jobs = self.jobs.as_ref().unwrap();
        jobs.send((Instant::now(), Box::new(job))).unwrap();
    }

    /// How many jobs are not done.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

fn work(jobs: &Receiver<(Instant, Job)>, delay: Duration, apart: Duration, waiting: &AtomicUsize) {
    // Each takes equally long at least, so they are due in the order in which they came.
    let mut due: VecDeque<(Instant, Job)> = VecDeque::new();
    let mut last = None;
    loop {
        let next = match due.front() {
            Some((at, _)) => jobs.recv_timeout(at.saturating_duration_since(Instant::now())),
            None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match next {
            Ok((asked, job)) => {
                let at = asked + delay;
                let at = last.map_or(at, |last: Instant| at.max(last + apart));
                last = Some(at);
                due.push_back((at, job));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                due.into_iter().for_each(|(_, job)| job());
                return;
            }
        }
        let now = Instant::now();
        while due.front().is_some_and(|(at, _)| *at <= now) {
            let (_, job) = due.pop_front().unwrap();
            job();
            waiting.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
