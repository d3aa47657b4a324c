//! `salver bench coalesce`: many requests at once for one cold file, sharing one load and each with
//! a load of its own.
//!
//! It is measured twice: in the engine, where all requests are begun before any load is performed,
//! which is the most that sharing can save; and over sockets, where a server has answered the first
//! requests before the last have come, which is what it does save.

mod cold;
mod engine;
mod report;
mod sockets;

use std::io::{IsTerminal, Write as _};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use salver_bench::compare::order::Side;
use salver_bench::compare::{FEWEST_TRIALS, MARGIN, Plan, Turn, run as compare};
use salver_bench::environment::{Environment, OthersWatch};
use salver_bench::model::{Errors, Measured, Schedule, Verified};

use cold::ColdFile;
pub use report::{Coalesced, Form, Spread, Way};

use crate::commands::live_view::left;
use crate::commands::own_server::Cores;
use crate::failure::Failure;
use crate::signal;
use crate::values::{size, whole};

/// The longest file: each answer is held in memory once.
const LONGEST: u64 = 256 * 1024 * 1024;

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

    /// Requests at the same moment; over sockets each has a connection of its own
    #[arg(short = 'n',
        long,
        value_name = "NUMBER",
        default_value_t = 25_000,
        value_parser = whole(1u32, 1_000_000))]
    pub requests: u32,

    /// The length of the file that the engine loads
    #[arg(long,
        value_name = "SIZE",
        default_value = "1MiB",
        value_parser = file_size)]
    pub size: u64,

    /// The length of the file that is asked for over sockets. Answers wait in the memory of the
    /// kernel: keep it times --requests well below the machine's memory
    #[arg(long,
        value_name = "SIZE",
        default_value = "16KiB",
        value_parser = file_size)]
    pub socket_size: u64,

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

/// One trial: all requests, once.
#[derive(Clone, Debug)]
struct Burst {
    measured: Measured,
    /// How often the file was loaded for them.
    loads: u64,
    /// Whether the file was not in the page cache when it began.
    cold: bool,
}

impl Burst {
    fn of_engine(requests: u64, wrong: u64, took: Duration, loads: u64, cold: bool) -> Burst {
        let seconds = took.as_secs_f64().max(f64::MIN_POSITIVE);
        let measured = Measured {
            target: "the engine".to_owned(),
            schedule: Schedule::Burst { every_ms: 0 },
            seconds,
            requests,
            requests_per_second: report::float(requests) / seconds,
            errors: Errors {
                content: wrong,
                ..Errors::default()
            },
            verified: Verified::Content,
            ..Measured::default()
        };
        Burst {
            measured,
            loads,
            cold,
        }
    }
}

/// Told before each trial what comes, and how much of all is done, from 0 to 1; may end it.
pub type Watch<'a> = &'a mut dyn FnMut(&str, f64) -> ControlFlow<()>;

/// Measures, and prints what was found.
///
/// # Errors
/// Why it could not, that somebody interrupted it, or that a request failed.
pub fn run(flags: &CoalesceFlags) -> Result<(), Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    signal::listen(move || told.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::Failed(format!("the signal handlers failed: {error}")))?;
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
    let text = match flags.json {
        true => report::document(&found)?,
        false => report::in_words(&found),
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| Failure::Failed(format!("cannot write to standard output: {error}")))?;
    found.check()
}

