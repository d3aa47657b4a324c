//! The text formats of metrics: OpenMetrics 1.0, and Prometheus's older one for who does not ask for that.

use std::fmt::Write;

use crate::metrics::HistogramSnapshot;

/// A text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus's text format 0.0.4.
    Prometheus,
}

impl Format {
    /// The format for a client that accepts this.
    pub fn of_accept(accept: &str) -> Self {
        match accept.contains("application/openmetrics-text") {
            true => Format::OpenMetrics,
            false => Format::Prometheus,
        }
    }

    /// Its media type.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// The kind of a family of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
    Info,
}

/// A label: its name and its value.
pub(crate) type Label<'a> = (&'static str, &'a str);

/// A text of metrics that is being written, family by family.
#[derive(Debug)]
pub(crate) struct Exposition {
    text: String,
    format: Format,
}

/// A family that samples are added to.
pub(crate) struct Family<'a> {
    text: &'a mut String,
    name: &'static str,
    kind: Kind,
}

impl Exposition {
    pub(crate) fn new(format: Format) -> Self {
        let text = String::new();
        Exposition { text, format }
    }

    /// Begins a family. The name ends with its unit, if it has one.
    pub(crate) fn family(
        &mut self,
        name: &'static str,
        kind: Kind,
        unit: &str,
        help: &str,
    ) -> Family<'_> {
        let text = &mut self.text;
        // The older format names a family like its samples.
        let (shown, type_name) = match (self.format, kind) {
            (Format::OpenMetrics, Kind::Counter) => (name.to_owned(), "counter"),
            (Format::OpenMetrics, Kind::Info) => (name.to_owned(), "info"),
            (Format::Prometheus, Kind::Counter) => (format!("{name}_total"), "counter"),
            (Format::Prometheus, Kind::Info) => (format!("{name}_info"), "gauge"),
            (_, Kind::Gauge) => (name.to_owned(), "gauge"),
            (_, Kind::Histogram) => (name.to_owned(), "histogram"),
        };
        let _ = writeln!(text, "# HELP {shown} {help}");
        let _ = writeln!(text, "# TYPE {shown} {type_name}");
        if self.format == Format::OpenMetrics && !unit.is_empty() {
            let _ = writeln!(text, "# UNIT {shown} {unit}");
        }
        Family { text, name, kind }
    }

    /// The whole text.
    pub(crate) fn end(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

impl Family<'_> {
    /// Adds a sample of a counter, a gauge or an info.
    pub(crate) fn sample(&mut self, labels: &[Label<'_>], value: impl std::fmt::Display) {
        let suffix = match self.kind {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            Kind::Gauge | Kind::Histogram => "",
        };
        self.line(suffix, labels, None, value);
    }

    /// Adds a histogram whose bounds are in a unit of which `per_unit` are one of the family's.
    pub(crate) fn histogram(
        &mut self,
        labels: &[Label<'_>],
        bounds: &[u64],
        snapshot: &HistogramSnapshot,
        per_unit: u64,
    ) {
        let mut sum = 0;
        let bounds = bounds.iter().map(|bound| decimal(*bound, per_unit));
        let bounds = bounds.chain(std::iter::once("+Inf".to_owned()));
        for (bound, count) in bounds.zip(&snapshot.counts) {
            sum += count;
            // OpenMetrics section 5: canonical numbers have a point.
            let bound = match bound.contains(['.', '+']) {
                true => bound,
                false => format!("{bound}.0"),
            };
            self.line("_bucket", labels, Some(&bound), sum);
        }
        self.line("_sum", labels, None, decimal(snapshot.sum, per_unit));
        self.line("_count", labels, None, snapshot.count);
    }

    fn line(
        &mut self,
        suffix: &str,
        labels: &[Label<'_>],
        bound: Option<&str>,
        value: impl std::fmt::Display,
    ) {
        self.text.push_str(self.name);
        self.text.push_str(suffix);
        let mut before = '{';
        let all = labels.iter().copied();
        for (name, value) in all.chain(bound.map(|bound| ("le", bound))) {
            let _ = write!(self.text, "{before}{name}=\"");
            push_escaped(self.text, value);
            self.text.push('"');
            before = ',';
        }
        if before == ',' {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }
}

/// Pushes the value of a label so that it cannot end it, nor the line.
fn push_escaped(text: &mut String, value: &str) {
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other if other.is_control() => text.push(char::REPLACEMENT_CHARACTER),
            other => text.push(other),
        }
    }
}

/// A number of which `per_unit`, a power of ten, are one, exactly.
pub(crate) fn decimal(value: u64, per_unit: u64) -> String {
    let (whole, rest) = (value / per_unit, value % per_unit);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = usize::try_from(per_unit.ilog10()).unwrap_or(0);
    let text = format!("{whole}.{rest:0digits$}");
    text.trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact() {
        fn check(value: u64, per_unit: u64, expected: &str) {
            assert_eq!(decimal(value, per_unit), expected);
        }
        check(0, 1_000_000_000, "0");
        check(5_000_000, 1_000_000_000, "0.005");
        check(1_000_000_001, 1_000_000_000, "1.000000001");
        check(7_500_000_000, 1_000_000_000, "7.5");
        check(u64::MAX, 1, "18446744073709551615");
        check(u64::MAX, 1_000_000_000, "18446744073.709551615");
    }

    #[test]
    fn labels_end_neither_themselves_nor_their_line() {
        let mut exposition = Exposition::new(Format::OpenMetrics);
        let mut family = exposition.family("a", Kind::Gauge, "", "What it is.");
        family.sample(&[("site", "x\"}\n\\\r\u{1b} ü")], 1);
        let text = exposition.end();
        let expected = "a{site=\"x\\\"}\\n\\\\\u{fffd}\u{fffd} ü\"} 1\n# EOF\n";
        assert!(text.ends_with(expected), "{text}");
    }

    #[test]
    fn formats_name_counters_differently() {
        let text = |format| {
            let mut exposition = Exposition::new(format);
            let mut family = exposition.family("a_bytes", Kind::Counter, "bytes", "What.");
            family.sample(&[], 3);
            exposition.end()
        };
        assert_eq!(
            text(Format::OpenMetrics),
            "# HELP a_bytes What.\n# TYPE a_bytes counter\n# UNIT a_bytes bytes\na_bytes_total 3\n# EOF\n"
        );
        assert_eq!(
            text(Format::Prometheus),
            "# HELP a_bytes_total What.\n# TYPE a_bytes_total counter\na_bytes_total 3\n"
        );
    }

    #[test]
    fn buckets_are_cumulated() {
        let mut exposition = Exposition::new(Format::Prometheus);
        let mut family = exposition.family("a_seconds", Kind::Histogram, "seconds", "What.");
        let snapshot = HistogramSnapshot {
            counts: vec![1, 0, 2],
            count: 3,
            sum: 1_500_000_000,
        };
        let bounds = [5_000_000, 1_000_000_000];
        family.histogram(&[("site", "")], &bounds, &snapshot, 1_000_000_000);
        let text = exposition.end();
        let lines: Vec<&str> = text.lines().skip(2).collect();
        let expected = [
            "a_seconds_bucket{site=\"\",le=\"0.005\"} 1",
            "a_seconds_bucket{site=\"\",le=\"1.0\"} 1",
            "a_seconds_bucket{site=\"\",le=\"+Inf\"} 3",
            "a_seconds_sum{site=\"\"} 1.5",
            "a_seconds_count{site=\"\"} 3",
        ];
        assert_eq!(lines, expected);
    }
}
