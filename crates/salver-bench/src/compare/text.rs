//! The words and the Markdown of a comparison, for people.

use std::fmt::Write;

use super::comparison::Comparison;
use super::metric::Metric;
use super::order::Side;
use super::verdict::Verdict;
use super::{Compared, FEWEST_TRIALS, Figure};
use crate::machine::disturbance::DISTURBING;
use crate::result::text::{errors, escaped, transport};

/// The margin or another share, in percent: `3 %`.
fn percent(share: f64) -> String {
    // Nobody gives more digits than these.
    format!("{} %", (share * 1e4).round() / 1e2)
}

/// A verdict as it stands in a table.
pub fn verdict_in_words(verdict: Verdict, margin: f64) -> String {
    match verdict {
        Verdict::Faster => "faster".to_owned(),
        Verdict::Slower => "slower".to_owned(),
        Verdict::Same => format!("same within {}", percent(margin)),
        Verdict::Undecided { more_trials } => {
            format!("undecided: run longer, about {more_trials} more trials of each side")
        }
    }
}

/// The verdict on each path, with the figures; several lines, each ended.
pub fn in_words(comparison: &Comparison) -> String {
    let mut text = String::new();
    if comparison.interrupted {
        text.push_str("Interrupted: this is of the trials until then.\n");
    }
    for (side, name) in [(Side::A, &comparison.a), (Side::B, &comparison.b)] {
        let trials = comparison.paths.iter().flat_map(|path| &path.trials);
        if let Some(trial) = trials.into_iter().find(|trial| trial.side == side) {
            let transport = transport(&trial.measured);
            let _ = writeln!(text, "{side}: {name}, by {transport}");
        }
    }
    for path in &comparison.paths {
        // Writing to a String cannot fail.
        let _ = write_path(&mut text, path, comparison.method.margin);
    }
    for difference in &comparison.differences {
        let _ = writeln!(text, "not the same: {difference}");
    }
    let others = comparison.environment.others;
    if let Some(others) = others.filter(|others| others.cores >= DISTURBING) {
        let _ = writeln!(
            text,
            "Other programs used {:.1} cores meanwhile: with nothing else running it takes fewer \
             trials.",
            others.cores
        );
    }
    let method = &comparison.method;
    let _ = writeln!(
        text,
        "A and B are medians of all trials; B / A is the ratio of neighbouring ones, so that what drifts \
         counts\nin neither: it can differ from the quotient of the medians.\n\
         Method: {}; {}, {} resamples, seed {}; {} of verdicts are right.",
        method.order,
        method.interval,
        method.resamples,
        method.seed,
        percent(method.confidence)
    );
    text
}

/// The verdict on a path, with the difference: one that is certain may still be within the margin.
fn said(path: &Compared, margin: f64) -> String {
    match (path.verdict, path.by) {
        (Some(verdict), Some(by)) => {
            let words = verdict_in_words(verdict, margin);
            let figure = path.figures.iter().find(|figure| figure.metric == by);
            let apart = figure.and_then(|figure| figure.ratio).map(|found| {
                let [ratio, low, high] = [found.ratio, found.low, found.high].map(change);
                format!(": {ratio} %, {low} to {high} %")
            });
            let is = match verdict {
                Verdict::Faster | Verdict::Slower => "B is ",
                Verdict::Same => "B is the ",
                Verdict::Undecided { .. } => "",
            };
            format!("{is}{words} ({}{})", by.name(), apart.unwrap_or_default())
        }
        _ if path.errors > 0 => format!("nothing is said: {} requests failed", path.errors),
        _ if path.is_short() => {
            format!("nothing is said: it takes {FEWEST_TRIALS} trials of each side")
        }
        _ => "nothing is said: the figures must not be believed".to_owned(),
    }
}

/// A ratio as a change in percent, with its sign.
fn change(ratio: f64) -> String {
    format!("{:+.1}", (ratio - 1.0) * 100.0)
}

