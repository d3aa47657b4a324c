//! Who stays in memory when a crawler passes: Zipf traffic over 20,000 files, and in the middle a
//! scan that asks once for each of 100,000 others. The engine (S3-FIFO) and a plain LRU of the same
//! budget and the same weights answer the same requests; the rates are of the Zipf requests alone.
//!
//! `cargo run --release -p salver-assets --example admission`
#![allow(
    clippy::print_stdout,
    missing_docs,
    unreachable_pub,
    reason = "a test uses it as a module"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{LogNormal, Zipf};
use salver_assets::{
    Config, Engine, HttpDate, MemorySource, Mount, Now, Patience, Request, Statistics, Step,
};

/// What is asked for, and what may be kept.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Of the Zipf distribution: file number `n` is asked for in proportion to `n^-exponent`.
    pub exponent: f64,
    /// Files that the Zipf requests are for.
    pub files: usize,
    /// Files that the scan asks for, each once.
    pub scanned: usize,
    /// The longest file, in bytes; the lengths are log-normal with a median of 8 KiB.
    pub longest: usize,
    /// The budget, as a share of the bytes of `files`.
    pub budget: f64,
    /// Zipf requests before anything is counted, then before the scan, then after it.
    pub warm: usize,
    pub before: usize,
    pub after: usize,
    /// Whether a Zipf request follows each of the scan; else the scan comes in one piece.
    pub mixed: bool,
    /// After the scan the rate is taken over so many Zipf requests again and again, to see when it
    /// has recovered.
    pub window: usize,
    pub seed: u64,
}

/// Of how many of the first files is said how they fare: a hundredth.
const HOT: usize = 100;

/// Recovered is what is within so much of the rate before: twice the deviation of 5000 requests by
/// chance.
const RECOVERED: f64 = 0.013;

/// How often what was asked for was in memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rate {
    requests: u64,
    hits: u64,
    bytes: u64,
    hit_bytes: u64,
    hot: u64,
    hot_hits: u64,
}

#[allow(
    clippy::cast_precision_loss,
    reason = "the counts are far below 2^53, and only their ratio is shown"
)]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

impl Rate {
    fn add(&mut self, hit: bool, length: u64, hot: bool) {
        self.requests += 1;
        self.bytes += length;
        self.hot += u64::from(hot);
        if hit {
            self.hits += 1;
            self.hit_bytes += length;
            self.hot_hits += u64::from(hot);
        }
    }

    /// Of the requests, the share that hit.
    pub fn by_requests(&self) -> f64 {
        ratio(self.hits, self.requests)
    }

    /// Of the bytes that were asked for, the share that was in memory.
    pub fn by_bytes(&self) -> f64 {
        ratio(self.hit_bytes, self.bytes)
    }

    /// Of the requests for the hottest hundredth of the files, the share that hit.
    pub fn of_the_hot(&self) -> f64 {
        ratio(self.hot_hits, self.hot)
    }
}

/// How a cache fared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fared {
    pub before: Rate,
    /// Without any request if the scan comes in one piece.
    pub during: Rate,
    /// The first requests after the scan.
    pub right_after: Rate,
    /// All requests after the scan.
    pub after: Rate,
    /// Zipf requests after the scan until the rate was what it had been; `None` if that did not
    /// happen.
    pub recovered: Option<usize>,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Warm,
    Before,
    During,
    After,
}

/// The trace of one setup and the files that it is about.
pub struct Trace {
    setup: Setup,
    /// Length of each file in bytes: those of the Zipf requests, then those of the scan.
    lengths: Vec<usize>,
    /// Which file, and `true` if the scan asks for it.
    requests: Vec<(Phase, usize, bool)>,
}

