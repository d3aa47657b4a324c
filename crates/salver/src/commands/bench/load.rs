//! `salver bench load`: a load on any HTTP server, and what it answered.
//!
//! With `--json` standard output gets one document: `{ "schema": 1, "environment": {…}, "result":
//! {…} }`, whose parts are [`Environment`] and [`Measured`]; `"error": "…"` stands for the result where
//! nothing could be measured.
//! `--export FILE` appends lines while it goes on, each a document: `{ "progress": {…} }` about once
//! a second, at last the same as `--json` gives.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use salver_bench::disturbance::DISTURBING;
use salver_bench::environment::{Environment, Others, OthersWatch};
use salver_bench::error::BenchError;
use salver_bench::load::{Load, run as measure, unless_stopped};
use salver_bench::model::{Measured, SCHEMA, Schedule};
use salver_bench::order::Order;
use salver_bench::text;
use salver_bench::threshold::{Baseline, Threshold};
use salver_bench::workload::{Mix, Workload};
use salver_config::values::{limit, time, whole};
use serde::Serialize;

use super::flags::TransportFlags;
use super::live_view::LiveView;
use super::{command_line, failure, json, or_document, print, stop_on_signal};
use crate::failure::Failure;
use crate::log::say;
use crate::values::{Pids, number, pids, share};

/// A longer body is not held for each request.
const LONGEST_BODY: u64 = 64 << 20;

/// Load an HTTP server and look at every answer.
///
/// Exit code 1 if anything failed, a threshold was passed or the figures must not be believed:
/// whatever went wrong is in the result. What it prints goes to standard output, how it goes on to
/// standard error.
#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
pub struct LoadFlags {
    /// What to ask for; with --root, where the server shows that directory
    #[arg(value_name = "URL", required = true)]
    pub urls: Vec<String>,

    /// The directory that is served: each file is asked for, and each answer is compared with it
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,

    /// Ask for what this file lists, as often as it does: a target in each line, a method and a
    /// target, or lines of an access log (Common or Combined Log Format)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["root", "zipf"])]
    pub requests: Option<PathBuf>,

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
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = limit)]
    pub duration: Duration,

    /// How long to ask before anything is measured
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time)]
    pub warm_up: Duration,

    /// How long an answer may take
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = limit)]
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
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = share)]
    pub ranges: f64,

    /// The share of requests that are conditional, by the ETag that the server gave
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = share)]
    pub conditional: f64,

    /// A further field to send, 'Name: value'. Repeatable
    #[arg(long, value_name = "FIELD")]
    pub header: Vec<String>,

    /// The request method [default: GET, or POST with a body]
    #[arg(long, value_name = "METHOD")]
    pub method: Option<String>,

    /// What each request sends
    #[arg(long, value_name = "TEXT", conflicts_with = "body_file")]
    pub body: Option<String>,

    /// What each request sends: the bytes of this file
    #[arg(long, value_name = "FILE")]
    pub body_file: Option<PathBuf>,

    /// The status that is right for plain requests
    #[arg(long, value_name = "CODE", default_value_t = 200, value_parser = whole(200u16, 599))]
    pub status: u16,

    /// The server's processes, if they are on this machine: their CPU per request is measured.
    /// Repeatable, or separated by commas or spaces, as pidof prints them
    #[arg(long, value_name = "PID", value_parser = pids)]
    pub pid: Vec<Pids>,

    /// Append progress and result to this file as they come, a JSON document a line
    #[arg(long, value_name = "FILE")]
    pub export: Option<PathBuf>,

    /// Fail if a figure passes a bound: 'p99>20ms', 'rps<5000', 'errors>0.1%', 'server-cpu>50us'. Of
    /// p50, p75, p90, p99, p99.9, p99.99, max, mean, rps, errors and server-cpu. Repeatable; with a
    /// bound on errors those within it are no failure
    #[arg(long, value_name = "BOUND", value_parser = str::parse::<Threshold>)]
    pub fail_if: Vec<Threshold>,

    /// Fail if p50, p99, requests per second or the server's CPU are worse than in this saved result,
    /// the document of an earlier --json or --export
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,

    /// How much worse than the saved result is borne
    #[arg(long, value_name = "SHARE", default_value = "10%", value_parser = share, requires = "baseline")]
    pub margin: f64,

    /// Print one JSON document instead of words
    #[arg(long)]
    pub json: bool,

    /// Print Markdown instead of words
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,

    /// Do not say how it goes on
    #[arg(short, long)]
    pub quiet: bool,
}

