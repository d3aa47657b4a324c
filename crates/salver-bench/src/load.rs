//! A load on a server: as many connections as asked for, a schedule, and every answer looked at.

use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::disturbance::Disturbance;
use crate::doubts::invalid;
use crate::error::BenchError;
use crate::latency;
use crate::ledger::{Ledger, Shared, Timeline};
use crate::model::{ClientCost, Measured, Progress, Schedule, ServerCost, Verified};
use crate::order::{Order, Picker};
use crate::schedule::Moments;
use crate::server_cost::ServerWatch;
use crate::serving::{self, Place};
use crate::survey;
use crate::tally::{Tally, exact};
use crate::thread::Thread;
use crate::transport::Http;
use crate::workload::Workload;

/// More connections than this have no use on one machine.
const MOST_CONNECTIONS: usize = 200_000;

/// Nor have more requests at once.
const MOST_REQUESTS: usize = 1_000_000;

/// Descriptors besides those of connections.
const SPARE_FILES: u64 = 64;

/// How often those who watch are told.
const INTERVAL: Duration = Duration::from_secs(1);

/// How often the end, and the wish to end, are looked for meanwhile.
const STEP: Duration = Duration::from_millis(50);

/// What to ask of a server, and how.
#[derive(Clone, Debug)]
pub struct Load {
    /// The requests.
    pub workload: Workload,
    /// When they are sent.
    pub schedule: Schedule,
    /// Connections over all threads, at least 1. Each has as many requests under way as
    /// [`Transport`](crate::transport::Transport) says.
    pub connections: usize,
    /// Threads that send, at least 1.
    pub threads: usize,
    /// How long the server is asked before anything is measured.
    pub warm_up: Duration,
    /// How long is measured.
    pub duration: Duration,
    /// How long an answer may take. What was asked within the duration is waited for so long.
    pub timeout: Duration,
    /// The server's processes, if their CPU is to be measured: that of their descendants is counted
    /// too.
    pub server_pids: Vec<u32>,
    /// Whether it is watched what others take of this machine, and said if that was too much. Trials
    /// that are compared with each other do without: there the interval says how far they are right.
    pub judges_others: bool,
}

impl Load {
    /// With 64 connections of one thread, asking again when answered; 1 s of warm-up, 10 s
    /// measured, 10 s for an answer.
    pub fn new(workload: Workload) -> Self {
        Load {
            workload,
            schedule: Schedule::Closed,
            connections: 64,
            threads: 1,
            warm_up: Duration::from_secs(1),
            duration: Duration::from_secs(10),
            timeout: Duration::from_secs(10),
            server_pids: Vec::new(),
            judges_others: false,
        }
    }

    /// The server's processes: those that were named, or else those that listen at its port, if it is
    /// on this machine and they can be seen.
    pub fn server_processes(&self) -> Vec<u32> {
        match (&*self.server_pids, self.place()) {
            ([], Place::Here(pids)) => pids,
            (named, _) => named.to_vec(),
        }
    }

    fn place(&self) -> Place {
        let Workload {
            target, transport, ..
        } = &self.workload;
        serving::place(target.address, transport.http == Http::Three)
    }

