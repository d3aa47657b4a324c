//! One thread of a load: its connections, in one loop that never waits for one of them alone.

mod opening;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::time::{ClockId, clock_gettime};

use crate::answer::Fed;
use crate::connection::{At, Connection};
use crate::expected::Wrong;
use crate::order::Picker;
use crate::poller::{Poller, Ready};
use crate::schedule::Moments;
use crate::tally::Tally;
use crate::workload::Prepares;

/// Bytes taken from a socket at a time: more than most answers, and less than a core's cache.
const BUFFER: usize = 128 * 1024;

/// How often what rarely happens is looked for: time-outs, servers that are back.
const TICK: Duration = Duration::from_millis(20);

/// After a connection was refused, the next attempt.
const RETRY: Duration = Duration::from_millis(100);

/// A request that leaves later than this after it could have is the client's fault.
const LATE: Duration = Duration::from_millis(1);

/// What all threads of a load share.
pub(crate) struct Shared<'a> {
    pub(crate) address: SocketAddr,
    pub(crate) prepares: &'a Prepares,
    pub(crate) timeout: Duration,
    /// Ends the run early.
    pub(crate) stop: AtomicBool,
    /// Right answers and errors so far, for those who watch; warm-up included.
    pub(crate) answers: AtomicU64,
    pub(crate) errors: AtomicU64,
}

/// The phases of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeline {
    pub(crate) start: Instant,
    /// Requests are measured that are to be sent from here
    pub(crate) from: Instant,
    /// to here.
    pub(crate) until: Instant,
}

pub(crate) struct Worker<'a> {
    shared: &'a Shared<'a>,
    poller: Poller,
    connections: Vec<Connection<'a>>,
    /// The number of its first connection among those of all threads.
    first: usize,
    picker: Picker,
    moments: Moments,
    /// The number of the next request that has a moment.
    next: u64,
    /// Connections that wait for a moment, the longest first.
    idle: VecDeque<usize>,
    busy: usize,
    timeline: Timeline,
    tally: Tally,
    /// Not yet told to those who watch.
    answers: u64,
    errors: u64,
}

impl<'a> Worker<'a> {
    /// Sends and receives until all that belongs to the timeline is answered, or has failed.
    pub(crate) fn run(mut self, timeline: Timeline) -> io::Result<Tally> {
        self.timeline = timeline;
        let mut ready = Vec::new();
        let mut buffer = vec![0; BUFFER];
        let mut cpu_before = None;
        let mut tick = Instant::now();
        let mut backlog = None;
        for index in 0..self.connections.len() {
            if self
                .connections
                .get(index)
                .is_some_and(|one| one.at == At::Idle)
            {
                self.is_free(index, Instant::now());
            }
        }
        loop {
            let now = Instant::now();
            if cpu_before.is_none() && now >= self.timeline.from {
                cpu_before = Some(thread_cpu());
            }
            if self.shared.stop.load(Ordering::Relaxed) {
                self.timeline.until = self.timeline.until.min(now);
            }
            if now >= self.timeline.until && backlog.is_none() {
                backlog = Some(self.left_over());
            }
            let next_due = self.dispatch(now);
            self.tell();
            let is_over = now >= self.timeline.until && self.busy == 0;
            if (is_over && next_due.is_none()) || now >= self.timeline.until + self.shared.timeout {
                break;
            }
            let wait = match next_due {
                Some(due) if !self.idle.is_empty() => {
                    due.saturating_duration_since(Instant::now()).min(TICK)
                }
                _ => TICK,
            };
            self.poller.wait(wait, &mut ready)?;
            for ready in &ready {
                self.handle(*ready, &mut buffer);
            }
            if tick.elapsed() >= TICK {
                tick = Instant::now();
                self.tick(tick);
            }
        }
        // What has not come by now does not come.
        for index in 0..self.connections.len() {
            if self
                .connections
                .get(index)
                .is_some_and(|one| one.at == At::Busy)
            {
                self.fail(index, |errors| &mut errors.timeout);
            }
        }
        let unsent = self.left_over();
        self.tally.errors.timeout += unsent;
        self.tally.due += unsent;
        self.tally.backlog = backlog.unwrap_or_default();
        self.tally.cpu = thread_cpu().saturating_sub(cpu_before.unwrap_or_default());
        let measured = self
            .timeline
            .until
            .saturating_duration_since(self.timeline.from);
        self.tally.span = self.tally.span.max(measured);
        self.tell();
        Ok(self.tally)
    }

