//! A comparison in words, for a terminal.

use std::fmt::Write;

use super::contest::Comparison;
use super::metric::Metric;
use super::order::Side;
use super::verdict::Verdict;
use super::{Compared, FEWEST_TRIALS, Figure};
use crate::disturbance::DISTURBING;
use crate::text::transport;

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

/// What is said of each path, with the figures; several lines, each ended.
pub fn in_words(comparison: &Comparison) -> String {
    let mut text = String::new();
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

fn write_path(text: &mut String, path: &Compared, margin: f64) -> std::fmt::Result {
    let verdict = match (path.verdict, path.by) {
        (Some(verdict), Some(by)) => {
            let words = verdict_in_words(verdict, margin);
            let is = match verdict {
                Verdict::Faster | Verdict::Slower => "B is ",
                Verdict::Same => "B is the ",
                Verdict::Undecided { .. } => "",
            };
            format!("{is}{words} ({})", by.name())
        }
        _ if path.errors > 0 => format!("nothing is said: {} requests failed", path.errors),
        _ if path.is_short() => {
            format!("nothing is said: it takes {FEWEST_TRIALS} trials of each side")
        }
        _ => "nothing is said: the figures must not be believed".to_owned(),
    };
    writeln!(text, "{}: {verdict}", path.path)?;
    let level = path.figures.first().map_or(0.0, |figure| figure.level);
    writeln!(
        text,
        "  {:<22}{:>12}{:>12}{:>9}   {:<16} trials of each: {}",
        "",
        "A",
        "B",
        "B / A",
        format!("{} interval", percent(level)),
        path.trials.len() / 2,
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
            let errors = crate::text::errors(&trial.measured.errors);
            writeln!(text, "  in a trial of {}: {errors}", trial.side)?;
        }
    }
    writeln!(text)
}

fn write_figure(text: &mut String, figure: &Figure, margin: f64) -> std::fmt::Result {
    let digits = match figure.metric {
        Metric::RequestsPerSecond => 0,
        Metric::P50 | Metric::P99 => 1,
        Metric::ServerCpu => 2,
    };
    let (a, b) = (figure.a, figure.b);
    write!(
        text,
        "  {:<22}{a:>12.digits$}{b:>12.digits$}",
        figure.metric.title()
    )?;
    if let Some(ratio) = figure.ratio {
        let interval = format!("{:.3} to {:.3}", ratio.low, ratio.high);
        write!(text, "{:>9.3}   {interval:<16}", ratio.ratio)?;
    }
    match figure.verdict {
        Some(verdict) => writeln!(text, " {}", verdict_in_words(verdict, margin)),
        None => writeln!(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_have_their_margin() {
        let check = |verdict, margin, expected: &str| {
            assert_eq!(verdict_in_words(verdict, margin), expected);
        };
        check(Verdict::Faster, 0.03, "faster");
        check(Verdict::Slower, 0.03, "slower");
        check(Verdict::Same, 0.03, "same within 3 %");
        check(Verdict::Same, 0.005, "same within 0.5 %");
        check(
            Verdict::Undecided { more_trials: 24 },
            0.03,
            "undecided: run longer, about 24 more trials of each side",
        );
    }
}
