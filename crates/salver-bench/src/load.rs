//! A load on a server: as many connections as asked for, a schedule, and every answer looked at.

mod accounts;
mod check;
mod connection;
mod doubts;
mod probe;
mod schedule;
mod streams;
mod tally;
mod thread;
mod worker;

use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::error::BenchError;
use crate::machine::disturbance::Disturbance;
use crate::machine::open_files::allow_files;
use crate::machine::server_cost::ServerWatch;
use crate::machine::serving::{self, Place};
use crate::protocol::transport::Dialer;
use crate::requests::order::Picker;
use crate::requests::workload::{Prepares, Workload};
use crate::result::model::{ClientCost, Http, Measured, Progress, Schedule, ServerCost, Verified};
use accounts::{Accounts, Shared, SoFar, Timeline};
use doubts::invalid;
use schedule::Moments;
use tally::Tally;

/// Descriptors besides those of connections.
const SPARE_FILES: usize = 64;

/// How often those who watch are told.
const INTERVAL: Duration = Duration::from_secs(1);

/// How often the end, and the wish to end, are looked for meanwhile.
const STEP: Duration = Duration::from_millis(50);

/// The settings of a load.
#[derive(Clone, Debug)]
pub struct Load {
    /// The requests.
    pub workload: Workload,
    /// When they are sent.
    pub schedule: Schedule,
    /// Connections over all threads, at least 1. Each has as many requests under way as
    /// [`Transport`](crate::protocol::transport::Transport) says.
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
    /// Other programs are watched, and said to disturb if they do. Trials
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
}

/// Goes on unless somebody has asked to stop.
pub fn unless_stopped(stopped: &AtomicBool) -> ControlFlow<()> {
    match stopped.load(Ordering::Relaxed) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
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
    let need = load.connections + SPARE_FILES;
    let possible = allow_files(need);
    if possible < need {
        return Err(BenchError::Failed(format!(
            "{} connections need {need} open files, and this process may have {possible}: raise it \
             (ulimit -n {need}) or ask for fewer",
            load.connections
        )));
    }
    let prepares = prepare(load, &dialer, watch)?;
    let shared = Shared {
        dialer,
        prepares: &prepares,
        timeout: load.timeout,
        stop: AtomicBool::new(false),
        so_far: SoFar::default(),
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
                let slots = numbers.len() * load.workload.transport.streams;
                let moments = Moments {
                    schedule: load.schedule,
                    thread,
                    threads: load.threads,
                    slots,
                };
                let run = thread::connect(Accounts::new(shared, picker, moments), numbers)?;
                // Nobody is left to tell if that fails.
                let _ = connected.send(());
                drop(connected);
                match timeline.recv() {
                    Ok(timeline) => run(timeline),
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
        let mut tally = Tally::default();
        for (go, thread) in threads {
            drop(go);
            let failed = |error: std::io::Error| {
                let origin = load.workload.target.origin();
                BenchError::Failed(format!("{origin} cannot be asked: {error}"))
            };
            let panicked = |_| BenchError::Failed("a thread panicked: a defect".to_owned());
            tally.add(thread.join().map_err(panicked)?.map_err(failed)?);
        }
        let overseen = overseen?;
        let interrupted = shared.stop.load(Ordering::Relaxed);
        if interrupted && tally.span.is_zero() {
            return Err(BenchError::Interrupted);
        }
        if let Some(wrong) = all_wrong(load, &shared, false) {
            return Err(wrong);
        }
        let mut measured = result(load, tally, overseen);
        measured.invalid.extend_from_slice(&prepares.differs);
        measured.interrupted = interrupted;
        Ok(measured)
    })
}