    /// Sends what is due; the moment of what is due next, if that belongs to the run.
    fn dispatch(&mut self, now: Instant) -> Option<Instant> {
        loop {
            let due = self.timeline.start + self.moments.due(self.next)?;
            if due >= self.timeline.until {
                return None;
            }
            if due > now {
                return Some(due);
            }
            let Some(index) = self.idle.pop_front() else {
                return Some(due);
            };
            self.next += 1;
            self.begin(index, due);
        }
    }

    /// Requests of the measured phase that are due and not sent.
    fn left_over(&self) -> u64 {
        let is_due = |number: &u64| {
            let due = self
                .moments
                .due(*number)
                .map(|due| self.timeline.start + due);
            due.is_some_and(|due| due < self.timeline.until)
        };
        let measured = |number: &u64| {
            let due = self
                .moments
                .due(*number)
                .map(|due| self.timeline.start + due);
            due.is_some_and(|due| due >= self.timeline.from)
        };
        let left = (self.next..).take_while(is_due).filter(measured).count();
        u64::try_from(left).unwrap_or(u64::MAX)
    }

    /// A connection can take the next request.
    fn is_free(&mut self, index: usize, now: Instant) {
        if let Some(connection) = self.connections.get_mut(index) {
            connection.at = At::Idle;
            connection.since = now;
        }
        if self.moments.due(0).is_some() {
            self.idle.push_back(index);
            self.dispatch(now);
        } else if now < self.timeline.until {
            self.begin(index, now);
        }
    }

    /// Sends the next request on a connection that is idle.
    fn begin(&mut self, index: usize, intended: Instant) {
        let Some(request) = self.shared.prepares.pick(&mut self.picker) else {
            return;
        };
        let Some(connection) = self.connections.get_mut(index) else {
            return;
        };
        let scheduled = self.moments.due(0).is_some();
        let now = if scheduled { Instant::now() } else { intended };
        let timeline = &self.timeline;
        connection.measured = timeline.from <= intended && intended < timeline.until;
        if scheduled && connection.measured {
            self.tally.due += 1;
            let could_have = intended.max(connection.since);
            if now.saturating_duration_since(could_have) > LATE {
                self.tally.late_sends += 1;
            }
        }
        connection.at = At::Busy;
        connection.since = now;
        connection.intended = intended;
        connection.request = Some(request);
        connection.sent = 0;
        connection.answer.begin(request.expected.keep());
        self.busy += 1;
        self.send(index);
    }

    /// Sends what is left of the request.
    fn send(&mut self, index: usize) {
        let Some(connection) = self.connections.get_mut(index) else {
            return;
        };
        let (Some(stream), Some(request)) = (&connection.stream, connection.request) else {
            return;
        };
        while let Some(rest @ [_, ..]) = request.bytes.get(connection.sent..) {
            match send(stream, rest, SendFlags::NOSIGNAL) {
                Ok(sent) => connection.sent += sent,
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(_) => {
                    self.fail(index, |errors| &mut errors.closed);
                    return self.open(index, Instant::now());
                }
            }
        }
    }

    fn handle(&mut self, ready: Ready, buffer: &mut [u8]) {
        let index = ready.number;
        match self.connections.get(index).map(|one| one.at) {
            Some(At::Connecting) if ready.writable => {
                let now = Instant::now();
                if self.opened(index, now).is_ok() {
                    self.is_free(index, now);
                }
            }
            Some(At::Busy) => {
                if ready.writable {
                    self.send(index);
                }
                if ready.readable {
                    self.receive(index, buffer, ready.ends);
                }
            }
            Some(At::Idle) if ready.readable => self.receive(index, buffer, ready.ends),
            Some(_) | None => {}
        }
    }

