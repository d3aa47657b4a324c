//! Thresholds for the figures of a load, as a build wants them: bounds by number (`p99>20ms`), and
//! those of a result that was saved earlier.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;

use crate::model::Measured;
use crate::tally::exact;
use crate::text::duration;

/// A quantity of a result that can be bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    P50,
    P75,
    P90,
    P99,
    P999,
    P9999,
    Max,
    Mean,
    /// Right answers per second.
    Rate,
    /// The share of requests that failed.
    Errors,
    /// CPU of the server per answer.
    ServerCpu,
}

/// The quantities by their names in a threshold.
const NAMES: [(&str, Quantity); 11] = [
    ("p50", Quantity::P50),
    ("p75", Quantity::P75),
    ("p90", Quantity::P90),
    ("p99", Quantity::P99),
    ("p99.9", Quantity::P999),
    ("p99.99", Quantity::P9999),
    ("max", Quantity::Max),
    ("mean", Quantity::Mean),
    ("rps", Quantity::Rate),
    ("errors", Quantity::Errors),
    ("server-cpu", Quantity::ServerCpu),
];

impl Quantity {
    fn name(self) -> &'static str {
        let named = NAMES.iter().find(|(_, quantity)| *quantity == self);
        named.map_or("", |(name, _)| name)
    }

    /// Its value in a result; `None` if it was not measured. Latency is corrected where a schedule
    /// says when requests are due, else raw.
    fn of(self, measured: &Measured) -> Option<f64> {
        let some = |figure: f64| (figure > 0.0).then_some(figure);
        let latency = measured.corrected.as_ref().unwrap_or(&measured.raw);
        match self {
            Quantity::P50 => some(latency.p50_us),
            Quantity::P75 => some(latency.p75_us),
            Quantity::P90 => some(latency.p90_us),
            Quantity::P99 => some(latency.p99_us),
            Quantity::P999 => some(latency.p999_us),
            Quantity::P9999 => some(latency.p9999_us),
            Quantity::Max => some(latency.max_us),
            Quantity::Mean => some(latency.mean_us),
            Quantity::Rate => (measured.seconds > 0.0).then_some(measured.requests_per_second),
            Quantity::Errors => {
                let errors = exact(measured.errors.total());
                let all = exact(measured.requests) + errors;
                (all > 0.0).then(|| errors / all)
            }
            Quantity::ServerCpu => some(measured.server?.cpu_us_per_request),
        }
    }

    /// A value of it as a person reads it.
    fn in_words(self, value: f64) -> String {
        match self {
            Quantity::Rate => format!("{value:.0}/s"),
            Quantity::Errors => format!("{} %", (value * 1e6).round() / 1e4),
            _ => duration(value),
        }
    }

    fn parse(self, text: &str) -> Option<f64> {
        let number = |text: &str| {
            text.trim()
                .parse()
                .ok()
                .filter(|value: &f64| value.is_finite())
        };
        let value = match self {
            Quantity::Rate => number(text),
            Quantity::Errors => match text.strip_suffix('%') {
                Some(percent) => number(percent).map(|percent| percent / 100.0),
                None => number(text),
            },
            _ => {
                let time: Duration = humantime::parse_duration(text).ok()?;
                Some(time.as_secs_f64() * 1e6)
            }
        };
        value.filter(|value| *value >= 0.0)
    }
}

/// Which side of a bound is too far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beyond {
    Above,
    AtLeast,
    Below,
    AtMost,
}

/// By their signs; those of two characters first, since they begin with the others.
const SIGNS: [(&str, Beyond); 4] = [
    (">=", Beyond::AtLeast),
    ("<=", Beyond::AtMost),
    (">", Beyond::Above),
    ("<", Beyond::Below),
];

