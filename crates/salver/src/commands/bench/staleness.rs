//! `salver bench staleness`: how long old bytes are served after a file was replaced.
//!
//! With `--json` standard output gets one document: `{ "schema": 1, "environment": {…},
//! "staleness": […] }`, a [`Staleness`] for each file and coding.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use salver_bench::environment::Environment;
use salver_bench::load::{Load, run as measure, unless_stopped};
use salver_bench::model::SCHEMA;
use salver_bench::staleness::{Probe, Staleness, probe};
use salver_bench::text::errors as errors_in_words;
use salver_bench::workload::Workload;
use salver_config::values::{limit, whole};
use serde::Serialize;

use super::flags::TransportFlags;
use super::live_view::LiveView;
use super::{command_line, failure, json, panicked, print, stop_on_signal};
use crate::failure::Failure;

/// How long old bytes are served after a file was replaced.
///
/// Files beneath --root are replaced by others of the same length, one by one and under load, and put
/// back as they were. Exit code 1 if answers were neither old nor new, or old at the end.
#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
pub struct StalenessFlags {
    /// Where the server shows the files
    #[arg(value_name = "URL")]
    pub url: String,

    /// The directory that is served
    #[arg(long, value_name = "DIR")]
    pub root: PathBuf,

    /// How many of its files to replace
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = whole(1usize, 100_000))]
    pub files: usize,

    /// How long old bytes are waited for
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = limit)]
    pub limit: Duration,

    /// Connections that ask for all files meanwhile
    #[arg(short, long, value_name = "NUMBER", default_value_t = 64, value_parser = whole(1usize, 1_000_000))]
    pub connections: usize,

    /// How the server is asked
    #[command(flatten)]
    pub transport: TransportFlags,

    /// Print one JSON document instead of words
    #[arg(long)]
    pub json: bool,

    /// Do not say how it goes on
    #[arg(short, long)]
    pub quiet: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document {
    schema: u32,
    environment: Environment,
    staleness: Vec<Staleness>,
}

/// Measures, and prints what was found.
///
/// # Errors
/// Why it could not measure; or, after the result, that not all went right.
pub fn run(flags: &StalenessFlags) -> Result<(), Failure> {
    let mut workload = Workload::of_directory(&flags.url, &flags.root).map_err(failure)?;
    workload.transport = flags.transport.transport();
    let stop = stop_on_signal()?;
    let environment = Environment::now(command_line());
    let mut bar = LiveView::new(flags.quiet);
    let mut staleness = Vec::new();
    let result = under_load(flags, &workload, &stop, &mut |one| {
        let line = format!("replaced {}: old for {:.0} ms", one.target, one.stale_ms);
        bar.line(&line);
        staleness.push(one.clone());
    });
    bar.clear();
    let document = Document {
        schema: SCHEMA,
        environment,
        staleness,
    };
    // What was found is said, whatever came then.
    if result.is_ok() || !document.staleness.is_empty() {
        print(&match flags.json {
            true => json(&document)?,
            false => in_words(&document.staleness),
        })?;
    }
    result?;
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Failed(
            "interrupted: the result is of the time until then".to_owned(),
        ));
    }
    let wrong = |one: &Staleness| one.torn > 0 || one.still_stale;
    match document.staleness.iter().any(wrong) {
        true => Err(Failure::Failed("not all went right: see above".to_owned())),
        false => Ok(()),
    }
}

/// Probes while others ask for the same files.
fn under_load(
    flags: &StalenessFlags,
    workload: &Workload,
    stop: &AtomicBool,
    found: &mut dyn FnMut(&Staleness),
) -> Result<(), Failure> {
    let beside = Load {
        connections: flags.connections,
        // Until it is told to end.
        duration: Duration::from_secs(24 * 60 * 60),
        ..Load::new(workload.clone().without_files())
    };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let load = scope.spawn(|| measure(&beside, &mut |_| unless_stopped(&is_over)));
        let wanted = Probe {
            workload,
            files: flags.files,
            limit: flags.limit,
            timeout: beside.timeout,
        };
        let probed = probe(&wanted, &mut |one| {
            found(one);
            unless_stopped(stop)
        });
        is_over.store(true, Ordering::Relaxed);
        let load = load.join().map_err(panicked)?.map_err(failure)?;
        probed.map_err(failure)?;
        match load.errors.total() {
            0 => Ok(()),
            errors => Err(Failure::Failed(format!(
                "{errors} requests failed while files were replaced: {}",
                errors_in_words(&load.errors)
            ))),
        }
    })
}

fn in_words(staleness: &[Staleness]) -> String {
    let mut text =
        "replaced by the same number of bytes    coding   old bytes for  torn  asked\n".to_owned();
    for one in staleness {
        let stale = match one.still_stale {
            true => format!("> {:.0} ms", one.stale_ms),
            false => format!("{:.0} ms", one.stale_ms),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{:<36}{:>10}{stale:>16}{:>6}{:>7}",
            one.target, one.coding, one.torn, one.asked
        );
    }
    text
}