    fn check(&self) -> Result<(), BenchError> {
        let misused = |what: String| Err(BenchError::Misused(what));
        if self.connections == 0 || self.connections > MOST_CONNECTIONS {
            return misused(format!(
                "{} connections cannot be opened: give 1 to {MOST_CONNECTIONS}",
                self.connections
            ));
        }
        if self.threads == 0 || self.threads > self.connections {
            return misused(format!(
                "{} threads cannot share {} connections: give 1 thread to one for each connection",
                self.threads, self.connections
            ));
        }
        let streams = self.workload.transport.streams;
        if self.connections.saturating_mul(streams) > MOST_REQUESTS {
            return misused(format!(
                "{} connections of {streams} requests are more than the {MOST_REQUESTS} that can \
                 be under way",
                self.connections
            ));
        }
        if self.timeout.is_zero() || self.timeout > latency::LONGEST {
            return misused(format!(
                "a time-out of {:?} is not between 0 and {:?}",
                self.timeout,
                latency::LONGEST
            ));
        }
        if self.duration.is_zero() {
            return misused("a run of no time measures nothing".to_owned());
        }
        if let Schedule::Rate { per_second } = self.schedule
            && !(per_second > 0.0 && per_second <= 1e8)
        {
            return misused(format!("a rate of {per_second} per second cannot be kept"));
        }
        if let Schedule::Burst { every_ms: 0 } = self.schedule {
            return misused("bursts need some time from one to the next".to_owned());
        }
        if let Order::Zipf { exponent } = self.workload.order
            && !(exponent >= 0.0 && exponent.is_finite())
        {
            return misused(format!("a Zipf exponent of {exponent} is not 0 or more"));
        }
        let mix = &self.workload.mix;
        if !(mix.ranges >= 0.0 && mix.conditional >= 0.0 && mix.ranges + mix.conditional <= 1.0) {
            return misused(format!(
                "shares of {} ranges and {} conditional requests are not parts of 1",
                mix.ranges, mix.conditional
            ));
        }
        let wrong = |field: &&String| {
            !field.contains(':') || field.bytes().any(|byte| byte == b'\r' || byte == b'\n')
        };
        if let Some(field) = mix.fields.iter().find(wrong) {
            return misused(format!("{field:?} is no field: write it as 'Name: value'"));
        }
        Ok(())
    }
}

