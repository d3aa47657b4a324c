//! `salver bench coalesce`: many requests at once for one cold file, sharing one load and each with
//! a load of its own.
//!
//! It is measured over sockets: a fresh server for each trial, which is held until all requests are
//! written. It answers the first before it has read the last, and keeps what it has loaded, so that only
//! those that come before the first load has ended could have a load of their own.

mod burst;
mod cold;
mod report;

use std::path::PathBuf;

use clap::Args;
use salver_bench::burst::allow_files;
use salver_bench::compare::order::Side;
use salver_bench::compare::{FEWEST_TRIALS, MARGIN, Plan, interval, run as compare};
use salver_bench::environment::{Environment, OthersWatch};
use salver_bench::ui::JobProgress;
use salver_config::values::{size, whole};

use super::own_server::Cores;
use super::{Watch, command_line, failure, json, print, unless_interrupted, watched};
use crate::failure::Failure;
use cold::ColdFile;
pub use report::{Coalesced, Spread, Way};

/// The longest file: each answer is held in memory once.
const LONGEST: u64 = 256 * 1024 * 1024;

/// Descriptors that a process needs besides those of its connections: the server sets 128 aside.
const SPARE: usize = 256;

/// How much one shared load saves when many ask for one cold file at the same moment.
///
/// The table goes to standard output. Nothing else should run meanwhile.
#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
pub struct CoalesceFlags {
    /// A directory of the file system to load from; the file is made in a folder of it and removed
    /// [default: the directory for temporary files]
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,

    /// Requests at the same moment, each on a connection of its own
    #[arg(short = 'n',
        long,
        value_name = "NUMBER",
        default_value_t = 25_000,
        value_parser = whole(1u32, 1_000_000))]
    pub requests: u32,

    /// The length of the file. Answers wait in the memory of the kernel: keep it times --requests well
    /// below the machine's memory
    #[arg(long, value_name = "SIZE", default_value = "16KiB", value_parser = file_size)]
    pub size: u64,

    /// Trials of each way; intervals need 16
    #[arg(long, value_name = "NUMBER", default_value_t = 16, value_parser = whole(2u16, 1000))]
    pub trials: u16,

    /// Print one JSON document instead of the table
    #[arg(long)]
    pub json: bool,
}

fn file_size(text: &str) -> Result<u64, String> {
    match size(text)? {
        0 => Err("an empty file has nothing to load: give 16KiB, say".to_owned()),
        bytes if bytes > LONGEST => Err("256MiB is the most".to_owned()),
        bytes => Ok(bytes),
    }
}

/// Measures, and prints what was found.
///
/// # Errors
/// Why it could not, that somebody interrupted it, or that a request failed.
pub fn run(flags: &CoalesceFlags) -> Result<(), Failure> {
    let found = watched(flags.json, |watch| measure(flags, watch))??;
    print(&match flags.json {
        true => json(&found)?,
        false => found.in_words(),
    })?;
    found.check()
}

/// Makes the trials: A has a load for each request, B one for all.
fn measure(flags: &CoalesceFlags, watch: Watch<'_>) -> Result<Coalesced, Failure> {
    let mut environment = Environment::now(command_line());
    let others = OthersWatch::start(&[]);
    let requests = usize::try_from(flags.requests).unwrap_or(usize::MAX);
    let cores = Cores::divided();
    let possible = allow_files(requests.saturating_add(SPARE)).saturating_sub(SPARE);
    if possible == 0 {
        let why = "this process may have too few open files for even one connection: raise the \
                   limit (ulimit -n)";
        return Err(Failure::Failed(why.to_owned()));
    }
    let connections = requests.min(possible);
    let directory = flags.directory.clone().unwrap_or_else(std::env::temp_dir);
    let cold = ColdFile::make(&directory, flags.size)?;
    let plan = Plan {
        paths: vec![format!("{} bytes", flags.size)],
        trials: usize::from(flags.trials),
        margin: MARGIN,
        seed: 1,
        resamples: interval::RESAMPLES,
    };
    let all = f64::from(flags.trials) * 2.0;
    let (mut made, mut warm) = (0.0, 0_usize);
    let mut loads: [Vec<u64>; 2] = Default::default();
    let found = compare(&plan, |turn| {
        let [alone, shared] = &mut loads;
        let (coalesce, what, loads) = match turn.side {
            Side::A => (false, "a load for each", alone),
            Side::B => (true, "one load", shared),
        };
        let going = JobProgress {
            what: what.to_owned(),
            done: made / all,
            ..JobProgress::default()
        };
        unless_interrupted(watch(&going)).map_err(failure)?;
        made += 1.0;
        let burst = burst::burst(&cold, connections, coalesce, cores)?;
        warm += usize::from(!burst.cold);
        loads.push(burst.loads);
        Ok::<_, Failure>(burst.measured)
    })?;
    environment.others = others.others();
    let mut coalesced = Coalesced::new(environment, connections, flags.size, loads, found);
    let mut note = |text: String| coalesced.notes.push(text);
    if plan.trials < FEWEST_TRIALS {
        note(format!(
            "no interval: that needs --trials {FEWEST_TRIALS} or more"
        ));
    }
    if warm > 0 {
        note(format!(
            "the file was in the page cache before {warm} of {made:.0} trials, so that loads did not wait \
             for a disk; give a DIR on another file system"
        ));
    }
    if connections < requests {
        note(format!(
            "{connections} requests instead of {requests}: each connection takes an open file, and \
             a process may have {} here (raise the hard limit: ulimit -Hn)",
            possible.saturating_add(SPARE)
        ));
    }
    if cores.is_none() {
        note("server and client share the one core that there is".to_owned());
    }
    Ok(coalesced)
}
