//! The threads that compress: files are looked at in turn, and what is made of one is made before the next is read.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use salver_coding::ContentCoding;

use super::budget::Budget;
use super::finding::FileResult;
use super::plan::Plan;
use super::siblings::{Inspected, Original, inspect, make};
use super::tree::TreeFile;

/// What the threads tell.
#[derive(Debug)]
pub(super) enum Event {
    /// Of a file of so many bytes one of so many parts is done.
    Part(u64),
    /// A file is done; so many bytes of it were told as parts.
    File(FileResult, u64),
}

/// What the threads share.
struct Work<'a> {
    plan: &'a Plan,
    budget: &'a Budget,
    is_ended: &'a AtomicBool,
    queue: Mutex<Queue<'a>>,
    changed: Condvar,
}

struct Queue<'a> {
    files: VecDeque<TreeFile>,
    siblings: Vec<Job<'a>>,
    /// The number of files that are looked at, which may become siblings to make.
    inspecting: usize,
}

/// A sibling that is to be made.
struct Job<'a> {
    original: Arc<Unfinished<'a>>,
    coding: ContentCoding,
}

/// A file of which siblings are being made.
struct Unfinished<'a> {
    original: Box<Original<'a>>,
    /// The bytes that one sibling counts as.
    part: u64,
    count: u64,
}

enum Next<'a> {
    File(TreeFile),
    Sibling(Job<'a>),
}

/// Does the work, and returns when all is done or the end has come.
pub(super) fn work(
    plan: &Plan,
    files: Vec<TreeFile>,
    is_ended: &AtomicBool,
    events: &Sender<Event>,
) {
    let budget = Budget::default();
    let threads = plan
        .threads
        .min(files.len().saturating_mul(plan.codings.len()));
    let work = Work {
        plan,
        budget: &budget,
        is_ended,
        queue: Mutex::new(Queue {
            files: files.into(),
            siblings: Vec::new(),
            inspecting: 0,
        }),
        changed: Condvar::new(),
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let events = events.clone();
            let named = std::thread::Builder::new().name("salver-compress".to_owned());
            // With fewer threads it takes longer, and no more.
            if named.spawn_scoped(scope, || work.run(events)).is_err() {
                break;
            }
        }
        work.run(events.clone());
    });
}

impl<'a> Work<'a> {
    fn run(&self, events: Sender<Event>) {
        while let Some(next) = self.next() {
            match next {
                Next::File(file) => self.inspect(&file, &events),
                Next::Sibling(job) => self.make(job, &events),
            }
        }
    }

    /// What comes next; `None` if there is nothing more.
    fn next(&self) -> Option<Next<'a>> {
        let mut queue = self.queue();
        loop {
            if self.is_ended() {
                return None;
            }
            if let Some(job) = queue.siblings.pop() {
                return Some(Next::Sibling(job));
            }
            if let Some(file) = queue.files.pop_front() {
                queue.inspecting += 1;
                return Some(Next::File(file));
            }
            if queue.inspecting == 0 {
                return None;
            }
            queue = self
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn inspect(&self, file: &TreeFile, events: &Sender<Event>) {
        let inspected = inspect(self.plan, file, self.budget);
        let jobs: Vec<Job<'a>> = match inspected {
            Inspected::Done(result) => {
                let _ = events.send(Event::File(result, 0));
                Vec::new()
            }
            Inspected::Wanted(original, codings) => {
                let count = u64::try_from(codings.len()).unwrap_or(u64::MAX);
                let unfinished = Arc::new(Unfinished {
                    part: original.length() / count.max(1),
                    original,
                    count,
                });
                let jobs = codings.into_iter().map(|coding| Job {
                    original: Arc::clone(&unfinished),
                    coding,
                });
                // The last is taken first: what takes longest is listed first.
                jobs.rev().collect()
            }
        };
        let mut queue = self.queue();
        queue.inspecting -= 1;
        queue.siblings.extend(jobs);
        drop(queue);
        self.changed.notify_all();
    }

    fn make(&self, job: Job<'a>, events: &Sender<Event>) {
        let Job { original, coding } = job;
        let memory = original.original.peak_memory(coding, self.plan.effort);
        let share = self.budget.for_encoder(memory);
        make(self.plan, &original.original, coding, &|| !self.is_ended());
        drop(share);
        let _ = events.send(Event::Part(original.part));
        // Of all that share it the last one has it for itself.
        if let Some(done) = Arc::into_inner(original) {
            let told = done.part.saturating_mul(done.count);
            let _ = events.send(Event::File(done.original.into_result(), told));
        }
    }

    fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }

    fn queue(&self) -> MutexGuard<'_, Queue<'a>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
