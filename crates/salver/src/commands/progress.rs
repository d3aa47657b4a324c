//! The progress of a run in a terminal: bytes, and the time that is left. It leaves nothing behind.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::log::say;

pub(super) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Draws nothing if `is_hidden`, or where nobody sees it.
    pub(super) fn new(bytes: u64, is_hidden: bool) -> Self {
        let target = match is_hidden || !std::io::stderr().is_terminal() {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr(),
        };
        let bar = ProgressBar::with_draw_target(Some(bytes), target);
        // https://no-color.org: set and not empty.
        let color = match std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) {
            true => ".cyan",
            false => "",
        };
        let template =
            format!("{{bar:30{color}}} {{binary_bytes}} of {{binary_total_bytes}}, {{eta}} left");
        // The template is the one above.
        let style = ProgressStyle::with_template(&template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("=> "));
        Progress { bar }
    }

    /// So many bytes more are to be done.
    pub(super) fn expect(&self, bytes: u64) {
        self.bar.inc_length(bytes);
    }

    /// So many bytes more are done.
    pub(super) fn add(&self, bytes: u64) {
        self.bar.inc(bytes);
    }

    /// Writes a line above it.
    pub(super) fn say(&self, line: &str) {
        self.bar.suspend(|| say(line));
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
