//! A comparison from beginning to end: servers started, answers looked at, trials made.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::differences::{Difference, differences};
use super::interval::{METHOD, RESAMPLES};
use super::order::{self, Side};
use super::{CONFIDENCE, Compared, Look, Plan, Turn};
use crate::error::BenchError;
use crate::load::{self, Load, unless_stopped};
use crate::machine::environment::{Environment, OthersWatch};
use crate::machine::process::{Server, ServerCommand, keep_off};
use crate::protocol::target::{self, Target};
use crate::protocol::transport::{Http, Transport};
use crate::requests::workload::{Mix, Workload};
use crate::result::model::{Measured, SCHEMA};

/// One of the two: a server that runs, or a command that starts one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The URL of one that runs.
    Url(String),
    /// A command that starts one, and ends with it.
    Command(ServerCommand),
}

impl Subject {
    /// A URL if it begins with `http://` or `https://`, else a command line.
    ///
    /// # Errors
    /// What is wrong with it, in a line.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with("http://") || text.starts_with("https://") {
            let url = target::parse(text).map_err(|error| error.to_string())?;
            if url.query().is_some() || text.contains('#') {
                return Err(format!(
                    "{text:?} has a query or a fragment: give the server alone, and --path"
                ));
            }
            Ok(Subject::Url(text.to_owned()))
        } else {
            ServerCommand::parse(text).map(Subject::Command)
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Url(url) => f.write_str(url),
            Subject::Command(command) => write!(f, "{command}"),
        }
    }
}

/// The paths that both are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requested {
    /// These paths beneath the URL of each, beginning with `/`; an empty one is the URL itself.
    Paths(Vec<String>),
    /// Every file of a directory that both show, whose content is then compared with the file's.
    Directory(PathBuf),
}

/// The setup of a comparison.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The one that B is compared with.
    pub a: Subject,
    /// The one that is judged.
    pub b: Subject,
    /// By which versions of HTTP A and B are asked, and who is trusted.
    pub transports: [Transport; 2],
    /// Servers that are started here speak TLS. Those that are asked by HTTP/3 do.
    pub https: bool,
    /// The paths that they are asked for.
    pub asked: Requested,
    /// How.
    pub mix: Mix,
    /// Connections of each trial.
    pub connections: usize,
    /// Threads that send.
    pub threads: usize,
    /// How long a server is asked in each trial before anything is measured.
    pub warm_up: Duration,
    /// How long each trial measures.
    pub duration: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// The core on which servers run that are started here; the client then runs on the others.
    pub server_core: Option<usize>,
    /// Trials of each side and path at most: see [`Plan::trials`].
    pub trials: usize,
    /// See [`Plan::margin`].
    pub margin: f64,
    /// See [`Plan::seed`].
    pub seed: u64,
    /// Compare them even if they send different bytes.
    pub allow_different: bool,
}

/// The result, as `salver bench compare --json` writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The [`SCHEMA`] that it was written in.
    pub schema: u32,
    /// Where and with what it was measured.
    pub environment: Environment,
    /// The URL of A, or its command.
    #[serde(default)]
    pub a: String,
    /// The same of B.
    #[serde(default)]
    pub b: String,
    /// How the verdicts came about.
    pub method: Method,
    /// The requests that the two answer differently. They were compared all the same, because somebody said so.
    pub differences: Vec<Difference>,
    /// Each path.
    pub paths: Vec<Compared>,
    /// It was ended early: verdicts are of the trials until then.
    #[serde(default)]
    pub interrupted: bool,
}

impl Comparison {
    /// Requests that failed in all trials.
    pub fn errors(&self) -> u64 {
        self.paths.iter().map(|path| path.errors).sum()
    }
}