impl Trace {
    /// # Errors
    /// A setup that no distribution has.
    pub fn new(setup: Setup) -> Result<Self, Box<dyn Error>> {
        let mut random = StdRng::seed_from_u64(setup.seed);
        let lengths = LogNormal::new((8.0 * 1024.0_f64).ln(), 1.5)?;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a length that is not negative; what is too long is bounded"
        )]
        let lengths = (0..setup.files + setup.scanned)
            .map(|_| (random.sample(lengths) as usize).clamp(64, setup.longest))
            .collect();
        #[allow(clippy::cast_precision_loss, reason = "a number of files")]
        let zipf = Zipf::new(setup.files as f64, setup.exponent)?;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rank: from 1 to the number of files"
        )]
        let mut rank = || random.sample(zipf) as usize - 1;
        let mut requests = Vec::new();
        requests.extend((0..setup.warm).map(|_| (Phase::Warm, rank(), false)));
        requests.extend((0..setup.before).map(|_| (Phase::Before, rank(), false)));
        for scanned in setup.files..setup.files + setup.scanned {
            requests.push((Phase::During, scanned, true));
            if setup.mixed {
                requests.push((Phase::During, rank(), false));
            }
        }
        requests.extend((0..setup.after).map(|_| (Phase::After, rank(), false)));
        Ok(Trace {
            setup,
            lengths,
            requests,
        })
    }

    /// The budget in bytes.
    pub fn budget(&self) -> usize {
        let bytes: usize = self.lengths.iter().take(self.setup.files).sum();
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a share of a number of bytes, to within a byte"
        )]
        let budget = (bytes as f64 * self.setup.budget) as usize;
        budget
    }

    /// Asks for everything in turn; `ask` says whether it was a hit.
    fn play(
        &self,
        mut ask: impl FnMut(usize) -> Result<bool, Box<dyn Error>>,
    ) -> Result<Fared, Box<dyn Error>> {
        let mut fared = Fared::default();
        let mut window = Rate::default();
        let mut after = 0;
        for &(phase, file, scan) in &self.requests {
            let hit = ask(file)?;
            if scan {
                continue;
            }
            let length = self.lengths.get(file).copied().unwrap_or(0);
            let hot = file < self.setup.files / HOT;
            let count = |rate: &mut Rate| rate.add(hit, length as u64, hot);
            match phase {
                Phase::Warm => {}
                Phase::Before => count(&mut fared.before),
                Phase::During => count(&mut fared.during),
                Phase::After => {
                    count(&mut fared.after);
                    count(&mut window);
                    after += 1;
                    if after % self.setup.window == 0 {
                        let window = std::mem::take(&mut window);
                        if after == self.setup.window {
                            fared.right_after = window;
                        }
                        let enough = fared.before.by_requests() - RECOVERED;
                        if fared.recovered.is_none() && window.by_requests() >= enough {
                            // It was so for the whole window.
                            fared.recovered = Some(after - self.setup.window);
                        }
                    }
                }
            }
        }
        Ok(fared)
    }
}

/// The engine with all the files in its source, performing its loads where it stands.
struct Driven {
    engine: Engine,
    now: Now,
    paths: Vec<String>,
}

impl Driven {
    fn new(trace: &Trace, cache_size: usize) -> Result<Self, Box<dyn Error>> {
        let source = MemorySource::new();
        let content = bytes::Bytes::from(vec![b'x'; trace.setup.longest]);
        for (file, &length) in trace.lengths.iter().enumerate() {
            source.insert(&format!("f{file}"), content.slice(..length), 0);
        }
        let config = Config {
            mounts: vec![Mount::tree("/", Arc::new(source))],
            precompressed: Vec::new(),
            cache_size,
            cache_max_file: trace.setup.longest as u64,
            ..Config::default()
        };
        if config.keep_up_to() < trace.setup.longest as u64 {
            return Err("the longest file would not be kept: then nobody can compare".into());
        }
        let now = Now {
            instant: Instant::now(),
            date: HttpDate::from_unix_seconds(4_000_000_000),
        };
        Ok(Driven {
            engine: Engine::new(config)?,
            now,
            paths: (0..trace.lengths.len())
                .map(|file| format!("/f{file}"))
                .collect(),
        })
    }

    /// Whether it was answered from memory.
    fn ask(&self, file: usize) -> Result<bool, Box<dyn Error>> {
        let path = self.paths.get(file).ok_or("no such file")?;
        let request = Request::get(path.as_bytes());
        let (load, mut pending) = match self.engine.begin(&request, self.now) {
            Step::Respond(_) => return Ok(true),
            Step::Load(load, pending) => (load, pending),
            Step::Wait(_) => return Err("nobody else asks".into()),
        };
        let outcome = load.perform(Patience::MayWait, self.now.instant);
        let outcome = outcome.map_err(|_| "it may wait")?;
        self.engine.finish(load, outcome);
        let arrived = Pin::new(&mut pending).poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(arrived) = arrived else {
            return Err("the load has been finished".into());
        };
        match self.engine.resume(&request, arrived, self.now) {
            Step::Respond(plan) if plan.status == 200 => Ok(false),
            _ => Err("one load is enough".into()),
        }
    }

    fn statistics(&self) -> Statistics {
        self.engine.statistics()
    }

