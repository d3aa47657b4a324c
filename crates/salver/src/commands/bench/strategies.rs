//! `salver bench strategies`: what each way to send costs here, and the settings that follow.
//!
//! The ways are those of the server itself: one is started for each, with the settings that choose it,
//! all on one core, and the load generator asks from the others. Two ways between which a setting
//! divides files are compared at each length as `compare` does it, in turns and by the CPU that the
//! server needs for a request; with `--busy` once more beside threads that keep the memory bus busy.
//!
//! With `--json` standard output gets one document, a [`Document`].

mod border;
mod memory_load;
mod report;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use salver_bench::compare::metric::Metric;
use salver_bench::compare::{Compared, FEWEST_TRIALS, MARGIN, Plan, interval, run as compare};
use salver_bench::environment::{Environment, OthersWatch};
use salver_bench::load::{Load, run as load};
use salver_bench::model::Measured;
use salver_bench::ui::JobProgress;
use salver_bench::workload::Workload;

use super::own_server::{Cores, OwnServer};
use super::scratch::ScratchDirectory;
use super::{Watch, command_line, failure, json, print, unless_interrupted, watched};
use crate::failure::Failure;
use crate::values::{measured_size, seconds};
use border::{BORDERS, Border, Costs, Length, Way};
use memory_load::MemoryLoad;
pub use report::Document;

/// The files of one length have at most so many bytes together, if they are more than one: they are asked
/// for in turns, so that they do not all stay in the nearest cache of the processor.
const TOGETHER: u64 = 4 * 1024 * 1024;

/// The files of one length are no more than so many.
const MOST_FILES: u64 = 64;

/// Connections of each trial, as many as `compare` has.
const CONNECTIONS: usize = 64;

/// The server's CPU is counted in ticks of the kernel's clock, a hundredth of a second usually: a
/// shorter trial would have none.
const SHORTEST_TRIAL: Duration = Duration::from_millis(100);

/// A trial in which the server had less CPU than this is made again, twice as long: a busy machine gives it
/// little, and a tick more or less would be all the difference.
const LEAST_CPU: Duration = Duration::from_millis(20);

/// A trial becomes no longer than this, however little the server had.
const LONGEST_TRIAL: Duration = Duration::from_secs(5);

/// An answer that has not come by then does not come.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What each way to send a file costs on this machine, and the settings of `salver serve` that
/// follow.
///
/// The tables go to standard output. Nothing else should run meanwhile.
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
        default_value = "1KiB,4KiB,16KiB,32KiB,50KiB,64KiB,100KiB,256KiB,1MiB",
        value_delimiter = ',',
        value_parser = measured_size)]
    pub sizes: Vec<u64>,

    /// How long to measure, in seconds, about; at least 6 for each length. Files rest for 10 s before
    #[arg(long, value_name = "NUMBER", default_value = "60", value_parser = seconds)]
    pub seconds: Duration,

    /// Measure once more, for as long, beside threads that keep the memory bus busy; what is dearer
    /// counts
    #[arg(long)]
    pub busy: bool,

    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// Measures, and prints what was found.
///
/// # Errors
/// Why it could not, that somebody interrupted it, or that the figures must not be believed.
pub fn run(flags: &StrategiesFlags) -> Result<(), Failure> {
    let document = watched(flags.json, |watch| measure(flags, watch))??;
    print(&match flags.json {
        true => json(&document)?,
        false => document.in_words(),
    })?;
    match document.invalid.is_empty() {
        true => Ok(()),
        false => Err(Failure::Failed(
            "the figures must not be believed: see above, and run it again".to_owned(),
        )),
    }
}

fn measure(flags: &StrategiesFlags, watch: Watch<'_>) -> Result<Document, Failure> {
    let mut sizes = flags.sizes.clone();
    sizes.sort_unstable();
    sizes.dedup();
    let mut environment = Environment::now(command_line());
    let directory = flags.directory.clone().unwrap_or_else(std::env::temp_dir);
    let scratch = ScratchDirectory::new(&directory)?;
    for size in &sizes {
        for number in 0..(TOGETHER / size).clamp(1, MOST_FILES) {
            unless_interrupted(watch(&going("making files".to_owned(), 0.0))).map_err(failure)?;
            scratch.random_file(&format!("{size}/{number}.bin"), *size)?;
        }
    }
    scratch.rest(watch)?;
    let cores = Cores::divided();
    let start = |way: Way| OwnServer::start(scratch.path(), &way.arguments(), cores);
    let servers = Way::ALL.map(|way| start(way).map(|server| (way, server)));
    let servers: Vec<(Way, OwnServer)> = servers.into_iter().collect::<Result<_, Failure>>()?;
    let found = |(way, server): &(Way, OwnServer)| (*way, server.url().to_owned(), server.pid());
    let measurement = Measurement {
        sizes,
        time: flags.seconds,
        servers: servers.iter().map(found).collect(),
        folder: scratch.path(),
    };
    let others = OthersWatch::start(&[]);
    let of_all = if flags.busy { 0.5 } else { 1.0 };
    let (quiet, busy, load) = Cores::as_client(cores, || {
        let quiet = measurement.compare("quiet", (0.0, of_all), watch)?;
        let Some(load) = flags.busy.then(MemoryLoad::start).transpose()? else {
            return Ok((quiet, None, None));
        };
        let busy = measurement.compare("beside a load on the memory bus", (of_all, 1.0), watch)?;
        Ok::<_, Failure>((quiet, Some(busy), Some(load.stop())))
    })??;
    environment.others = others.others();
    let invalid = others.usage().and_then(|usage| usage.reason());
    let lengths = measurement.lengths(&quiet, busy.as_deref())?;
    for (_, server) in servers {
        server.stop()?;
    }
    Ok(Document::new(
        environment,
        cores.is_some(),
        load,
        &lengths,
        invalid,
    ))
}