/// How verdicts come about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Method {
    /// The order of trials, in words.
    pub order: String,
    /// The ratio and its interval, in words.
    pub interval: String,
    /// How often the blocks are drawn again.
    pub resamples: usize,
    /// The seed of the order and of the intervals.
    pub seed: u64,
    /// The share of verdicts that are right, over all looks together.
    pub confidence: f64,
    /// When it is looked whether a path is decided, and the level of the intervals there.
    pub looks: Vec<Look>,
    /// Differences up to this are none: 0.03 is 3 %.
    pub margin: f64,
    /// How long each trial measured, in seconds.
    pub trial_seconds: f64,
    /// The core of the servers that were started, if they were bound to one.
    pub server_core: Option<usize>,
}

/// Why there is no result.
#[derive(Debug)]
pub enum CompareError {
    /// It was misused, failed, or was interrupted.
    Bench(BenchError),
    /// The two send different answers.
    Different(Vec<Difference>),
}

impl From<BenchError> for CompareError {
    fn from(error: BenchError) -> Self {
        CompareError::Bench(error)
    }
}

impl fmt::Display for CompareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompareError::Bench(error) => write!(f, "{error}"),
            CompareError::Different(different) => {
                f.write_str("A and B do not send the same, so their speed cannot be compared")?;
                for one in different.iter().take(DIFFERENCES_SHOWN) {
                    write!(f, "; {one}")?;
                }
                if let more @ 1.. = different.len().saturating_sub(DIFFERENCES_SHOWN) {
                    write!(f, "; and {more} more")?;
                }
                f.write_str("; give --allow-different if that is meant")
            }
        }
    }
}

impl std::error::Error for CompareError {}

/// How many differences stand in a line.
const DIFFERENCES_SHOWN: usize = 5;

impl Setup {
    /// Compares them. `command` is the command line that asked for it. `watch` is told each trial
    /// before it is made; `stop` ends it within a second or so, and all servers that were started
    /// with it.
    ///
    /// # Errors
    /// Why there is no result. Requests that failed within a trial are in the result.
    pub fn run(
        &self,
        command: Vec<String>,
        stop: &AtomicBool,
        watch: &mut dyn FnMut(&Turn<'_>),
    ) -> Result<Comparison, CompareError> {
        // Before cores are taken from this program: it is the machine that is described.
        let mut environment = Environment::now(command);
        let others = OthersWatch::start(&[]);
        if let Some(core) = self.server_core {
            keep_off(core).map_err(|error| {
                BenchError::Misused(format!("core {core} cannot be the server's alone: {error}"))
            })?;
        }
        let [of_a, of_b] = &self.transports;
        let sides = [(Side::A, &self.a, of_a), (Side::B, &self.b, of_b)];
        let mut sides = sides.map(|(side, subject, transport)| SideServer {
            side,
            subject,
            transport,
            server: None,
            workload: None,
        });
        for server in &mut sides {
            server.renew(self, stop)?;
        }
        let [a, b] = &sides;
        let paths = a.paths();
        let different = differences(&paths, a.all()?, b.all()?, self.timeout)?;
        if !different.is_empty() && !self.allow_different {
            return Err(CompareError::Different(different));
        }
        let plan = Plan {
            paths,
            trials: self.trials,
            margin: self.margin,
            seed: self.seed,
            resamples: RESAMPLES,
        };
        let (compared, ended_by) = super::run_to_error(&plan, |turn| {
            let [a, b] = &mut sides;
            // Those that were started for the first look serve the first block.
            if turn.first && turn.block > 0 {
                a.renew(self, stop)?;
                b.renew(self, stop)?;
            }
            watch(turn);
            let server = match turn.side {
                Side::A => a,
                Side::B => b,
            };
            server.trial(self, turn.index, stop)
        });
        let has_trials = compared.iter().any(|path| !path.trials.is_empty());
        let interrupted = match ended_by {
            None => false,
            Some(BenchError::Interrupted) if has_trials => true,
            Some(error) => return Err(error.into()),
        };
        environment.others = others.others();
        Ok(Comparison {
            schema: SCHEMA,
            environment,
            a: self.a.to_string(),
            b: self.b.to_string(),
            method: Method {
                order: order::METHOD.to_owned(),
                interval: METHOD.to_owned(),
                resamples: plan.resamples,
                seed: self.seed,
                confidence: CONFIDENCE,
                looks: plan.looks(),
                margin: self.margin,
                trial_seconds: self.duration.as_secs_f64(),
                server_core: self.server_core,
            },
            differences: different,
            paths: compared,
            interrupted,
        })
    }

    /// Everything that is asked for, of the server at `base`.
    fn workload(&self, base: &str, transport: &Transport) -> Result<Workload, BenchError> {
        let mut workload = match &self.asked {
            Requested::Directory(directory) => Workload::of_directory(base, directory)?,
            Requested::Paths(paths) => {
                let bare = base.trim_end_matches('/');
                let urls = paths.iter().map(|path| match path.is_empty() {
                    true => base.to_owned(),
                    false => format!("{bare}{path}"),
                });
                Workload::of_urls(&urls.collect::<Vec<_>>())?
            }
        };
        workload.mix = self.mix.clone();
        workload.transport = transport.clone();
        Ok(workload)
    }
}

/// One side, and its server if that is started here.
struct SideServer<'a> {
    side: Side,
    subject: &'a Subject,
    transport: &'a Transport,
    server: Option<Server>,
    /// Everything that is asked for.
    workload: Option<Workload>,
}

