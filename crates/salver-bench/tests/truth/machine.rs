//! This machine while a run goes on: how late it wakes whoever waits, and what others take of it. What
//! a client and a server see of that is no fault of either.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use salver_bench::disturbance::DISTURBING;
use salver_bench::environment::OthersWatch;

use crate::stub::exact_waits;

/// A share of a machine that others took while a run went on, in words; `None` if it was too little to
/// matter, or is not known.
pub(crate) fn taken(others: &OthersWatch) -> Option<String> {
    let usage = others.usage()?;
    let taken = usage.others.cores + usage.others.stolen_cores;
    let all = usage.cores;
    (taken >= DISTURBING).then(|| format!("busy machine: others took {taken:.1} of {all} cores"))
}

/// A thread that sleeps a millisecond again and again, and notes how late it was.
pub(crate) struct Lateness {
    ending: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Duration>>,
}

impl Lateness {
    pub(crate) fn watch() -> Lateness {
        let ending = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ending);
        let thread = spawn(move || {
            exact_waits();
            let nap = Duration::from_millis(1);
            let mut late = Vec::new();
            while !seen.load(Ordering::Relaxed) {
                let begins = Instant::now();
                sleep(nap);
                late.push(begins.elapsed().saturating_sub(nap));
            }
            late
        });
        Lateness { ending, thread }
    }

    /// All that was seen.
    pub(crate) fn end(self) -> Vec<Duration> {
        self.ending.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// The value that this share of all does not exceed; `percentile` above 0 and up to 100.
pub(crate) fn percentile(values: &[Duration], percentile: f64) -> Duration {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let rank = (percentile / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}
