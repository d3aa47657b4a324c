//! The stall timer of a request, for a client that does nothing for too long.

use std::rc::Rc;
use std::task::Context;
use std::time::Instant;

use salver_semantics::{LeastRate, RateCredit};

use super::Http3Context;
use crate::deadlines::Deadline;

/// The number of checks in a time limit, which is never exceeded by more than one step.
const STEPS: u32 = 8;

/// The time limit of one request's client. It has a deadline only while the client is waited for: most requests never
/// wait.
#[derive(Default)]
pub(super) struct StallTimer {
    deadline: Option<Deadline>,
    /// The time of the last check, while the client is waited for.
    looked: Option<Instant>,
    /// The client's credit of time.
    credit: Option<RateCredit>,
    /// The progress of the client at the last check.
    noted: u64,
    /// The bytes that it has taken since.
    taken: u64,
}

impl StallTimer {
    /// Begins the time limit anew.
    pub(super) fn renew(&mut self) {
        self.looked = None;
        self.credit = None;
        self.taken = 0;
    }

    /// Stops the time until the next check: the client is not waited for.
    pub(super) fn pause(&mut self) {
        self.looked = None;
    }

    /// Counts bytes that the client has taken.
    pub(super) fn take(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.taken = self.taken.saturating_add(bytes);
    }

    /// True while the client is waited for.
    pub(super) fn waits(&self) -> bool {
        self.looked.is_some()
    }

    /// True if the time limit is used up; else the task is woken in time for the next check. The bytes that the
    /// client has [taken](Self::take) count, and those of `progress`.
    pub(super) fn is_over(
        &mut self,
        shared: &Rc<Http3Context>,
        context: &Context<'_>,
        rate: &LeastRate,
        progress: impl Fn() -> u64,
    ) -> bool {
        let now = shared.context.clock.now().instant;
        let step = now + rate.patience / STEPS;
        let deadline = self
            .deadline
            .get_or_insert_with(|| shared.deadlines.add(step));
        deadline.register(context);
        let Some(looked) = self.looked else {
            self.looked = Some(now);
            self.noted = progress();
            deadline.set(step);
            return false;
        };
        if !deadline.has_passed(now) {
            return false;
        }
        deadline.set(step);
        let (before, after) = (self.noted, progress());
        let taken = std::mem::take(&mut self.taken).saturating_add(after.saturating_sub(before));
        self.noted = after;
        self.looked = Some(now);
        let credit = self.credit.get_or_insert_with(|| RateCredit::new(rate));
        !credit.pass(rate, now.saturating_duration_since(looked), taken)
    }
}
