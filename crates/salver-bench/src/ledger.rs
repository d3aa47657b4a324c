//! The accounts of one thread of a load, whatever it speaks: which request is due when, and what
//! has become of each.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::answer::Answer;
use crate::expected::Wrong;
use crate::model::{Errors, Tls};
use crate::order::Picker;
use crate::schedule::Moments;
use crate::tally::Tally;
use crate::transport::Dialer;
use crate::workload::{Prepared, Prepares};

/// How often what rarely happens is looked for: time-outs, servers that are back.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// After a connection was refused, the next attempt.
pub(crate) const RETRY: Duration = Duration::from_millis(100);

/// A request that leaves later than this after it could have is the client's fault.
const LATE: Duration = Duration::from_millis(1);

/// What all threads of a load share.
pub(crate) struct Shared<'a> {
    pub(crate) dialer: Dialer,
    pub(crate) prepares: &'a Prepares,
    pub(crate) timeout: Duration,
    /// Ends the run early.
    pub(crate) stop: AtomicBool,
    /// Right answers and errors so far, for those who watch; warm-up included.
    pub(crate) answers: AtomicU64,
    pub(crate) errors: AtomicU64,
    /// Of the errors those that are complete answers of another status, and the last such status.
    pub(crate) wrong_statuses: AtomicU64,
    pub(crate) wrong_status: AtomicU16,
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

/// A request that is under way.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) request: &'a Prepared,
    /// When it was sent.
    pub(crate) sent: Instant,
    /// When it was to be sent.
    intended: Instant,
    /// Whether it belongs to what is measured.
    measured: bool,
    /// It was sent before, in vain.
    pub(crate) again: bool,
}

/// One of the kinds of errors.
pub(crate) type Kind = fn(&mut Errors) -> &mut u64;

pub(crate) struct Ledger<'a> {
    pub(crate) shared: &'a Shared<'a>,
    picker: Picker,
    moments: Moments,
    /// The number of the next request that has a moment.
    next: u64,
    timeline: Timeline,
    /// Requests that are under way.
    busy: usize,
    tally: Tally,
    /// Due at the end and not sent; `None` before the end.
    backlog: Option<u64>,
    /// CPU of this thread when the measuring began.
    cpu_before: Option<Duration>,
    /// Not yet told to those who watch.
    answers: u64,
    errors: u64,
    wrong_statuses: u64,
    wrong_status: u16,
}

impl<'a> Ledger<'a> {
    /// Of a thread that does not send yet.
    pub(crate) fn new(shared: &'a Shared<'a>, picker: Picker, moments: Moments) -> Self {
        let now = Instant::now();
        Ledger {
            shared,
            picker,
            moments,
            next: 0,
            timeline: Timeline {
                start: now,
                from: now,
                until: now,
            },
            busy: 0,
            tally: Tally::default(),
            backlog: None,
            cpu_before: None,
            answers: 0,
            errors: 0,
            wrong_statuses: 0,
            wrong_status: 0,
        }
    }

    pub(crate) fn begin_run(&mut self, timeline: Timeline) {
        self.timeline = timeline;
    }

    /// Whether the schedule says when requests are sent, and not the answers.
    pub(crate) fn is_scheduled(&self) -> bool {
        self.moments.due(0).is_some()
    }

    /// Whether requests may still be sent that the answers ask for.
    pub(crate) fn goes_on(&self, now: Instant) -> bool {
        now < self.timeline.until
    }

    /// Notes the phase of the run. To be called in every turn of a loop.
    pub(crate) fn turn(&mut self, now: Instant) {
        if self.cpu_before.is_none() && now >= self.timeline.from {
            self.cpu_before = Some(thread_cpu());
        }
        if self.shared.stop.load(Ordering::Relaxed) {
            self.timeline.until = self.timeline.until.min(now);
        }
        if now >= self.timeline.until && self.backlog.is_none() {
            self.backlog = Some(self.left_over());
        }
        self.tell();
    }

