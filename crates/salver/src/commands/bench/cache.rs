//! `salver bench cache`: the same files from a mount that is cached and from one that is not, of one
//! server, in turns.

pub(super) mod report;

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use salver_bench::compare::order::BLOCK;
use salver_bench::compare::{Compared, MARGIN, Plan, interval, run_to_error};
use salver_bench::environment::{Environment, OthersWatch};
use salver_bench::error::BenchError;
use salver_bench::load::{Load, run as load};
use salver_bench::model::Progress;
use salver_bench::report::{CACHED, PLAIN, Report};
use salver_bench::ui::JobProgress;
use salver_bench::workload::Workload;
use salver_config::values::{limit, whole};

use super::own_server::{Cores, OwnServer};
use super::scratch::ScratchDirectory;
use super::{Watch, command_line, failure, json, or_document, print, unless_interrupted, watched};
use crate::failure::Failure;
use crate::values::measured_size;

/// The sizes that are measured if nobody says otherwise: those of the published benchmark.
pub const SIZES: &str = "1KiB,10KiB,50KiB,100KiB,500KiB,1MiB";

/// The server is asked for so long before each trial.
const WARM_UP: Duration = Duration::from_millis(200);

/// An answer that has not come by then does not come.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The shortest file that is sent from the page cache, so that it makes a difference: the default of
/// `--sendfile-from`.
const RESTS_FROM: u64 = 32 * 1024;

/// What the cache is worth: files of several sizes from a cached mount and from a plain one.
///
/// The table goes to standard output. Nothing else should run meanwhile.
#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
pub struct CacheFlags {
    /// A directory of the file system that will be served from; the files are made in a folder of
    /// it and removed [default: the directory for temporary files]
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,

    /// Lengths to measure. Repeatable, or separated by commas
    #[arg(long,
        value_name = "SIZE",
        default_value = SIZES,
        value_delimiter = ',',
        value_parser = measured_size)]
    pub sizes: Vec<u64>,

    /// How long each trial measures
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = limit)]
    pub duration: Duration,

    /// Trials of each way and size at most; fewer are made if it is decided sooner. Intervals need
    /// 16
    #[arg(long, value_name = "NUMBER", default_value_t = 16, value_parser = whole(2u16, 1000))]
    pub trials: u16,

    /// Connections that ask again as soon as they are answered
    #[arg(short,
        long,
        value_name = "NUMBER",
        default_value_t = 64,
        value_parser = whole(1u32, 9_000))]
    pub connections: u32,

    /// Print one JSON document instead of the table
    #[arg(long)]
    pub json: bool,

    /// Print the table as Markdown
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
}

/// The settings of a measurement.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the files are made, in a folder that is removed.
    pub directory: PathBuf,
    /// Their lengths in bytes, each once.
    pub sizes: Vec<u64>,
    /// How long each trial measures.
    pub duration: Duration,
    /// Trials of each way and size at most, at least 2.
    pub trials: usize,
    /// Connections at the same time.
    pub connections: usize,
}

impl From<&CacheFlags> for Settings {
    fn from(flags: &CacheFlags) -> Self {
        let mut sizes = flags.sizes.clone();
        sizes.sort_unstable();
        sizes.dedup();
        Settings {
            directory: flags.directory.clone().unwrap_or_else(std::env::temp_dir),
            sizes,
            duration: flags.duration,
            trials: usize::from(flags.trials),
            connections: usize::try_from(flags.connections).unwrap_or(usize::MAX),
        }
    }
}

/// Measures, and prints what was found.
///
/// # Errors
/// Why it could not, that somebody interrupted it, or that the figures may not be believed.
pub fn run(flags: &CacheFlags) -> Result<(), Failure> {
    let result = watched(flags.json, |watch| measure(&Settings::from(flags), watch))?;
    let environment = Environment::now(command_line());
    let found = or_document(flags.json, &environment, result)?;
    print(&match (flags.json, flags.markdown) {
        (true, _) => json(&found)?,
        (_, true) => report::in_markdown(&found),
        _ => report::in_words(&found),
    })?;
    report::check(&found)
}

