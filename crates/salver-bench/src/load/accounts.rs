//! The accounts of one thread of a load, by whatever version of HTTP: when each request is due, and
//! what has become of it. Each that was due is in the result once.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::answer::Answer;
use crate::answer::expected::Wrong;
use crate::load::schedule::Moments;
use crate::load::tally::Tally;
use crate::machine::thread_time::ThreadTime;
use crate::protocol::transport::Dialer;
use crate::requests::order::Picker;
use crate::requests::workload::{Prepared, Prepares};
use crate::result::model::{ErrorKind, Errors, Tls};

/// How often what rarely happens is looked for: time-outs, servers that are back.
pub(crate) const TICK: Duration = Duration::from_millis(20);

/// After a connection was refused, the next attempt.
pub(crate) const RETRY: Duration = Duration::from_millis(100);

/// A request that leaves later than this after it could have is the client's fault.
const LATE: Duration = Duration::from_millis(1);

/// The part that all threads of a load share.
pub(crate) struct Shared<'a> {
    pub(crate) dialer: Dialer,
    pub(crate) prepares: &'a Prepares,
    pub(crate) timeout: Duration,
    /// Ends the run early.
    pub(crate) stop: AtomicBool,
    pub(crate) so_far: SoFar,
}

/// Counts of the run so far, for progress; the warm-up included.
#[derive(Default)]
pub(crate) struct SoFar {
    pub(crate) answers: AtomicU64,
    /// How long they took together, in microseconds.
    pub(crate) micros: AtomicU64,
    pub(crate) errors: AtomicU64,
    /// Errors that are complete answers of another status, and the last such status.
    pub(crate) wrong_statuses: AtomicU64,
    pub(crate) wrong_status: AtomicU16,
    /// Errors that are no HTTP.
    pub(crate) malformed: AtomicU64,
}

/// The phases of a run. Requests are measured that are to be sent at `from` or later and before
/// `until`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeline {
    pub(crate) start: Instant,
    pub(crate) from: Instant,
    pub(crate) until: Instant,
}

/// A request that is under way.
#[derive(Clone, Copy)]
pub(crate) struct SentRequest<'a> {
    pub(crate) request: &'a Prepared,
    pub(crate) sent: Instant,
    intended: Instant,
    /// It belongs to the measured phase.
    measured: bool,
    /// It was sent before, in vain.
    pub(crate) again: bool,
}

pub(crate) struct Accounts<'a> {
    pub(crate) shared: &'a Shared<'a>,
    picker: Picker,
    moments: Moments,
    /// The number of the next request that has a moment.
    next: u64,
    timeline: Timeline,
    busy: usize,
    tally: Tally,
    /// Due at the end and not sent; `None` before the end.
    backlog: Option<u64>,
    /// The time of this thread when the measuring began.
    used_before: Option<ThreadTime>,
    untold: Untold,
}

/// Counts that are not yet part of [`SoFar`].
#[derive(Default)]
struct Untold {
    answers: u64,
    micros: u64,
    errors: u64,
    wrong_statuses: u64,
    malformed: u64,
}

impl<'a> Accounts<'a> {
    /// Of a thread that does not send yet.
    pub(crate) fn new(shared: &'a Shared<'a>, picker: Picker, moments: Moments) -> Self {
        let now = Instant::now();
        Accounts {
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
            used_before: None,
            untold: Untold::default(),
        }
    }

    pub(crate) fn begin_run(&mut self, timeline: Timeline) {
        self.timeline = timeline;
    }

    /// True if the schedule says when requests are sent, and not the answers.
    pub(crate) fn is_scheduled(&self) -> bool {
        self.moments.due(0).is_some()
    }

    /// True if requests may still be sent that the answers ask for.
    pub(crate) fn goes_on(&self, now: Instant) -> bool {
        now < self.timeline.until
    }

    /// Notes the phase of the run. To be called in every turn of a loop.
    pub(crate) fn turn(&mut self, now: Instant) {
        if self.used_before.is_none() && now >= self.timeline.from {
            self.used_before = Some(ThreadTime::of_this_thread());
        }
        if self.is_stopped() {
            self.timeline.until = self.timeline.until.min(now);
        }
        if now >= self.timeline.until && self.backlog.is_none() {
            self.backlog = Some(self.left_over());
        }
        self.tell();
    }

