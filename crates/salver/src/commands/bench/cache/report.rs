//! The report of `salver bench cache`: as a value, in words and as Markdown.

use std::fmt::Write as _;

use salver_bench::compare::metric::Metric;
use salver_bench::compare::order::{METHOD as ORDER, Side};
use salver_bench::compare::verdict::Verdict;
use salver_bench::compare::{Compared, FEWEST_TRIALS, MARGIN, Trial, interval};
use salver_bench::environment::{Environment, Others};
use salver_bench::model::{Errors, Measured, ServerCost};
use salver_bench::report::{CACHED, Interval, PLAIN, Report, Row, Series, SpeedUp};

use super::Settings;
use crate::failure::Failure;
use crate::size::size as size_for_people;

/// More than one doubtful trial in so many, and a series is doubtful: as in the comparison.
const DOUBTFUL_OF: usize = 10;

/// A size as the name of its row.
pub(super) fn name(size: u64) -> String {
    size_for_people(size)
}

/// The name of a side's series.
pub(super) fn label(side: Side) -> &'static str {
    match side {
        Side::A => PLAIN,
        Side::B => CACHED,
    }
}

/// The report of what was compared, in the order of the sizes.
pub(super) fn report(
    settings: &Settings,
    environment: &Environment,
    compared: Vec<Compared>,
    pinned: bool,
) -> Report {
    let cores = match pinned {
        true => "server and client each with cores of their own",
        false => "server and client on one core",
    };
    let title = format!(
        "Plain and cached: {} connections, {} trials of {} at most, {cores}",
        settings.connections,
        settings.trials,
        humantime::format_duration(settings.duration),
    );
    let measured = compared.into_iter().filter(|one| !one.trials.is_empty());
    let rows = measured.map(row).collect();
    Report::new(title, environment, rows)
}

fn row(compared: Compared) -> Row {
    Row {
        name: name(compared.path.parse().unwrap_or_default()),
        ..row_of(&compared, [Side::A, Side::B].map(label))
    }
}

/// A path that was compared, as a row: the series of A and of B under these names, and how many
/// times better B is.
pub(in crate::commands::bench) fn row_of(compared: &Compared, [a, b]: [&str; 2]) -> Row {
    let series = |side, label: &str| Series {
        label: label.to_owned(),
        measured: summary(compared, side),
    };
    Row {
        name: compared.path.clone(),
        series: vec![series(Side::A, a), series(Side::B, b)],
        speed_up: speed_up(compared),
        verdict: compared.verdict.map(|verdict| {
            let by = match compared.by {
                Some(Metric::ServerCpu) => " (by the server's CPU)",
                _ => "",
            };
            in_short(verdict) + by
        }),
    }
}

fn in_short(verdict: Verdict) -> String {
    match verdict {
        Verdict::Same => format!("same within {:.0} %", MARGIN * 100.0),
        Verdict::Undecided { .. } => "undecided: run longer".to_owned(),
        Verdict::Faster | Verdict::Slower => verdict.to_string(),
    }
}

fn speed_up(compared: &Compared) -> Option<SpeedUp> {
    let ratio = |metric| {
        let mut figures = compared.figures.iter();
        figures.find(|figure| figure.metric == metric)?.ratio
    };
    // What takes less is better.
    let inverse = |found: Interval| Interval {
        ratio: found.ratio.recip(),
        low: found.high.recip(),
        high: found.low.recip(),
    };
    Some(SpeedUp {
        requests: ratio(Metric::RequestsPerSecond)?,
        p99: inverse(ratio(Metric::P99)?),
        p50: ratio(Metric::P50).map(inverse),
        server_cpu: ratio(Metric::ServerCpu).map(inverse),
    })
}

/// The trial of one side that is in the middle by requests per second, as it was measured, with the
/// errors of all trials and the reasons to doubt them.
fn summary(compared: &Compared, side: Side) -> Measured {
    let mut trials: Vec<&Trial> = compared.trials.iter().collect();
    trials.retain(|trial| trial.side == side);
    let speed = |trial: &Trial| trial.measured.requests_per_second;
    trials.sort_by(|a, b| speed(a).total_cmp(&speed(b)));
    let Some(middle) = trials.get(trials.len() / 2) else {
        return Measured::default();
    };
    let mut whole = middle.measured.clone();
    whole.errors = Errors::default();
    for trial in &trials {
        whole.errors.add(&trial.measured.errors);
    }
    let doubtful = trials.iter().filter(|one| !one.measured.invalid.is_empty());
    let doubtful = doubtful.count();
    let why = trials.iter().find_map(|one| one.measured.invalid.first());
    let why = why.filter(|_| doubtful * DOUBTFUL_OF > trials.len());
    let why = why.map(|why| format!("{doubtful} of {} trials: {why}", trials.len()));
    whole.invalid = why.into_iter().collect();
    whole
}