/// Measures every size both ways: a row for each, the plain series first.
///
/// # Errors
/// Why it could not, or that `watch` ended it. Requests that failed are in the report.
pub fn measure(settings: &Settings, watch: Watch<'_>) -> Result<Report, Failure> {
    let mut environment = Environment::now(command_line());
    let others = OthersWatch::start(&[]);
    let scratch = ScratchDirectory::new(&settings.directory)?;
    for size in &settings.sizes {
        scratch.random_file(&format!("{size}/random.bin"), *size)?;
    }
    let cores = Cores::divided();
    let server = serve(scratch.path(), settings, cores)?;
    if settings.sizes.iter().any(|size| *size >= RESTS_FROM) {
        scratch.rest(watch)?;
    }
    let asked = Asked {
        settings,
        folder: scratch.path(),
        url: server.url(),
        pid: server.pid(),
    };
    let (compared, ended_by) = Cores::as_client(cores, || asked.compare(watch))?;
    let has_trials = compared.iter().any(|size| !size.trials.is_empty());
    let interrupted = match ended_by {
        None => false,
        Some(BenchError::Interrupted) if has_trials => true,
        Some(error) => return Err(failure(error)),
    };
    server.stop()?;
    environment.others = others.others();
    let mut report = report::report(settings, &environment, compared, cores.is_some());
    report.interrupted = interrupted;
    Ok(report)
}

/// Both mounts show the same folder.
fn serve(folder: &Path, settings: &Settings, cores: Option<Cores>) -> Result<OwnServer, Failure> {
    let mount = |prefix: &str| {
        let mut value = OsString::from(prefix);
        value.push("=");
        value.push(folder);
        value
    };
    let arguments = [
        "--mount".into(),
        mount(&format!("/{CACHED}")),
        "--mount-plain".into(),
        mount(&format!("/{PLAIN}")),
        format!("--max-connections={}", settings.connections * 2 + 16).into(),
    ];
    OwnServer::start(folder, &arguments, cores)
}

/// The server that is asked, and for what.
struct Asked<'a> {
    settings: &'a Settings,
    /// The folder that both mounts show.
    folder: &'a Path,
    /// The server's, without a slash at the end.
    url: &'a str,
    /// The server's process.
    pid: u32,
}

impl Asked<'_> {
    /// Makes the trials of all sizes: A is plain, B is cached. With what was found comes why it ended
    /// early, if it did.
    fn compare(&self, watch: Watch<'_>) -> (Vec<Compared>, Option<BenchError>) {
        let plan = Plan {
            paths: self.settings.sizes.iter().map(u64::to_string).collect(),
            trials: self.settings.trials,
            margin: MARGIN,
            seed: 1,
            resamples: interval::RESAMPLES,
        };
        let mut made = 0.0;
        run_to_error(&plan, |turn| {
            let size = turn.path.parse().unwrap_or_default();
            let way = report::label(turn.side);
            let all = (turn.of_blocks * plan.paths.len() * BLOCK).max(1);
            let mut going = JobProgress {
                what: format!("{}, {way}", report::name(size)),
                done: made / all as f64,
                now: Progress::default(),
            };
            made += 1.0;
            // Some trials are shorter than the time after which a load tells how it goes.
            unless_interrupted(watch(&going))?;
            // Every answer is compared with the file.
            let base = format!("{}/{way}/{size}/", self.url);
            let asked = Load {
                connections: self.settings.connections,
                warm_up: WARM_UP,
                duration: self.settings.duration,
                timeout: TIMEOUT,
                server_pids: vec![self.pid],
                ..Load::new(Workload::of_directory(&base, &self.folder.join(turn.path))?)
            };
            let mut flow = ControlFlow::Continue(());
            let measured = load(&asked, &mut |progress| {
                going.now = *progress;
                flow = watch(&going);
                flow
            });
            unless_interrupted(flow)?;
            measured
        })
    }
}
