//! `salver bench load`: a load on any HTTP server, and what it answered.
//!
//! With `--json` standard output gets one document: `{ "schema": 1, "environment": {…}, "result":
//! {…} }`, whose parts are [`Environment`] and [`Measured`].
//! `--export FILE` appends lines while it goes on, each a document: `{ "progress": {…} }` about once
//! a second, at last the same as `--json` gives.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use salver_bench::environment::{Environment, OthersWatch};
use salver_bench::error::BenchError;
use salver_bench::load::{Load, run as measure};
use salver_bench::model::{Measured, Progress, SCHEMA, Schedule};
use salver_bench::order::Order;
use salver_bench::text;
use salver_bench::transport::Http;
use salver_bench::workload::Workload;
use serde::Serialize;

use super::bench_http::{TransportFlags, http};
use crate::failure::Failure;
use crate::signal;
use crate::values::{Pids, limit, number, pids, share, time, whole};

/// Load an HTTP server and look at every answer.
///
/// Exit code 1 if anything failed or the figures must not be believed: whatever went wrong is in
/// the result. What it prints goes to standard output, how it goes on to standard error.
#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
pub struct LoadFlags {
    /// What to ask for; with --root, where the server shows that directory
    #[arg(value_name = "URL", required_unless_present = "sitemap")]
    pub urls: Vec<String>,

    /// The directory that is served: each file is asked for, and each answer is compared with it
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,

    /// Ask for what the sitemap at this URL lists, of the server that serves it
    #[arg(long,
        value_name = "URL",
        conflicts_with_all = ["urls", "root"])]
    pub sitemap: Option<String>,

    /// The version of HTTP: 1, 2 or 3. Over TLS where the URL says https; without it HTTP/2 is spoken
    /// with prior knowledge
    #[arg(long,
        value_name = "VERSION",
        default_value = "1",
        value_parser = http)]
    pub http: Http,

    /// How the server is asked
    #[command(flatten)]
    pub transport: TransportFlags,

    /// Connections, each with at most one request under way, or as many as --streams says
    #[arg(short, long, value_name = "NUMBER", default_value_t = 64, value_parser = whole(1usize, 1_000_000))]
    pub connections: usize,

    /// Threads that send
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = whole(1usize, 10_000))]
    pub threads: usize,

    /// How long to measure
    #[arg(short,
        long,
        value_name = "TIME",
        default_value = "10s",
        value_parser = limit)]
    pub duration: Duration,

    /// How long to ask before anything is measured
    #[arg(long,
        value_name = "TIME",
        default_value = "1s",
        value_parser = time)]
    pub warm_up: Duration,

    /// How long an answer may take
    #[arg(long,
        value_name = "TIME",
        default_value = "10s",
        value_parser = limit)]
    pub timeout: Duration,

    /// Requests per second over all connections, sent when they are due whether or not earlier
    /// ones are answered [default: each connection asks again when answered]
    #[arg(long, value_name = "NUMBER", conflicts_with = "burst", value_parser = number)]
    pub rate: Option<f64>,

    /// Send on all connections at once, every TIME
    #[arg(long, value_name = "TIME", value_parser = limit)]
    pub burst: Option<Duration>,

    /// Ask few URLs often and many seldom, by Zipf's law with this exponent [default: each in turn]
    #[arg(long, value_name = "EXPONENT", value_parser = number)]
    pub zipf: Option<f64>,

    /// Accept-Encoding to send. Repeatable: each in an equal share of requests; an empty one sends
    /// none
    #[arg(long, value_name = "VALUE")]
    pub accept_encoding: Vec<String>,

    /// The share of requests that ask for a range
    #[arg(long,
        value_name = "SHARE",
        default_value = "0%",
        value_parser = share)]
    pub ranges: f64,

    /// The share of requests that are conditional, by the ETag that the server gave
    #[arg(long,
        value_name = "SHARE",
        default_value = "0%",
        value_parser = share)]
    pub conditional: f64,

    /// A further field to send, 'Name: value'. Repeatable
    #[arg(long, value_name = "FIELD")]
    pub header: Vec<String>,

    /// The status that is right for plain requests
    #[arg(long,
        value_name = "CODE",
        default_value_t = 200,
        value_parser = whole(200u16, 599))]
    pub status: u16,

    /// The server's processes, if they are on this machine: their CPU per request is measured.
    /// Repeatable, or separated by commas or spaces, as pidof prints them
    #[arg(long, value_name = "PID", value_parser = pids)]
    pub pid: Vec<Pids>,

    /// Append progress and result to this file as they come, a JSON document a line
    #[arg(long, value_name = "FILE")]
    pub export: Option<PathBuf>,

    /// Print one JSON document instead of words
    #[arg(long)]
    pub json: bool,

    /// Do not say how it goes on
    #[arg(short, long)]
    pub quiet: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    environment: &'a Environment,
    result: &'a Measured,
}