/// A bound that a figure must not pass: `p99>20ms` fails a run whose p99 is above 20 ms.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    quantity: Quantity,
    beyond: Beyond,
    bound: f64,
    text: String,
}

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let example = "give p99>20ms, rps<5000, errors>0.1% or server-cpu>50us, say";
        let sign = |(sign, beyond): &(&'static str, Beyond)| {
            text.split_once(sign)
                .map(|(name, bound)| (name, *beyond, bound))
        };
        let Some((name, beyond, bound)) = SIGNS.iter().find_map(sign) else {
            return Err(format!("it has none of < > <= >=: {example}"));
        };
        let Some((name, quantity)) = NAMES.into_iter().find(|(known, _)| *known == name.trim())
        else {
            let names = NAMES.map(|(name, _)| name);
            return Err(format!("{:?} is none of {}", name.trim(), names.join(", ")));
        };
        match quantity.parse(bound.trim()) {
            Some(bound) => Ok(Threshold {
                quantity,
                beyond,
                bound,
                text: text.to_owned(),
            }),
            None => Err(format!(
                "{:?} is no bound of {name}: {example}",
                bound.trim()
            )),
        }
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
        self.quantity == Quantity::Errors
    }

    /// How a result fails it, in a few words; `None` if it does not.
    pub fn failure(&self, measured: &Measured) -> Option<String> {
        let name = self.quantity.name();
        let Some(found) = self.quantity.of(measured) else {
            return Some(format!("{name} was not measured ({self})"));
        };
        let fails = match self.beyond {
            Beyond::Above => found > self.bound,
            Beyond::AtLeast => found >= self.bound,
            Beyond::Below => found < self.bound,
            Beyond::AtMost => found <= self.bound,
        };
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
        let load = |of: &Measured| {
            (
                of.schedule,
                of.http,
                of.connections,
                of.streams,
                of.tls.is_some(),
            )
        };
        (load(&self.0) != load(measured)).then(|| {
            format!(
                "it is of another load ({}; this one: {})",
                crate::text::load(&self.0),
                crate::text::load(measured)
            )
        })
    }

    /// How a result is worse than the saved one by more than `margin` (0.1 is 10 %), in a few words
    /// for each figure.
    pub fn failures(&self, measured: &Measured, margin: f64) -> Vec<String> {
        // By a schedule the rate is what was asked for.
        let is_closed = measured.corrected.is_none();
        let quantities = [
            (Quantity::Rate, is_closed),
            (Quantity::P50, true),
            (Quantity::P99, true),
            (Quantity::ServerCpu, measured.server.is_some()),
        ];
        let worse = |(quantity, _): (Quantity, bool)| {
            let name = quantity.name();
            let before = quantity.of(&self.0)?;
            let Some(found) = quantity.of(measured) else {
                return Some(format!("{name} was not measured"));
            };
            let (is_worse, way) = match quantity {
                Quantity::Rate => (found < before / (1.0 + margin), "less"),
                _ => (found > before * (1.0 + margin), "more"),
            };
            let percent = (found / before - 1.0).abs() * 100.0;
            let (found, before) = (quantity.in_words(found), quantity.in_words(before));
            is_worse.then(|| format!("{name} is {found}, {percent:.1} % {way} than {before}"))
        };
        let quantities = quantities.into_iter().filter(|(_, counts)| *counts);
        quantities.filter_map(worse).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Errors, Latency, Schedule, ServerCost};

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
            let threshold: Threshold = text.parse().unwrap();
            assert_eq!(
                threshold.failure(&measured()).as_deref(),
                expected,
                "{text}"
            );
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
        check(
            "server-cpu>50us",
            Some("server-cpu was not measured (server-cpu>50us)"),
        );
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
        assert_eq!(
            saved.failures(&worse, 0.1),
            [
                "rps is 800/s, 19.9 % less than 999/s",
                "p99 is 23.0 ms, 15.0 % more than 20.0 ms"
            ]
        );
        assert_eq!(saved.failures(&worse, 0.3), [""; 0]);
        assert_eq!(saved.other_load(&worse), None);
        worse.schedule = Schedule::Rate { per_second: 5.0 };
        assert!(saved.other_load(&worse).unwrap().contains("another load"));
        for wrong in ["", "{}", "nonsense"] {
            assert!(
                Baseline::parse(wrong).unwrap_err().contains("no result"),
                "{wrong}"
            );
        }
        let failed = serde_json::json!({ "result": measured() }).to_string();
        assert!(Baseline::parse(&failed).unwrap_err().contains("errors"));
    }
}