    /// Whether nothing is left to send or to wait for, or it was waited for long enough.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        let nothing_left = self.next_moment().is_none() && self.busy == 0;
        let until = self.timeline.until;
        (now >= until && nothing_left) || now >= until + self.shared.timeout
    }

    /// When the next request is due, if the run has another that has a moment.
    pub(crate) fn next_moment(&self) -> Option<Instant> {
        let due = self.timeline.start + self.moments.due(self.next)?;
        (due < self.timeline.until).then_some(due)
    }

    /// The moment of the next request, if it has come: the request is then to be sent.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Instant> {
        let due = self.next_moment().filter(|due| *due <= now)?;
        self.next += 1;
        Some(due)
    }

    /// When the next phase begins, if one does.
    pub(crate) fn next_phase(&self, now: Instant) -> Option<Instant> {
        let phases = [self.timeline.from, self.timeline.until];
        phases.into_iter().find(|phase| *phase > now)
    }

    /// Requests of the measured phase that are due and not sent.
    fn left_over(&self) -> u64 {
        let moment = |number: &u64| {
            let due = self.moments.due(*number);
            due.map(|due| self.timeline.start + due)
        };
        let is_due = |number: &u64| moment(number).is_some_and(|due| due < self.timeline.until);
        let measured = |number: &u64| moment(number).is_some_and(|due| due >= self.timeline.from);
        let left = (self.next..).take_while(is_due).filter(measured).count();
        u64::try_from(left).unwrap_or(u64::MAX)
    }

    /// The next request, which is sent now. It was to be sent at `intended`, and could have been
    /// from `free_since` on.
    pub(crate) fn begin(&mut self, intended: Instant, free_since: Instant) -> Option<Asked<'a>> {
        let request = self.shared.prepares.pick(&mut self.picker)?;
        let scheduled = self.is_scheduled();
        let sent = if scheduled { Instant::now() } else { intended };
        let measured = self.timeline.from <= intended && intended < self.timeline.until;
        if scheduled && measured {
            self.tally.due += 1;
            let could_have = intended.max(free_since);
            if sent.saturating_duration_since(could_have) > LATE {
                self.tally.late_sends += 1;
            }
        }
        self.busy += 1;
        Some(Asked {
            request,
            sent,
            intended,
            measured,
            again: false,
        })
    }

    /// An answer is complete.
    pub(crate) fn complete(&mut self, asked: Asked<'a>, answer: &Answer, now: Instant) {
        self.busy -= 1;
        let verdict = asked.request.expected.judge(answer);
        match verdict {
            Ok(()) => self.answers += 1,
            Err(wrong) => {
                self.errors += 1;
                if wrong == Wrong::Status {
                    self.wrong_statuses += 1;
                    self.wrong_status = answer.status;
                }
            }
        }
        if !asked.measured {
            return;
        }
        let tally = &mut self.tally;
        tally.answer(answer);
        tally.span = now.saturating_duration_since(self.timeline.from);
        match verdict {
            Ok(()) => {
                tally.requests += 1;
                tally.raw.record(now.saturating_duration_since(asked.sent));
                if self.moments.due(0).is_some() {
                    let waited = now.saturating_duration_since(asked.intended);
                    tally.corrected.record(waited);
                }
            }
            Err(Wrong::Status) => tally.errors.status += 1,
            Err(Wrong::Content) => tally.errors.content += 1,
        }
    }

    /// A request has failed.
    pub(crate) fn fail(&mut self, asked: Asked<'a>, kind: Kind) {
        self.busy -= 1;
        self.errors += 1;
        // Who asks again when answered may be stuck since the warm-up: that is no reason to hide it.
        let is_stuck = !self.is_scheduled() && Instant::now() >= self.timeline.from;
        if asked.measured || is_stuck {
            *kind(&mut self.tally.errors) += 1;
        }
    }

    /// An error that belongs to no request.
    pub(crate) fn error(&mut self, now: Instant, kind: Kind) {
        self.errors += 1;
        if self.is_measured(now) {
            *kind(&mut self.tally.errors) += 1;
        }
    }

    /// A connection was opened.
    pub(crate) fn opened(&mut self, now: Instant, tls: Option<Tls>) {
        if self.is_measured(now) {
            self.tally.reconnects += 1;
        }
        if self.tally.tls.is_none() {
            self.tally.tls = tls;
        }
    }

    /// A request is asked again that the server would not look at.
    pub(crate) fn asked_again(&mut self, asked: &mut Asked<'a>) {
        asked.again = true;
        if asked.measured {
            self.tally.asked_again += 1;
        }
    }

    fn is_measured(&self, now: Instant) -> bool {
        self.timeline.from <= now && now < self.timeline.until
    }

    /// Closes the accounts, when all that is under way has ended or failed.
    pub(crate) fn close(mut self) -> Tally {
        let unsent = self.left_over();
        self.tally.errors.timeout += unsent;
        self.tally.due += unsent;
        self.tally.backlog = self.backlog.unwrap_or_default();
        self.tally.cpu = thread_cpu().saturating_sub(self.cpu_before.unwrap_or_default());
        let measured = self
            .timeline
            .until
            .saturating_duration_since(self.timeline.from);
        self.tally.span = self.tally.span.max(measured);
        self.tell();
        self.tally
    }

    /// Tells those who watch.
    fn tell(&mut self) {
        let (answers, errors, wrong) = (
            std::mem::take(&mut self.answers),
            std::mem::take(&mut self.errors),
            std::mem::take(&mut self.wrong_statuses),
        );
        if wrong > 0 {
            let (all, last) = (&self.shared.wrong_statuses, &self.shared.wrong_status);
            last.store(self.wrong_status, Ordering::Relaxed);
            all.fetch_add(wrong, Ordering::Relaxed);
        }
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
