//! The figures of two trials that are compared.

use serde::{Deserialize, Serialize};

use super::verdict::Better;
use crate::result::model::Measured;

/// One figure of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Right answers per second.
    RequestsPerSecond,
    /// The median latency in microseconds, corrected where there are intended moments.
    P50,
    /// The 99th percentile of the same.
    P99,
    /// CPU of the server per request in microseconds, where its process is known.
    ServerCpu,
}

impl Metric {
    /// All, in the order in which they are shown.
    pub const ALL: [Metric; 4] = [
        Metric::RequestsPerSecond,
        Metric::P50,
        Metric::P99,
        Metric::ServerCpu,
    ];

    /// Its name within a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Metric::RequestsPerSecond => "requests per second",
            Metric::P50 => "the median latency",
            Metric::P99 => "the 99th percentile of latency",
            Metric::ServerCpu => "CPU of the server per request",
        }
    }

    /// Its name in a table.
    pub fn title(self) -> &'static str {
        match self {
            Metric::RequestsPerSecond => "requests/s",
            Metric::P50 => "p50, us",
            Metric::P99 => "p99, us",
            Metric::ServerCpu => "server CPU, us/request",
        }
    }

    /// Which way is better.
    pub fn better(self) -> Better {
        match self {
            Metric::RequestsPerSecond => Better::More,
            Metric::P50 | Metric::P99 | Metric::ServerCpu => Better::Less,
        }
    }

    /// True if it depends on the client: one that cannot keep up with the server makes any two
    /// servers look the same.
    pub fn needs_client(self) -> bool {
        self != Metric::ServerCpu
    }

    /// The figure of a trial, if it has one: nothing that is not above zero was measured.
    pub fn of(self, measured: &Measured) -> Option<f64> {
        let latency = measured.latency();
        let figure = match self {
            Metric::RequestsPerSecond => measured.requests_per_second,
            Metric::P50 => latency.p50_us,
            Metric::P99 => latency.p99_us,
            Metric::ServerCpu => measured.server?.cpu_us_per_request,
        };
        (figure.is_finite() && figure > 0.0).then_some(figure)
    }
}

/// The middle one, or the mean of the two in the middle.
pub fn median(figures: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut ascending: Vec<f64> = figures.into_iter().collect();
    ascending.sort_unstable_by(f64::total_cmp);
    let middle = ascending.len() / 2;
    let upper = *ascending.get(middle)?;
    if ascending.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = ascending.get(middle.checked_sub(1)?)?;
    Some(lower.midpoint(upper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::model::{Latency, ServerCost};

    #[test]
    fn each_metric_is_a_figure_of_a_trial() {
        let latency = |p50_us, p99_us| Latency {
            p50_us,
            p99_us,
            ..Latency::default()
        };
        let mut measured = Measured {
            requests_per_second: 1000.0,
            raw: latency(10.0, 20.0),
            ..Measured::default()
        };
        let all = |measured: &Measured| Metric::ALL.map(|metric| metric.of(measured));
        assert_eq!(all(&measured), [Some(1000.0), Some(10.0), Some(20.0), None]);
        measured.corrected = Some(latency(30.0, 40.0));
        measured.server = Some(ServerCost {
            cpu_us_per_request: 5.0,
            ..ServerCost::default()
        });
        let expected = [1000.0, 30.0, 40.0, 5.0].map(Some);
        assert_eq!(all(&measured), expected);
        assert_eq!(all(&Measured::default()), [None; 4]);
    }

    #[test]
    fn medians() {
        assert_eq!(median([]), None);
        assert_eq!(median([3.0]), Some(3.0));
        assert_eq!(median([3.0, 1.0]), Some(2.0));
        assert_eq!(median([3.0, 1.0, 9.0]), Some(3.0));
    }
}
