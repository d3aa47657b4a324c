//! Cold files do not delay hot ones: while many clients read what only a slow disk has, the
//! answers that need no disk come as quickly as without them.
//!
//! `cargo test` asserts what holds on any machine: nothing waits for a disk. `make cold` measures
//! more of it in release, prints a line for each case and asserts the promised factor. Both show
//! what comes out without the check of residency.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    unused_imports,
    missing_docs
)]

mod common;
mod slow_disk;

use std::fmt;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Running, Site, settings, trusting, until};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use salver_assets::{Config, DirectorySource, Engine, Mount, Symlinks};
use salver_server::{Server, Settings};
use slow_disk::clients::{Cold, ColdReaders, Steady};
use slow_disk::{HOT_LENGTH, Slow, SlowDisk, bytes_at, content, serve_if_disk};

/// Cold readers.
const CLIENTS: usize = 32;

/// Between two requests for the hot file.
const INTERVAL: Duration = Duration::from_millis(1);

/// With cold readers the 99th percentile may be this many times what it is without.
const FACTOR: f64 = 2.0;

/// Where nothing is known of the machine, this much more is no sign of waiting for the disk: it is
/// half of the time of one read, and requests that wait for a disk wait for many.
const ANY_MACHINE: Duration = Duration::from_millis(10);

/// Where the hot file lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hot {
    /// On the disk of the system.
    Elsewhere,
    /// On the slow disk: in memory, but compared with that disk every second.
    SlowDisk,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    hot: Hot,
    cold: Cold,
    slow: Slow,
    check_residency: bool,
}

const DATA: Slow = Slow {
    metadata: false,
    close: false,
};
const METADATA: Slow = Slow {
    metadata: true,
    close: false,
};
const EVERYTHING: Slow = Slow {
    metadata: true,
    close: true,
};

const fn case(hot: Hot, cold: Cold, slow: Slow) -> Case {
    Case {
        hot,
        cold,
        slow,
        check_residency: true,
    }
}

const UNCHECKED: Case = Case {
    check_residency: false,
    ..case(Hot::Elsewhere, Cold::Streams, DATA)
};

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hot = match self.hot {
            Hot::Elsewhere => "elsewhere",
            Hot::SlowDisk => "on the slow disk",
        };
        let cold = match self.cold {
            Cold::Streams => "streams",
            Cold::SmallFiles => "small files",
        };
        let slow = match (self.slow.metadata, self.slow.close) {
            (false, false) => "data",
            (true, false) => "data and metadata",
            (false, true) => "data and close",
            (true, true) => "data, metadata and close",
        };
        let check = if self.check_residency { "on" } else { "off" };
        write!(
            f,
            "hot {hot}, cold {cold}, slow {slow}, residency check {check}"
        )
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
struct Effort {
    rounds: usize,
    each: Duration,
}

/// Medians over the rounds, in which both take turns.
#[derive(Clone, Copy, Debug)]
struct Figures {
    alone: Duration,
    beside: Duration,
    ratio: f64,
    /// What the cold readers received, in MB per second.
    rate: f64,
}

fn p99(samples: &[Duration]) -> Duration {
    samples[samples.len() * 99 / 100]
}

fn median<T: PartialOrd + Copy>(mut values: Vec<T>) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap());
    values[values.len() / 2]
}

/// One core for the server, the others for its clients and for the disk.
struct Cores {
    all: CpuSet,
    server: CpuSet,
    others: CpuSet,
}

impl Cores {
    fn divide() -> Self {
        let all = sched_getaffinity(None).unwrap();
        let (mut server, mut others) = (CpuSet::new(), all);
        let first = (0..CpuSet::MAX_CPU).find(|&cpu| all.is_set(cpu)).unwrap();
        if all.count() > 1 {
            server.set(first);
            others.unset(first);
        } else {
            server = all;
        }
        Cores {
            all,
            server,
            others,
        }
    }
}

fn use_cores(cores: &CpuSet) {
    sched_setaffinity(None, cores).unwrap();
}

/// A server with one worker over the slow disk and a usual one.
fn serve(disk: &SlowDisk, site: &Site, check_residency: bool) -> Running {
    let config = trusting();
    let mount = |prefix, root| {
        let source = DirectorySource::open(root, Symlinks::Beneath, config.revalidate).unwrap();
        Mount::tree(prefix, Arc::new(source))
    };
    let mounts = vec![mount("/", site.root()), mount("/slow", disk.root())];
    let engine = Engine::new(Config { mounts, ..config }).unwrap();
    let settings = Settings {
        check_residency,
        ..settings()
    };
    Running::start(Server::bind(engine, settings).unwrap())
}

/// Waits until the disk has had nothing to do for some looks in a row: what was begun for readers
/// that have gone is done.
fn settle(disk: &SlowDisk) {
    let mut idle = 0;
    until("the disk has nothing to do", || {
        idle = if disk.work().waiting == 0 {
            idle + 1
        } else {
            0
        };
        idle == 10
    });
}