/// Checks that the figures may be believed.
///
/// # Errors
/// How many requests failed, or that trials are doubtful.
pub(super) fn check(report: &Report) -> Result<(), Failure> {
    let series = || report.rows.iter().flat_map(|row| &row.series);
    let errors: u64 = series().map(|one| one.measured.errors.total()).sum();
    if errors > 0 {
        return Err(Failure::Failed(format!(
            "{errors} requests failed: the figures say nothing"
        )));
    }
    if report.interrupted {
        return Err(Failure::Failed(
            "interrupted: the table is of the trials until then".to_owned(),
        ));
    }
    match report.is_sound() {
        true => Ok(()),
        false => Err(Failure::Failed(
            "some figures may not be believed: see the notes".to_owned(),
        )),
    }
}

/// The table for people.
pub(super) fn in_words(report: &Report) -> String {
    // Writing to a String cannot fail.
    let mut text = format!("{}\n\n", report.title);
    let _ = writeln!(
        text,
        "size{:>26}{:>12}{:>12}{:>14}",
        "requests/s", "p50, us", "p99, us", "CPU, us/req"
    );
    for row in &report.rows {
        let mut name = &*row.name;
        for Series { label, measured } in &row.series {
            let [rate, p50, p99, cpu] = figures(measured);
            let _ = writeln!(
                text,
                "{name:10}{label:8}{rate:>12}{p50:>12}{p99:>12}{cpu:>14}"
            );
            name = "";
        }
    }
    text.push_str("\nSpeed-up by the cache, plain by cached: above 1 the cache is better\n\n");
    let _ = writeln!(
        text,
        "{:10}{:>22}{:>22}{:>22}{:>22}  verdict",
        "size", "requests/s", "p50", "p99", "CPU"
    );
    for row in &report.rows {
        let [requests, p50, p99, cpu] = ratios(row);
        let verdict = row.verdict.as_deref().unwrap_or("none");
        let _ = writeln!(
            text,
            "{:10}{requests:>22}{p50:>22}{p99:>22}{cpu:>22}  {verdict}",
            row.name
        );
    }
    let _ = writeln!(
        text,
        "\nFigures are those of the trial in the middle; ratios are of all, {ORDER}.\n{}.\nPlain: each request looks at the disk and reads the \
         file. Cached: by the default settings, so that\nfiles beyond 32 KiB are not held in memory \
         but open, and leave the page cache.",
        interval::METHOD
    );
    let others = report.environment.get("others").cloned();
    if let Some(Ok(others)) = others.map(serde_json::from_value::<Others>) {
        let _ = writeln!(text, "Others took {:.2} cores meanwhile.", others.taken());
    }
    notes(&mut text, report);
    text
}

/// The table as Markdown.
pub(super) fn in_markdown(report: &Report) -> String {
    let mut text = format!("{}\n\n", report.title);
    text += "| size | | requests/s | p50, us | p99, us | CPU, us/req | requests/s | p50 | p99 | CPU | verdict |\n";
    text += "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n";
    for row in &report.rows {
        let verdict = row.verdict.as_deref().unwrap_or("none");
        let speed_up = format!("{} | {verdict}", ratios(row).join(" | "));
        for Series { label, measured } in &row.series {
            // The ratios stand once, with the cached series.
            let ratios = match label == CACHED {
                true => &*speed_up,
                false => " | | | |",
            };
            let (name, figures) = (&row.name, figures(measured).join(" | "));
            // Writing to a String cannot fail.
            let _ = writeln!(text, "| {name} | {label} | {figures} | {ratios} |");
        }
    }
    notes(&mut text, report);
    text
}

/// The figures of a series: requests per second, latency, and CPU of the server.
fn figures(measured: &Measured) -> [String; 4] {
    let cpu = |server: ServerCost| format!("{:.1}", server.cpu_us_per_request);
    let raw = [
        measured.requests_per_second,
        measured.raw.p50_us,
        measured.raw.p99_us,
    ];
    let [rate, p50, p99] = raw.map(|figure| format!("{figure:.0}"));
    [rate, p50, p99, measured.server.map_or("-".to_owned(), cpu)]
}

/// The speed-ups of a row with their intervals, or without if there are too few trials.
fn ratios(row: &Row) -> [String; 4] {
    if let Some(found) = row.speed_up {
        let all = [
            Some(found.requests),
            found.p50,
            Some(found.p99),
            found.server_cpu,
        ];
        return all.map(|one| match one {
            Some(Interval { ratio, low, high }) => format!("{ratio:.2} ({low:.2} to {high:.2})"),
            None => "-".to_owned(),
        });
    }
    let [plain, cached] = &*row.series else {
        return Default::default();
    };
    let (first, second) = (&plain.measured, &cached.measured);
    let cpu = |one: &Measured| one.server.map_or(f64::NAN, |cost| cost.cpu_us_per_request);
    [
        second.requests_per_second / first.requests_per_second,
        first.raw.p50_us / second.raw.p50_us,
        first.raw.p99_us / second.raw.p99_us,
        cpu(first) / cpu(second),
    ]
    .map(|ratio| match ratio.is_finite() {
        true => format!("{ratio:.2} (no interval)"),
        false => "-".to_owned(),
    })
}

