//! `salver bench ui`: a local page that measures, and keeps what was measured.

mod measuring;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::Args;
use salver_bench::error::BenchError;
use salver_bench::ui::{Settings, Ui};
use salver_config::values::whole;

use super::failure;
use crate::browser;
use crate::failure::Failure;
use crate::log::say;
use crate::signal;
use measuring::Measuring;

/// A local page that measures: bars, percentiles, and earlier runs laid over each other.
///
/// It listens on 127.0.0.1 and answers whoever has the token in the address that it prints.
/// Ctrl-C ends it.
#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
pub struct UiFlags {
    /// The port to listen on; 0 takes any free one
    #[arg(short, long, default_value_t = 0, value_parser = whole(0u16, 65535))]
    pub port: u16,

    /// Do not open the page in a browser
    #[arg(long)]
    pub no_open: bool,

    /// Where runs are saved, a JSON file each [default: salver/runs in $XDG_STATE_HOME or
    /// ~/.local/state]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
}

/// Serves the page until a signal.
///
/// # Errors
/// Why it could not.
pub fn run(flags: &UiFlags) -> Result<(), Failure> {
    let variable = |name| std::env::var_os(name);
    let runs = match &flags.runs {
        Some(runs) => runs.clone(),
        None => default_runs(variable("XDG_STATE_HOME"), variable("HOME")).ok_or_else(|| {
            Failure::Misused("there is no home directory: give one for runs with --runs".to_owned())
        })?,
    };
    let settings = Settings {
        port: flags.port,
        runs,
        program: format!("salver {}", env!("CARGO_PKG_VERSION")),
    };
    let ui = Ui::bind(&settings, Measuring).map_err(|error| match error {
        // Nobody has named the directory that cannot be had.
        BenchError::Misused(text) if flags.runs.is_none() => Failure::Failed(text),
        error => failure(error),
    })?;
    let handle = ui.handle();
    signal::listen(move || {
        if handle.stop() {
            say("stopping the run; a second signal does not wait for it");
        }
    })
    .map_err(|error| Failure::Failed(format!("the signal handlers failed: {error}")))?;
    say(&format!(
        "  open    {}\n  runs    {}",
        ui.url(),
        settings.runs.display()
    ));
    if !flags.no_open {
        open(&ui.invitation());
    }
    ui.run()
        .map_err(|error| Failure::Failed(format!("the page failed: {error}")))
}

/// The directory for state that the XDG Base Directory Specification names; it wants relative ones
/// to be ignored.
fn default_runs(state: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute =
        |path: Option<OsString>| Some(PathBuf::from(path?)).filter(|path| path.is_absolute());
    let state = absolute(state).or_else(|| Some(absolute(home)?.join(".local/state")))?;
    Some(state.join("salver/runs"))
}

/// Opens the page where there is a display. That it does not is no reason to fail: the address
/// stands in the terminal.
fn open(url: &str) {
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| value != *OsStr::new(""));
    if cfg!(target_os = "macos") || has("DISPLAY") || has("WAYLAND_DISPLAY") {
        browser::open(url, drop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_state_of_their_owner() {
        fn check(state: Option<&str>, home: Option<&str>, expected: Option<&str>) {
            let found = default_runs(state.map(Into::into), home.map(Into::into));
            assert_eq!(found, expected.map(PathBuf::from), "{state:?} {home:?}");
        }
        check(Some("/s"), Some("/h"), Some("/s/salver/runs"));
        check(None, Some("/h"), Some("/h/.local/state/salver/runs"));
        check(Some("s"), Some("/h"), Some("/h/.local/state/salver/runs"));
        check(Some(""), Some("/h"), Some("/h/.local/state/salver/runs"));
        check(None, Some("h"), None);
        check(None, None, None);
    }
}
