//! When a client that is waited for has done nothing for too long.

use std::rc::Rc;
use std::task::Context;
use std::time::Instant;

use salver_semantics::{LeastRate, RateCredit};

use super::Loop;
use crate::deadlines::Deadline;

/// The patience is looked at in so many steps, so that it is never exceeded by more than one.
const STEPS: u32 = 8;

/// The time limit of one task. It has a deadline only while there is something to wait for: most requests
/// never wait.
#[derive(Default)]
pub(super) struct StallTimer {
    place: Option<Deadline>,
    /// When the client was looked at last, while it is waited for.
    looked: Option<Instant>,
    /// What is left of the patience.
    credit: Option<RateCredit>,
    /// What the client had done when it was looked at.
    noted: u64,
    /// Bytes that it has taken since.
    taken: u64,
}

impl StallTimer {
    /// Something has happened: the patience begins anew.
    pub(super) fn renew(&mut self) {
        self.looked = None;
        self.credit = None;
        self.taken = 0;
    }

    /// It is not the client that is waited for, until the next look.
    pub(super) fn pause(&mut self) {
        self.looked = None;
    }

    /// The client has taken so many bytes.
    pub(super) fn take(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.taken = self.taken.saturating_add(bytes);
    }

    /// Whether the client is waited for.
    pub(super) fn waits(&self) -> bool {
        self.looked.is_some()
    }

    /// Has the task woken in time; `true` if the patience is used up. What the client does shows in what it
    /// has [taken](Self::take), and in `progress`.
    pub(super) fn is_over(
        &mut self,
        shared: &Rc<Loop>,
        context: &Context<'_>,
        rate: &LeastRate,
        progress: impl Fn() -> u64,
    ) -> bool {
        let now = shared.context.clock.now().instant;
        let step = now + rate.patience / STEPS;
        let place = self.place.get_or_insert_with(|| shared.deadlines.add(step));
        place.register(context);
        let Some(looked) = self.looked else {
            self.looked = Some(now);
            self.noted = progress();
            place.set(step);
            return false;
        };
        if !place.has_passed(now) {
            return false;
        }
        place.set(step);
        let (before, after) = (self.noted, progress());
        let taken = std::mem::take(&mut self.taken).saturating_add(after.saturating_sub(before));
        self.noted = after;
        self.looked = Some(now);
        let credit = self.credit.get_or_insert_with(|| RateCredit::new(rate));
        !credit.pass(rate, now.saturating_duration_since(looked), taken)
    }
}
