//! Several measurements that belong together, as one value: what `salver bench cache --json`
//! writes and what the page of `salver bench ui` shows, saves and lays over others.

use serde::{Deserialize, Serialize};

use crate::result::model::{Measured, SCHEMA};

/// The label of the series without a cache.
pub const PLAIN: &str = "plain";

/// The label of the series with the cache.
pub const CACHED: &str = "cached";

/// The label of a load on one server, compared with nothing.
pub const LOAD: &str = "load";

/// One run: some rows, measured one after another on one machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The [`SCHEMA`] that it was written in.
    pub schema: u32,
    /// The title, in a few words for a person.
    pub title: String,
    /// The machine, versions and flags, as [`serde_json`] has them: what there is differs from one
    /// machine to the next. Null if nothing is known.
    #[serde(default)]
    pub environment: serde_json::Value,
    /// The rows, in the order in which they are to be shown.
    pub rows: Vec<Row>,
    /// It was ended early: the rows are of the trials until then.
    #[serde(default)]
    pub interrupted: bool,
}

impl Report {
    /// A report of these rows, in this schema. An environment that is no JSON is not known.
    pub fn new(title: String, environment: impl Serialize, rows: Vec<Row>) -> Self {
        Report {
            schema: SCHEMA,
            title,
            environment: serde_json::to_value(environment).unwrap_or_default(),
            rows,
            interrupted: false,
        }
    }

    /// True if all went right everywhere and the figures may be believed.
    pub fn is_sound(&self) -> bool {
        let mut series = self.rows.iter().flat_map(|row| &row.series);
        series.all(|series| series.measured.is_sound())
    }
}

/// One thing that was measured in one or several ways: a file of one size, say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its name, for a person: `10 KiB`, or a URL. Each name stands once in a report.
    pub name: String,
    /// The ways, in the same order in every row.
    pub series: Vec<Series>,
    /// How much better the second series is than the first. `None` if there is one series only, or
    /// if there are too few trials to tell.
    #[serde(default)]
    pub speed_up: Option<SpeedUp>,
    /// The verdict on the second series, in the words of the comparison: `faster`, `slower`,
    /// `same within 3 %` or `undecided: run longer`. `None` if nothing was compared.
    #[serde(default)]
    pub verdict: Option<String>,
}

/// One way of measuring a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Which way: [`PLAIN`], [`CACHED`], [`LOAD`] or another.
    pub label: String,
    /// Its result.
    pub measured: Measured,
}

/// How many times better the second series of a row is than its first: above 1 it is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpeedUp {
    /// In requests per second: those of the second by those of the first.
    pub requests: Interval,
    /// In the 99th percentile of latency: that of the first by that of the second.
    pub p99: Interval,
    /// In the median of latency: that of the first by that of the second. `None` if it was not
    /// compared.
    #[serde(default)]
    pub p50: Option<Interval>,
    /// In the server's CPU per request: that of the first by that of the second. `None` if it was
    /// not measured.
    #[serde(default)]
    pub server_cpu: Option<Interval>,
}

/// A ratio and what it may be, given how much the trials differed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The ratio that was found.
    pub ratio: f64,
    /// The lower end of its confidence interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let series = |label: &str| Series {
            label: label.to_owned(),
            measured: Measured::default(),
        };
        let row = Row {
            name: "10 KiB".to_owned(),
            series: vec![series(PLAIN), series(CACHED)],
            speed_up: Some(SpeedUp {
                server_cpu: Some(Interval::default()),
                ..SpeedUp::default()
            }),
            verdict: Some("faster".to_owned()),
        };
        let environment = serde_json::json!({ "kernel": "6.12.9" });
        Report::new("sizes".to_owned(), environment, vec![row])
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let text = serde_json::to_string(&report()).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report());
        assert!(text.starts_with("{\"schema\":1,"), "{text}");
    }

    #[test]
    fn one_bad_series_makes_a_report_unsound() {
        assert!(report().is_sound());
        let mut failed = report();
        failed.rows[0].series[1].measured.errors.timeout = 1;
        assert!(!failed.is_sound());
        let mut doubtful = report();
        let measured = &mut doubtful.rows[0].series[0].measured;
        measured.invalid = vec!["the client was busy".to_owned()];
        assert!(!doubtful.is_sound());
    }
}
