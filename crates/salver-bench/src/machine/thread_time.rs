//! The time of a thread on the machine, and in wait for it.

use std::fs;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The time of a thread on a CPU, and in wait for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadTime {
    pub(crate) cpu: Duration,
    /// Time in which it was ready to run, and others had the CPU. `None` if the kernel does not tell.
    pub(crate) waited: Option<Duration>,
}

impl ThreadTime {
    /// Since this thread began.
    pub(crate) fn of_this_thread() -> ThreadTime {
        // CPU, waiting and turns, the times in nanoseconds (Documentation/scheduler/sched-stats.rst).
        let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let waited = text.split(' ').nth(1).and_then(|nanos| nanos.parse().ok());
        ThreadTime {
            cpu: Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default(),
            waited: waited.map(Duration::from_nanos),
        }
    }

    /// The time since an earlier moment.
    pub(crate) fn since(self, before: ThreadTime) -> ThreadTime {
        let waited = self.waited.zip(before.waited);
        ThreadTime {
            cpu: self.cpu.saturating_sub(before.cpu),
            waited: waited.map(|(now, before)| now.saturating_sub(before)),
        }
    }

    /// Time in which it was on a CPU or wanted one.
    pub(crate) fn occupied(self) -> Duration {
        self.cpu + self.waited.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_shares_its_core_waits_for_it() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let core = (0..rustix::thread::CpuSet::MAX_CPU).find(|core| {
            rustix::thread::sched_getaffinity(None)
                .unwrap()
                .is_set(*core)
        });
        let mut only = rustix::thread::CpuSet::new();
        only.set(core.unwrap());
        let done = AtomicBool::new(false);
        // Both want the one core; the sum of work and waiting is the whole time, however many do.
        std::thread::scope(|scope| {
            let (only, done) = (&only, &done);
            let pinned = move || rustix::thread::sched_setaffinity(None, only).unwrap();
            scope.spawn(move || {
                pinned();
                while !done.load(Ordering::Relaxed) {}
            });
            let found = scope.spawn(move || {
                pinned();
                let began = std::time::Instant::now();
                let before = ThreadTime::of_this_thread();
                while before.cpu + Duration::from_millis(200) > ThreadTime::of_this_thread().cpu {}
                (ThreadTime::of_this_thread().since(before), began.elapsed())
            });
            let (used, elapsed) = found.join().unwrap();
            done.store(true, Ordering::Relaxed);
            // A kernel that does not tell says nothing, or zero.
            if used.waited.is_some_and(|waited| !waited.is_zero()) {
                let share = used.occupied().as_secs_f64() / elapsed.as_secs_f64();
                assert!((0.8..1.1).contains(&share), "{used:?} of {elapsed:?}");
            }
        });
    }
}
