//! Thresholds for the figures of a load, as a build wants them: bounds by number (`p99>20ms`), and
//! those of a result that was saved earlier.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use crate::result::model::Measured;
use crate::result::text::{duration, load};

/// A quantity of a result that can be bounded.
#[derive(Clone, Copy, Debug)]
struct Quantity {
    name: &'static str,
    unit: Unit,
    /// Its value in a result; what is not above zero was not measured.
    of: fn(&Measured) -> f64,
}

/// The unit in which a quantity is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// A time, in microseconds.
    Time,
    /// Right answers per second.
    Rate,
    /// The share of requests that failed.
    Errors,
}

/// The quantities that there are.
const QUANTITIES: [Quantity; 11] = [
    quantity("p50", Unit::Time, |measured| measured.latency().p50_us),
    quantity("p75", Unit::Time, |measured| measured.latency().p75_us),
    quantity("p90", Unit::Time, |measured| measured.latency().p90_us),
    quantity("p99", Unit::Time, |measured| measured.latency().p99_us),
    quantity("p99.9", Unit::Time, |measured| measured.latency().p999_us),
    quantity("p99.99", Unit::Time, |measured| measured.latency().p9999_us),
    quantity("max", Unit::Time, |measured| measured.latency().max_us),
    quantity("mean", Unit::Time, |measured| measured.latency().mean_us),
    quantity("rps", Unit::Rate, |measured| measured.requests_per_second),
    quantity("errors", Unit::Errors, |measured| {
        let errors = measured.errors.total() as f64;
        errors / (measured.requests as f64 + errors)
    }),
    quantity("server-cpu", Unit::Time, |measured| {
        measured
            .server
            .map_or(0.0, |server| server.cpu_us_per_request)
    }),
];

const fn quantity(name: &'static str, unit: Unit, of: fn(&Measured) -> f64) -> Quantity {
    Quantity { name, unit, of }
}

impl Quantity {
    fn named(name: &str) -> Option<Quantity> {
        QUANTITIES.into_iter().find(|known| known.name == name)
    }

    /// Its value in a result; `None` if it was not measured.
    fn of(self, measured: &Measured) -> Option<f64> {
        let value = (self.of)(measured);
        let is_measured = match self.unit {
            Unit::Time => value > 0.0,
            Unit::Rate => measured.seconds > 0.0,
            Unit::Errors => value.is_finite(),
        };
        is_measured.then_some(value)
    }

    /// A value of it as a person reads it.
    fn in_words(self, value: f64) -> String {
        match self.unit {
            Unit::Rate => format!("{value:.0}/s"),
            Unit::Errors => format!("{} %", (value * 1e6).round() / 1e4),
            Unit::Time => duration(value),
        }
    }

    fn parse(self, text: &str) -> Option<f64> {
        let (number, of) = match (self.unit, text.strip_suffix('%')) {
            (Unit::Time, _) => {
                return Some(humantime::parse_duration(text).ok()?.as_secs_f64() * 1e6);
            }
            (Unit::Errors, Some(percent)) => (percent, 100.0),
            _ => (text, 1.0),
        };
        let value = number.trim().parse::<f64>().ok()? / of;
        (value.is_finite() && value >= 0.0).then_some(value)
    }
}

/// True if a figure is beyond a bound.
type IsBeyond = fn(&f64, &f64) -> bool;

/// The signs of comparisons; those of two characters first, since they begin with the others.
const SIGNS: [(&str, IsBeyond); 4] = [
    (">=", f64::ge),
    ("<=", f64::le),
    (">", f64::gt),
    ("<", f64::lt),
];

