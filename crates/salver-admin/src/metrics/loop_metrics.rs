//! The metrics of one loop, which it alone writes.

use std::ops::Add;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use salver_semantics::Method;

use crate::metrics::histogram::{
    DURATION_BOUNDS, Histogram, HistogramSnapshot, LAG_BOUNDS, SIZE_BOUNDS,
};
use crate::metrics::tally::Tally;
use crate::metrics::{CLASSES, METHODS, RequestSeries, Version};

/// The cells of a site: one for each version, method and class.
pub(super) const CELLS: usize = Version::ALL.len() * METHODS.len() * CLASSES.len();

/// The lags that are kept one by one: those of the last four seconds.
const RECENT: usize = 16;

/// A request that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// The number of its site.
    pub site: usize,
    /// The version of HTTP.
    pub version: Version,
    /// The method.
    pub method: Method,
    /// The status of the answer; 0 if there was none.
    pub status: u16,
    /// The time from when it was read to when its answer was sent.
    pub duration: Duration,
    /// The length of its content, in bytes.
    pub request_bytes: u64,
    /// The bytes of the answer's content that were sent.
    pub response_bytes: u64,
}

impl Ended {
    #[inline]
    fn cell(&self) -> usize {
        let class = match self.status {
            200..300 => 0,
            300..400 => 1,
            400..500 => 2,
            500..600 => 3,
            _ => 4,
        };
        let method = method_number(self.method);
        (self.version as usize * METHODS.len() + method) * CLASSES.len() + class
    }
}

#[inline]
fn method_number(method: Method) -> usize {
    match method {
        Method::Get => 0,
        Method::Head => 1,
        Method::Options => 2,
        Method::Post => 3,
        Method::Put => 4,
        Method::Delete => 5,
        Method::Patch => 6,
        Method::Connect => 7,
        Method::Trace => 8,
        Method::Other => 9,
    }
}

/// The histograms of requests with the same labels.
#[derive(Debug, Default)]
struct Series {
    duration: Histogram<{ DURATION_BOUNDS.len() }>,
    request_size: Histogram<{ SIZE_BOUNDS.len() }>,
    response_size: Histogram<{ SIZE_BOUNDS.len() }>,
}

/// Cells that take memory when they are first written.
type Cells = Box<[OnceLock<Box<Series>>]>;

/// The metrics of one loop. All that counts is for the thread of that loop alone.
#[derive(Debug)]
pub struct LoopMetrics {
    /// The cells of each site.
    sites: Box<[OnceLock<Cells>]>,
    /// The requests that have begun, less those that have ended, by method.
    active: [Tally; METHODS.len()],
    lag: Histogram<{ LAG_BOUNDS.len() }>,
    /// The last lags, in nanoseconds.
    recent: [Tally; RECENT],
    /// The number of lags so far.
    ticks: Tally,
    /// The moment of the last one, in nanoseconds since `started`.
    beat: Tally,
    started: Instant,
}

/// The lag of a loop: how late it came to its timers.
#[derive(Clone, Debug, Default)]
pub struct LoopLag {
    /// All lags so far, in nanoseconds.
    pub lags: HistogramSnapshot,
    /// The longest of the last few seconds.
    pub recent: Duration,
    /// The time since the loop was last heard of.
    pub silent: Duration,
}

impl LoopMetrics {
    pub(super) fn new(sites: usize, started: Instant) -> Self {
        let of_loop = LoopMetrics {
            sites: (0..sites).map(|_| OnceLock::new()).collect(),
            active: Default::default(),
            lag: Histogram::default(),
            recent: Default::default(),
            ticks: Tally::default(),
            beat: Tally::default(),
            started,
        };
        of_loop.beat.set(nanoseconds(started.elapsed()));
        of_loop
    }

    /// Has it look as if the loop had not been heard of since its beginning.
    #[cfg(test)]
    pub(super) fn forget_beat(&self) {
        self.beat.set(0);
    }

    /// Counts a request that has begun.
    #[inline]
    pub fn begin(&self, method: Method) {
        if let Some(active) = self.active.get(method_number(method)) {
            active.add(1);
        }
    }

