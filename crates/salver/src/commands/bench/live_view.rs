//! The live view of a measurement in a terminal: how far it is, and what was measured last.
//!
//! It is drawn on standard error, if that is a terminal, and leaves nothing behind.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use salver_bench::model::Progress;
use salver_bench::text::duration;

/// The last seconds whose rates are shown beside each other.
const SHOWN: usize = 48;

/// Rates from none to the highest of those shown.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Steps of a bar from its beginning to its end.
const STEPS: f64 = 1000.0;

/// A view that is drawn again and again in the same place.
pub(super) struct LiveView {
    is_quiet: bool,
    began: Instant,
    bar: ProgressBar,
    rates: VecDeque<f64>,
}

impl LiveView {
    /// Draws nothing if `is_quiet`, or where nobody sees it.
    pub(super) fn new(is_quiet: bool) -> Self {
        LiveView {
            is_quiet,
            began: Instant::now(),
            bar: bar(is_quiet),
            rates: VecDeque::with_capacity(SHOWN),
        }
    }

    /// Shows how a load goes on.
    pub(super) fn show(&mut self, progress: &Progress) {
        let phase = match progress.warming_up {
            true => "warming up",
            false => "measuring",
        };
        if self.rates.len() == SHOWN {
            self.rates.pop_front();
        }
        self.rates.push_back(progress.requests_per_second);
        let mean = match progress.mean_us > 0.0 {
            true => duration(progress.mean_us),
            false => "-".to_owned(),
        };
        let text = format!(
            "{phase} {:.0} of {:.0} s\n{:>12.0} requests/s   mean {mean}   {} errors\n  {}",
            progress.elapsed_seconds,
            progress.of_seconds,
            progress.requests_per_second,
            progress.errors,
            sparkline(&self.rates)
        );
        let of = progress.of_seconds.max(f64::MIN_POSITIVE);
        self.part(progress.elapsed_seconds / of, text);
    }

    /// Shows a line.
    pub(super) fn line(&mut self, text: &str) {
        self.bar.set_style(style("{msg}"));
        self.bar.set_message(text.to_owned());
        self.bar.tick();
    }

    /// Shows how much is done, from 0 to 1, what comes next, and how long it still takes.
    pub(super) fn step(&mut self, done: f64, what: &str) {
        let left = left(done, self.began.elapsed());
        self.part(done, format!("{what}{left}"));
    }

    /// Shows how much is done, from 0 to 1, and some lines.
    fn part(&mut self, done: f64, text: String) {
        let color = match std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) {
            true => ".cyan",
            false => "",
        };
        let template = format!("{{bar:30{color}}} {{msg}}");
        self.bar.set_style(style(&template));
        self.bar.set_message(text);
        self.bar.set_length(1000);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from 0 to the number of steps"
        )]
        let step = (done.clamp(0.0, 1.0) * STEPS) as u64;
        self.bar.set_position(step);
        self.bar.tick();
    }

    /// Takes it away, until it is drawn again.
    pub(super) fn clear(&mut self) {
        self.bar.finish_and_clear();
        self.bar = bar(self.is_quiet);
        self.rates.clear();
    }
}

fn bar(is_quiet: bool) -> ProgressBar {
    let target = match is_quiet {
        true => ProgressDrawTarget::hidden(),
        false => ProgressDrawTarget::stderr(),
    };
    ProgressBar::with_draw_target(Some(0), target)
}

fn style(template: &str) -> ProgressStyle {
    // The templates are those above.
    let style = ProgressStyle::with_template(template);
    { style }
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}

/// Rates beside each other, each by its height.
fn sparkline(rates: &VecDeque<f64>) -> String {
    let most = rates.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let level = |rate: &f64| {
        let share = rate / most * 7.0;
        let at = (0_u32..)
            .zip(LEVELS)
            .find(|(level, _)| share <= f64::from(*level) + 0.5);
        at.map_or('█', |(_, char)| char)
    };
    rates.iter().map(level).collect()
}

/// How long a run still takes, if `done` of it, from 0 to 1, took `so_far`: to the end of a line. Nothing
/// as long as that cannot be told.
fn left(done: f64, so_far: Duration) -> String {
    if done < 0.02 {
        return String::new();
    }
    let seconds = so_far.as_secs_f64() * (1.0 - done.min(1.0)) / done;
    match seconds < 90.0 {
        true => format!(", about {seconds:.0} s left"),
        false => format!(", about {:.0} min left", seconds / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_from_what_is_done() {
        let check = |done, seconds, expected: &str| {
            assert_eq!(left(done, Duration::from_secs(seconds)), expected);
        };
        check(0.0, 10, "");
        check(0.01, 1, "");
        check(0.25, 10, ", about 30 s left");
        check(0.1, 20, ", about 3 min left");
        check(1.0, 240, ", about 0 s left");
    }

    #[test]
    fn rates_are_shown_by_their_height() {
        let check = |rates: &[f64], expected: &str| {
            assert_eq!(sparkline(&rates.iter().copied().collect()), expected);
        };
        check(&[], "");
        check(&[0.0, 0.0], "▁▁");
        check(&[0.0, 50.0, 100.0], "▁▄█");
        check(&[7.0, 7.0], "██");
    }
}
