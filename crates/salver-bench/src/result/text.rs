//! The words and the Markdown of a result, for people.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

use crate::result::model::{Certificate, Errors, Latency, Measured, Schedule, Verified};

/// A result as a person reads it: several lines, each ended.
pub fn in_words(measured: &Measured) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_all(&mut text, measured);
    text
}

/// How the server was loaded, in a few words: transport, connections and schedule.
pub fn load(measured: &Measured) -> String {
    let schedule = match measured.schedule {
        Schedule::Closed => "each asks again when answered".to_owned(),
        Schedule::Rate { per_second } => format!("{per_second} requests per second asked for"),
        Schedule::Burst { every_ms } => format!("all at once every {every_ms} ms"),
    };
    let connections = match measured.streams {
        0 | 1 => format!("{} connections", measured.connections),
        streams => format!("{} connections of {streams} streams", measured.connections),
    };
    format!("{}, {connections}, {schedule}", transport(measured))
}

/// How the server was loaded, for how long, and how its answers were checked.
fn summary(measured: &Measured) -> String {
    let ended = match measured.interrupted {
        true => " until it was interrupted",
        false => "",
    };
    let verified = match measured.verified {
        Verified::Framing => "status and framing checked",
        Verified::Content => "every answer compared with its file",
    };
    format!(
        "{}, {:.2} s{ended}; {verified}",
        load(measured),
        measured.seconds
    )
}

fn write_all(text: &mut String, measured: &Measured) -> std::fmt::Result {
    writeln!(text, "{}\n{}\n", measured.target, summary(measured))?;
    let (requests, rate) = (measured.requests, measured.requests_per_second);
    writeln!(text, "  requests  {requests:>12}   {rate:.0} per second")?;
    let (failed, how) = (measured.errors.total(), errors(&measured.errors));
    writeln!(text, "  errors    {failed:>12}   {how}")?;
    let content = measured.content_bytes as f64 / MIB;
    let per_second = match measured.seconds > 0.0 {
        true => content / measured.seconds,
        false => 0.0,
    };
    write!(
        text,
        "  content   {content:>8.1} MiB   {per_second:.1} MiB per second"
    )?;
    // Of answers that failed some came in part.
    match measured.statuses.values().sum::<u64>() {
        answers @ 1.. if measured.errors.total() == 0 => {
            let each = measured.content_bytes as f64 / answers as f64;
            writeln!(text, ", {each:.0} bytes per answer")?;
        }
        _ => writeln!(text)?,
    }
    writeln!(text, "  statuses  {}", counts(&measured.statuses))?;
    writeln!(text, "  codings   {}", counts(&measured.codings))?;
    text.push_str("\n  latency   ");
    for name in ["p50", "p75", "p90", "p99", "p99.9", "p99.99", "max"] {
        write!(text, "{name:>10}")?;
    }
    writeln!(text)?;
    match &measured.corrected {
        None => row(text, "", &measured.raw)?,
        Some(corrected) => {
            row(text, "raw", &measured.raw)?;
            row(text, "corrected", corrected)?;
            writeln!(
                text,
                "  raw: from the moment of sending. corrected: from the moment at which the \
                 schedule\n  wanted it sent, so that waiting for a slow server counts."
            )?;
        }
    }
    if measured.errors.timeout > 0 {
        writeln!(
            text,
            "  Latency is that of right answers: the {} that timed out are in no percentile.",
            measured.errors.timeout
        )?;
    }
    writeln!(text)?;
    let client = &measured.client;
    writeln!(
        text,
        "  client    {} of CPU per answer, its busiest thread {:.0} % of a core, {} late",
        figure(client.cpu_us_per_request),
        client.busiest_thread * 100.0,
        client.late_sends
    )?;
    if let Some(server) = &measured.server {
        writeln!(
            text,
            "  server    {} of CPU per answer, {:.2} cores, {:.1} MiB resident",
            figure(server.cpu_us_per_request),
            server.cores,
            server.resident_bytes as f64 / MIB
        )?;
    }
    if measured.reconnects > 0 {
        let count = measured.reconnects;
        writeln!(
            text,
            "  {count} connections were opened again while it was measured"
        )?;
    }
    if measured.asked_again > 0 {
        let count = measured.asked_again;
        writeln!(
            text,
            "  {count} requests were asked again that a leaving server had not looked at"
        )?;
    }
    for reason in &measured.invalid {
        writeln!(text, "\nINVALID: {reason}")?;
    }
    Ok(())
}

/// Names with their counts, in a line.
fn counts(counts: &BTreeMap<impl Display, u64>) -> String {
    let parts = counts
        .iter()
        .map(|(name, count)| format!("{name}: {count}"));
    parts.collect::<Vec<String>>().join(", ")
}

/// How the server was asked: the version of HTTP, and TLS.
pub fn transport(measured: &Measured) -> String {
    let http = measured.http;
    let Some(tls) = &measured.tls else {
        return http.to_string();
    };
    let cipher = tls
        .cipher
        .as_ref()
        .map_or(String::new(), |cipher| format!(" with {cipher}"));
    let doubt = match tls.certificate {
        Certificate::Verified => "",
        Certificate::Any => ", any certificate trusted",
    };
    format!("{http} over {}{cipher}{doubt}", tls.version)
}

const MIB: f64 = 1024.0 * 1024.0;

