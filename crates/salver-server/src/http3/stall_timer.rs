//! When a client that is waited for has done nothing for too long.

use std::rc::Rc;
use std::task::Context;
use std::time::Duration;

use super::Loop;
use crate::deadlines::Deadline;

/// The time limit of one task. It has a deadline only while there is something to wait for: most requests
/// never wait.
#[derive(Default)]
pub(super) struct StallTimer {
    place: Option<Deadline>,
    /// Whether the deadline is running.
    waits: bool,
    /// What the client had done when the deadline was set.
    noted: u64,
}

impl StallTimer {
    /// Something has happened, or nothing is waited for: the next wait begins anew.
    pub(super) fn renew(&mut self) {
        self.waits = false;
    }

    /// Whether the client has been waited for too long, as far as is known without asking what it has done.
    pub(super) fn has_passed(&self, shared: &Loop) -> bool {
        let now = shared.context.clock.now().instant;
        let place = self.place.as_ref().filter(|_| self.waits);
        place.is_some_and(|place| place.has_passed(now))
    }

    /// Has the task woken in time; `true` if `timeout` is over in which `progress` stayed what it
    /// was.
    pub(super) fn is_over(
        &mut self,
        shared: &Rc<Loop>,
        context: &Context<'_>,
        timeout: Duration,
        progress: impl Fn() -> u64,
    ) -> bool {
        let now = shared.context.clock.now().instant;
        let place = self
            .place
            .get_or_insert_with(|| shared.deadlines.add(now + timeout));
        place.register(context);
        if !self.waits {
            self.waits = true;
            self.noted = progress();
            place.set(now + timeout);
            return false;
        }
        if !place.has_passed(now) {
            return false;
        }
        let progress = progress();
        let stalled = progress == self.noted;
        self.noted = progress;
        place.set(now + timeout);
        stalled
    }
}
