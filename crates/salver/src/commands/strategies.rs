//! `salver bench strategies`: what each way to send costs here, and which settings follow.
//!
//! With `--json` standard output gets one document:
//!
//! ```json
//! {
//!   "schema": 1,
//!   "machine": {
//!     "kernel": "6.12.9", "processor": "…", "cores": 8,
//!     "congestion_control": "cubic", "file_system": "ext4"
//!   },
//!   "method": {
//!     "connections": 8, "rounds": 9, "pinned": true,
//!     "interval": "what low and high are, in words"
//!   },
//!   "ways": [{
//!     "way": "memory-one-send", "size": 1024, "requests": 29952,
//!     "cpu_us": { "median": 5.1, "low": 5.0, "high": 5.3 },
//!     "time_us": { "median": 5.6, "low": 5.5, "high": 5.9 }
//!   }],
//!   "residency": [{
//!     "call": "residency", "window": 4096, "state": "read",
//!     "ns": { "median": 310, "low": 300, "high": 330 }, "resident": 1.0
//!   }],
//!   "settings": [{
//!     "flag": "--cache-max-file", "value": "500KiB", "bytes": 512000, "default_bytes": 1048576,
//!     "reason": "one line"
//!   }],
//!   "invalid": []
//! }
//! ```
//!
//! Sizes and windows are bytes, `cpu_us` and `time_us` microseconds per request, `ns` nanoseconds
//! per call. `invalid` has a sentence if the figures must not be believed; then there are no settings.
//! `way` is one of `memory-one-send`, `memory-writev`, `handle-sendfile`, `handle-pread`,
//! `open-pread` and `open-sendfile`; `call` is `residency` or `read-byte`; `state` is `read`,
//! `dropped` or `dropped-in-the-middle`; `resident` is the share of the calls that said so. `schema`
//! changes when a reader of this one could not read the next.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use salver_bench::environment::OthersWatch;
use salver_server::strategies::{
    CONNECTIONS, Call, Figures, INTERVAL, LONGEST, MeasureError, Options, Probed, Report, State,
    Way, measure, show,
};
use serde::Serialize;

use crate::failure::Failure;
use crate::signal;
use crate::values::size;

/// The version of the JSON document.
const SCHEMA: u32 = 1;

/// What each way to send a file costs on this machine, and the settings of `salver serve` that
/// follow.
///
/// The table goes to standard output. Nothing else should run meanwhile.
#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
pub struct StrategiesFlags {
    /// A directory of the file system that will be served from; the files that are measured with
    /// are made in a folder of it and removed [default: the directory for temporary files]
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,

    /// Lengths to measure. Repeatable, or separated by commas
    #[arg(long,
        value_name = "SIZE",
        default_value = "1KiB,4KiB,10KiB,16KiB,32KiB,50KiB,64KiB,100KiB,200KiB,256KiB,500KiB,1MiB",
        value_delimiter = ',',
        value_parser = measured_size)]
    pub sizes: Vec<u64>,

    /// How long to measure, in seconds, about
    #[arg(long,
        value_name = "NUMBER",
        default_value = "15",
        value_parser = seconds)]
    pub seconds: Duration,

    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// The length of a file that can be measured.
///
/// # Errors
/// What is wrong with it.
pub fn measured_size(text: &str) -> Result<u64, String> {
    match size(text)? {
        0 => Err("an empty file has nothing to send: give 1KiB, say".to_owned()),
        bytes if bytes > LONGEST => Err(format!("{} is the most", show(LONGEST))),
        bytes => Ok(bytes),
    }
}

/// How long to measure, a number of seconds.
///
/// # Errors
/// What is wrong with it.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = "give a number of seconds from 0.1 to 3600";
    let seconds: f64 = text.trim().parse().map_err(|_| wrong.to_owned())?;
    if (0.1..=3600.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(wrong.to_owned())
    }
}

/// Measures, and prints what was found.
///
/// # Errors
/// Why it could not, that somebody interrupted it, or that the figures must not be believed.
pub fn run(flags: &StrategiesFlags) -> Result<(), Failure> {
    let temporary = std::env::temp_dir();
    let directory = flags.directory.as_deref().unwrap_or(&temporary);
    if !directory.is_dir() {
        return Err(Failure::Misused(format!(
            "{} is no directory: give one of the file system that will be served from",
            directory.display()
        )));
    }
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    signal::listen(move || told.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::Failed(format!("the signal handlers failed: {error}")))?;
    let others = OthersWatch::start(&[]);
    let mut report = measure_in(directory, flags, &stop)?;
    let invalid = others.usage().and_then(|usage| usage.reason());
    if invalid.is_some() {
        // What follows from such figures is no advice.
        report.suggestions.clear();
    }
    let text = if flags.json {
        let document = Document::of(&report, invalid.as_deref());
        let document = serde_json::to_string_pretty(&document);
        document.map_err(|error| Failure::Failed(format!("the JSON document: {error}")))? + "\n"
    } else {
        in_words(&report, invalid.as_deref())
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| Failure::Failed(format!("cannot write to standard output: {error}")))?;
    match invalid {
        None => Ok(()),
        Some(_) => Err(Failure::Failed(
            "the figures must not be believed: see above, and run it again".to_owned(),
        )),
    }
}

