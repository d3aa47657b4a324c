//! How much one shared load saves: 25,000 requests at once for one cold file of 1 MiB in a real
//! directory, with coalescing and without.
//!
//! `cargo run --release -p salver-assets --example coalesce`
#![allow(clippy::print_stdout, missing_docs)]

use std::collections::VecDeque;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime};

use salver_assets::{
    Config, DirectorySource, Engine, HttpDate, Load, Mount, Now, Patience, Pending, Request, Step,
    Symlinks,
};

const REQUESTS: usize = 25_000;
const THREADS: usize = 32;
const LENGTH: usize = 1024 * 1024;

/// Answers all requests; gives the time from the first request to the last answer, and the loads.
fn run(root: &std::path::Path, coalesce: bool) -> Result<(Duration, u64), Box<dyn Error>> {
    let source = DirectorySource::open(root, Symlinks::Beneath, Duration::from_secs(1))?;
    let engine = Engine::new(Config {
        mounts: vec![Mount::tree("/", Arc::new(source))],
        coalesce,
        ..Config::default()
    })?;
    let request = Request::get(b"/cold");
    let now = Now {
        instant: Instant::now(),
        date: HttpDate::from_unix_seconds(4_000_000_000),
    };
    let began = Instant::now();
    let mut loads: VecDeque<(Load, Pending)> = VecDeque::new();
    let mut waiting = Vec::new();
    for _ in 0..REQUESTS {
        match engine.begin(&request, now) {
            Step::Load(load, pending) => loads.push_back((load, pending)),
            Step::Wait(pending) => waiting.push(pending),
            Step::Respond(_) => return Err("nothing has been loaded yet".into()),
        }
    }
    // What a driver does with the answer costs the same either way and is left out.
    let answer = |mut pending: Pending| {
        let arrived = Pin::new(&mut pending).poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(arrived) = arrived else {
            return false;
        };
        match engine.resume(&request, arrived, now) {
            Step::Respond(plan) => plan.status == 200,
            Step::Load(..) | Step::Wait(_) => false,
        }
    };
    let threads = THREADS.min(loads.len());
    let loads = Mutex::new(loads);
    let answered = std::thread::scope(|scope| {
        let work = || {
            let mut answered = 0;
            loop {
                let next = loads
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .pop_front();
                let Some((load, pending)) = next else {
                    return answered;
                };
                if let Ok(outcome) = load.perform(Patience::MayWait, now.instant) {
                    engine.finish(load, outcome);
                }
                answered += usize::from(answer(pending));
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let counts = workers.into_iter().map(|worker| worker.join().unwrap_or(0));
        counts.sum::<usize>()
    });
    let answered = answered
        + waiting
            .into_iter()
            .filter_map(|p| answer(p).then_some(()))
            .count();
    let took = began.elapsed();
    if answered != REQUESTS {
        return Err(format!("{answered} of {REQUESTS} were answered").into());
    }
    Ok((took, engine.statistics().loads))
}

fn main() -> Result<(), Box<dyn Error>> {
    let temp = tempfile::tempdir()?;
    let path = temp.path().join("cold");
    std::fs::write(&path, vec![b'x'; LENGTH])?;
    // Old enough not to be waited for.
    let file = std::fs::File::options().append(true).open(&path)?;
    file.set_modified(SystemTime::now() - Duration::from_secs(3600))?;
    println!("{REQUESTS} requests at once for one file of {LENGTH} bytes, {THREADS} threads");
    // Each way once before it counts, so that both find the file in the page cache.
    run(temp.path(), true)?;
    let mut ratios = Vec::new();
    for round in 1..=3 {
        let (shared, shared_loads) = run(temp.path(), true)?;
        let (alone, alone_loads) = run(temp.path(), false)?;
        let ratio = alone.as_secs_f64() / shared.as_secs_f64();
        println!(
            "round {round}: coalesced {shared_loads} load {:.1} ms, each for itself \
             {alone_loads} loads {:.1} ms, ratio {ratio:.0}",
            shared.as_secs_f64() * 1000.0,
            alone.as_secs_f64() * 1000.0,
        );
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    if let Some(median) = ratios.get(1) {
        println!("median ratio {median:.0}");
    }
    Ok(())
}
