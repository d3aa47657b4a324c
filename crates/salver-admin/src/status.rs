//! The statistics of a server, as `/status` tells them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::metrics::{DURATION_BOUNDS, HistogramSnapshot, LoopLag, RequestMetrics};
use crate::process::Process;

/// The statistics of a server. Counters begin with the server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// The version of the program.
    pub version: String,
    /// What it is doing.
    pub state: State,
    /// The time since it started, in seconds.
    pub uptime_seconds: u64,
    /// The requests.
    pub requests: Requests,
    /// The cache.
    pub cache: Cache,
    /// The events of buckets.
    #[serde(default)]
    pub bucket_events: BucketEvents,
    /// The loops.
    pub loops: Vec<Loop>,
    /// The threads that may wait for disks.
    pub loader: Loader,
    /// The connections.
    pub connections: Connections,
    /// The certificates.
    pub certificates: Vec<Certificate>,
    /// The access log, if there is one.
    pub log: Option<Log>,
    /// The process, as far as the system tells.
    pub process: Process,
}

/// What a server is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It does not accept connections yet.
    Starting,
    /// It serves.
    Ready,
    /// It finishes what is under way, and accepts nothing new.
    Draining,
}

impl State {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            State::Starting => "starting",
            State::Ready => "ready",
            State::Draining => "draining",
        }
    }
}

/// The requests so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Requests {
    /// Those that have ended.
    pub total: u64,
    /// Those that have begun and not ended.
    pub active: u64,
    /// Those that were answered 2xx.
    pub success: u64,
    /// Those that were answered 3xx.
    pub redirection: u64,
    /// Those that were answered 4xx.
    pub client_error: u64,
    /// Those that were answered 5xx.
    pub server_error: u64,
    /// Those whose client went away before there was an answer.
    pub unanswered: u64,
    /// The bytes of content that were sent.
    pub sent_bytes: u64,
    /// The time that all of them took, in seconds.
    pub seconds: f64,
    /// The upper bounds of the buckets of `durations`, in seconds; the last bucket has none.
    pub bounds: Vec<f64>,
    /// The requests by how long they took.
    pub durations: Vec<u64>,
}

impl Requests {
    /// All of these requests, whatever their labels.
    pub(crate) fn of(metrics: &RequestMetrics) -> Self {
        let class = |class: &str| {
            let of_class = metrics.series.iter().filter(|series| series.class == class);
            of_class.map(|series| series.duration.count).sum()
        };
        let durations = metrics.series.iter().map(|series| series.duration.clone());
        let durations = durations.fold(HistogramSnapshot::default(), |sum, more| sum + more);
        Requests {
            total: metrics.total(),
            active: metrics.active.iter().map(|(_, count)| count).sum(),
            success: class("2xx"),
            redirection: class("3xx"),
            client_error: class("4xx"),
            server_error: class("5xx"),
            unanswered: class("none"),
            sent_bytes: metrics.series.iter().map(|s| s.response_size.sum).sum(),
            seconds: seconds(durations.sum),
            bounds: DURATION_BOUNDS
                .iter()
                .map(|bound| seconds(*bound))
                .collect(),
            durations: match durations.counts.is_empty() {
                true => vec![0; DURATION_BOUNDS.len() + 1],
                false => durations.counts,
            },
        }
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    Duration::from_nanos(nanoseconds).as_secs_f64()
}

/// The cache.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cache {
    /// True if it is paused: nothing is taken from it, and nothing put into it.
    pub paused: bool,
    /// Requests that were answered from it.
    pub hits: u64,
    /// Requests that had to load, or to wait for a load.
    pub misses: u64,
    /// Requests that waited for a load that another one had begun.
    pub coalesced: u64,
    /// Loads.
    pub loads: u64,
    /// Loads that found an entry unchanged.
    pub revalidations: u64,
    /// Entries that were pushed out for others.
    pub evictions: u64,
    /// Bytes that were read into memory.
    pub loaded_bytes: u64,
    /// Entries now.
    pub entries: u64,
    /// Their bytes, with bookkeeping.
    pub bytes: u64,
    /// The most bytes.
    pub most_bytes: u64,
    /// Files that are held open.
    pub open_files: u64,
    /// Codings that were made.
    pub codings_made: u64,
    /// Verdicts on codings that were taken from the directory that keeps them.
    pub codings_taken: u64,
    /// Codings that were made and do not save enough.
    pub codings_useless: u64,
    /// Codings that wait for being made, or are being made.
    pub codings_waiting: u64,
    /// The memory of made codings, in bytes.
    pub coding_bytes: u64,
}

/// The events of buckets so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketEvents {
    /// Objects that they named.
    pub objects: u64,
    /// Objects of these that are of no bucket which is served, or not beneath its prefix.
    pub ignored: u64,
    /// Requests that could not be read.
    pub refused: u64,
}

/// A loop.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Loop {
    /// The longest lag of the last few seconds, in seconds.
    pub lag_seconds: f64,
    /// The time since it was last heard of, in seconds.
    pub silent_seconds: f64,
}

impl Loop {
    pub(crate) fn of(lag: &LoopLag) -> Self {
        Loop {
            lag_seconds: lag.recent.as_secs_f64(),
            silent_seconds: lag.silent.as_secs_f64(),
        }
    }
}

/// The threads that may wait for disks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Loader {
    /// Threads that there are.
    pub threads: u64,
    /// Jobs that are being performed.
    pub busy: u64,
    /// Loads that wait for a thread, or for their file to come to rest.
    pub waiting: u64,
}

/// The connections.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Connections {
    /// Those that are open.
    pub open: u64,
    /// The most.
    pub most: u64,
    /// The memory that they hold, in bytes.
    pub memory_bytes: u64,
    /// The most of it.
    pub most_memory_bytes: u64,
}

/// A certificate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Certificate {
    /// The names and addresses in it.
    pub names: String,
    /// The moment of its end, in seconds since 1970.
    pub not_after: u64,
    /// The whole days until then; negative if it is over.
    pub days_left: i64,
}

/// The access log.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Log {
    /// Lines that were written.
    pub lines: u64,
    /// Lines that there was no room for.
    pub dropped: u64,
}