    /// True if somebody has ended the run.
    fn is_stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }

    /// True if nothing is left to send or to wait for, or it was waited for long enough. Who ends a
    /// run does not wait for what is under way.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        if self.is_stopped() {
            return true;
        }
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
        (self.next..).take_while(is_due).filter(measured).count() as u64
    }

    /// The next request, which is sent now. It was to be sent at `intended`, and could have been
    /// from `free_since` on.
    pub(crate) fn begin(
        &mut self,
        intended: Instant,
        free_since: Instant,
    ) -> Option<SentRequest<'a>> {
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
        Some(SentRequest {
            request,
            sent,
            intended,
            measured,
            again: false,
        })
    }

    /// Makes an answer ready for the request that is sent.
    pub(crate) fn begin_answer(&self, request: &SentRequest<'a>, answer: &mut Answer) {
        answer.begin(request.request.expected.keep());
        if !request.measured {
            answer.count_from(self.timeline.from);
        }
    }

    /// An answer is complete.
    pub(crate) fn complete(&mut self, request: SentRequest<'a>, answer: &Answer, now: Instant) {
        self.busy -= 1;
        let verdict = request.request.expected.judge(answer);
        let took = now.saturating_duration_since(request.sent);
        match verdict {
            Ok(()) => {
                self.untold.answers += 1;
                self.untold.micros += u64::try_from(took.as_micros()).unwrap_or_default();
            }
            Err(wrong) => {
                self.untold.errors += 1;
                if wrong == Wrong::Status {
                    self.untold.wrong_statuses += 1;
                    let last = &self.shared.so_far.wrong_status;
                    last.store(answer.status, Ordering::Relaxed);
                }
            }
        }
        if !request.measured {
            return;
        }
        let tally = &mut self.tally;
        tally.answer(answer);
        tally.span = now.saturating_duration_since(self.timeline.from);
        match verdict {
            Ok(()) => {
                tally.requests += 1;
                tally.raw.record(took);
                if self.moments.due(0).is_some() {
                    let waited = now.saturating_duration_since(request.intended);
                    tally.corrected.record(waited);
                }
            }
            Err(Wrong::Status) => tally.errors.status += 1,
            Err(Wrong::Content) => tally.errors.content += 1,
        }
    }

    /// A request has failed; `answer` is as much of its answer as has come.
    pub(crate) fn fail(
        &mut self,
        request: SentRequest<'a>,
        kind: ErrorKind,
        answer: Option<&Answer>,
    ) {
        self.busy -= 1;
        // Who asks again when answered may be stuck since the warm-up: that is no reason to hide it.
        let is_stuck = !self.is_scheduled() && Instant::now() >= self.timeline.from;
        let is_counted = request.measured || is_stuck;
        self.count(kind, is_counted);
        if let Some(answer) = answer.filter(|_| is_counted) {
            if request.measured {
                self.tally.head_bytes += answer.head_bytes;
            }
            self.tally.content_bytes += answer.measured_bytes();
        }
    }

    /// A request that is under way at the end has failed: its answer has not come by then. If somebody has ended the
    /// run, it is neither an answer nor an error.
    pub(crate) fn give_up(&mut self, request: SentRequest<'a>, answer: &Answer) {
        match self.is_stopped() {
            true => self.busy -= 1,
            false => self.fail(request, |errors| &mut errors.timeout, Some(answer)),
        }
    }

    /// No connection could be opened. By a schedule the request fails that has waited longest for one,
    /// if one waits; otherwise the one that was to be sent on it.
    pub(crate) fn refused(&mut self, now: Instant) {
        let kind: ErrorKind = |errors| &mut errors.connect;
        if !self.is_scheduled() {
            return self.count(kind, self.is_measured(now));
        }
        if let Some(due) = self.take_due(now)
            && let Some(request) = self.begin(due, now)
        {
            self.fail(request, kind, None);
        }
    }

    /// Bytes have come that nobody asked for.
    pub(crate) fn unasked(&mut self, now: Instant) {
        self.count(|errors| &mut errors.malformed, self.is_measured(now));
    }

    fn count(&mut self, kind: ErrorKind, is_counted: bool) {
        let mut one = Errors::default();
        *kind(&mut one) = 1;
        self.untold.errors += 1;
        self.untold.malformed += one.malformed;
        if is_counted {
            self.tally.errors.add(&one);
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
    pub(crate) fn asked_again(&mut self, request: &mut SentRequest<'a>) {
        request.again = true;
        if request.measured {
            self.tally.asked_again += 1;
        }
    }

    fn is_measured(&self, now: Instant) -> bool {
        self.timeline.from <= now && now < self.timeline.until
    }

    /// Closes the accounts, when all that is under way has ended or failed.
    pub(crate) fn close(mut self) -> Tally {
        if !self.is_stopped() {
            let unsent = self.left_over();
            self.tally.errors.timeout += unsent;
            self.tally.due += unsent;
        }
        self.tally.backlog = self.backlog.unwrap_or_default();
        if let Some(before) = self.used_before {
            self.tally.used = ThreadTime::of_this_thread().since(before);
        }
        let Timeline { from, until, .. } = self.timeline;
        let measured = until.saturating_duration_since(from);
        self.tally.span = self.tally.span.max(measured);
        self.tell();
        self.tally
    }

    /// Adds to what those who watch are told.
    fn tell(&mut self) {
        let untold = std::mem::take(&mut self.untold);
        let so_far = &self.shared.so_far;
        for (all, more) in [
            (&so_far.answers, untold.answers),
            (&so_far.micros, untold.micros),
            (&so_far.errors, untold.errors),
            (&so_far.wrong_statuses, untold.wrong_statuses),
            (&so_far.malformed, untold.malformed),
        ] {
            if more > 0 {
                all.fetch_add(more, Ordering::Relaxed);
            }
        }
    }
}
