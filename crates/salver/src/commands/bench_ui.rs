//! `salver bench ui`: a local page that measures, and keeps what was measured.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;
use salver_bench::environment::{Environment, OthersWatch};
use salver_bench::load::{self, Load};
use salver_bench::report::{LOAD, Report, Row, Series};
use salver_bench::ui::{Job, JobKind, JobProgress, Runner, Settings, Ui, UiError};
use salver_bench::workload::Workload;

use crate::commands::bench_cache::{self, SIZES};
use crate::commands::bench_load::failure;
use crate::commands::own_server::{Cores, OwnServer};
use crate::failure::Failure;
use crate::log::say;
use crate::signal;
use crate::values::{measured_size, whole};

/// The server is asked for so long before anything is measured.
const WARM_UP: Duration = Duration::from_secs(1);

/// Trials of each size and way if there is time for them: the fewest that give intervals.
const TRIALS: u16 = 16;

/// Trials that are too short for intervals to mean anything.
const FEW_TRIALS: u16 = 2;

/// A trial that is to count in an interval takes at least so long.
const SHORTEST_TRIAL: Duration = Duration::from_millis(100);

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
        UiError::Runs(..) if flags.runs.is_some() => Failure::Misused(error.to_string()),
        _ => Failure::Failed(error.to_string()),
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
        |path: Option<OsString>| path.map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute(state).or_else(|| Some(absolute(home)?.join(".local/state")))?;
    Some(state.join("salver/runs"))
}

/// Opens the page where there is a display. That it does not is no reason to fail: the address
/// stands in the terminal.
fn open(url: &str) {
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| value != *OsStr::new(""));
    let opener = match cfg!(target_os = "macos") {
        true => "open",
        false if has("DISPLAY") || has("WAYLAND_DISPLAY") => "xdg-open",
        false => return,
    };
    let mut command = Command::new(opener);
    let streams = [Stdio::null(), Stdio::null(), Stdio::null()];
    let [stdin, stdout, stderr] = streams;
    let spawned = command
        .arg(url)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr)
        .spawn();
    if let Ok(mut child) = spawned {
        // Some openers stay for as long as the browser does.
        std::thread::spawn(move || child.wait());
    }
}

/// What the page asks for, measured.
struct Measuring;

/// Who is told how it goes.
type Watch<'a> = &'a mut (dyn FnMut(&JobProgress) -> ControlFlow<()> + Send);

impl Runner for Measuring {
    fn run(&self, job: &Job, progress: Watch<'_>) -> Result<Report, String> {
        let report = match job.kind {
            JobKind::Cache => cache(job, progress),
            JobKind::Load => load(job, progress),
        };
        report.map_err(|failure| failure.to_string())
    }
}

/// Six sizes from a plain mount and from a cached one.
fn cache(job: &Job, progress: Watch<'_>) -> Result<Report, Failure> {
    let duration = Duration::from_secs_f64(job.duration_seconds);
    let trials = match duration / u32::from(TRIALS) >= SHORTEST_TRIAL {
        true => TRIALS,
        false => FEW_TRIALS,
    };
    let sizes: Result<Vec<u64>, String> = SIZES.split(',').map(measured_size).collect();
    let settings = bench_cache::Settings {
        directory: job.directory.clone().unwrap_or_else(std::env::temp_dir),
        sizes: sizes.map_err(Failure::Failed)?,
        duration: duration / u32::from(trials),
        trials: usize::from(trials),
        connections: job.connections,
    };
    bench_cache::measure(&settings, &mut |going| {
        progress(&JobProgress {
            what: going.what.clone(),
            done: going.done,
            now: going.now,
        })
    })
}

/// A load on a server that is there, or on one of our own.
fn load(job: &Job, progress: Watch<'_>) -> Result<Report, Failure> {
    let own = match (&job.url, &job.directory) {
        (None, Some(directory)) => {
            let cores = Cores::divided();
            let most = format!("--max-connections={}", job.connections + 16);
            let server = OwnServer::start(directory, &[most.into()], cores)?;
            Some((server, cores, directory.display().to_string()))
        }
        _ => None,
    };
    let base = match (&own, &job.url) {
        (Some((server, ..)), _) => format!("{}/", server.url()),
        (None, Some(url)) => url.clone(),
        (None, None) => return Err(Failure::Misused("there is nothing to load".to_owned())),
    };
    let workload = match &job.directory {
        Some(directory) => Workload::of_directory(&base, directory),
        None => Workload::of_urls(&[&base]),
    };
    let asked = Load {
        connections: job.connections,
        warm_up: WARM_UP,
        duration: Duration::from_secs_f64(job.duration_seconds),
        server_pids: own.iter().map(|(server, ..)| server.pid()).collect(),
        judges_others: true,
        ..Load::new(workload.map_err(failure)?)
    };
    let command = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let mut environment = Environment::now(command);
    let others = OthersWatch::start(&asked.server_processes());
    let cores = own.as_ref().and_then(|(_, cores, _)| *cores);
    let mut watch = |now: &salver_bench::model::Progress| {
        let before = if now.warming_up {
            0.0
        } else {
            WARM_UP.as_secs_f64()
        };
        let all = WARM_UP.as_secs_f64() + job.duration_seconds;
        progress(&JobProgress {
            what: "Loading".to_owned(),
            done: ((before + now.elapsed_seconds) / all).min(1.0),
            now: *now,
        })
    };
    let measured = Cores::as_client(cores, || load::run(&asked, &mut watch))?.map_err(failure)?;
    environment.others = others.others();
    let name = match own {
        Some((server, _, name)) => {
            server.stop()?;
            name
        }
        None => measured.target.clone(),
    };
    let environment = serde_json::to_value(&environment)
        .map_err(|error| Failure::Failed(format!("the environment: {error}")))?;
    let row = Row {
        name: name.clone(),
        series: vec![Series {
            label: LOAD.to_owned(),
            measured,
        }],
        ..Row::default()
    };
    Ok(Report::new(
        format!("Load on {name}"),
        environment,
        vec![row],
    ))
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
