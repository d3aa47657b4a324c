//! When a tool and the truth agree, on a machine that may be busy.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use salver_bench::model::Latency;
use salver_test::not_judged;

use crate::machine::percentile;

/// How far a percentile may be from the truth, as a share of it: what a program that is not optimised does between the
/// last byte and the clock is more of it.
const TOLERANCE: f64 = if cfg!(debug_assertions) { 0.03 } else { 0.02 };

/// Runs of a test that compares times, at most.
const ATTEMPTS: usize = 5;

/// The comparisons of a test with the truth, over several runs.
///
/// A machine that others use proves nothing against the tool: what does not agree in a run of which
/// others took a share is not held against it, and the run is made again. In a run that was calm it
/// is, until it agrees once in [`ATTEMPTS`] runs: the machine can be busier than is seen beside a run,
/// and a tool that is wrong is wrong each time. If no run was calm, that is said.
#[derive(Default)]
pub(crate) struct Agreement {
    /// What did not agree yet, and how.
    open: BTreeMap<&'static str, String>,
    /// What could not be looked for yet, and why.
    disturbed: BTreeMap<&'static str, String>,
    /// What did.
    settled: BTreeSet<&'static str>,
    /// What others took of the machine in this run, if it was too much.
    busy: Option<String>,
}

impl Agreement {
    /// Runs until all agrees; fails if that does not happen.
    pub(crate) fn of(mut run: impl FnMut(&mut Agreement)) {
        let mut agreement = Agreement::default();
        for _ in 0..ATTEMPTS {
            run(&mut agreement);
            if agreement.open.is_empty() && agreement.disturbed.is_empty() {
                return;
            }
        }
        for (name, why) in &agreement.disturbed {
            not_judged(name, format_args!("in none of {ATTEMPTS} runs: {why}"));
        }
        assert!(
            agreement.open.is_empty(),
            "in none of {ATTEMPTS} runs, each allowed for what this machine was late: {:#?}",
            agreement.open
        );
    }

    /// Takes note of what others took of the machine in the run that is judged next.
    pub(crate) fn judge(&mut self, busy: Option<&String>) {
        self.busy = busy.cloned();
    }

    /// Notes one thing: in words, how it does not agree.
    pub(crate) fn note(&mut self, name: &'static str, found: Result<(), String>) {
        match (found, &self.busy) {
            (Ok(()), _) => {
                self.disturbed.remove(name);
                self.open.remove(name);
                self.settled.insert(name);
            }
            (Err(_), _) if self.settled.contains(name) => {}
            (Err(how), Some(busy)) if !self.open.contains_key(name) => {
                self.disturbed.insert(name, format!("{busy}; {how}"));
            }
            (Err(_), Some(_)) => {}
            (Err(how), None) => {
                self.disturbed.remove(name);
                self.open.insert(name, how);
            }
        }
    }

    /// Notes whether something holds.
    pub(crate) fn hold(&mut self, name: &'static str, holds: bool, found: &impl std::fmt::Debug) {
        let how = || format!("{found:#?}");
        self.note(name, if holds { Ok(()) } else { Err(how()) });
    }

    /// Compares a percentile with what follows from the server's delays, if the server kept to them.
    pub(crate) fn know(
        &mut self,
        name: &'static str,
        at: f64,
        found_us: f64,
        expected_us: f64,
        (truth, late): (&[Duration], &[Duration]),
    ) {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let (truth, late) = (percentile(truth, at), percentile(late, (100.0 + at) / 2.0));
        if near(micros(truth), expected_us, 0.0).is_err() {
            if !self.settled.contains(name) && !self.open.contains_key(name) {
                let why = format!("the server took {truth:?} where {expected_us:.0} us follow");
                self.disturbed.insert(name, why);
            }
            return;
        }
        self.note(name, near(found_us, expected_us, 2.0 * micros(late)));
    }

    /// Compares the mean (as 0), the longest (as 100) or a percentile with the truth. What the tool
    /// sees contains what the server took, so it can never be less, but for the histogram's digits.
    /// It may be more by the tolerance, and by what both sides were woken too late.
    pub(crate) fn compare(
        &mut self,
        name: &'static str,
        at: f64,
        found: &Latency,
        truth: &[Duration],
        late: &[Duration],
    ) {
        let found = match at {
            0.0 => found.mean_us,
            50.0 => found.p50_us,
            75.0 => found.p75_us,
            90.0 => found.p90_us,
            99.0 => found.p99_us,
            100.0 => found.max_us,
            _ => panic!("no percentile {at} is compared"),
        };
        let (truth, late) = match at {
            0.0 => (mean(truth), mean(late)),
            // Of two that may be late, both are within a bound in all but 1 - p of cases if each is
            // in all but half of that.
            _ => (percentile(truth, at), percentile(late, (100.0 + at) / 2.0)),
        };
        let [truth, late] = [truth, late].map(|time| time.as_secs_f64() * 1e6);
        assert!(
            found > truth * 0.998,
            "{name} is {found:.0} us where the server took {truth:.0}"
        );
        let most = truth * (1.0 + TOLERANCE) + 2.0 * late;
        let how = || format!("{found:.0} us, where {truth:.0} is true and {most:.0} may be");
        self.note(name, if found <= most { Ok(()) } else { Err(how()) });
    }
}

fn mean(values: &[Duration]) -> Duration {
    values.iter().sum::<Duration>() / values.len() as u32
}

/// Whether a latency is what follows from the server's behaviour, by the tolerance; it may be more by
/// what both sides were woken too late. All in microseconds.
fn near(found: f64, expected: f64, late: f64) -> Result<(), String> {
    let least = expected * (1.0 - TOLERANCE);
    let most = expected * (1.0 + TOLERANCE) + late;
    if (least..=most).contains(&found) {
        return Ok(());
    }
    Err(format!(
        "{found:.0} us where {expected:.0} follows and {most:.0} may be"
    ))
}
