//! A log as the writer knows it: lines on their way from its queues to its output.

use std::io;
use std::sync::Arc;
use std::sync::atomic::fence;
use std::time::{Duration, Instant};

use crate::bell::Awaited;
use crate::log::SharedLog;
use crate::notice::{Notice, NoticeLimit};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::queue::{LANES, Rest};
use crate::sync::{Ordering, hold};

/// How long lines may wait for others, so that they are written together.
const GATHER: Duration = Duration::from_millis(200);

/// How long after a failure the output is tried again, and how often drops are looked at while it is full.
const RETRY: Duration = Duration::from_secs(1);

/// The writes after which other logs have their turn.
const TURN: usize = 64;

/// A log as the writer knows it.
#[derive(Debug)]
pub(super) struct OpenLog {
    name: String,
    shared: Arc<SharedLog>,
    output: Output,
    batch: Batch,
    /// The lane, counted through all queues, that was looked at last.
    lane: usize,
    wait: Wait,
    is_said_to_fail: bool,
    dropped_said: u64,
    said_dropped: NoticeLimit,
    said_failed: NoticeLimit,
}

/// The lines that were taken from one lane, and are being written.
#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    lines: u64,
    /// The lines that the output refused.
    refused: u64,
    /// The bytes that are written.
    written: usize,
}

impl Batch {
    fn rest(&self) -> &[u8] {
        self.bytes.get(self.written..).unwrap_or_default()
    }

    /// What was written of a line is elsewhere: the line begins anew.
    fn begin_line_anew(&mut self) {
        let written = self.bytes.get(..self.written).unwrap_or_default();
        let end = written.iter().rposition(|byte| *byte == b'\n');
        self.written = end.map_or(0, |end| end + 1);
    }

    /// The lines that are not written yet, the one that was begun included.
    fn lines_left(&self) -> u64 {
        let ends = self.rest().iter().filter(|byte| **byte == b'\n');
        u64::try_from(ends.count()).unwrap_or(u64::MAX)
    }
}

/// What the writer waits for, for one log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wait {
    /// Nothing: it has more to do.
    Not,
    /// Lines. There are none.
    Lines,
    /// That time, or many lines.
    Gather(Instant),
    /// The output's descriptor, or that time.
    Output(Instant),
    /// That time, after a failure.
    Retry(Instant),
}

impl OpenLog {
    pub(super) fn new(name: String, shared: Arc<SharedLog>, output: Output) -> OpenLog {
        OpenLog {
            name,
            shared,
            output,
            batch: Batch::default(),
            lane: 0,
            wait: Wait::Not,
            is_said_to_fail: false,
            dropped_said: 0,
            said_dropped: NoticeLimit::default(),
            said_failed: NoticeLimit::default(),
        }
    }