impl SideServer<'_> {
    /// Starts the server anew, if it is one that is started: how a process happens to lie in memory
    /// can make it some percent faster or slower for as long as it lives, and that must not be taken
    /// for a difference of the programs.
    fn renew(&mut self, setup: &Setup, stop: &AtomicBool) -> Result<(), BenchError> {
        let base = match self.subject {
            Subject::Url(url) => url.clone(),
            Subject::Command(command) => {
                // The old one first: two would share the core.
                self.server = None;
                let started = command.start(setup.server_core, stop);
                let server = started.map_err(|error| match error {
                    BenchError::Failed(why) => BenchError::Failed(format!("{}: {why}", self.side)),
                    error => error,
                })?;
                let scheme = match setup.https || self.transport.http == Http::Three {
                    true => "https",
                    false => "http",
                };
                format!("{scheme}://{}/", self.server.insert(server).addr())
            }
        };
        match &mut self.workload {
            // The files are the same; only the port is another.
            Some(workload) => workload.target = Target::of(&[target::parse(&base)?])?,
            None => self.workload = Some(setup.workload(&base, self.transport)?),
        }
        Ok(())
    }

    fn all(&self) -> Result<&Workload, BenchError> {
        // It is renewed before it is asked.
        let nothing = || BenchError::Failed("there is nothing to ask".to_owned());
        self.workload.as_ref().ok_or_else(nothing)
    }

    /// The paths, as a person would name them.
    fn paths(&self) -> Vec<String> {
        let pages = self.workload.iter().flat_map(|workload| &workload.pages);
        pages.map(|page| page.form.clone()).collect()
    }

    fn trial(
        &self,
        setup: &Setup,
        index: usize,
        stop: &AtomicBool,
    ) -> Result<Measured, BenchError> {
        let load = Load {
            connections: setup.connections,
            threads: setup.threads,
            warm_up: setup.warm_up,
            duration: setup.duration,
            timeout: setup.timeout,
            server_pids: self.server.iter().map(Server::pid).collect(),
            ..Load::new(alone(self.all()?, index))
        };
        let measured = load::run(&load, &mut |_| unless_stopped(stop));
        match stop.load(Ordering::Relaxed) {
            true => Err(BenchError::Interrupted),
            false => measured,
        }
    }
}

/// One page of a workload.
fn alone(workload: &Workload, index: usize) -> Workload {
    Workload {
        target: workload.target.clone(),
        pages: workload.pages.get(index).cloned().into_iter().collect(),
        sequence: None,
        passed_over: 0,
        order: workload.order,
        mix: workload.mix.clone(),
        transport: workload.transport.clone(),
    }
}
