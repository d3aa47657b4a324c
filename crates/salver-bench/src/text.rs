//! The words and the Markdown of a result, for people.

use std::fmt::Write;

use crate::model::{Certificate, Errors, Latency, Measured, Schedule, Verified};

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

fn verified(measured: &Measured) -> &'static str {
    match measured.verified {
        Verified::Framing => "status and framing checked",
        Verified::Content => "every answer compared with its file",
    }
}

fn ended(measured: &Measured) -> &'static str {
    match measured.interrupted {
        true => " until it was interrupted",
        false => "",
    }
}

fn write_all(text: &mut String, measured: &Measured) -> std::fmt::Result {
    writeln!(text, "{}", measured.target)?;
    writeln!(
        text,
        "{}, {:.2} s{}; {}",
        load(measured),
        measured.seconds,
        ended(measured),
        verified(measured)
    )?;
    writeln!(text)?;
    writeln!(
        text,
        "  requests  {:>12}   {:.0} per second",
        measured.requests, measured.requests_per_second
    )?;
    writeln!(
        text,
        "  errors    {:>12}   {}",
        measured.errors.total(),
        errors(&measured.errors)
    )?;
    let content = exact(measured.content_bytes) / MIB;
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
            let each = exact(measured.content_bytes) / exact(answers);
            writeln!(text, ", {each:.0} bytes per answer")?;
        }
        _ => writeln!(text)?,
    }
    let counts = |counts: Vec<(String, u64)>| {
        let parts = counts
            .iter()
            .map(|(name, count)| format!("{name}: {count}"));
        parts.collect::<Vec<String>>().join(", ")
    };
    let statuses = measured
        .statuses
        .iter()
        .map(|(status, n)| (status.to_string(), *n));
    let codings = measured
        .codings
        .iter()
        .map(|(coding, n)| (coding.clone(), *n));
    writeln!(text, "  statuses  {}", counts(statuses.collect()))?;
    writeln!(text, "  codings   {}", counts(codings.collect()))?;
    writeln!(text)?;
    writeln!(
        text,
        "  latency          p50       p75       p90       p99     p99.9    p99.99       max"
    )?;
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
            exact(server.resident_bytes) / MIB
        )?;
    }
    let again = [
        (
            measured.reconnects,
            "connections were opened again while it was measured",
        ),
        (
            measured.asked_again,
            "requests were asked again that a leaving server had not looked at",
        ),
    ];
    for (count, what) in again.iter().filter(|(count, _)| *count > 0) {
        writeln!(text, "  {count} {what}")?;
    }
    for reason in &measured.invalid {
        writeln!(text, "\nINVALID: {reason}")?;
    }
    Ok(())
}

/// How the server was asked: the version of HTTP, and TLS.
pub fn transport(measured: &Measured) -> String {
    let http = measured.http;
    let Some(tls) = &measured.tls else {
        return http.to_string();
    };
    let cipher = tls.cipher.iter().map(|cipher| format!(" with {cipher}"));
    let cipher: String = cipher.collect();
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
        "**{}**: {}, {:.2} s{}; {}\n\n",
        escaped(&measured.target),
        load(measured),
        measured.seconds,
        ended(measured),
        verified(measured)
    );
    text +=
        "| | requests/s | errors | p50 | p75 | p90 | p99 | p99.9 | p99.99 | max | server CPU |\n";
    text += "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    let cpu = measured
        .server
        .map_or("-".to_owned(), |server| figure(server.cpu_us_per_request));
    let mut rows = vec![("raw", &measured.raw)];
    rows.extend(
        measured
            .corrected
            .as_ref()
            .map(|latency| ("corrected", latency)),
    );
    for (name, latency) in rows {
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
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        if "\\|*_`<>[]".contains(char) {
            escaped.push('\\');
        }
        escaped.push(char);
    }
    escaped
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
    let Errors {
        connect,
        timeout,
        closed,
        short,
        malformed,
        status,
        content,
    } = *errors;
    let all = [
        ("no connection", connect),
        ("timed out", timeout),
        ("closed without an answer", closed),
        ("cut short", short),
        ("not HTTP", malformed),
        ("of the wrong status", status),
        ("of the wrong content", content),
    ];
    let some = all.iter().filter(|(_, count)| *count > 0);
    let parts: Vec<String> = some
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    parts.join(", ")
}

#[expect(clippy::cast_precision_loss, reason = "for a few digits on a terminal")]
fn exact(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
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
        for expected in [
            "140",
            "138 timed out, 2 cut short",
            "corrected",
            "INVALID: the client",
        ] {
            assert!(text.contains(expected), "{text}");
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
        assert!(
            !words.contains("0.00 us") && !words.contains("NaN"),
            "{words}"
        );
        assert!(
            words.contains("the 7 that timed out are in no percentile"),
            "{words}"
        );
        assert!(words.contains("interrupted"), "{words}");
        let document = serde_json::to_value(&nothing).unwrap();
        for path in ["/raw/p50_us", "/raw/max_us", "/client/cpu_us_per_request"] {
            assert!(
                document.pointer(path).unwrap().is_null(),
                "{path}: {document:#}"
            );
        }
        assert_eq!(
            serde_json::from_value::<Measured>(document).unwrap(),
            nothing
        );
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
        assert!(
            text.starts_with("**http://127.0.0.1/a\\_b\\|c**: HTTP/1.1,"),
            "{text}"
        );
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
        assert_eq!(rows.len(), 4, "{text}");
        let columns = |row: &str| row.matches('|').count();
        assert!(rows.iter().all(|row| columns(row) == 12), "{text}");
        assert!(
            rows[3].starts_with("| corrected |") && rows[3].contains("| 1.50 ms |"),
            "{text}"
        );
        assert!(text.contains("**Invalid**: others took"), "{text}");
    }
}
