//! How long a task waits for a client.

use std::rc::Rc;
use std::task::Context;
use std::time::Duration;

use super::Loop;
use crate::deadlines::Deadline;

/// Has a deadline only while there is something to wait for: most requests never wait.
#[derive(Default)]
pub(super) struct Patience {
    place: Option<Deadline>,
    /// Whether the deadline is running.
    waits: bool,
    /// What the client had taken when the deadline was set.
    noted: u64,
}

impl Patience {
    /// Something has happened: the next wait begins anew.
    pub(super) fn renew(&mut self) {
        self.waits = false;
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
