//! `salver bench arena`: the profile of a public benchmark, and how long old bytes are served.
//!
//! With `--json` standard output gets one document: `{ "schema": 1, "title": "arena",
//! "environment": {…}, "rows": […], "staleness": […] }`: a [`Report`] of a row for each number of
//! connections, and a list of [`Staleness`], empty if it was not asked for.

use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use salver_bench::arena::{ACCEPT_ENCODING, Probe, Staleness, generate, probe};
use salver_bench::environment::{Environment, OthersWatch};
use salver_bench::load::{Load, run as measure};
use salver_bench::model::Measured;
use salver_bench::report::{LOAD, Report, Row, Series};
use salver_bench::text::{duration, errors as errors_in_words};
use salver_bench::transport::Http;
use salver_bench::workload::Workload;
use serde::Serialize;

use crate::commands::bench_http::{TransportFlags, http};
use crate::commands::bench_load::{failure, json, print, stop_on_signal};
use crate::commands::live_view::LiveView;
use crate::failure::Failure;
use crate::values::{Pids, limit, pids, whole};

/// Connections beside the staleness probe.
const BESIDE: usize = 64;

/// Ask for the twenty files of a built site as a browser does, and see how long old bytes are
/// served.
///
/// A server that shows --root at --target is loaded with each number of connections in turn. With
/// --staleness, files beneath --root are then replaced by others of the same length, one by one
/// and under load, and put back.
#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
pub struct ArenaFlags {
    /// Where the server shows the files
    #[arg(long, value_name = "URL", required_unless_present = "generate")]
    pub target: Option<String>,

    /// The directory that is served: each answer is compared with its file
    #[arg(long, value_name = "DIR", required_unless_present = "generate")]
    pub root: Option<PathBuf>,

    /// Make the twenty files with their siblings in this directory, and measure nothing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["target", "root"])]
    pub generate: Option<PathBuf>,

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

    /// Connections. Repeatable, or separated by commas
    #[arg(
        short,
        long,
        value_name = "NUMBER",
        default_value = "64,256,1024",
        value_delimiter = ',',
        value_parser = whole(1usize, 1_000_000)
    )]
    pub connections: Vec<usize>,

    /// How long to measure each
    #[arg(short,
        long,
        value_name = "TIME",
        default_value = "5s",
        value_parser = limit)]
    pub duration: Duration,

    /// The server's processes, if they are on this machine: their CPU per request is measured.
    /// Repeatable, or separated by commas or spaces, as pidof prints them
    #[arg(long, value_name = "PID", value_parser = pids)]
    pub pid: Vec<Pids>,

    /// Replace files beneath --root under load, and measure how long old bytes are served
    #[arg(long)]
    pub staleness: bool,

    /// How many files to replace
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = whole(0usize, 100_000))]
    pub replace: usize,

    /// How long old bytes are waited for
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = limit)]
    pub limit: Duration,

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
    #[serde(flatten)]
    report: Report,
    staleness: Vec<Staleness>,
}

/// Measures, and prints what was found.
///
/// # Errors
/// Why it could not measure; or, after the result, that not all went right.
pub fn run(flags: &ArenaFlags) -> Result<(), Failure> {
    if let Some(directory) = &flags.generate {
        return generate(directory, 1).map_err(|error| {
            let directory = directory.display();
            Failure::Failed(format!("no files can be made in {directory}: {error}"))
        });
    }
    let (Some(target), Some(root)) = (&flags.target, &flags.root) else {
        return Err(Failure::Misused("give --target and --root".to_owned()));
    };
    let mut workload = Workload::of_directory(target, root).map_err(failure)?;
    workload.mix.accept_encoding = vec![ACCEPT_ENCODING.to_owned()];
    workload.transport = flags.transport.transport(flags.http);
    let stop = stop_on_signal()?;
    let mut environment = Environment::now(std::env::args());
    let pids: Vec<u32> = flags.pid.iter().flat_map(|pids| pids.0.clone()).collect();
    let of_server = Load {
        server_pids: pids.clone(),
        ..Load::new(workload.clone())
    };
    let others = OthersWatch::start(&of_server.server_processes());
    let mut bar = LiveView::new(flags.quiet);
    let mut rows = Vec::new();
    for &connections in &flags.connections {
        let load = Load {
            connections,
            duration: flags.duration,
            server_pids: pids.clone(),
            judges_others: true,
            ..Load::new(workload.clone())
        };
        let measured = measure(&load, &mut |progress| {
            bar.show(progress);
            end_if(&stop)
        });
        bar.clear();
        rows.push(Row {
            name: format!("{connections} connections"),
            series: vec![Series {
                label: LOAD.to_owned(),
                measured: measured.map_err(failure)?,
            }],
            ..Row::default()
        });
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    let mut staleness = Vec::new();
    if flags.staleness && !stop.load(Ordering::Relaxed) {
        staleness = under_load(flags, &workload, &stop, &mut bar)?;
        bar.clear();
    }
    environment.others = others.others();
    let environment = serde_json::to_value(&environment)
        .map_err(|error| Failure::Failed(format!("the JSON document: {error}")))?;
    let document = Document {
        report: Report::new("arena".to_owned(), environment, rows),
        staleness,
    };
    print(&match flags.json {
        true => json(&document)?,
        false => in_words(&document),
    })?;
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Failed(
            "interrupted: the result is of the time until then".to_owned(),
        ));
    }
    let torn = |one: &Staleness| one.torn > 0 || one.still_stale;
    if !document.report.is_sound() || document.staleness.iter().any(torn) {
        return Err(Failure::Failed("not all went right: see above".to_owned()));
    }
    Ok(())
}