fn measure(case: Case, effort: Effort) -> std::io::Result<Figures> {
    let cores = Cores::divide();
    use_cores(&cores.others);
    let disk = SlowDisk::mount(case.slow)?;
    let whole = content();
    let hot = &bytes_at(&whole, 0, 0)[..usize::try_from(HOT_LENGTH).unwrap()];
    let site = Site::with(&[("hot", hot)]);
    use_cores(&cores.server);
    let server = serve(&disk, &site, case.check_residency);
    use_cores(&cores.others);
    let path = match case.hot {
        Hot::Elsewhere => "/hot",
        Hot::SlowDisk => "/slow/hot",
    };
    let mut steady = Steady::new(server.address, path, hot);
    // Connections are made, the file is in memory.
    steady.measure(INTERVAL, Duration::from_millis(100));
    let (mut alone, mut beside, mut rates) = (vec![], vec![], vec![]);
    for _ in 0..effort.rounds {
        settle(&disk);
        alone.push(p99(&steady.measure(INTERVAL, effort.each)));
        let readers = ColdReaders::start(CLIENTS, server.address, "/slow", case.cold);
        let (bytes, reads, began) = (readers.bytes(), disk.work().reads, Instant::now());
        beside.push(p99(&steady.measure(INTERVAL, effort.each)));
        let received = readers.bytes() - bytes;
        rates.push(received as f64 / 1e6 / began.elapsed().as_secs_f64());
        assert!(
            received > 0 && disk.work().reads > reads,
            "nothing was cold"
        );
        readers.end();
    }
    use_cores(&cores.all);
    let (alone, beside) = (median(alone), median(beside));
    Ok(Figures {
        ratio: beside.as_secs_f64() / alone.as_secs_f64(),
        alone,
        beside,
        rate: median(rates),
    })
}

/// Past the capture of the test harness: figures that nobody sees prove nothing.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn measured(case: Case, effort: Effort) -> Option<Figures> {
    match measure(case, effort) {
        Ok(figures) => {
            say(&format!(
                "{case}: hot p99 alone {} us, with {CLIENTS} cold {} us, ratio {:.2} \
                 ({:.1} MB/s cold)",
                figures.alone.as_micros(),
                figures.beside.as_micros(),
                figures.ratio,
                figures.rate,
            ));
            Some(figures)
        }
        Err(error) => {
            say(&format!(
                "SKIPPED, so not shown: cold isolation, as no FUSE file system can be mounted: {error}"
            ));
            None
        }
    }
}

/// The disk that [`SlowDisk::mount`] starts.
#[test]
fn disk() {
    serve_if_disk();
}

/// What must hold anywhere: a request that waits for the disk waits for more than this allows.
fn holds_on_any_machine(figures: &Figures) -> bool {
    figures.beside
        <= figures
            .alone
            .mul_f64(FACTOR)
            .max(figures.alone + ANY_MACHINE)
}

#[test]
fn what_is_in_memory_never_waits_for_a_slow_disk() {
    let effort = Effort {
        rounds: 3,
        each: Duration::from_millis(500),
    };
    for case in [
        case(Hot::Elsewhere, Cold::Streams, DATA),
        case(Hot::Elsewhere, Cold::SmallFiles, EVERYTHING),
        case(Hot::SlowDisk, Cold::Streams, EVERYTHING),
    ] {
        let Some(figures) = measured(case, effort) else {
            return;
        };
        assert!(holds_on_any_machine(&figures), "{case:?}: {figures:?}");
    }
    // What the test is worth: it fails where the loop waits for the disk.
    let once = Effort {
        rounds: 1,
        ..effort
    };
    let Some(figures) = measured(UNCHECKED, once) else {
        return;
    };
    assert!(!holds_on_any_machine(&figures), "{figures:?}");
}

/// `make cold`: the promise itself, in release, on a machine that does nothing else.
#[test]
#[ignore = "measures for minutes, on a machine that does nothing else: make cold"]
fn hot_files_stay_as_quick_as_without_cold_ones() {
    let effort = Effort {
        rounds: 5,
        each: Duration::from_millis(700),
    };
    let mut all = Vec::new();
    for slow in [DATA, METADATA, EVERYTHING] {
        for cold in [Cold::Streams, Cold::SmallFiles] {
            for hot in [Hot::Elsewhere, Hot::SlowDisk] {
                let case = case(hot, cold, slow);
                all.push((case, measured(case, effort).expect("a slow disk")));
            }
        }
    }
    // The p99 alone is the same measurement in every case, and on a virtual machine it moves by a
    // factor of five from one minute to the next: a case must be over both its own and the usual one.
    let usual = median(all.iter().map(|(_, figures)| figures.alone).collect());
    say(&format!(
        "hot p99 alone, median of the cases: {} us",
        usual.as_micros()
    ));
    let limit = |figures: &Figures| figures.alone.max(usual).mul_f64(FACTOR);
    let missed: Vec<_> = all
        .iter()
        .filter(|(_, figures)| figures.beside > limit(figures))
        .collect();
    let unchecked = measured(UNCHECKED, effort).expect("a slow disk");
    assert!(missed.is_empty(), "more than {FACTOR} times: {missed:#?}");
    assert!(unchecked.ratio > 10.0 * FACTOR, "{unchecked:?}");
}
