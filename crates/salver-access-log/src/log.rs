//! A log, as loops know it.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::fence;
use std::time::Duration;

use crate::bell::Bell;
use crate::entry::{Draft, LINE_AT_MOST, LoggedResponse};
use crate::format::Format;
use crate::queue::{Attention, Queue};
use crate::rendered_second::RenderedSecond;
use crate::sampling::Sampling;
use crate::settings::Settings;
use crate::sync::{AtomicU64, Mutex, Ordering, hold};

/// The least that a queue may have: a few lines in each of its lanes.
const QUEUE_AT_LEAST: usize = 8 * LINE_AT_MOST;

/// What a log's loops and the writer share.
#[derive(Debug)]
pub(crate) struct SharedLog {
    format: Format,
    sampling: Sampling,
    queue_bytes: usize,
    pub(crate) attention: Attention,
    pub(crate) queues: Mutex<Vec<Arc<Queue>>>,
    pub(crate) totals: Totals,
}

/// What became of a log's lines, but for those of loops that still log.
#[derive(Debug)]
pub(crate) struct Totals {
    pub(crate) lines: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) sampled_out: AtomicU64,
    pub(crate) failures: AtomicU64,
}

impl SharedLog {
    pub(crate) fn new(settings: &Settings) -> SharedLog {
        SharedLog {
            format: settings.format,
            sampling: settings.sampling,
            queue_bytes: settings.queue_bytes.max(QUEUE_AT_LEAST),
            attention: Attention::new(),
            queues: Mutex::new(Vec::new()),
            totals: Totals {
                lines: AtomicU64::new(0),
                bytes: AtomicU64::new(0),
                dropped: AtomicU64::new(0),
                sampled_out: AtomicU64::new(0),
                failures: AtomicU64::new(0),
            },
        }
    }

    /// The lines that were dropped so far, whoever dropped them.
    pub(crate) fn dropped(&self) -> u64 {
        let queues = hold(self.queues.lock());
        let of_loops: u64 = queues.iter().map(|queue| queue.dropped()).sum();
        of_loops + self.totals.dropped.load(Ordering::Relaxed)
    }

    /// True if a line waits in one of the queues.
    pub(crate) fn has_lines(&self) -> bool {
        hold(self.queues.lock())
            .iter()
            .any(|queue| !queue.is_empty())
    }

    fn statistics(&self) -> Statistics {
        let dropped = self.dropped();
        let queues = hold(self.queues.lock());
        let sampled_out: u64 = queues.iter().map(|queue| queue.sampled_out()).sum();
        let of = |total: &AtomicU64| total.load(Ordering::Relaxed);
        Statistics {
            lines: of(&self.totals.lines),
            bytes: of(&self.totals.bytes),
            dropped,
            sampled_out: sampled_out + of(&self.totals.sampled_out),
            failures: of(&self.totals.failures),
        }
    }

    /// Forgets the queues of loops that have ended and whose lines are taken; their counts stay.
    pub(crate) fn forget_ended(&self) {
        hold(self.queues.lock()).retain(|queue| {
            let has_loop = Arc::strong_count(queue) > 1;
            // What a loop that has ended logged is seen from here on.
            fence(Ordering::Acquire);
            let is_kept = has_loop || !queue.is_empty();
            if !is_kept {
                let add = |total: &AtomicU64, count| total.fetch_add(count, Ordering::Relaxed);
                add(&self.totals.dropped, queue.dropped());
                add(&self.totals.sampled_out, queue.sampled_out());
            }
            is_kept
        });
    }
}

/// What became of a log's entries so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// The lines that were written.
    pub lines: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The lines that were dropped: there was no room for them, they were too long for a datagram, or could
    /// not be written until the end.
    pub dropped: u64,
    /// The entries that were not in the sample.
    pub sampled_out: u64,
    /// The times that the destination took nothing for an error.
    pub failures: u64,
}

/// A log that is open. When all that refers to it is dropped, what waits is written and it is closed.
#[derive(Debug, Clone)]
pub struct AccessLog {
    shared: Arc<SharedLog>,
    /// Last, so that the writer looks when the other is dropped.
    closing: Ring,
}

impl AccessLog {
    pub(crate) fn new(shared: Arc<SharedLog>, bell: &Arc<Bell>) -> AccessLog {
        AccessLog {
            shared,
            closing: Ring(Arc::clone(bell)),
        }
    }

    /// The end at which one loop logs.
    pub fn producer(&self) -> Producer {
        let queue = Arc::new(Queue::new(self.shared.queue_bytes, LINE_AT_MOST));
        hold(self.shared.queues.lock()).push(Arc::clone(&queue));
        Producer {
            queue,
            second: RenderedSecond::new(Duration::ZERO),
            shared: Arc::clone(&self.shared),
            closing: Ring(Arc::clone(&self.closing.0)),
        }
    }

    /// True if both are one log.
    pub fn is_same(&self, other: &AccessLog) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// What became of its entries so far.
    pub fn statistics(&self) -> Statistics {
        self.shared.statistics()
    }
}

/// The end of a log at which one loop logs. What it logged is written also if it is dropped.
#[derive(Debug)]
pub struct Producer {
    queue: Arc<Queue>,
    second: RenderedSecond,
    shared: Arc<SharedLog>,
    /// Last, so that the writer is woken when the others are dropped.
    closing: Ring,
}

impl Producer {
    /// True if lines, or which of them are written, depend on the identifiers of requests. Where not, any will do.
    pub fn tells_ids(&self) -> bool {
        self.shared.format.tells_ids() || self.sampling().is_some()
    }

    /// Logs a request whose answer has ended, unless it is not in the sample. Never waits: if there is no room the line
    /// is dropped and counted. It makes no system call but one that wakes the writer, after a pause or when many lines
    /// wait.
    pub fn log(&mut self, draft: &Draft, response: &LoggedResponse<'_>) {
        let Some(request) = draft.request() else {
            return;
        };
        let sampling = &self.shared.sampling;
        if !sampling.keeps(request.request_id, response.status) {
            return self.queue.count_sampled_out();
        }
        if self.shared.attention.is_gone() {
            return self.queue.count_dropped(1);
        }
        self.second.turn_to(request.started);
        let (format, second) = (self.shared.format, &self.second);
        let write = |out: &mut Vec<u8>| format.write(&request, response, second, out);
        let Some(bytes) = self.queue.push(write) else {
            return;
        };
        if self
            .shared
            .attention
            .wants_waking(bytes >= self.queue.many())
        {
            self.closing.0.ring();
        }
    }

    /// True if one in several requests is logged: then an entry may be not worth making, see
    /// [`Sampling::keeps`].
    pub fn sampling(&self) -> Option<Sampling> {
        let sampling = self.shared.sampling;
        (sampling.one_in > NonZeroU32::MIN).then_some(sampling)
    }
}

/// What rings the bell when it is dropped, so that the writer looks what is to be closed.
#[derive(Debug, Clone)]
struct Ring(Arc<Bell>);

impl Drop for Ring {
    fn drop(&mut self) {
        self.0.ring();
    }
}
