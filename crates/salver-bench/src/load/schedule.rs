//! The moments at which requests are to be sent.

use std::time::Duration;

use crate::result::model::Schedule;

/// The moments at which one of several threads has to send, counted from the beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    pub(crate) schedule: Schedule,
    pub(crate) thread: usize,
    pub(crate) threads: usize,
    /// Requests that this thread has under way at most.
    pub(crate) slots: usize,
}

impl Moments {
    /// When the thread's request of this number is due; `None` if the answers say when.
    pub(crate) fn due(&self, number: u64) -> Option<Duration> {
        match self.schedule {
            Schedule::Closed => None,
            Schedule::Rate { per_second } => {
                let number = number as f64 * self.threads as f64 + self.thread as f64;
                Duration::try_from_secs_f64(number / per_second).ok()
            }
            Schedule::Burst { every_ms } => {
                let burst = number / (self.slots as u64).max(1);
                Some(Duration::from_millis(every_ms.saturating_mul(burst)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schedule: Schedule, thread: usize, expected: [Option<u64>; 5]) {
        let (threads, slots) = (2, 2);
        let moments = Moments {
            schedule,
            thread,
            threads,
            slots,
        };
        let found = [0, 1, 2, 3, 4].map(|number| moments.due(number));
        assert_eq!(found, expected.map(|ms| ms.map(Duration::from_millis)));
    }

    #[test]
    fn moments() {
        let rate = Schedule::Rate { per_second: 100.0 };
        check(rate, 0, [0, 20, 40, 60, 80].map(Some));
        check(rate, 1, [10, 30, 50, 70, 90].map(Some));
        let burst = Schedule::Burst { every_ms: 500 };
        check(burst, 1, [0, 0, 500, 500, 1000].map(Some));
        check(Schedule::Closed, 0, [None; 5]);
    }
}
