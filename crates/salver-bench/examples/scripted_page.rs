//! The page with a runner that measures nothing and does what the target's path says: tests of the
//! page need runs that end, fail and stall when they want them to.
//!
//! `scripted_page RUNS` prints the address on standard error and ends when its input does.
#![allow(clippy::print_stderr, reason = "an example is a program")]

use std::collections::BTreeMap;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use salver_bench::model::{Latency, Measured, Progress};
use salver_bench::report::{CACHED, Interval, LOAD, PLAIN, Report, Row, Series, SpeedUp};
use salver_bench::ui::{Job, JobKind, JobProgress, Runner, Settings, Ui};

/// Ends at once; `/fails`, `/panics` and `/wrong` (with errors) do so in their way. `/stalls` goes on
/// until it is stopped, and then has nothing; `/lasts` has a result even then. Both take [`ENDING`] to stop.
struct Scripted;

/// The time between being told to stop and having done so: some frames of the browser, which draws meanwhile.
const ENDING: Duration = Duration::from_millis(200);

impl Runner for Scripted {
    fn run(
        &self,
        job: &Job,
        progress: &mut (dyn FnMut(&JobProgress) -> ControlFlow<()> + Send),
    ) -> Result<Report, String> {
        let (what, title) = match job.kind {
            JobKind::Cache => ("10 KiB, cached", "Plain against cached"),
            JobKind::Load => ("the load", "Load"),
            JobKind::Compare => ("/, second", "Second against first"),
        };
        let mut step = JobProgress {
            what: what.to_owned(),
            done: 0.5,
            now: Progress {
                warming_up: false,
                elapsed_seconds: 2.0,
                of_seconds: 4.0,
                requests_per_second: 1234.0,
                ..Progress::default()
            },
        };
        if job.kind == JobKind::Compare {
            // Its trials are too short.
            step.now = Progress::default();
        }
        let _ = progress(&step);
        let path = job.url.as_deref().and_then(|url| url.rsplit('/').next());
        match path {
            Some("fails") => return Err("no connection to nowhere".to_owned()),
            #[expect(clippy::panic, reason = "what the page does then is tested")]
            Some("panics") => panic!("as asked"),
            Some(lasting @ ("stalls" | "lasts")) => {
                while progress(&step).is_continue() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                std::thread::sleep(ENDING);
                if lasting == "stalls" {
                    return Err("stopped".to_owned());
                }
            }
            _ => {}
        }
        let environment = serde_json::json!({
            "kernel": "1.2.3",
            "cpu": { "cores": 2 },
            "others": { "cores": 1.25, "stolen_cores": 0.25 },
        });
        let rows = match job.kind {
            JobKind::Cache => six_sizes(job),
            JobKind::Load => vec![loaded(job, path == Some("wrong"))],
            JobKind::Compare => vec![compared(job)],
        };
        Ok(Report::new(title.to_owned(), environment, rows))
    }
}

fn six_sizes(job: &Job) -> Vec<Row> {
    let sizes = [
        ("1 KiB", 61_000.0, 1.9),
        ("10 KiB", 55_000.0, 1.7),
        ("50 KiB", 31_000.0, 1.35),
        ("100 KiB", 19_000.0, 1.12),
        ("500 KiB", 4_100.0, 1.01),
        ("1 MiB", 2_050.0, 0.97),
    ];
    let rows = sizes.into_iter().map(|(name, per_second, gain)| {
        let verdict = match gain {
            gain if gain > 1.05 => "faster",
            _ => "undecided: run longer",
        };
        Row {
            name: name.to_owned(),
            series: vec![
                series(PLAIN, job, per_second),
                series(CACHED, job, per_second * gain),
            ],
            speed_up: Some(SpeedUp {
                requests: interval(gain),
                p99: interval(gain * 1.1),
                ..SpeedUp::default()
            }),
            verdict: Some(verdict.to_owned()),
        }
    });
    rows.collect()
}

fn interval(ratio: f64) -> Interval {
    Interval {
        ratio,
        low: ratio * 0.96,
        high: ratio * 1.05,
    }
}

fn compared(job: &Job) -> Row {
    let [a, b] = ["127.0.0.1:1", "127.0.0.1:2"];
    Row {
        name: "/".to_owned(),
        series: vec![series(a, job, 40_000.0), series(b, job, 36_000.0)],
        speed_up: Some(SpeedUp {
            requests: interval(0.9),
            p99: interval(0.85),
            p50: Some(interval(0.9)),
            server_cpu: None,
        }),
        verdict: Some("slower".to_owned()),
    }
}

fn loaded(job: &Job, wrong: bool) -> Row {
    let mut series = series(LOAD, job, job.rate.unwrap_or(48_000.0));
    series.measured.corrected = job.rate.map(|_| series.measured.raw.clone());
    if wrong {
        series.measured.errors.timeout = 7;
        series.measured.errors.content = 1;
        let reason = "the client was busy for 99 % of the time, so that it is what was measured";
        series.measured.invalid = vec![reason.to_owned()];
    }
    Row {
        name: job.url.clone().unwrap_or_default(),
        series: vec![series],
        ..Row::default()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "small made-up figures"
)]
fn series(label: &str, job: &Job, per_second: f64) -> Series {
    let requests = (per_second * job.duration_seconds) as u64;
    let mean_us = job.connections as f64 / per_second * 1e6;
    // An exponential distribution, from half of its mean on.
    let at = |percentile: f64| mean_us * (0.5 - 0.5 * (1.0 - percentile / 100.0).ln());
    let most = at(100.0 - 100.0 / requests.max(2) as f64);
    let curve = (0..60).map(|step| {
        let percentile = 100.0 * (1.0 - 0.5_f64.powf(f64::from(step) / 3.0));
        (percentile, at(percentile).min(most))
    });
    let raw = Latency {
        count: requests,
        min_us: at(0.0),
        mean_us,
        deviation_us: mean_us / 2.0,
        p50_us: at(50.0),
        p75_us: at(75.0),
        p90_us: at(90.0),
        p99_us: at(99.0),
        p999_us: at(99.9),
        p9999_us: at(99.99),
        max_us: most,
        curve: curve.chain([(100.0, most)]).collect(),
    };
    let measured = Measured {
        target: job.url.clone().unwrap_or_default(),
        connections: job.connections,
        http: job.protocol.http(),
        streams: job.streams,
        seconds: job.duration_seconds,
        requests,
        requests_per_second: per_second,
        statuses: BTreeMap::from([(200, requests)]),
        codings: BTreeMap::from([("identity".to_owned(), requests)]),
        content_bytes: requests * 1024,
        raw,
        ..Measured::default()
    };
    Series {
        label: label.to_owned(),
        measured,
    }
}

fn main() -> ExitCode {
    let Some(runs) = std::env::args_os().nth(1) else {
        eprintln!("scripted_page RUNS");
        return ExitCode::from(2);
    };
    let settings = Settings {
        port: 0,
        runs: runs.into(),
        program: "scripted".to_owned(),
    };
    let ui = match Ui::bind(&settings, Scripted) {
        Ok(ui) => ui,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    eprintln!("{}", ui.url());
    let handle = ui.handle();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        handle.stop();
    });
    match ui.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