    /// Takes what has come, to the end if it `ends`.
    fn receive(&mut self, index: usize, buffer: &mut [u8], ends: bool) {
        loop {
            let Some(connection) = self.connections.get_mut(index) else {
                return;
            };
            let Some(stream) = &connection.stream else {
                return;
            };
            let received = match recv(stream, &mut *buffer, RecvFlags::empty()) {
                Ok((received, _)) => received,
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => continue,
                Err(_) => return self.ended(index, true),
            };
            if received == 0 {
                return self.ended(index, false);
            }
            let bytes = buffer.get(..received).unwrap_or_default();
            let now = Instant::now();
            if connection.at != At::Busy {
                // Nobody has asked for that.
                self.error(now, |errors| &mut errors.malformed);
                return self.open(index, now);
            }
            match connection.answer.feed(bytes) {
                Fed::More => {}
                Fed::Done(taken) if taken == received => {
                    let lasts = connection.answer.persistent;
                    self.complete(index, now);
                    match lasts {
                        true => self.is_free(index, now),
                        false => self.open(index, now),
                    }
                }
                Fed::Done(_) | Fed::Malformed => {
                    self.fail(index, |errors| &mut errors.malformed);
                    return self.open(index, now);
                }
            }
            if received < buffer.len() && !ends {
                // All there was: what comes later is told.
                return;
            }
        }
    }

    /// The connection has ended, by an error or in order.
    fn ended(&mut self, index: usize, by_error: bool) {
        let now = Instant::now();
        if let Some(connection) = self.connections.get_mut(index)
            && connection.at == At::Busy
        {
            if !by_error && connection.answer.is_ended_by_close() {
                self.complete(index, now);
            } else if connection.answer.has_begun {
                self.fail(index, |errors| &mut errors.short);
            } else {
                self.fail(index, |errors| &mut errors.closed);
            }
        }
        self.open(index, now);
    }

    /// An answer is complete.
    fn complete(&mut self, index: usize, now: Instant) {
        let Some(connection) = self.connections.get_mut(index) else {
            return;
        };
        let Some(request) = connection.request.take() else {
            return;
        };
        self.busy -= 1;
        let verdict = request.expected.judge(&connection.answer);
        match verdict {
            Ok(()) => self.answers += 1,
            Err(_) => self.errors += 1,
        }
        if !connection.measured {
            return;
        }
        let tally = &mut self.tally;
        tally.answer(&connection.answer);
        tally.span = now.saturating_duration_since(self.timeline.from);
        match verdict {
            Ok(()) => {
                tally.requests += 1;
                tally
                    .raw
                    .record(now.saturating_duration_since(connection.since));
                if self.moments.due(0).is_some() {
                    let waited = now.saturating_duration_since(connection.intended);
                    tally.corrected.record(waited);
                }
            }
            Err(Wrong::Status) => tally.errors.status += 1,
            Err(Wrong::Content) => tally.errors.content += 1,
        }
    }

    /// The request that a connection was busy with has failed.
    fn fail(&mut self, index: usize, kind: fn(&mut crate::model::Errors) -> &mut u64) {
        let Some(connection) = self.connections.get_mut(index) else {
            return;
        };
        if connection.request.take().is_none() {
            return;
        }
        self.busy -= 1;
        self.errors += 1;
        // Who asks again when answered may be stuck since the warm-up: that is no reason to hide it.
        let is_stuck = self.moments.due(0).is_none() && Instant::now() >= self.timeline.from;
        if connection.measured || is_stuck {
            *kind(&mut self.tally.errors) += 1;
        }
    }

    /// An error that belongs to no request.
    fn error(&mut self, now: Instant, kind: fn(&mut crate::model::Errors) -> &mut u64) {
        self.errors += 1;
        if self.timeline.from <= now && now < self.timeline.until {
            *kind(&mut self.tally.errors) += 1;
        }
    }

    /// Ends what takes too long, and tries again what was refused.
    fn tick(&mut self, now: Instant) {
        for index in 0..self.connections.len() {
            let Some(connection) = self.connections.get(index) else {
                continue;
            };
            let age = now.saturating_duration_since(connection.since);
            match connection.at {
                At::Busy if age >= self.shared.timeout => {
                    self.fail(index, |errors| &mut errors.timeout);
                    self.open(index, now);
                }
                At::Connecting if age >= self.shared.timeout => self.refused(index, now),
                At::Down if age >= RETRY && now < self.timeline.until => self.open(index, now),
                At::Busy | At::Connecting | At::Down | At::Idle => {}
            }
        }
    }

    /// Tells those who watch.
    fn tell(&mut self) {
        let (answers, errors) = (
            std::mem::take(&mut self.answers),
            std::mem::take(&mut self.errors),
        );
        if answers > 0 {
            self.shared.answers.fetch_add(answers, Ordering::Relaxed);
        }
        if errors > 0 {
            self.shared.errors.fetch_add(errors, Ordering::Relaxed);
        }
    }
}

/// The CPU time of this thread.
fn thread_cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