/// Measures in a folder of its own, which is removed however it ends.
fn measure_in(
    directory: &Path,
    flags: &StrategiesFlags,
    stop: &AtomicBool,
) -> Result<Report, Failure> {
    let failed = |error: std::io::Error| {
        Failure::Failed(format!(
            "cannot make files in {}: {error}; give a directory that can be written to",
            directory.display()
        ))
    };
    let folder = tempfile::Builder::new()
        .prefix("salver-bench-")
        .tempdir_in(directory)
        .map_err(failed)?;
    let mut sizes = flags.sizes.clone();
    sizes.sort_unstable();
    sizes.dedup();
    let options = Options {
        directory: folder.path(),
        sizes: &sizes,
        time: flags.seconds,
        stop,
    };
    let watched = std::io::stderr().is_terminal();
    let mut progress = |done: usize, all: usize| {
        if watched {
            // Nobody is left to tell if that fails. The line clears itself.
            let line = if done < all {
                format!("\rround {} of {all}", done + 1)
            } else {
                "\r\x1b[K".to_owned()
            };
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    };
    let measured = measure(options, &mut progress);
    if watched && measured.is_err() {
        progress(0, 0);
    }
    measured.map_err(|error| match error {
        MeasureError::Files(error) => failed(error),
        error => Failure::Failed(error.to_string()),
    })
}

/// See the module.
#[derive(Serialize)]
struct Document {
    schema: u32,
    machine: Machine,
    method: Method,
    ways: Vec<Measured>,
    residency: Vec<Asked>,
    settings: Vec<Setting>,
    invalid: Vec<String>,
}

#[derive(Serialize)]
struct Machine {
    kernel: String,
    processor: String,
    cores: usize,
    congestion_control: String,
    file_system: String,
}

#[derive(Serialize)]
struct Method {
    connections: usize,
    rounds: usize,
    pinned: bool,
    interval: &'static str,
}

#[derive(Serialize)]
struct Measured {
    way: &'static str,
    size: u64,
    requests: u64,
    cpu_us: Interval,
    time_us: Interval,
}

#[derive(Serialize)]
struct Asked {
    call: &'static str,
    window: u64,
    state: &'static str,
    ns: Interval,
    resident: f64,
}

#[derive(Serialize)]
struct Setting {
    flag: &'static str,
    value: String,
    bytes: u64,
    default_bytes: u64,
    reason: String,
}

#[derive(Serialize)]
struct Interval {
    median: f64,
    low: f64,
    high: f64,
}

impl From<Figures> for Interval {
    fn from(figures: Figures) -> Self {
        // More digits than anything here has.
        let short = |figure: f64| (figure * 1e4).round() / 1e4;
        Interval {
            median: short(figures.median),
            low: short(figures.low),
            high: short(figures.high),
        }
    }
}

impl Document {
    fn of(report: &Report, invalid: Option<&str>) -> Self {
        let machine = &report.machine;
        Document {
            schema: SCHEMA,
            machine: Machine {
                kernel: machine.kernel.clone(),
                processor: machine.processor.clone(),
                cores: machine.cores,
                congestion_control: machine.congestion_control.clone(),
                file_system: machine.file_system.clone(),
            },
            method: Method {
                connections: CONNECTIONS,
                rounds: report.rounds,
                pinned: report.pinned,
                interval: INTERVAL,
            },
            ways: report
                .cells
                .iter()
                .map(|cell| Measured {
                    way: cell.way.name(),
                    size: cell.size,
                    requests: cell.requests,
                    cpu_us: cell.cpu.into(),
                    time_us: cell.time.into(),
                })
                .collect(),
            residency: report
                .probed
                .iter()
                .map(|probed| Asked {
                    call: probed.call.name(),
                    window: probed.window,
                    state: probed.state.name(),
                    ns: probed.nanoseconds.into(),
                    resident: probed.resident,
                })
                .collect(),
            settings: report
                .suggestions
                .iter()
                .map(|suggestion| Setting {
                    flag: suggestion.flag,
                    value: show(suggestion.value),
                    bytes: suggestion.value,
                    default_bytes: suggestion.default,
                    reason: suggestion.reason.clone(),
                })
                .collect(),
            invalid: invalid.map(str::to_owned).into_iter().collect(),
        }
    }
}

/// The report for people.
fn in_words(report: &Report, invalid: Option<&str>) -> String {
    let machine = &report.machine;
    let cores = match (machine.cores, report.pinned) {
        (1, _) => "1 core, which sender and client share".to_owned(),
        (cores, true) => format!("{cores} cores, one for the sender and one for the client"),
        (cores, false) => format!("{cores} cores, on which sender and client may move"),
    };
    let mut text = format!(
        "Linux {}, {}\n{cores}; {}; congestion control {}\n\n\
         CPU of the sending thread in us per request, medians of {} rounds; * is the cheapest\n",
        machine.kernel,
        machine.processor,
        machine.file_system,
        machine.congestion_control,
        report.rounds
    );
    table(&mut text, report, |cell| cell.cpu);
    let _ = writeln!(
        text,
        "\nTime in us per request while {CONNECTIONS} connections are busy; * is the least"
    );
    table(&mut text, report, |cell| cell.time);
    text.push_str(
        "\nAsking whether a window is in the page cache, in ns; r: said that it is, c: not, ?: both\n",
    );
    residency(&mut text, &report.probed);
    if let Some(why) = invalid {
        let _ = writeln!(text, "\nINVALID: {why}");
        return text;
    }
    text.push_str("\nSettings of `salver serve` for this:\n");
    for suggestion in &report.suggestions {
        let setting = format!("{} {}", suggestion.flag, show(suggestion.value));
        let _ = writeln!(text, "  {setting:26} {}", suggestion.reason);
    }
    text
}

/// The width of the first column.
const TITLE: usize = 40;

fn table(
    text: &mut String,
    report: &Report,
    figures: impl Fn(&salver_server::strategies::Cell) -> Figures,
) {
    let mut sizes: Vec<u64> = report.cells.iter().map(|cell| cell.size).collect();
    sizes.dedup();
    row(text, "", sizes.iter().map(|&size| show(size) + " "));
    let cost = |size: u64, way: Way| {
        let mut cells = report.cells.iter();
        let cell = cells.find(|cell| cell.size == size && cell.way == way);
        cell.map_or(f64::NAN, |cell| figures(cell).median)
    };
    for way in Way::ALL {
        let costs = sizes.iter().map(|&size| {
            let cheapest = Way::ALL.into_iter().min_by(|a, b| {
                let (a, b) = (cost(size, *a), cost(size, *b));
                a.total_cmp(&b)
            });
            let mark = if cheapest == Some(way) { '*' } else { ' ' };
            format!("{:.1}{mark}", cost(size, way))
        });
        row(text, way.title(), costs);
    }
}

fn residency(text: &mut String, probed: &[Probed]) {
    let mut windows: Vec<u64> = probed.iter().map(|probed| probed.window).collect();
    windows.sort_unstable();
    windows.dedup();
    row(text, "", windows.iter().map(|&window| show(window) + " "));
    for call in Call::ALL {
        for state in State::ALL {
            let title = match (call, state) {
                (Call::Residency, State::Read) => "the server's question, of what was read",
                (Call::Residency, State::Dropped) => "  of what was dropped",
                (Call::Residency, State::DroppedInTheMiddle) => "  with one page dropped",
                (Call::ReadByte, State::Read) => "reading one byte, of what was read",
                (Call::ReadByte, State::Dropped) => "  of what was dropped",
                (Call::ReadByte, State::DroppedInTheMiddle) => "  with one page dropped",
            };
            let cells = windows.iter().map(|&window| {
                let mut probed = probed.iter();
                let found = probed.find(|probed| {
                    (probed.call, probed.state, probed.window) == (call, state, window)
                });
                found.map_or_else(
                    || "- ".to_owned(),
                    |probed| {
                        let said = match probed.resident {
                            share if share >= 1.0 => 'r',
                            share if share <= 0.0 => 'c',
                            _ => '?',
                        };
                        format!("{:.0}{said}", probed.nanoseconds.median)
                    },
                )
            });
            row(text, title, cells);
        }
    }
}

fn row(text: &mut String, title: &str, cells: impl Iterator<Item = String>) {
    let mut line = format!("{title:TITLE$}");
    for cell in cells {
        let _ = write!(line, "{cell:>8}");
    }
    let _ = writeln!(text, "{}", line.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_have_bounds() {
        assert_eq!(measured_size("1KiB"), Ok(1024));
        assert_eq!(measured_size("64MiB"), Ok(LONGEST));
        for wrong in ["0", "0KiB", "65MiB", "1PiB", "", "many"] {
            assert!(measured_size(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(seconds("3600"), Ok(Duration::from_secs(3600)));
        for wrong in ["0", "0.09", "-1", "3601", "NaN", "inf", "1s", ""] {
            assert!(seconds(wrong).is_err(), "{wrong:?}");
        }
    }
}