/// The progress before a step.
fn going(what: String, done: f64) -> JobProgress {
    JobProgress {
        what,
        done,
        ..JobProgress::default()
    }
}

/// The servers that are measured, and what they are asked for.
struct Measurement<'a> {
    sizes: Vec<u64>,
    /// For all trials of one condition together.
    time: Duration,
    /// The way of each, its URL without a slash at the end, and its process.
    servers: Vec<(Way, String, u32)>,
    /// What all of them show.
    folder: &'a Path,
}

impl Measurement<'_> {
    /// Each border with each length: what is compared.
    fn pairs(&self) -> impl Iterator<Item = (&'static Border, u64)> {
        let of_border = |border| self.sizes.iter().map(move |size| (border, *size));
        BORDERS.iter().flat_map(of_border)
    }

    /// Compares the two ways of each border at each length: A is the way below, B the one above.
    /// `part` says which part of the whole run this is.
    fn compare(
        &self,
        condition: &str,
        part: (f64, f64),
        watch: Watch<'_>,
    ) -> Result<Vec<Compared>, Failure> {
        let plan = Plan {
            paths: self.pairs().map(|(_, size)| size.to_string()).collect(),
            trials: FEWEST_TRIALS,
            margin: MARGIN,
            seed: 1,
            resamples: interval::RESAMPLES,
        };
        let all = plan.paths.len() * FEWEST_TRIALS * 2;
        let all = u32::try_from(all).unwrap_or(u32::MAX);
        let of_each = (self.time / all).max(SHORTEST_TRIAL);
        let mut made = 0_u32;
        compare(&plan, |turn| {
            let Some((border, size)) = self.pairs().nth(turn.index) else {
                return Err(Failure::Failed("a trial of nothing: a defect".to_owned()));
            };
            let way = border.way(turn.side);
            let done = part.0 + (part.1 - part.0) * f64::from(made) / f64::from(all);
            let going = going(format!("{condition}: {size} bytes, {}", way.title()), done);
            made += 1;
            let mut time = of_each;
            loop {
                let mut watch = || watch(&going);
                unless_interrupted(watch()).map_err(failure)?;
                let measured = self.trial(way, size, time, &mut watch)?;
                if cpu(&measured) >= LEAST_CPU || time >= LONGEST_TRIAL {
                    return Ok(measured);
                }
                time *= 2;
            }
        })
    }

    /// One trial of one way at one length. Every answer is compared with its file.
    fn trial(
        &self,
        way: Way,
        size: u64,
        time: Duration,
        watch: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Measured, Failure> {
        let Some((_, url, pid)) = self.servers.iter().find(|(of, ..)| *of == way) else {
            return Err(Failure::Failed(
                "a way without a server: a defect".to_owned(),
            ));
        };
        let base = format!("{url}/{size}/");
        let folder = self.folder.join(size.to_string());
        let asked = Load {
            connections: CONNECTIONS,
            // The rest is for opening connections and for looking at every file once.
            warm_up: time.mul_f64(0.1),
            duration: time.mul_f64(0.7),
            timeout: TIMEOUT,
            server_pids: vec![*pid],
            ..Load::new(Workload::of_directory(&base, &folder).map_err(failure)?)
        };
        let measured = load(&asked, &mut |_| watch()).map_err(failure)?;
        match measured.errors.total() {
            0 => Ok(measured),
            errors => Err(Failure::Failed(format!(
                "{errors} requests for {size} bytes failed ({}): nothing can be said",
                way.title()
            ))),
        }
    }

    /// What was found, by border and length.
    fn lengths(
        &self,
        quiet: &[Compared],
        busy: Option<&[Compared]>,
    ) -> Result<Vec<Vec<Length>>, Failure> {
        let found = self.pairs().enumerate().map(|(index, (_, size))| {
            let of = |all: &[Compared]| {
                let found = all.get(index).and_then(costs);
                found.ok_or_else(|| {
                    Failure::Failed(format!(
                        "the server was given no time for {size} bytes: run it again with nothing else running"
                    ))
                })
            };
            Ok(Length {
                size,
                quiet: of(quiet)?,
                busy: busy.map(of).transpose()?,
            })
        });
        let found: Vec<Length> = found.collect::<Result<_, Failure>>()?;
        let of_each = self.sizes.len().max(1);
        Ok(found.chunks(of_each).map(<[Length]>::to_vec).collect())
    }
}

/// What the server had in a trial.
fn cpu(measured: &Measured) -> Duration {
    let of_core = measured.server.map_or(0.0, |server| server.cores);
    Duration::try_from_secs_f64(of_core * measured.seconds).unwrap_or_default()
}

/// The server's CPU per request both ways; nothing if it had none in some trial.
fn costs(compared: &Compared) -> Option<Costs> {
    let mut figures = compared.figures.iter();
    let cpu = figures.find(|figure| figure.metric == Metric::ServerCpu)?;
    Some(Costs {
        below_us: cpu.a,
        above_us: cpu.b,
        ratio: cpu.ratio?,
    })
}