    /// Writes what is due, and says what to wait for.
    pub(super) fn turn(&mut self, now: Instant, say: &mut dyn FnMut(&Notice<'_>)) -> Wait {
        let is_awake = self.shared.attention.is_awake();
        let rests = match self.wait {
            Wait::Lines => !is_awake,
            Wait::Gather(due) => now < due && !is_awake,
            Wait::Retry(due) => now < due,
            Wait::Not | Wait::Output(_) => false,
        };
        if !rests {
            self.wait = self.write(now, say);
        }
        self.say_dropped(now, say);
        self.wait
    }

    fn write(&mut self, now: Instant, say: &mut dyn FnMut(&Notice<'_>)) -> Wait {
        self.shared.attention.wake();
        let mut has_written = false;
        for _ in 0..TURN {
            if self.batch.bytes.is_empty() && !self.take() {
                return self.rest(now, has_written);
            }
            match self.output.write(self.batch.rest()) {
                Outcome::Taken { bytes, refused } => {
                    has_written = true;
                    self.count(bytes, refused);
                    if std::mem::take(&mut self.is_said_to_fail) {
                        say(&Notice::WritesAgain { log: &self.name });
                    }
                }
                Outcome::Full => return Wait::Output(now + RETRY),
                Outcome::Failed { error, is_new } => {
                    if is_new {
                        self.batch.begin_line_anew();
                    }
                    self.fail(&error, now, say);
                    return Wait::Retry(now + RETRY);
                }
            }
        }
        Wait::Not
    }

    /// All lines are written: a while later there may be more, and later yet there is nobody to wait for.
    fn rest(&mut self, now: Instant, has_written: bool) -> Wait {
        self.shared.forget_ended();
        if has_written {
            self.shared.attention.rest(Rest::Timed);
            return Wait::Gather(now + GATHER);
        }
        self.shared.attention.rest(Rest::Idle);
        if self.shared.has_lines() {
            // One came just before: see `Attention`.
            Wait::Not
        } else {
            Wait::Lines
        }
    }

    /// Takes the lines of the next lane that has any.
    fn take(&mut self) -> bool {
        let queues = hold(self.shared.queues.lock());
        let lanes = queues.len() * LANES;
        for _ in 0..lanes {
            self.lane = (self.lane + 1) % lanes;
            let Some(queue) = queues.get(self.lane / LANES) else {
                continue;
            };
            let lines = queue.take(self.lane % LANES, &mut self.batch.bytes);
            if lines > 0 {
                self.batch.lines = lines;
                return true;
            }
        }
        false
    }

    /// Goes on behind what was written.
    fn count(&mut self, bytes: usize, refused: u64) {
        self.batch.written += bytes;
        self.batch.refused += refused;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.shared.totals.bytes.fetch_add(bytes, Ordering::Relaxed);
        if self.batch.rest().is_empty() {
            self.close_batch(0);
        }
    }

    /// Counts the batch, of which so many lines are not written, and forgets it.
    fn close_batch(&mut self, left: u64) {
        let totals = &self.shared.totals;
        let not_written = left + self.batch.refused;
        let written = self.batch.lines.saturating_sub(not_written);
        totals.lines.fetch_add(written, Ordering::Relaxed);
        totals.dropped.fetch_add(not_written, Ordering::Relaxed);
        let mut bytes = std::mem::take(&mut self.batch).bytes;
        bytes.clear();
        self.batch.bytes = bytes;
    }

    fn fail(&mut self, error: &io::Error, now: Instant, say: &mut dyn FnMut(&Notice<'_>)) {
        self.shared.totals.failures.fetch_add(1, Ordering::Relaxed);
        if self.said_failed.permits(now) {
            self.is_said_to_fail = true;
            let log = &self.name;
            say(&Notice::CannotWrite { log, error });
        }
    }

    fn say_dropped(&mut self, now: Instant, say: &mut dyn FnMut(&Notice<'_>)) {
        let dropped = self.shared.dropped();
        let lines = dropped.saturating_sub(self.dropped_said);
        if lines > 0 && self.said_dropped.permits(now) {
            self.dropped_said = dropped;
            let log = &self.name;
            say(&Notice::Dropped { log, lines });
        }
    }

    /// Opens the output anew.
    pub(super) fn reopen(&mut self, say: &mut dyn FnMut(&Notice<'_>)) {
        match self.output.reopen() {
            Ok(true) => {
                self.batch.begin_line_anew();
                // Where there was no room there may be now.
                self.wait = Wait::Not;
            }
            Ok(false) => {}
            Err(error) => say(&Notice::CannotReopen {
                log: &self.name,
                error: &error,
            }),
        }
    }

    /// Writes all that waits, for as long as the output takes it; true unless that is full, or the time is over.
    pub(super) fn finish(&mut self, end: Instant, say: &mut dyn FnMut(&Notice<'_>)) -> bool {
        self.wait = Wait::Not;
        loop {
            let now = Instant::now();
            match self.turn(now, say) {
                Wait::Not if now < end => {}
                Wait::Not | Wait::Output(_) => return false,
                Wait::Lines | Wait::Gather(_) | Wait::Retry(_) => return true,
            }
        }
    }

    /// Counts the lines that are left as dropped: nobody writes them any more.
    pub(super) fn end(&mut self, now: Instant, say: &mut dyn FnMut(&Notice<'_>)) {
        self.shared.attention.end();
        loop {
            self.close_batch(self.batch.lines_left());
            if !self.take() {
                break;
            }
        }
        self.said_dropped = NoticeLimit::default();
        self.say_dropped(now, say);
    }

    /// True if nobody logs to it any more, and nothing waits.
    pub(super) fn is_over(&self) -> bool {
        let is_alone = Arc::strong_count(&self.shared) == 1;
        // What those who log no more have logged is seen from here on.
        fence(Ordering::Acquire);
        is_alone && self.batch.bytes.is_empty() && !self.shared.has_lines()
    }

    /// The descriptor that is waited for.
    pub(super) fn awaited(&self) -> Option<Awaited<'_>> {
        match self.wait {
            Wait::Output(_) => self.output.awaited(),
            _ => None,
        }
    }
}

#[cfg(test)]
#[cfg(all(not(loom), target_os = "linux"))]
mod tests;
