//! The commands of `salver bench`, and what they have in common.

pub mod cache;
pub mod coalesce;
pub mod compare;
mod flags;
mod live_view;
pub mod load;
mod own_server;
mod scratch;
pub mod staleness;
pub mod strategies;
pub mod ui;

use std::io::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use salver_bench::environment::Environment;
use salver_bench::error::BenchError;
use salver_bench::load::unless_stopped;
use salver_bench::model::SCHEMA;
use salver_bench::ui::JobProgress;
use serde::Serialize;

use crate::failure::Failure;
use crate::signal;
use live_view::LiveView;

/// The document of `--json` where nothing could be measured.
#[derive(Serialize)]
struct ErrorDocument<'a> {
    schema: u32,
    environment: &'a Environment,
    error: &'a str,
}

/// The result that was found; of a failure to measure a document is printed, if one is wanted.
fn or_document<T>(
    is_wanted: bool,
    environment: &Environment,
    found: Result<T, Failure>,
) -> Result<T, Failure> {
    if let (true, Err(Failure::Failed(error))) = (is_wanted, &found) {
        print(&json(&ErrorDocument {
            schema: SCHEMA,
            environment,
            error,
        })?)?;
    }
    found
}

/// The listener to progress, told at least about once a second; it may end the run.
pub type Watch<'a> = &'a mut (dyn FnMut(&JobProgress) -> ControlFlow<()> + Send);

/// The result of `work`, which is shown in a terminal as it goes on, and ended by a signal.
fn watched<T>(is_quiet: bool, work: impl FnOnce(Watch<'_>) -> T) -> Result<T, Failure> {
    let stop = stop_on_signal()?;
    let mut view = LiveView::new(is_quiet);
    let found = work(&mut |going| {
        view.step(going.done, &going.what);
        unless_stopped(&stop)
    });
    view.clear();
    Ok(found)
}

/// Ends what has nothing to tell yet.
fn unless_interrupted(flow: ControlFlow<()>) -> Result<(), BenchError> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(BenchError::Interrupted),
    }
}

/// An error of the benchmark's crate as a failure of this program.
fn failure(error: BenchError) -> Failure {
    match error {
        BenchError::Misused(text) => Failure::Misused(text),
        error => Failure::Failed(error.to_string()),
    }
}

/// The failure of a measurement that a thread's panic ended.
fn panicked<T>(_: T) -> Failure {
    Failure::Failed("a thread panicked: a defect".to_owned())
}

/// A flag that becomes true when somebody interrupts the program.
fn stop_on_signal() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    signal::listen(move || told.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::Failed(format!("the signal handlers failed: {error}")))?;
    Ok(stop)
}

/// The command line, for the environment of a result.
fn command_line() -> impl Iterator<Item = String> {
    std::env::args_os().map(|argument| argument.to_string_lossy().into_owned())
}

/// A value as a JSON document, its line ended.
fn json(document: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(document);
    Ok(text.map_err(|error| Failure::Failed(format!("the JSON document: {error}")))? + "\n")
}

/// Writes to standard output.
fn print(text: &str) -> Result<(), Failure> {
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| Failure::Failed(format!("cannot write to standard output: {error}")))
}