/// Measures both forms.
///
/// # Errors
/// Why it could not, or that `watch` ended it. Requests that failed are in the result.
pub fn measure(flags: &CoalesceFlags, watch: Watch<'_>) -> Result<Coalesced, Failure> {
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

    let cold = ColdFile::make(directory, flags.size)?;
    let mut trials = Trials::new(flags, requests, (0.0, 0.5), "in the engine");
    trials.run(watch, |coalesce| engine::burst(&cold, requests, coalesce))?;
    let in_engine = trials.form(flags.size);
    drop(cold);

    let cold = ColdFile::make(directory, flags.socket_size)?;
    let cores = Cores::divided();
    let possible =
        salver_bench::burst::allow_files(requests.saturating_add(SPARE)).saturating_sub(SPARE);
    if possible == 0 {
        return Err(Failure::Failed(
            "this process may have too few open files for even one connection: raise the limit \
             (ulimit -n)"
                .to_owned(),
        ));
    }
    let connections = requests.min(possible);
    let mut trials = Trials::new(flags, connections, (0.5, 1.0), "over sockets");
    trials.run(watch, |coalesce| {
        sockets::burst(&cold, connections, coalesce, cores)
    })?;
    let mut over_sockets = trials.form(flags.socket_size);
    if connections < requests {
        over_sockets.notes.push(format!(
            "{connections} requests instead of {requests}: each connection takes an open file, and \
             a process may have {} here (raise the hard limit: ulimit -Hn)",
            possible.saturating_add(SPARE)
        ));
    }
    if cores.is_none() {
        let text = "server and client share the one core that there is";
        over_sockets.notes.push(text.to_owned());
    }
    environment.others = others.others();
    Ok(Coalesced::new(environment, in_engine, over_sockets))
}

/// Descriptors that a process needs besides those of its connections: the server sets 128 aside.
const SPARE: usize = 256;

/// The trials of one form.
struct Trials {
    plan: Plan,
    requests: usize,
    /// Which part of the whole run this is.
    part: (f64, f64),
    what: &'static str,
    /// Trials before which the file was in the page cache.
    warm: usize,
    loads: [Vec<u64>; 2],
    found: Vec<salver_bench::compare::Compared>,
}

impl Trials {
    fn new(flags: &CoalesceFlags, requests: usize, part: (f64, f64), what: &'static str) -> Self {
        Trials {
            plan: Plan {
                paths: vec![what.to_owned()],
                trials: usize::from(flags.trials),
                margin: MARGIN,
                seed: 1,
            },
            requests,
            part,
            what,
            warm: 0,
            loads: Default::default(),
            found: Vec::new(),
        }
    }

    /// Makes the trials: A has a load for each request, B one for all.
    fn run(
        &mut self,
        watch: Watch<'_>,
        mut burst: impl FnMut(bool) -> Result<Burst, Failure>,
    ) -> Result<(), Failure> {
        let all = self.plan.trials * 2;
        let mut done = 0_usize;
        let (from, to) = self.part;
        let (plan, what) = (&self.plan, self.what);
        let (loads, warm) = (&mut self.loads, &mut self.warm);
        let trial = |turn: &Turn<'_>| {
            let share = report::float(done as u64) / report::float(all as u64);
            let coalesce = turn.side == Side::B;
            let way = if coalesce {
                "one load"
            } else {
                "a load for each"
            };
            if watch(&format!("{what}, {way}"), from + (to - from) * share).is_break() {
                return Err(Failure::Failed(
                    "interrupted: nothing was measured".to_owned(),
                ));
            }
            done += 1;
            let burst = burst(coalesce)?;
            *warm += usize::from(!burst.cold);
            let [alone, shared] = &mut *loads;
            match turn.side {
                Side::A => alone.push(burst.loads),
                Side::B => shared.push(burst.loads),
            }
            Ok(burst.measured)
        };
        self.found = compare(plan, trial)?;
        Ok(())
    }

    /// What was found, for a file of this length.
    fn form(self, size: u64) -> Form {
        let all: usize = self.loads.iter().map(Vec::len).sum();
        let mut form = Form::new(self.requests, size, self.loads, self.found);
        if self.plan.trials < FEWEST_TRIALS {
            form.notes.push(format!(
                "no interval: that needs --trials {FEWEST_TRIALS} or more"
            ));
        }
        if self.warm > 0 {
            form.notes.push(format!(
                "the file was in the page cache before {} of {all} trials, so that loads did not \
                 wait for a disk; give a DIR on another file system",
                self.warm
            ));
        }
        form
    }
}