/// A comparison as Markdown: what was compared, and a row for each path and figure.
pub fn in_markdown(comparison: &Comparison) -> String {
    let method = &comparison.method;
    let [a, b] = [&comparison.a, &comparison.b].map(|side| escaped(side));
    let mut text = format!("A: {a}; B: {b}\n\n");
    if comparison.interrupted {
        text += "Interrupted: this is of the trials until then.\n\n";
    }
    text += "| path | figure | A | B | B / A | interval | verdict |\n";
    text += "| --- | --- | ---: | ---: | ---: | --- | --- |\n";
    for path in &comparison.paths {
        let name = escaped(&path.path);
        if path.figures.is_empty() {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "| {name} | | | | | | {} |", said(path, method.margin));
        }
        for figure in &path.figures {
            let [a, b] = [figure.a, figure.b].map(|value| in_digits(figure.metric, value));
            let (ratio, interval) = figure.ratio.map_or(Default::default(), |found| {
                let interval = format!("{:.3} to {:.3}", found.low, found.high);
                (format!("{:.3}", found.ratio), interval)
            });
            let verdict = match figure.verdict {
                Some(verdict) => verdict_in_words(verdict, method.margin),
                None => "nothing is said".to_owned(),
            };
            let title = figure.metric.title();
            let _ = writeln!(
                text,
                "| {name} | {title} | {a} | {b} | {ratio} | {interval} | {verdict} |"
            );
        }
    }
    let _ = writeln!(text, "\n{}; {}.", method.order, method.interval);
    text
}

/// A value of a figure with as many digits as it has.
fn in_digits(metric: Metric, value: f64) -> String {
    match metric {
        Metric::RequestsPerSecond => format!("{value:.0}"),
        Metric::P50 | Metric::P99 => format!("{value:.1}"),
        Metric::ServerCpu => format!("{value:.2}"),
    }
}

fn write_path(text: &mut String, path: &Compared, margin: f64) -> std::fmt::Result {
    writeln!(text, "{}: {}", path.path, said(path, margin))?;
    let level = |figure: &Figure| format!("{} interval", percent(figure.level));
    let level = path.figures.first().map_or(String::new(), level);
    let (trials, sides) = (path.trials.len() / 2, "A           B    B / A");
    writeln!(
        text,
        "{:35}{sides}   {level:<16} trials of each: {trials}",
        ""
    )?;
    for figure in &path.figures {
        write_figure(text, figure, margin)?;
    }
    for doubt in &path.doubts {
        let (trials, side, why) = (doubt.trials, doubt.side, &doubt.why);
        writeln!(text, "  in {trials} trials of {side}: {why}")?;
    }
    for trial in path.trials.iter() {
        if trial.measured.errors.total() > 0 {
            let how = errors(&trial.measured.errors);
            writeln!(text, "  in a trial of {}: {how}", trial.side)?;
        }
    }
    writeln!(text)
}

fn write_figure(text: &mut String, figure: &Figure, margin: f64) -> std::fmt::Result {
    let [a, b] = [figure.a, figure.b].map(|value| in_digits(figure.metric, value));
    write!(text, "  {:<22}{a:>12}{b:>12}", figure.metric.title())?;
    if let Some(ratio) = figure.ratio {
        let interval = format!("{:.3} to {:.3}", ratio.low, ratio.high);
        write!(text, "{:>9.3}   {interval:<16}", ratio.ratio)?;
    }
    match figure.verdict {
        Some(verdict) => writeln!(text, " {}", verdict_in_words(verdict, margin)),
        None => writeln!(text),
    }
}

#[test]
fn verdicts_have_their_margin() {
    let check = |verdict, margin, expected: &str| {
        assert_eq!(verdict_in_words(verdict, margin), expected);
    };
    check(Verdict::Faster, 0.03, "faster");
    check(Verdict::Slower, 0.03, "slower");
    check(Verdict::Same, 0.03, "same within 3 %");
    check(Verdict::Same, 0.005, "same within 0.5 %");
    let open = Verdict::Undecided { more_trials: 24 };
    check(
        open,
        0.03,
        "undecided: run longer, about 24 more trials of each side",
    );
}
