//! The result of `salver bench coalesce`, as a value, as JSON and in words.

use std::fmt::Write as _;

use salver_bench::compare::interval::METHOD;
use salver_bench::compare::order::Side;
use salver_bench::compare::{Compared, metric};
use salver_bench::environment::Environment;
use salver_bench::model::{Errors, Measured, SCHEMA};
use salver_bench::report::Interval;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::size::size as size_for_people;

/// Both ways. `--json` writes it as it is here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Coalesced {
    /// The schema of `salver-bench` that it was written in.
    pub schema: u32,
    /// Machine, versions and flags.
    pub environment: Environment,
    /// How the ratio and its interval were found, in words.
    pub method: String,
    /// Requests at the same moment, each on a connection of its own.
    pub requests: usize,
    /// The length of the file, in bytes.
    pub size: u64,
    /// A load for each request that finds the file missing.
    pub alone: Way,
    /// One load for all that ask meanwhile.
    pub shared: Way,
    /// How many times sooner the last answer is there with one load. `None` if there are too few
    /// trials for an interval.
    pub speed_up: Option<Interval>,
    /// What that says of sharing a load: `faster`, say. `None` if there are too few trials, or one
    /// failed.
    pub verdict: Option<String>,
    /// What to mind, in a sentence each.
    pub notes: Vec<String>,
}

/// One of the two ways.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Way {
    /// Trials made.
    pub trials: usize,
    /// Loads performed in a trial.
    pub loads: Spread,
    /// Milliseconds to the last answer of a trial, from the moment when all requests are written and the
    /// server, held until then, goes on.
    pub ms: Spread,
    /// Requests of all trials that failed, by how.
    pub errors: Errors,
}

/// A figure of the trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Half had less.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl Spread {
    fn of(figures: impl IntoIterator<Item = f64>) -> Spread {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_by(f64::total_cmp);
        let (Some(least), Some(most)) = (figures.first(), figures.last()) else {
            return Spread::default();
        };
        let (least, most) = (*least, *most);
        Spread {
            least,
            most,
            median: metric::median(figures).unwrap_or_default(),
        }
    }
}

impl Way {
    fn new<'a>(measured: impl Iterator<Item = &'a Measured> + Clone, loads: Vec<u64>) -> Way {
        let mut errors = Errors::default();
        for found in measured.clone() {
            errors.add(&found.errors);
        }
        Way {
            trials: loads.len(),
            loads: Spread::of(loads.into_iter().map(|loads| loads as f64)),
            ms: Spread::of(measured.map(|found| found.seconds * 1e3)),
            errors,
        }
    }
}

impl Coalesced {
    /// What trials of `requests` each have found; `loads` of those without sharing, and with it.
    pub(super) fn new(
        environment: Environment,
        requests: usize,
        size: u64,
        loads: [Vec<u64>; 2],
        found: Vec<Compared>,
    ) -> Coalesced {
        let [alone, shared] = loads;
        let compared = found.into_iter().next();
        let trials = compared.as_ref().map_or(&[][..], |found| &found.trials);
        let of = |side: Side| {
            let mine = trials.iter().filter(move |trial| trial.side == side);
            mine.map(|trial| &trial.measured)
        };
        let speed = compared.as_ref().and_then(|found| {
            let mut figures = found.figures.iter();
            figures.find(|figure| figure.metric == metric::Metric::RequestsPerSecond)
        });
        Coalesced {
            schema: SCHEMA,
            environment,
            method: METHOD.to_owned(),
            requests,
            size,
            alone: Way::new(of(Side::A), alone),
            shared: Way::new(of(Side::B), shared),
            speed_up: speed.and_then(|speed| speed.ratio),
            verdict: speed
                .and_then(|speed| speed.verdict)
                .map(|verdict| verdict.to_string()),
            notes: compared.map_or_else(Vec::new, |found| {
                found.doubts.into_iter().map(|doubt| doubt.why).collect()
            }),
        }
    }

    fn ways(&self) -> [(&'static str, &Way); 2] {
        [("each for itself", &self.alone), ("one load", &self.shared)]
    }

    /// Checks that every request of every trial was answered, and rightly.
    ///
    /// # Errors
    /// How many were not.
    pub fn check(&self) -> Result<(), Failure> {
        match self.alone.errors.total() + self.shared.errors.total() {
            0 => Ok(()),
            errors => Err(Failure::Failed(format!(
                "{errors} requests were not answered, or not rightly: the figures say nothing"
            ))),
        }
    }

    /// The table for people.
    pub(super) fn in_words(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        writeln!(
            text,
            "{} requests at once for one cold file of {}, over sockets: a server that is held until all\n\
             are written, and keeps what it has loaded\n\n{:18}{:>8}{:>10}{:>22}{:>12}{:>22}",
            self.requests,
            size_for_people(self.size),
            "",
            "trials",
            "loads",
            "least to most",
            "ms",
            "least to most"
        )?;
        for (title, way) in self.ways() {
            let range = |low: f64, high: f64, digits| format!("{low:.digits$} to {high:.digits$}");
            let (loads, ms) = (way.loads, way.ms);
            writeln!(
                text,
                "{title:18}{:>8}{:>10.0}{:>22}{:>12.2}{:>22}",
                way.trials,
                loads.median,
                range(loads.least, loads.most, 0),
                ms.median,
                range(ms.least, ms.most, 2),
            )?;
        }
        match &self.speed_up {
            Some(found) => writeln!(
                text,
                "ratio {:.2} ({:.2} to {:.2}): sharing is {}",
                found.ratio,
                found.low,
                found.high,
                self.verdict.as_deref().unwrap_or("not judged"),
            )?,
            None => writeln!(
                text,
                "ratio of the medians {:.2}, without an interval",
                self.alone.ms.median / self.shared.ms.median
            )?,
        }
        for (title, way) in self.ways() {
            if way.errors.total() > 0 {
                writeln!(text, "errors, {title}: {:?}", way.errors)?;
            }
        }
        for note in &self.notes {
            writeln!(text, "note: {note}")?;
        }
        writeln!(
            text,
            "\nTime is from the moment when all requests are written to the last answer. {METHOD}."
        )?;
        if let Some(others) = self.environment.others {
            writeln!(text, "Others took {:.2} cores meanwhile.", others.taken())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_of_all() {
        let check = |figures: &[f64], median: f64, least: f64, most: f64| {
            let found = Spread::of(figures.iter().copied());
            assert_eq!(
                [found.median, found.least, found.most],
                [median, least, most]
            );
        };
        check(&[], 0.0, 0.0, 0.0);
        check(&[3.0], 3.0, 3.0, 3.0);
        check(&[9.0, 1.0, 2.0], 2.0, 1.0, 9.0);
    }

    #[test]
    fn an_error_fails_the_whole_and_stands_in_the_text() {
        let mut found = Coalesced::default();
        assert_eq!(found.check(), Ok(()));
        found.shared.errors.timeout = 3;
        let failure = found.check().unwrap_err().to_string();
        assert!(failure.starts_with("3 requests"), "{failure}");
        assert!(found.in_words().contains("timeout: 3"));
    }
}
