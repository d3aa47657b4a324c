//! Results in words, for a terminal.

use std::fmt::Write;

use crate::model::{Certificate, Errors, Latency, Measured, Schedule, Verified};

/// A result as a person reads it: several lines, each ended.
pub fn in_words(measured: &Measured) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_all(&mut text, measured);
    text
}

fn write_all(text: &mut String, measured: &Measured) -> std::fmt::Result {
    let schedule = match measured.schedule {
        Schedule::Closed => "each asks again when answered".to_owned(),
        Schedule::Rate { per_second } => format!("{per_second} requests per second asked for"),
        Schedule::Burst { every_ms } => format!("all at once every {every_ms} ms"),
    };
    let verified = match measured.verified {
        Verified::Framing => "status and framing checked",
        Verified::Content => "every answer compared with its file",
    };
    writeln!(text, "{}", measured.target)?;
    let connections = match measured.streams {
        0 | 1 => format!("{} connections", measured.connections),
        streams => format!("{} connections of {streams} streams", measured.connections),
    };
    writeln!(
        text,
        "{}, {connections}, {schedule}, {:.2} s; {verified}",
        transport(measured),
        measured.seconds
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
    let content = exact(measured.content_bytes);
    writeln!(
        text,
        "  content   {:>8.1} MiB   {:.1} MiB per second, {:.0} bytes per answer",
        content / MIB,
        content / MIB / measured.seconds,
        content / exact(measured.statuses.values().sum::<u64>().max(1))
    )?;
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
    writeln!(text)?;
    let client = &measured.client;
    writeln!(
        text,
        "  client    {:.2} us of CPU per request, its busiest thread {:.0} % of a core, {} late",
        client.cpu_us_per_request,
        client.busiest_thread * 100.0,
        client.late_sends
    )?;
    if let Some(server) = &measured.server {
        writeln!(
            text,
            "  server    {:.2} us of CPU per request, {:.2} cores, {:.1} MiB resident",
            server.cpu_us_per_request,
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

fn row(text: &mut String, name: &str, latency: &Latency) -> std::fmt::Result {
    write!(text, "  {name:<10}")?;
    for micros in [
        latency.p50_us,
        latency.p75_us,
        latency.p90_us,
        latency.p99_us,
        latency.p999_us,
        latency.p9999_us,
        latency.max_us,
    ] {
        // Nothing was measured: that is not nothing at all.
        match latency.count {
            0 => write!(text, "{:>10}", "-")?,
            _ => write!(text, "{:>10}", duration(micros))?,
        }
    }
    writeln!(text)
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
}
