//! When a disk answers: each job a while after it was asked for, in their order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a call is for: those for content can be held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Content,
    Other,
}

type Job = Box<dyn FnOnce() + Send>;

enum Message {
    Do(Instant, Call, Job),
    /// Those for content wait from now on, until they need not any more.
    Hold(bool),
}

/// Ends, with everything done at once that still waits, when it is dropped.
pub(crate) struct Queue {
    messages: Option<Sender<Message>>,
    thread: Option<JoinHandle<()>>,
    waiting: Arc<AtomicUsize>,
}

impl Queue {
    /// Each job takes `delay`, longer where many wait: two are never done less than `apart` from
    /// each other.
    pub(crate) fn new(delay: Duration, apart: Duration) -> Self {
        let (messages, receiver) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&waiting);
        let thread = std::thread::spawn(move || work(&receiver, delay, apart, &count));
        Queue {
            messages: Some(messages),
            thread: Some(thread),
            waiting,
        }
    }

    /// Has `job` done when the disk would have it.
    pub(crate) fn submit(&self, call: Call, job: impl FnOnce() + Send + 'static) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.send(Message::Do(Instant::now(), call, Box::new(job)));
    }

    /// Whether calls for content are held back from now on.
    pub(crate) fn hold(&self, held: bool) {
        self.send(Message::Hold(held));
    }

    /// How many jobs are not done.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    fn send(&self, message: Message) {
        self.messages.as_ref().unwrap().send(message).unwrap();
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        drop(self.messages.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

fn work(messages: &Receiver<Message>, delay: Duration, apart: Duration, waiting: &AtomicUsize) {
    // Each takes equally long at least, so they are due in the order in which they came.
    let mut due: VecDeque<(Instant, Call, Job)> = VecDeque::new();
    let mut last = None;
    let (mut holds, mut held) = (false, Vec::new());
    let finish = |job: Job| {
        job();
        waiting.fetch_sub(1, Ordering::SeqCst);
    };
    loop {
        let next = match due.front() {
            Some((at, ..)) => messages.recv_timeout(at.saturating_duration_since(Instant::now())),
            None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match next {
            Ok(Message::Do(asked, call, job)) => {
                let at = asked + delay;
                let at = last.map_or(at, |last: Instant| at.max(last + apart));
                last = Some(at);
                due.push_back((at, call, job));
            }
            Ok(Message::Hold(now)) => {
                holds = now;
                if !holds {
                    held.drain(..).for_each(finish);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let due = due.into_iter().map(|(.., job)| job);
                held.into_iter().chain(due).for_each(finish);
                return;
            }
        }
        let now = Instant::now();
        while due.front().is_some_and(|(at, ..)| *at <= now) {
            let (_, call, job) = due.pop_front().unwrap();
            if holds && call == Call::Content {
                held.push(job);
            } else {
                finish(job);
            }
        }
    }
}