    /// What the engine takes each file to weigh: its content, its heads and its bookkeeping.
    fn weights(trace: &Trace) -> Result<Vec<u64>, Box<dyn Error>> {
        let driven = Self::new(trace, 64 * trace.setup.longest)?;
        let weigh = |file| {
            driven.engine.clear();
            driven.ask(file)?;
            Ok(driven.statistics().bytes)
        };
        (0..trace.lengths.len()).map(weigh).collect()
    }
}

/// Plain LRU: what was used longest ago leaves, whatever else is known of it.
#[derive(Default)]
struct Lru {
    budget: u64,
    weight: u64,
    weights: Vec<u64>,
    /// When each file was used last; 0 is not kept.
    used: Vec<u64>,
    order: BTreeMap<u64, usize>,
    clock: u64,
}

impl Lru {
    fn new(budget: u64, weights: Vec<u64>) -> Self {
        Lru {
            budget,
            used: vec![0; weights.len()],
            weights,
            ..Lru::default()
        }
    }

    /// Whether it was a hit.
    fn ask(&mut self, file: usize) -> Option<bool> {
        self.clock += 1;
        let weight = *self.weights.get(file)?;
        let used = std::mem::replace(self.used.get_mut(file)?, self.clock);
        self.order.insert(self.clock, file);
        if used > 0 {
            self.order.remove(&used);
            return Some(true);
        }
        self.weight += weight;
        while self.weight > self.budget {
            let (_, leaving) = self.order.pop_first()?;
            *self.used.get_mut(leaving)? = 0;
            self.weight -= self.weights.get(leaving)?;
        }
        Some(false)
    }
}

/// How the engine fares, and how a plain LRU does.
///
/// # Errors
/// A setup that cannot be played, or an engine that does not count what it did.
pub fn compare(trace: &Trace) -> Result<(Fared, Fared), Box<dyn Error>> {
    let driven = Driven::new(trace, trace.budget())?;
    let mut hits = 0;
    let engine = trace.play(|file| {
        let hit = driven.ask(file)?;
        hits += u64::from(hit);
        Ok(hit)
    })?;
    let statistics = driven.statistics();
    if (statistics.hits, statistics.misses) != (hits, trace.requests.len() as u64 - hits) {
        return Err(format!("{hits} hits of {}: {statistics:?}", trace.requests.len()).into());
    }
    let mut lru = Lru::new(trace.budget() as u64, Driven::weights(trace)?);
    let lru = trace.play(|file| Ok(lru.ask(file).ok_or("no such file")?))?;
    Ok((engine, lru))
}

#[allow(dead_code, reason = "a test uses the rest of this file")]
fn main() -> Result<(), Box<dyn Error>> {
    const HEAD: &str = "exponent budget scan   policy   before  during   after     end | \
                        hot before  after | bytes before  after     end | recovered after";
    println!("hits in % of the Zipf requests; after: of the 5000 after the scan\n{HEAD}");
    for exponent in [0.7, 0.9, 1.0, 1.1] {
        for budget in [0.05, 0.1] {
            for mixed in [true, false] {
                let trace = Trace::new(Setup {
                    exponent,
                    files: 20_000,
                    scanned: 100_000,
                    longest: 1024 * 1024,
                    budget,
                    warm: 200_000,
                    before: 100_000,
                    after: 200_000,
                    mixed,
                    window: 5000,
                    seed: 1,
                })?;
                let (engine, lru) = compare(&trace)?;
                for (policy, fared) in [("s3-fifo", engine), ("lru", lru)] {
                    let percent = |rate: f64| format!("{:7.2}", rate * 100.0);
                    let during = match fared.during.requests {
                        0 => format!("{:>7}", "-"),
                        _ => percent(fared.during.by_requests()),
                    };
                    let recovered = fared
                        .recovered
                        .map_or("never".to_owned(), |r| r.to_string());
                    println!(
                        "{exponent:8.1} {:5.0}% {:6} {policy:8}{} {during} {} {} |    {} {} |      \
                         {} {} {} | {recovered}",
                        budget * 100.0,
                        if mixed { "mixed" } else { "alone" },
                        percent(fared.before.by_requests()),
                        percent(fared.right_after.by_requests()),
                        percent(fared.after.by_requests()),
                        percent(fared.before.of_the_hot()),
                        percent(fared.right_after.of_the_hot()),
                        percent(fared.before.by_bytes()),
                        percent(fared.right_after.by_bytes()),
                        percent(fared.after.by_bytes()),
                    );
                }
            }
        }
    }
    Ok(())
}