/// The requests, each with what is expected of its answer. Where answers are looked at for that, a
/// server that hangs can be left meanwhile.
fn prepare(
    load: &Load,
    dialer: &Dialer,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Prepares, BenchError> {
    let (workload, dialer, timeout) = (load.workload.clone(), dialer.clone(), load.timeout);
    let (done, prepared) = channel();
    let work = move || done.send(probe::prepare(&workload, &dialer, timeout));
    let thread = std::thread::Builder::new().name("salver-load-probe".to_owned());
    let spawned = thread.spawn(work);
    spawned.map_err(|error| BenchError::Failed(format!("a thread cannot start: {error}")))?;
    loop {
        match prepared.recv_timeout(INTERVAL) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(BenchError::Failed("a thread panicked: a defect".to_owned()));
            }
            Err(RecvTimeoutError::Timeout) => {
                let progress = Progress {
                    warming_up: true,
                    of_seconds: load.warm_up.as_secs_f64(),
                    ..Progress::default()
                };
                if watch(&progress).is_break() {
                    return Err(BenchError::Interrupted);
                }
            }
        }
    }
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
    let (mut answers, mut micros) = (0, 0);
    let mut errors_before = None;
    let failed = |error: BenchError| {
        shared.stop.store(true, Ordering::Relaxed);
        error
    };
    while !is_over() {
        let now = Instant::now();
        let so_far = &shared.so_far;
        if now >= timeline.from && errors_before.is_none() {
            errors_before = Some(so_far.errors.load(Ordering::Relaxed));
        }
        if now >= timeline.from && server.is_none() && !load.server_pids.is_empty() {
            let watch = ServerWatch::start(&load.server_pids);
            let watch = watch.map_err(|error| failed(BenchError::Failed(error)))?;
            server = Some((watch, now));
        }
        if now >= timeline.from && !is_judged {
            is_judged = true;
            disturbance = Disturbance::watch(&load.server_pids, || load.place());
        }
        if now - timeline.start >= INTERVAL
            && let Some(wrong) = all_wrong(load, shared, true)
        {
            return Err(failed(wrong));
        }
        if now - told >= INTERVAL {
            if let Some(disturbance) = &mut disturbance {
                disturbance.look();
            }
            let all = so_far.answers.load(Ordering::Relaxed);
            let all_micros = so_far.micros.load(Ordering::Relaxed);
            let errors = so_far.errors.load(Ordering::Relaxed);
            let warming_up = now < timeline.from;
            let (since, of) = match warming_up {
                true => (timeline.start, load.warm_up),
                false => (timeline.from, load.duration),
            };
            let new = (all - answers) as f64;
            let progress = Progress {
                warming_up,
                elapsed_seconds: (now - since).as_secs_f64(),
                of_seconds: of.as_secs_f64(),
                requests_per_second: new / (now - told).as_secs_f64(),
                mean_us: (all_micros - micros) as f64 / new.max(1.0),
                errors: errors.saturating_sub(errors_before.unwrap_or_default()),
            };
            (answers, micros, told) = (all, all_micros, now);
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

/// That no answer is HTTP, or none of the right status where that is looked at: then there is nothing to
/// measure, and something to correct.
fn all_wrong(load: &Load, shared: &Shared<'_>, by_status: bool) -> Option<BenchError> {
    let so_far = &shared.so_far;
    let errors = so_far.errors.load(Ordering::Relaxed);
    if errors == 0 || so_far.answers.load(Ordering::Relaxed) > 0 {
        return None;
    }
    let Workload {
        target,
        pages,
        transport,
        ..
    } = &load.workload;
    let origin = target.origin();
    let is_all = |count: &AtomicU64| count.load(Ordering::Relaxed) >= errors;
    let what = if by_status && is_all(&so_far.wrong_statuses) {
        let found = so_far.wrong_status.load(Ordering::Relaxed);
        let first = pages.first().map_or("/", |page| &page.form);
        format!(
            "no answer was {}, all {errors} were {found}, as that to {origin}{first}: correct the \
             URL, or the status that is wanted",
            load.workload.mix.status
        )
    } else if is_all(&so_far.malformed) {
        format!(
            "{origin} does not speak {}, none of {errors} answers was that: give the version of \
             HTTP that it speaks, and https if it speaks TLS",
            transport.http
        )
    } else {
        return None;
    };
    Some(BenchError::Failed(format!("nothing is measured: {what}")))
}

/// The observations beside a run.
#[derive(Default)]
struct Overseen {
    spent: Option<Spent>,
    /// Why the figures are those of others too.
    disturbed: Option<String>,
}

/// The cost of the server's processes in the measured phase.
struct Spent {
    cpu: Duration,
    resident: u64,
    elapsed: Duration,
}

fn result(load: &Load, tally: Tally, overseen: Overseen) -> Measured {
    let seconds = tally.span.as_secs_f64();
    let by_time = |figure: f64| if seconds > 0.0 { figure / seconds } else { 0.0 };
    let answered: u64 = tally.statuses().values().sum();
    let per_answer = |cpu: Duration| match answered {
        0 => 0.0,
        answered => cpu.as_secs_f64() * 1e6 / answered as f64,
    };
    let client = ClientCost {
        threads: load.threads,
        cpu_us_per_request: per_answer(tally.cpu()),
        busiest_thread: by_time(tally.used.cpu.as_secs_f64()),
        waiting_thread: { tally.used.waited }.map(|waited| by_time(waited.as_secs_f64())),
        late_sends: tally.late_sends,
    };
    let server = overseen.spent.map(|spent| ServerCost {
        cpu_us_per_request: per_answer(spent.cpu),
        cores: spent.cpu.as_secs_f64() / spent.elapsed.as_secs_f64().max(STEP.as_secs_f64()),
        resident_bytes: spent.resident,
    });
    let pages = &load.workload.pages;
    let origin = load.workload.target.origin();
    let target = match &**pages {
        [page] => match load.workload.method(page) {
            "GET" => format!("{origin}{}", page.form),
            method => format!("{method} {origin}{}", page.form),
        },
        pages => format!("{} URLs of {origin}", pages.len()),
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
        requests_per_second: by_time(tally.requests as f64),
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
        invalid: invalid(load, &tally, &client, server.as_ref(), overseen.disturbed),
        interrupted: false,
    }
}