/// The percentiles that are shown.
fn percentiles(latency: &Latency) -> [String; 7] {
    [
        latency.p50_us,
        latency.p75_us,
        latency.p90_us,
        latency.p99_us,
        latency.p999_us,
        latency.p9999_us,
        latency.max_us,
    ]
    .map(figure)
}

/// A time, or a dash if nothing was measured: that is not nothing at all.
fn figure(micros: f64) -> String {
    match micros > 0.0 {
        true => duration(micros),
        false => "-".to_owned(),
    }
}

fn row(text: &mut String, name: &str, latency: &Latency) -> std::fmt::Result {
    write!(text, "  {name:<10}")?;
    for figure in percentiles(latency) {
        write!(text, "{figure:>10}")?;
    }
    writeln!(text)
}

/// A result as Markdown: what was asked, a table of its figures, and why not to believe them.
pub fn in_markdown(measured: &Measured) -> String {
    let mut text = format!(
        "**{}**: {}\n\n",
        escaped(&measured.target),
        summary(measured)
    );
    text +=
        "| | requests/s | errors | p50 | p75 | p90 | p99 | p99.9 | p99.99 | max | server CPU |\n";
    text += "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    let cpu = measured
        .server
        .map_or("-".to_owned(), |server| figure(server.cpu_us_per_request));
    let corrected = measured.corrected.as_ref();
    let rows = [
        Some(("raw", &measured.raw)),
        corrected.map(|latency| ("corrected", latency)),
    ];
    for (name, latency) in rows.into_iter().flatten() {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "| {name} | {:.0} | {} | {} | {cpu} |",
            measured.requests_per_second,
            measured.errors.total(),
            percentiles(latency).join(" | ")
        );
    }
    if measured.errors.total() > 0 {
        let _ = writeln!(text, "\nErrors: {}.", errors(&measured.errors));
    }
    for reason in &measured.invalid {
        let _ = writeln!(text, "\n**Invalid**: {reason}");
    }
    text
}

/// Text that is none of Markdown's signs.
pub fn escaped(text: &str) -> String {
    let escape = |char| "\\|*_`<>[]".contains(char).then_some('\\');
    text.chars()
        .flat_map(|char| escape(char).into_iter().chain([char]))
        .collect()
}

/// A time in three digits with its unit.
pub fn duration(micros: f64) -> String {
    let (value, unit) = match micros {
        0.0..1e3 => (micros, "us"),
        1e3..1e6 => (micros / 1e3, "ms"),
        _ => (micros / 1e6, "s"),
    };
    let digits = match value {
        0.0..9.995 => 2,
        9.995..99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

/// Errors by how, those that are; in brackets, or nothing.
pub fn errors(errors: &Errors) -> String {
    let some = errors.kinds().into_iter().filter(|(_, count)| *count > 0);
    let parts: Vec<String> = some
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn durations_have_three_digits() {
        let check = |micros: f64, expected: &str| assert_eq!(duration(micros), expected);
        check(0.0, "0.00 us");
        check(7.126, "7.13 us");
        check(42.25, "42.2 us");
        check(999.4, "999 us");
        check(1234.5, "1.23 ms");
        check(61_500.0, "61.5 ms");
        check(10_000_000.0, "10.0 s");
    }

    #[test]
    fn nothing_that_went_wrong_is_left_out() {
        let measured = Measured {
            errors: Errors {
                timeout: 138,
                short: 2,
                ..Errors::default()
            },
            corrected: Some(Latency::default()),
            invalid: vec!["the client was the bottleneck".to_owned()],
            seconds: 1.0,
            ..Measured::default()
        };
        let text = in_words(&measured);
        for part in [
            "140",
            "138 timed out, 2 cut short",
            "corrected",
            "INVALID: the client",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn what_was_not_measured_is_no_figure() {
        let nothing = Measured {
            errors: Errors {
                timeout: 7,
                ..Errors::default()
            },
            interrupted: true,
            ..Measured::default()
        };
        let words = in_words(&nothing);
        let is_false = |part| words.contains(part);
        assert!(!["0.00 us", "NaN"].into_iter().any(is_false), "{words}");
        for part in ["the 7 that timed out are in no percentile", "interrupted"] {
            assert!(words.contains(part), "{words}");
        }
        let document = serde_json::to_value(&nothing).unwrap();
        for path in ["/raw/p50_us", "/raw/max_us", "/client/cpu_us_per_request"] {
            assert_eq!(document.pointer(path), Some(&Value::Null), "{path}");
        }
        let read: Measured = serde_json::from_value(document).unwrap();
        assert_eq!(read, nothing);
    }

    #[test]
    fn markdown_has_a_row_for_each_kind_of_latency() {
        let measured = Measured {
            target: "http://127.0.0.1/a_b|c".to_owned(),
            corrected: Some(Latency {
                p99_us: 1500.0,
                ..Latency::default()
            }),
            invalid: vec!["others took 1.0 of 2 cores".to_owned()],
            ..Measured::default()
        };
        let text = in_markdown(&measured);
        let begin = "**http://127.0.0.1/a\\_b\\|c**: HTTP/1.1,";
        assert!(text.starts_with(begin), "{text}");
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
        assert_eq!(rows.len(), 4, "{text}");
        let columns = |row: &&str| row.matches('|').count();
        assert!(rows.iter().all(|row| columns(row) == 12), "{text}");
        assert!(rows[3].starts_with("| corrected |"), "{text}");
        assert!(rows[3].contains("| 1.50 ms |"), "{text}");
        assert!(text.contains("**Invalid**: others took"), "{text}");
    }
}