fn end_if(stop: &AtomicBool) -> ControlFlow<()> {
    match stop.load(Ordering::Relaxed) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

/// Probes while others ask for the same files.
fn under_load(
    flags: &ArenaFlags,
    workload: &Workload,
    stop: &AtomicBool,
    bar: &mut LiveView,
) -> Result<Vec<Staleness>, Failure> {
    let beside = Load {
        connections: BESIDE,
        // Until it is told to end.
        duration: Duration::from_secs(24 * 60 * 60),
        ..Load::new(workload.clone().without_files())
    };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let load = scope.spawn(|| measure(&beside, &mut |_| end_if(&is_over)));
        let wanted = Probe {
            workload,
            files: flags.replace,
            limit: flags.limit,
            timeout: beside.timeout,
        };
        let found = probe(&wanted, &mut |one| {
            bar.line(&format!(
                "replaced {}: old for {:.0} ms",
                one.target, one.stale_ms
            ));
            end_if(stop)
        });
        is_over.store(true, Ordering::Relaxed);
        let load = load.join();
        let load = load.map_err(|_| Failure::Failed("a thread panicked: a defect".to_owned()))?;
        let load = load.map_err(failure)?;
        let found = found.map_err(failure)?;
        match load.errors.total() {
            0 => Ok(found),
            errors => Err(Failure::Failed(format!(
                "{errors} requests failed while files were replaced: {}",
                errors_in_words(&load.errors)
            ))),
        }
    })
}

fn in_words(document: &Document) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_all(&mut text, document);
    text
}

fn write_all(text: &mut String, document: &Document) -> std::fmt::Result {
    writeln!(
        text,
        "connections  requests/s        p50        p99      p99.9  bytes/answer  errors  \
         server CPU"
    )?;
    for Measured {
        connections,
        requests_per_second,
        raw,
        content_bytes,
        statuses,
        errors,
        server,
        invalid,
        ..
    } in measured(&document.report)
    {
        let answers = statuses.values().sum::<u64>().max(1);
        let cpu = server.map_or("-".to_owned(), |cost| {
            format!("{:.2} us", cost.cpu_us_per_request)
        });
        writeln!(
            text,
            "{connections:>11}{requests_per_second:>12.0}{:>11}{:>11}{:>11}{:>14}{:>8}{cpu:>12}",
            duration(raw.p50_us),
            duration(raw.p99_us),
            duration(raw.p999_us),
            content_bytes / answers,
            errors.total(),
        )?;
        for reason in invalid {
            writeln!(text, "INVALID: {reason}")?;
        }
        if errors.total() > 0 {
            writeln!(text, "ERRORS: {}", errors_in_words(errors))?;
        }
    }
    if document.staleness.is_empty() {
        return Ok(());
    }
    writeln!(
        text,
        "\nreplaced by the same number of bytes    coding   old bytes for  torn  asked"
    )?;
    for one in &document.staleness {
        let stale = match one.still_stale {
            true => format!("> {:.0} ms", one.stale_ms),
            false => format!("{:.0} ms", one.stale_ms),
        };
        writeln!(
            text,
            "{:<36}{:>10}{stale:>16}{:>6}{:>7}",
            one.target, one.coding, one.torn, one.asked
        )?;
    }
    Ok(())
}

fn measured(report: &Report) -> impl Iterator<Item = &Measured> {
    let series = report.rows.iter().flat_map(|row| &row.series);
    series.map(|series| &series.measured)
}