/// A bound that a figure must not pass: `p99>20ms` fails a run whose p99 is above 20 ms.
#[derive(Clone, Debug)]
pub struct Threshold {
    quantity: Quantity,
    is_beyond: IsBeyond,
    bound: f64,
    text: String,
}

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let example = "give p99>20ms, rps<5000, errors>0.1% or server-cpu>50us, say";
        let split = |(sign, is_beyond): (&str, IsBeyond)| {
            let (name, bound) = text.split_once(sign)?;
            Some((name.trim(), is_beyond, bound.trim()))
        };
        let Some((name, is_beyond, bound)) = SIGNS.into_iter().find_map(split) else {
            return Err(format!("it has none of < > <= >=: {example}"));
        };
        let quantity = Quantity::named(name).ok_or_else(|| {
            let names = QUANTITIES.map(|known| known.name).join(", ");
            format!("{name:?} is none of {names}")
        })?;
        let wrong = || format!("{bound:?} is no bound of {name}: {example}");
        Ok(Threshold {
            quantity,
            is_beyond,
            bound: quantity.parse(bound).ok_or_else(wrong)?,
            text: text.to_owned(),
        })
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Threshold {
    /// True if it bounds errors: then not each is a failure.
    pub fn bears_errors(&self) -> bool {
        self.quantity.unit == Unit::Errors
    }

    /// How a result fails it, in a few words; `None` if it does not.
    pub fn failure(&self, measured: &Measured) -> Option<String> {
        let name = self.quantity.name;
        let Some(found) = self.quantity.of(measured) else {
            return Some(format!("{name} was not measured ({self})"));
        };
        let fails = (self.is_beyond)(&found, &self.bound);
        fails.then(|| format!("{name} is {} ({self})", self.quantity.in_words(found)))
    }
}

/// A result that was saved: what `load --json` printed, or `--export` wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline(Measured);

#[derive(Deserialize)]
struct Document {
    result: Measured,
}

impl Baseline {
    /// The result in a document; of several, one in each line, the last.
    ///
    /// # Errors
    /// What is wrong with it, in a few words.
    pub fn parse(text: &str) -> Result<Baseline, String> {
        let last = || text.lines().rev().find(|line| !line.trim().is_empty());
        let whole = serde_json::from_str(text);
        let found: Result<Document, _> = whole
            .or_else(|error| serde_json::from_str(last().unwrap_or_default()).map_err(|_| error));
        let Document { result } = found
            .map_err(|error| format!("it is no result of salver bench load --json ({error})"))?;
        match result.is_sound() && !result.interrupted {
            true => Ok(Baseline(result)),
            false => Err("its run was invalid, interrupted or had errors: save another".to_owned()),
        }
    }

    /// How the load differs whose result it is, in a few words: then figures cannot be compared.
    pub fn other_load(&self, measured: &Measured) -> Option<String> {
        let key = |of: &Measured| {
            let slots = (of.connections, of.streams);
            (of.schedule, of.http, slots, of.tls.is_some())
        };
        (key(&self.0) != key(measured)).then(|| {
            let (saved, this) = (load(&self.0), load(measured));
            format!("it is of another load ({saved}; this one: {this})")
        })
    }

