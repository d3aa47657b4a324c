//! `salver bench coalesce`: many requests at once for one cold file, sharing one load and each with
//! a load of its own.
//!
//! It is measured over sockets: a fresh server for each trial, which is held until all requests are
//! written. It answers the first before it has read the last, and keeps what it has loaded, so that only
//! those that come before the first load has ended could have a load of their own.

mod burst;
mod cold;
mod report;

use std::io::{IsTerminal, Write as _};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Instant;

use clap::Args;
use salver_bench::burst::allow_files;
use salver_bench::compare::order::Side;
use salver_bench::compare::{FEWEST_TRIALS, MARGIN, Plan, run as compare};
use salver_bench::environment::{Environment, OthersWatch};
use salver_config::values::{size, whole};

use cold::ColdFile;
pub use report::{Coalesced, Spread, Way};

use crate::commands::bench_load::{json, print, stop_on_signal};
use crate::commands::live_view::left;
use crate::commands::own_server::Cores;
use crate::failure::Failure;

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
    #[arg(long,
        value_name = "SIZE",
        default_value = "16KiB",
        value_parser = file_size)]
    pub size: u64,

    /// Trials of each way; intervals need 16
    #[arg(long,
        value_name = "NUMBER",
        default_value_t = 16,
        value_parser = whole(2u16, 1000))]
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
    let stop = stop_on_signal()?;
    let watched = std::io::stderr().is_terminal();
    let began = Instant::now();
    let mut watch = |what: &str, done: f64| {
        if watched {
            // Nobody is left to tell if that fails. The line clears itself.
            let left = left(done, began.elapsed());
            let line = format!("\r\x1b[K{:3.0} % {what}{left}", done * 100.0);
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
        match stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let result = measure(flags, &mut watch);
    if watched {
        let _ = std::io::stderr().write_all(b"\r\x1b[K");
    }
    let found = result?;
    print(&match flags.json {
        true => json(&found)?,
        false => found.in_words(),
    })?;
    found.check()
}

/// Told before each trial what comes, and how much of all is done, from 0 to 1; may end it.
type Watch<'a> = &'a mut dyn FnMut(&str, f64) -> ControlFlow<()>;

/// Makes the trials: A has a load for each request, B one for all.
fn measure(flags: &CoalesceFlags, watch: Watch<'_>) -> Result<Coalesced, Failure> {
    let temporary = std::env::temp_dir();
    let directory = flags.directory.as_deref().unwrap_or(&temporary);
    if !directory.is_dir() {
        return Err(Failure::Misused(format!(
            "{} is no directory: give one of the file system to load from",
            directory.display()
        )));
    }
    let arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let mut environment = Environment::now(arguments);
    let others = OthersWatch::start(&[]);
    let requests = usize::try_from(flags.requests).unwrap_or(usize::MAX);
    let cores = Cores::divided();
    let possible = allow_files(requests.saturating_add(SPARE)).saturating_sub(SPARE);
    if possible == 0 {
        return Err(Failure::Failed(
            "this process may have too few open files for even one connection: raise the limit \
             (ulimit -n)"
                .to_owned(),
        ));
    }
    let connections = requests.min(possible);
    let cold = ColdFile::make(directory, flags.size)?;
    let plan = Plan {
        paths: vec![format!("{} bytes", flags.size)],
        trials: usize::from(flags.trials),
        margin: MARGIN,
        seed: 1,
    };
    let all = f64::from(flags.trials) * 2.0;
    let (mut made, mut warm) = (0.0, 0_usize);
    let mut loads: [Vec<u64>; 2] = Default::default();
    let found = compare(&plan, |turn| {
        let (coalesce, what) = match turn.side {
            Side::A => (false, "a load for each"),
            Side::B => (true, "one load"),
        };
        if watch(what, made / all).is_break() {
            return Err(Failure::Failed(
                "interrupted: nothing was measured".to_owned(),
            ));
        }
        made += 1.0;
        let burst = burst::burst(&cold, connections, coalesce, cores)?;
        warm += usize::from(!burst.cold);
        let [alone, shared] = &mut loads;
        match turn.side {
            Side::A => alone.push(burst.loads),
            Side::B => shared.push(burst.loads),
        }
        Ok(burst.measured)
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
