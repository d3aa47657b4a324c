//! The queue of the thread that writes into the folder of the tier, which is started when it is first needed: a process may give
//! its rights up before it has a second thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;

use crate::tier::Shared;
use crate::tier::writer::{Job, write_until_the_end};

/// The most bytes that wait to be written. What finds no room is asked of the store again, some time.
pub(super) const MOST: u64 = 64 * 1024 * 1024;

/// The queue. To push something does not wake the thread, which takes a moment: in that somebody waits for what is to be written.
#[derive(Debug)]
pub(super) struct Queue {
    shared: Arc<Shared>,
    writer: Mutex<Option<Writer>>,
    /// True once something was pushed of which the thread has not been told.
    is_untold: AtomicBool,
}

#[derive(Debug)]
struct Writer {
    jobs: Sender<Job>,
    thread: Thread,
}

impl Queue {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Queue {
            shared,
            writer: Mutex::new(None),
            is_untold: AtomicBool::new(false),
        }
    }

    /// Starts the thread, if there is none; false if the system gives none.
    pub(super) fn begin(&self) -> bool {
        self.with_writer(|_| ()).is_some()
    }

    /// Has something done once the thread is [told](Self::tell) or looks for itself, if there is room.
    pub(super) fn push(&self, job: Job) {
        let queued = self.shared.queued.load(Ordering::Relaxed);
        let has_room = |job: &Job, most: u64| queued.saturating_add(job.cost()) <= most;
        let job = match job {
            // What is there in its place is older.
            Job::Write { name, .. } if !has_room(&job, MOST) => {
                self.shared.index().forget(&name);
                Job::Remove(name)
            }
            job => job,
        };
        // What is short is done all the same, as far as it does not pile up without end.
        let is_awaited = matches!(job, Job::Settle(_));
        if !is_awaited && !has_room(&job, MOST.saturating_mul(2)) {
            return;
        }
        let cost = job.cost();
        self.shared.queued.fetch_add(cost, Ordering::Relaxed);
        match self.with_writer(|writer| writer.jobs.send(job).is_ok()) {
            Some(true) => self.is_untold.store(true, Ordering::Release),
            _ => drop(self.shared.queued.fetch_sub(cost, Ordering::Relaxed)),
        }
    }

    /// Wakes the thread if something was pushed since.
    pub(super) fn tell(&self) {
        if self.is_untold.load(Ordering::Acquire) && self.is_untold.swap(false, Ordering::AcqRel) {
            self.with_writer(|writer| writer.thread.unpark());
        }
    }

    fn with_writer<T>(&self, act: impl FnOnce(&Writer) -> T) -> Option<T> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = &*writer {
            return Some(act(writer));
        }
        let (jobs, receiver) = channel();
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name("salver-tier".to_owned());
        match thread.spawn(move || write_until_the_end(&shared, &receiver)) {
            Ok(started) => {
                let thread = started.thread().clone();
                Some(act(writer.insert(Writer { jobs, thread })))
            }
            Err(error) => {
                let path = &self.shared.path;
                tracing::warn!("{path:?}: nothing is kept there: {error}");
                None
            }
        }
    }
}

/// The end of the thread, once it has done what it was told.
impl Drop for Queue {
    fn drop(&mut self) {
        let writer = self
            .writer
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(Writer { jobs, thread }) = writer.take() {
            drop(jobs);
            thread.unpark();
        }
    }
}