/// Measures, and prints what was found.
///
/// # Errors
/// Why it could not measure; or, after the result, that not all went right.
pub fn run(flags: &LoadFlags) -> Result<(), Failure> {
    let load = load(flags).map_err(failure)?;
    let mut export = flags.export.as_deref().map(open).transpose()?;
    let stop = stop_on_signal()?;
    let mut environment = Environment::now(std::env::args());
    let others = OthersWatch::start(&load.server_processes());
    let mut export_error = None;
    let mut bar = Bar::new(flags.quiet);
    let measured = measure(&load, &mut |progress| {
        bar.show(progress);
        if let Some(file) = &mut export {
            let written = append(file, &serde_json::json!({ "progress": progress }));
            export_error = export_error.take().or(written.err());
        }
        match stop.load(Ordering::Relaxed) || export_error.is_some() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    bar.clear();
    let measured = measured.map_err(failure)?;
    environment.others = others.others();
    let document = Document {
        schema: SCHEMA,
        environment: &environment,
        result: &measured,
    };
    if let (Some(file), None) = (&mut export, &export_error) {
        export_error = append(file, &document).err();
    }
    print(&match flags.json {
        true => json(&document)?,
        false => text::in_words(&measured),
    })?;
    match (export_error, &flags.export) {
        (Some(error), Some(path)) => Err(Failure::Failed(format!(
            "{} cannot be written: {error}",
            path.display()
        ))),
        _ if stop.load(Ordering::Relaxed) => Err(Failure::Failed(
            "interrupted: the result is of the time until then".to_owned(),
        )),
        _ => verdict(&measured),
    }
}

fn load(flags: &LoadFlags) -> Result<Load, BenchError> {
    let transport = flags.transport.transport(flags.http);
    let mut workload = match (&flags.sitemap, &flags.root, &*flags.urls) {
        (Some(sitemap), _, _) => Workload::of_sitemap(sitemap, &transport, flags.timeout)?,
        (None, None, urls) => Workload::of_urls(urls)?,
        (None, Some(root), [base]) => Workload::of_directory(base, root)?,
        (None, Some(_), _) => {
            return Err(BenchError::Misused(
                "with --root give one URL: where the server shows the directory".to_owned(),
            ));
        }
    };
    workload.transport = transport;
    workload.order = match flags.zipf {
        Some(exponent) => Order::Zipf { exponent },
        None => Order::RoundRobin,
    };
    workload
        .mix
        .accept_encoding
        .clone_from(&flags.accept_encoding);
    workload.mix.ranges = flags.ranges;
    workload.mix.conditional = flags.conditional;
    workload.mix.fields.clone_from(&flags.header);
    workload.mix.status = flags.status;
    let schedule = match (flags.rate, flags.burst) {
        (Some(per_second), _) => Schedule::Rate { per_second },
        (None, Some(every)) => Schedule::Burst {
            every_ms: u64::try_from(every.as_millis()).unwrap_or(u64::MAX),
        },
        (None, None) => Schedule::Closed,
    };
    Ok(Load {
        schedule,
        connections: flags.connections,
        threads: flags.threads,
        warm_up: flags.warm_up,
        duration: flags.duration,
        timeout: flags.timeout,
        server_pids: flags.pid.iter().flat_map(|pids| pids.0.clone()).collect(),
        judges_others: true,
        ..Load::new(workload)
    })
}

/// Whether all went right, as an exit code and a line.
///
/// # Errors
/// Not all went right.
pub fn verdict(measured: &Measured) -> Result<(), Failure> {
    match (measured.errors.total(), measured.invalid.len()) {
        (0, 0) => Ok(()),
        (0, _) => Err(Failure::Failed(
            "the run is invalid: see above, and run it again".to_owned(),
        )),
        (errors, _) => Err(Failure::Failed(format!(
            "{errors} requests failed: {}",
            text::errors(&measured.errors)
        ))),
    }
}

/// What the benchmark's crate says, as this program says it.
pub fn failure(error: BenchError) -> Failure {
    match error {
        BenchError::Misused(text) => Failure::Misused(text),
        BenchError::Failed(text) => Failure::Failed(text),
    }
}

/// Becomes true when somebody interrupts the program.
///
/// # Errors
/// The system gives no handler.
pub fn stop_on_signal() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    signal::listen(move || told.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::Failed(format!("the signal handlers failed: {error}")))?;
    Ok(stop)
}

/// A value as a JSON document, its line ended.
///
/// # Errors
/// It cannot be written as JSON: a defect.
pub fn json(document: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(document);
    Ok(text.map_err(|error| Failure::Failed(format!("the JSON document: {error}")))? + "\n")
}

/// Writes to standard output.
///
/// # Errors
/// It cannot be written to.
pub fn print(text: &str) -> Result<(), Failure> {
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| Failure::Failed(format!("cannot write to standard output: {error}")))
}

fn open(path: &std::path::Path) -> Result<File, Failure> {
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.map_err(|error| Failure::Failed(format!("{} cannot be written: {error}", path.display())))
}

fn append(file: &mut File, document: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(document)?;
    line.push(b'\n');
    file.write_all(&line)
}

/// How long a run still takes, if `done` of it, from 0 to 1, took `so_far`: to the end of a line. Nothing
/// as long as that cannot be told.
pub fn left(done: f64, so_far: Duration) -> String {
    if done < 0.02 {
        return String::new();
    }
    let seconds = so_far.as_secs_f64() * (1.0 - done.min(1.0)) / done;
    match seconds < 90.0 {
        true => format!(", about {seconds:.0} s left"),
        false => format!(", about {:.0} min left", seconds / 60.0),
    }
}

/// One line of a terminal that is written again and again.
pub struct Bar {
    shown: bool,
    is_open: bool,
}

impl Bar {
    /// Shows nothing if `quiet`, or if nobody sees it.
    pub fn new(quiet: bool) -> Self {
        Bar {
            shown: !quiet && std::io::stderr().is_terminal(),
            is_open: false,
        }
    }

    /// How a run goes on.
    pub fn show(&mut self, progress: &Progress) {
        let phase = match progress.warming_up {
            true => "warming up",
            false => "measuring",
        };
        self.line(&format!(
            "{phase} {:.0} of {:.0} s: {:.0} requests per second, {} errors",
            progress.elapsed_seconds,
            progress.of_seconds,
            progress.requests_per_second,
            progress.errors
        ));
    }

    /// Shows a line in the place of the last one.
    pub fn line(&mut self, text: &str) {
        if self.shown {
            self.is_open = true;
            let _ = write!(std::io::stderr(), "\r\x1b[K{text}");
        }
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.is_open) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
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
}