/// Carries out a load. `watch` is told about once a second how it goes, and may end it.
///
/// # Errors
/// Misused: the load cannot be meant. Failed: the server cannot be asked at all, a file to compare
/// with cannot be read, the system gives too few descriptors. Requests that fail later are in the
/// result.
pub fn run(
    load: &Load,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Measured, BenchError> {
    load.check()?;
    let dialer = load.workload.dialer()?;
    allow_files(load.connections)?;
    let prepares = survey::prepare(&load.workload, &dialer, load.timeout)?;
    let shared = Shared {
        dialer,
        prepares: &prepares,
        timeout: load.timeout,
        stop: AtomicBool::new(false),
        answers: AtomicU64::new(0),
        errors: AtomicU64::new(0),
        wrong_statuses: AtomicU64::new(0),
        wrong_status: AtomicU16::new(0),
    };
    let pickers = Picker::for_threads(load.workload.order, load.workload.len(), load.threads);
    std::thread::scope(|scope| {
        let (connected, are_connected) = channel();
        let mut threads = Vec::new();
        for (thread, picker) in pickers.into_iter().enumerate() {
            let (go, timeline) = channel();
            let (shared, connected) = (&shared, connected.clone());
            let work = move || {
                // More exact waits than the usual 50 us, for this thread alone.
                let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
                let numbers = load.connections * thread / load.threads
                    ..load.connections * (thread + 1) / load.threads;
                let lanes = numbers.len() * load.workload.transport.streams;
                let moments = Moments::new(load.schedule, thread, load.threads, lanes);
                let ledger = Ledger::new(shared, picker, moments);
                let opened = Thread::connect(ledger, numbers)?;
                // Nobody is left to tell if that fails.
                let _ = connected.send(());
                drop(connected);
                match timeline.recv() {
                    Ok(timeline) => opened.run(timeline),
                    // Another thread could not connect.
                    Err(_) => Ok(Tally::default()),
                }
            };
            let name = format!("salver-load-{thread}");
            let spawned = std::thread::Builder::new().name(name);
            let spawned = spawned
                .spawn_scoped(scope, work)
                .map_err(|error| BenchError::Failed(format!("a thread cannot start: {error}")))?;
            threads.push((go, spawned));
        }
        drop(connected);
        let mut overseen = Ok(Overseen::default());
        if are_connected.iter().count() == load.threads {
            let start = Instant::now();
            let from = start + load.warm_up;
            let until = from + load.duration;
            let timeline = Timeline { start, from, until };
            for (go, _) in &threads {
                // A thread that has ended says why when it is joined.
                let _ = go.send(timeline);
            }
            let is_over = || threads.iter().all(|(_, thread)| thread.is_finished());
            overseen = oversee(load, &shared, timeline, watch, &is_over);
        }
        let mut busiest = Duration::ZERO;
        let mut tally = Tally::default();
        for (go, thread) in threads {
            drop(go);
            let failed = |error: std::io::Error| {
                let origin = load.workload.target.origin();
                BenchError::Failed(format!("{origin} cannot be asked: {error}"))
            };
            let panicked = |_| BenchError::Failed("a thread panicked: a defect".to_owned());
            let one = thread.join().map_err(panicked)?.map_err(failed)?;
            busiest = busiest.max(one.cpu);
            tally.add(one);
        }
        Ok(result(load, tally, busiest, overseen?))
    })
}

/// Tells those who watch how it goes until `is_over`; what the server's processes spent on what is
/// measured, and what others took meanwhile.
fn oversee(
    load: &Load,
    shared: &Shared<'_>,
    timeline: Timeline,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    is_over: &dyn Fn() -> bool,
) -> Result<Overseen, BenchError> {
    let mut server = None;
    let mut disturbance = None;
    let mut is_judged = !load.judges_others;
    let mut told = timeline.start;
    let (mut answers, mut errors_before) = (0, 0);
    let mut failure = None;
    while !is_over() {
        let now = Instant::now();
        if now >= timeline.from && server.is_none() && !load.server_pids.is_empty() {
            errors_before = shared.errors.load(Ordering::Relaxed);
            match ServerWatch::start(&load.server_pids) {
                Ok(watch) => server = Some((watch, now)),
                Err(error) => {
                    failure = Some(BenchError::Failed(error));
                    shared.stop.store(true, Ordering::Relaxed);
                    break;
                }
            }
        }
        if now >= timeline.from && !is_judged {
            is_judged = true;
            disturbance = Disturbance::watch(&load.server_pids, || load.place());
        }
        if now - timeline.start >= INTERVAL
            && let Some(wrong) = all_wrong(load, shared)
        {
            failure = Some(wrong);
            shared.stop.store(true, Ordering::Relaxed);
            break;
        }
        if now - told >= INTERVAL {
            if let Some(disturbance) = &mut disturbance {
                disturbance.look();
            }
            let so_far = shared.answers.load(Ordering::Relaxed);
            let errors = shared.errors.load(Ordering::Relaxed);
            let warming_up = now < timeline.from;
            let (since, of) = match warming_up {
                true => (timeline.start, load.warm_up),
                false => (timeline.from, load.duration),
            };
            let progress = Progress {
                warming_up,
                elapsed_seconds: (now - since).as_secs_f64(),
                of_seconds: of.as_secs_f64(),
                requests_per_second: exact(so_far - answers) / (now - told).as_secs_f64(),
                errors: errors.saturating_sub(errors_before),
            };
            (answers, told) = (so_far, now);
            if watch(&progress).is_break() {
                shared.stop.store(true, Ordering::Relaxed);
            }
        }
        let next = (told + INTERVAL).min(now + STEP);
        let next = match now < timeline.from {
            true => next.min(timeline.from),
            false => next,
        };
        std::thread::sleep(next.saturating_duration_since(now));
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    let mut overseen = Overseen::default();
    if let Some((watch, since)) = server {
        overseen.spent = Some(Spent {
            cpu: watch.cpu().map_err(BenchError::Failed)?,
            resident: watch.resident_bytes().map_err(BenchError::Failed)?,
            elapsed: since.elapsed(),
        });
    }
    overseen.disturbed = disturbance.and_then(|mut disturbance| {
        disturbance.look();
        disturbance.reason()
    });
    Ok(overseen)
}

/// That no answer was right, because each had another status than was wanted: then there is nothing
/// to measure, and something to correct.
fn all_wrong(load: &Load, shared: &Shared<'_>) -> Option<BenchError> {
    let wrong = shared.wrong_statuses.load(Ordering::Relaxed);
    let errors = shared.errors.load(Ordering::Relaxed);
    if wrong == 0 || errors > wrong || shared.answers.load(Ordering::Relaxed) > 0 {
        return None;
    }
    let found = shared.wrong_status.load(Ordering::Relaxed);
    let pages = &load.workload.pages;
    let first = pages.first().map_or("/", |page| &page.form);
    Some(BenchError::Failed(format!(
        "nothing is measured: no answer was {}, all {wrong} were {found}, as that to {}{first}: \
         correct the URL, or the status that is wanted",
        load.workload.mix.status,
        load.workload.target.origin()
    )))
}

/// What was seen beside a run.
#[derive(Default)]
struct Overseen {
    spent: Option<Spent>,
    /// Why the figures are those of others too.
    disturbed: Option<String>,
}

/// What the server's processes spent on what is measured.
struct Spent {
    cpu: Duration,
    resident: u64,
    elapsed: Duration,
}

fn result(load: &Load, tally: Tally, busiest: Duration, overseen: Overseen) -> Measured {
    let seconds = tally.span.as_secs_f64().max(f64::MIN_POSITIVE);
    let answered: u64 = tally.statuses().values().sum();
    let per_request = |cpu: Duration| cpu.as_secs_f64() * 1e6 / exact(answered.max(1));
    let client = ClientCost {
        threads: load.threads,
        cpu_us_per_request: per_request(tally.cpu),
        busiest_thread: busiest.as_secs_f64() / seconds,
        late_sends: tally.late_sends,
    };
    let server = overseen.spent.map(|spent| ServerCost {
        cpu_us_per_request: per_request(spent.cpu),
        cores: spent.cpu.as_secs_f64() / spent.elapsed.as_secs_f64().max(f64::MIN_POSITIVE),
        resident_bytes: spent.resident,
    });
    let pages = &load.workload.pages;
    let target = match &**pages {
        [page] => format!("{}{}", load.workload.target.origin(), page.form),
        pages => format!("{} URLs of {}", pages.len(), load.workload.target.origin()),
    };
    let is_open = load.schedule != Schedule::Closed;
    let all_known = pages.iter().all(|page| page.file.is_some());
    Measured {
        target,
        schedule: load.schedule,
        http: load.workload.transport.http,
        tls: tally.tls.clone(),
        connections: load.connections,
        streams: load.workload.transport.streams,
        reconnects: tally.reconnects,
        asked_again: tally.asked_again,
        seconds,
        requests: tally.requests,
        requests_per_second: exact(tally.requests) / seconds,
        errors: tally.errors,
        statuses: tally.statuses(),
        codings: tally.codings(),
        head_bytes: tally.head_bytes,
        content_bytes: tally.content_bytes,
        raw: tally.raw.summary(),
        corrected: is_open.then(|| tally.corrected.summary()),
        client,
        server,
        verified: match all_known {
            true => Verified::Content,
            false => Verified::Framing,
        },
        invalid: invalid(
            load.duration,
            &tally,
            &client,
            server.as_ref(),
            overseen.disturbed,
            seconds,
        ),
    }
}

/// Lets the process open as many sockets as it needs.
fn allow_files(connections: usize) -> Result<(), BenchError> {
    let need = u64::try_from(connections)
        .unwrap_or(u64::MAX)
        .saturating_add(SPARE_FILES);
    let limits = getrlimit(Resource::Nofile);
    if limits.current.is_none_or(|current| current >= need) {
        return Ok(());
    }
    // The hard limit can be raised by who may do that; otherwise up to it.
    let raised = [limits.maximum.map(|most| most.max(need)), limits.maximum];
    for maximum in raised {
        let current = Some(need);
        let is_enough = maximum.is_none_or(|most| most >= need);
        if is_enough && setrlimit(Resource::Nofile, Rlimit { current, maximum }).is_ok() {
            return Ok(());
        }
    }
    Err(BenchError::Failed(format!(
        "{connections} connections need {need} open files, and this process may have {}: raise \
         it (ulimit -n {need}) or ask for fewer",
        limits.maximum.unwrap_or_default()
    )))
}