    /// How a result is worse than the saved one by more than `margin` (0.1 is 10 %), in a few words
    /// for each figure.
    pub fn failures(&self, measured: &Measured, margin: f64) -> Vec<String> {
        let worse = |name: &str| {
            let quantity = Quantity::named(name)?;
            let before = quantity.of(&self.0)?;
            let Some(found) = quantity.of(measured) else {
                return Some(format!("{name} was not measured"));
            };
            let (is_worse, way) = match quantity.unit {
                Unit::Rate => (found < before / (1.0 + margin), "less"),
                _ => (found > before * (1.0 + margin), "more"),
            };
            let percent = (found / before - 1.0).abs() * 100.0;
            let (found, before) = (quantity.in_words(found), quantity.in_words(before));
            is_worse.then(|| format!("{name} is {found}, {percent:.1} % {way} than {before}"))
        };
        let mut names = vec!["p50", "p99"];
        // By a schedule the rate is what was asked for.
        if measured.corrected.is_none() {
            names.insert(0, "rps");
        }
        if measured.server.is_some() {
            names.push("server-cpu");
        }
        names.into_iter().filter_map(worse).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::model::{Errors, Latency, Schedule, ServerCost};

    fn measured() -> Measured {
        Measured {
            requests: 999,
            seconds: 1.0,
            requests_per_second: 999.0,
            errors: Errors {
                timeout: 1,
                ..Errors::default()
            },
            raw: Latency {
                count: 999,
                p50_us: 1_000.0,
                p99_us: 20_000.0,
                p999_us: 30_000.0,
                ..Latency::default()
            },
            ..Measured::default()
        }
    }

    #[test]
    fn a_run_fails_beyond_the_bound() {
        let check = |text: &str, expected: Option<&str>| {
            let found = text.parse::<Threshold>().unwrap().failure(&measured());
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check("p99>20ms", None);
        check("p99>=20ms", Some("p99 is 20.0 ms (p99>=20ms)"));
        check("p99 > 19ms", Some("p99 is 20.0 ms (p99 > 19ms)"));
        check("p99.9>1s", None);
        check("p50<=1ms", Some("p50 is 1.00 ms (p50<=1ms)"));
        check("rps<1000", Some("rps is 999/s (rps<1000)"));
        check("errors>0.1%", None);
        check("errors>0", Some("errors is 0.1 % (errors>0)"));
        check("max>1s", Some("max was not measured (max>1s)"));
        let unknown = "server-cpu was not measured (server-cpu>50us)";
        check("server-cpu>50us", Some(unknown));
    }

    #[test]
    fn what_is_no_threshold_is_said() {
        let check = |text: &str, part: &str| {
            let error = text.parse::<Threshold>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        };
        check("p99", "none of < > <= >=");
        check("p98>1ms", "none of p50");
        check("p99>20", "no bound of p99");
        check("rps<x", "no bound of rps");
        check("errors>-1%", "no bound of errors");
        check("errors>NaN", "no bound of errors");
    }

    #[test]
    fn by_a_schedule_the_corrected_latency_counts() {
        let corrected = Measured {
            corrected: Some(Latency {
                p99_us: 50_000.0,
                ..Latency::default()
            }),
            ..measured()
        };
        let threshold: Threshold = "p99>40ms".parse().unwrap();
        assert!(threshold.failure(&corrected).is_some());
    }

    #[test]
    fn a_result_is_compared_with_a_saved_one() {
        let sound = Measured {
            errors: Errors::default(),
            server: Some(ServerCost {
                cpu_us_per_request: 10.0,
                ..ServerCost::default()
            }),
            ..measured()
        };
        let document = serde_json::json!({ "schema": 1, "environment": {}, "result": sound });
        let saved = Baseline::parse(&document.to_string()).unwrap();
        let lines = format!("{{\"progress\":{{}}}}\n{document}\n");
        assert_eq!(Baseline::parse(&lines), Ok(saved.clone()));
        assert_eq!(saved.failures(&sound, 0.1), [""; 0]);
        let mut worse = sound.clone();
        worse.requests_per_second = 800.0;
        worse.raw.p99_us = 23_000.0;
        worse.server = None;
        let expected = [
            "rps is 800/s, 19.9 % less than 999/s",
            "p99 is 23.0 ms, 15.0 % more than 20.0 ms",
        ];
        assert_eq!(saved.failures(&worse, 0.1), expected);
        assert_eq!(saved.failures(&worse, 0.3), [""; 0]);
        assert_eq!(saved.other_load(&worse), None);
        worse.schedule = Schedule::Rate { per_second: 5.0 };
        assert!(saved.other_load(&worse).unwrap().contains("another load"));
        for wrong in ["", "{}", "nonsense"] {
            let error = Baseline::parse(wrong).unwrap_err();
            assert!(error.contains("no result"), "{wrong}");
        }
        let failed = serde_json::json!({ "result": measured() }).to_string();
        assert!(Baseline::parse(&failed).unwrap_err().contains("errors"));
    }
}