/// The notes below the table.
fn notes(text: &mut String, report: &Report) {
    if report.rows.iter().any(|row| row.speed_up.is_none()) {
        let _ = writeln!(
            text,
            "note: intervals and verdicts need --trials {FEWEST_TRIALS}"
        );
    }
    for row in &report.rows {
        for Series { label, measured } in &row.series {
            if measured.errors.total() > 0 {
                let _ = writeln!(text, "errors, {}, {label}: {:?}", row.name, measured.errors);
            }
            for why in &measured.invalid {
                let _ = writeln!(text, "note: {}, {label}: {why}", row.name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(side: Side, requests_per_second: f64) -> Trial {
        let mut measured = Measured {
            requests_per_second,
            server: Some(ServerCost {
                cpu_us_per_request: 1e6 / requests_per_second,
                ..ServerCost::default()
            }),
            ..Measured::default()
        };
        measured.raw.p50_us = 1e6 / requests_per_second;
        measured.raw.p99_us = 2e6 / requests_per_second;
        Trial { side, measured }
    }

    /// Blocks of trials in which the cache makes twice as many requests.
    fn compared(blocks: usize) -> Compared {
        let block = [
            trial(Side::A, 1000.0),
            trial(Side::B, 2000.0),
            trial(Side::B, 2020.0),
            trial(Side::A, 1010.0),
        ];
        let mut trials = block.iter().cycle();
        let plan = salver_bench::compare::Plan {
            paths: vec!["10240".to_owned()],
            trials: blocks * 2,
            margin: MARGIN,
            seed: 1,
            resamples: interval::RESAMPLES,
        };
        let found = salver_bench::compare::run(&plan, |turn| {
            let next = trials.by_ref().find(|trial| trial.side == turn.side);
            Ok::<_, ()>(next.unwrap().measured.clone())
        });
        found.unwrap().remove(0)
    }

    fn report_of(compared: Compared) -> Report {
        Report::new("title".to_owned(), (), vec![row(compared)])
    }

    #[test]
    fn twice_as_fast_is_two_in_every_column() {
        let report = report_of(compared(8));
        let row = &report.rows[0];
        assert_eq!(row.name, "10 KiB");
        assert_eq!(row.verdict.as_deref(), Some("faster"));
        let found = row.speed_up.unwrap();
        let all = [
            Some(found.requests),
            Some(found.p99),
            found.p50,
            found.server_cpu,
        ];
        for one in all.map(Option::unwrap) {
            assert!((one.ratio - 2.0).abs() < 0.1, "{one:?}");
            assert!(one.low <= one.ratio && one.ratio <= one.high, "{one:?}");
        }
        assert_eq!(check(&report), Ok(()));
        let text = in_words(&report);
        assert!(text.contains("2.00 (") && text.contains("faster"), "{text}");
    }

    #[test]
    fn too_few_trials_have_ratios_without_intervals() {
        let report = report_of(compared(1));
        assert_eq!(
            (report.rows[0].speed_up, &report.rows[0].verdict),
            (None, &None)
        );
        let text = in_words(&report);
        assert_eq!(text.matches("2.00 (no interval)").count(), 4, "{text}");
        assert!(text.contains("--trials 16"), "{text}");
    }

    #[test]
    fn errors_and_doubts_of_any_trial_are_shown_and_fail() {
        let mut failed = compared(1);
        failed.trials[1].measured.errors.timeout = 2;
        failed.trials[2].measured.errors.short = 1;
        let report = report_of(failed);
        let failure = check(&report).unwrap_err().to_string();
        assert!(failure.starts_with("3 requests failed"), "{failure}");
        assert!(in_words(&report).contains("timeout: 2"));

        let mut doubtful = compared(1);
        doubtful.trials[0].measured.invalid = vec!["the client was slow".to_owned()];
        let report = report_of(doubtful);
        assert!(check(&report).is_err());
        let text = in_words(&report);
        assert!(
            text.contains("plain: 1 of 2 trials: the client was slow"),
            "{text}"
        );
    }

    #[test]
    fn one_doubtful_trial_in_many_is_borne() {
        let mut compared = compared(8);
        compared.trials[0].measured.invalid = vec!["a hiccup".to_owned()];
        assert_eq!(check(&report_of(compared)), Ok(()));
    }
}
