//! The thread that writes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::control::Control;
use super::open_log::{OpenLog, Wait};
use crate::notice::Notice;

/// The thread that writes, and what it knows.
pub(super) struct WriterThread<S> {
    control: Arc<Control>,
    logs: Vec<OpenLog>,
    say: S,
}

impl<S: FnMut(&Notice<'_>)> WriterThread<S> {
    pub(super) fn new(control: Arc<Control>, say: S) -> Self {
        WriterThread {
            control,
            logs: Vec::new(),
            say,
        }
    }

    /// Writes until it is to end.
    pub(super) fn run(mut self) {
        loop {
            self.control.bell.hear();
            self.logs.append(&mut self.control.opened());
            if self.control.reopen.swap(false, Ordering::AcqRel) {
                let logs = self.logs.iter_mut();
                logs.for_each(|log| log.reopen(&mut self.say));
            }
            let until = match self.control.end() {
                None => self.turn(),
                Some(end) => {
                    if self.finish(end) {
                        return;
                    }
                    Some(end)
                }
            };
            self.wait(until);
        }
    }

    /// Gives each log its turn, and says when the next one is due.
    fn turn(&mut self) -> Option<Instant> {
        let now = Instant::now();
        let mut next: Option<Instant> = None;
        for log in &mut self.logs {
            let due = match log.turn(now, &mut self.say) {
                Wait::Not => now,
                Wait::Lines => continue,
                Wait::Gather(due) | Wait::Output(due) | Wait::Retry(due) => due,
            };
            next = Some(next.map_or(due, |next| next.min(due)));
        }
        self.logs.retain(|log| !log.is_over());
        next
    }

    /// Writes what is left; true if it is done with that, or must be.
    fn finish(&mut self, end: Instant) -> bool {
        let logs = self.logs.iter_mut();
        let finished = logs.map(|log| log.finish(end, &mut self.say));
        let is_finished = finished.fold(true, |all, finished| all & finished);
        let now = Instant::now();
        let is_done = is_finished || now >= end;
        if is_done {
            let logs = self.logs.iter_mut();
            logs.for_each(|log| log.end(now, &mut self.say));
        }
        is_done
    }

    /// Waits for the bell, for outputs that were full, and for that time at the longest.
    fn wait(&self, until: Option<Instant>) {
        let most = until.map(|until| until.saturating_duration_since(Instant::now()));
        let outputs = self.logs.iter().filter_map(OpenLog::awaited);
        self.control.bell.wait(outputs, most);
    }
}