    /// Counts a request that has ended, and no longer as one that has begun.
    #[inline]
    pub fn end(&self, ended: &Ended) {
        if let Some(active) = self.active.get(method_number(ended.method)) {
            active.add(u64::MAX);
        }
        // Sites beyond those with a label share the last one.
        let site = self.sites.get(ended.site).or(self.sites.last());
        let Some(site) = site else { return };
        let cells = site.get_or_init(|| (0..CELLS).map(|_| OnceLock::new()).collect());
        let Some(cell) = cells.get(ended.cell()) else {
            return;
        };
        let series = cell.get_or_init(Box::default);
        let duration = nanoseconds(ended.duration);
        series.duration.observe(&DURATION_BOUNDS, duration);
        series
            .request_size
            .observe(&SIZE_BOUNDS, ended.request_bytes);
        let sent = ended.response_bytes;
        series.response_size.observe(&SIZE_BOUNDS, sent);
    }

    /// Notes that the loop came to a timer so much too late.
    pub fn tick(&self, lag: Duration) {
        let lag = nanoseconds(lag);
        self.lag.observe(&LAG_BOUNDS, lag);
        let at = usize::try_from(self.ticks.get()).unwrap_or(0) % RECENT;
        if let Some(recent) = self.recent.get(at) {
            recent.set(lag);
        }
        self.ticks.add(1);
        self.beat.set(nanoseconds(self.started.elapsed()));
    }

    pub(super) fn lag(&self, now: Instant) -> LoopLag {
        let recent = self.recent.iter().map(Tally::get).max().unwrap_or(0);
        let since = now.saturating_duration_since(self.started);
        LoopLag {
            lags: self.lag.snapshot(),
            recent: Duration::from_nanos(recent),
            silent: since.saturating_sub(Duration::from_nanos(self.beat.get())),
        }
    }

    /// The requests of a cell, if there were any.
    pub(super) fn series(&self, site: usize, cell: usize) -> Option<SeriesSnapshot> {
        let series = self.sites.get(site)?.get()?.get(cell)?.get()?;
        Some(SeriesSnapshot {
            duration: series.duration.snapshot(),
            request_size: series.request_size.snapshot(),
            response_size: series.response_size.snapshot(),
        })
    }

    pub(super) fn active(&self, method: usize) -> i64 {
        let count = self.active.get(method).map_or(0, Tally::get);
        count.cast_signed()
    }
}

/// The histograms of a cell as they were at one moment.
pub(super) struct SeriesSnapshot {
    duration: HistogramSnapshot,
    request_size: HistogramSnapshot,
    response_size: HistogramSnapshot,
}

impl SeriesSnapshot {
    /// The same with the labels of a cell.
    pub(super) fn with_labels(self, site: &str, cell: usize) -> Option<RequestSeries> {
        let (rest, class) = (cell / CLASSES.len(), cell % CLASSES.len());
        let (version, method) = (rest / METHODS.len(), rest % METHODS.len());
        Some(RequestSeries {
            site: site.to_owned(),
            version: *Version::ALL.get(version)?,
            method: *METHODS.get(method)?,
            class: CLASSES.get(class)?,
            duration: self.duration,
            request_size: self.request_size,
            response_size: self.response_size,
        })
    }
}

impl Add for SeriesSnapshot {
    type Output = SeriesSnapshot;

    fn add(self, other: Self) -> Self {
        SeriesSnapshot {
            duration: self.duration + other.duration,
            request_size: self.request_size + other.request_size,
            response_size: self.response_size + other.response_size,
        }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_has_its_labels() {
        for version in Version::ALL {
            for method in METHODS {
                for (status, class) in [200, 301, 404, 500, 0].into_iter().zip(CLASSES) {
                    let metrics = LoopMetrics::new(1, Instant::now());
                    let ended = Ended {
                        site: 0,
                        version,
                        method,
                        status,
                        duration: Duration::ZERO,
                        request_bytes: 0,
                        response_bytes: 0,
                    };
                    metrics.end(&ended);
                    let cell = ended.cell();
                    let found = metrics
                        .series(0, cell)
                        .unwrap()
                        .with_labels("", cell)
                        .unwrap();
                    let labels = (found.version, found.method, found.class);
                    assert_eq!(labels, (version, method, class));
                }
            }
        }
    }

    #[test]
    fn the_longest_lag_is_forgotten_after_a_while() {
        let metrics = LoopMetrics::new(1, Instant::now());
        metrics.tick(Duration::from_millis(300));
        for _ in 1..RECENT {
            metrics.tick(Duration::from_millis(1));
        }
        let now = Instant::now();
        assert_eq!(metrics.lag(now).recent, Duration::from_millis(300));
        metrics.tick(Duration::from_millis(1));
        let lag = metrics.lag(now);
        assert_eq!(lag.recent, Duration::from_millis(1));
        assert_eq!(lag.lags.count, 17);
        let later = metrics.lag(Instant::now() + Duration::from_secs(60));
        assert!(later.silent >= Duration::from_secs(60));
    }
}