/// The document of `--json`.
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
    let stop = stop_on_signal()?;
    let mut environment = Environment::now(command_line());
    let load = or_document(flags.json, &environment, load(flags).map_err(failure))?;
    if let (false, passed_over @ 1..) = (flags.quiet, load.workload.passed_over()) {
        say(&format!(
            "salver: {passed_over} lines of the list were passed over: no requests that can be repeated"
        ));
    }
    let baseline = flags.baseline.as_deref().map(saved).transpose()?;
    let mut export = flags.export.as_deref().map(open).transpose()?;
    let others = OthersWatch::start(&load.server_processes());
    let mut export_error = None;
    let mut view = LiveView::new(flags.quiet || flags.json);
    let measured = measure(&load, &mut |progress| {
        view.show(progress);
        if let Some(file) = &mut export {
            let written = append(file, &serde_json::json!({ "progress": progress }));
            export_error = export_error.take().or(written.err());
        }
        match export_error {
            Some(_) => ControlFlow::Break(()),
            None => unless_stopped(&stop),
        }
    });
    view.clear();
    environment.others = others.others();
    let measured = or_document(flags.json, &environment, measured.map_err(failure))?;
    let document = Document {
        schema: SCHEMA,
        environment: &environment,
        result: &measured,
    };
    if let (Some(file), None) = (&mut export, &export_error) {
        export_error = append(file, &document).err();
    }
    print(&match (flags.json, flags.markdown) {
        (true, _) => json(&document)?,
        (_, true) => text::in_markdown(&measured),
        _ => text::in_words(&measured) + &of_others(&environment),
    })?;
    match (export_error, &flags.export) {
        (Some(error), Some(path)) => Err(Failure::Failed(format!(
            "{} cannot be written: {error}",
            path.display()
        ))),
        _ if measured.interrupted => Err(Failure::Failed(
            "interrupted: the result is of the time until then".to_owned(),
        )),
        _ => verdict(flags, baseline.as_ref(), &measured),
    }
}

/// The share of other programs in the machine, if it is worth a word.
fn of_others(environment: &Environment) -> String {
    match environment.others.map_or(0.0, Others::taken) {
        taken if taken >= DISTURBING => {
            format!("\nOther programs used {taken:.1} cores meanwhile.\n")
        }
        _ => String::new(),
    }
}

fn load(flags: &LoadFlags) -> Result<Load, BenchError> {
    let mut workload = match (&flags.root, &flags.requests, &*flags.urls) {
        (Some(root), _, [base]) => Workload::of_directory(base, root)?,
        (None, Some(list), [base]) => Workload::of_requests(base, list)?,
        (None, None, urls) => Workload::of_urls(urls)?,
        _ => {
            return Err(BenchError::Misused(
                "with --root or --requests give one URL: that of the server, and where it shows the \
                 directory"
                    .to_owned(),
            ));
        }
    };
    workload.transport = flags.transport.transport();
    workload.order = match flags.zipf {
        Some(exponent) => Order::Zipf { exponent },
        None => Order::RoundRobin,
    };
    let body = body(flags)?;
    let method = flags.method.as_deref();
    let default = if body.is_some() { "POST" } else { "GET" };
    workload.mix = Mix {
        accept_encoding: flags.accept_encoding.clone(),
        ranges: flags.ranges,
        conditional: flags.conditional,
        fields: flags.header.clone(),
        status: flags.status,
        method: method.unwrap_or(default).to_owned(),
        body: body.unwrap_or_default(),
    };
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

/// The content of each request, if they have any.
fn body(flags: &LoadFlags) -> Result<Option<Vec<u8>>, BenchError> {
    let Some(path) = &flags.body_file else {
        return Ok(flags.body.as_ref().map(|body| body.clone().into_bytes()));
    };
    let wrong = |why: &dyn std::fmt::Display| {
        BenchError::Misused(format!("{} cannot be sent: {why}", path.display()))
    };
    let mut body = Vec::new();
    let file = File::open(path).map_err(|error| wrong(&error))?;
    let read = file.take(LONGEST_BODY + 1).read_to_end(&mut body);
    match read.map_err(|error| wrong(&error))? as u64 > LONGEST_BODY {
        true => Err(wrong(&"it is longer than 64 MiB")),
        false => Ok(Some(body)),
    }
}

/// A saved result.
fn saved(path: &Path) -> Result<Baseline, Failure> {
    let wrong = |why: &dyn std::fmt::Display| {
        Failure::Misused(format!("{} is no baseline: {why}", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    Baseline::parse(&text).map_err(|error| wrong(&error))
}

/// The exit code of a result, and the line that explains it.
fn verdict(
    flags: &LoadFlags,
    baseline: Option<&Baseline>,
    measured: &Measured,
) -> Result<(), Failure> {
    let failed = |text: String| Err(Failure::Failed(text));
    let errors = measured.errors.total();
    if errors > 0 && !flags.fail_if.iter().any(Threshold::bears_errors) {
        let how = text::errors(&measured.errors);
        return failed(format!("{errors} requests failed: {how}"));
    }
    if !measured.invalid.is_empty() {
        return failed("the run is invalid: see above, and run it again".to_owned());
    }
    let passed = flags.fail_if.iter().filter_map(|one| one.failure(measured));
    let passed: Vec<String> = passed.collect();
    if !passed.is_empty() {
        return failed(format!("a threshold is passed: {}", passed.join("; ")));
    }
    let (Some(baseline), Some(path)) = (baseline, &flags.baseline) else {
        return Ok(());
    };
    let path = path.display();
    if let Some(other) = baseline.other_load(measured) {
        return Err(Failure::Misused(format!("{path} is no baseline: {other}")));
    }
    match baseline.failures(measured, flags.margin).join("; ") {
        worse if worse.is_empty() => Ok(()),
        worse => failed(format!(
            "worse than {path} by more than {:.0} %: {worse}",
            flags.margin * 100.0
        )),
    }
}

fn open(path: &Path) -> Result<File, Failure> {
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.map_err(|error| Failure::Failed(format!("{} cannot be written: {error}", path.display())))
}

fn append(file: &mut File, document: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(document)?;
    line.push(b'\n');
    file.write_all(&line)
}
