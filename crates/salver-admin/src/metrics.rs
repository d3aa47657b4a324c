//! The metrics of requests and loops: each loop counts into cells of its own, and who reads adds them up.

mod histogram;
mod loop_metrics;
mod site_names;
mod tally;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use salver_semantics::Method;

pub use histogram::{DURATION_BOUNDS, HistogramSnapshot, LAG_BOUNDS, SIZE_BOUNDS};
pub use loop_metrics::{Ended, LoopLag, LoopMetrics};
pub use site_names::SiteNames;

use crate::metrics::loop_metrics::CELLS;

/// The sites that have a label of their own; all others share one, so that what is told stays small.
const SITES: usize = 100;

/// The label of sites beyond those, and of methods that are not known.
const OTHER: &str = "_OTHER";

/// The version of HTTP of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Version {
    Http10,
    Http11,
    Http2,
    Http3,
}

impl Version {
    pub(crate) const ALL: [Version; 4] = [
        Version::Http10,
        Version::Http11,
        Version::Http2,
        Version::Http3,
    ];

    /// The value of its label.
    pub fn label(self) -> &'static str {
        match self {
            Version::Http10 => "1.0",
            Version::Http11 => "1.1",
            Version::Http2 => "2",
            Version::Http3 => "3",
        }
    }
}

/// The methods, in the order of their cells.
pub(crate) const METHODS: [Method; 10] = [
    Method::Get,
    Method::Head,
    Method::Options,
    Method::Post,
    Method::Put,
    Method::Delete,
    Method::Patch,
    Method::Connect,
    Method::Trace,
    Method::Other,
];

/// The value of a method's label.
pub(crate) fn method_label(method: Method) -> &'static str {
    match method {
        Method::Other => OTHER,
        known => known.token(),
    }
}

/// The classes of statuses, in the order of their cells; the last is that of no answer.
pub(crate) const CLASSES: [&str; 5] = ["2xx", "3xx", "4xx", "5xx", "none"];

/// The metrics of a server.
#[derive(Debug)]
pub struct Metrics {
    sites: Arc<SiteNames>,
    loops: Mutex<Vec<Arc<LoopMetrics>>>,
    started: Instant,
}

/// The metrics of requests with the same labels, of all loops.
#[derive(Clone, Debug)]
pub struct RequestSeries {
    /// The site's name.
    pub site: String,
    /// The version of HTTP.
    pub version: Version,
    /// The method.
    pub method: Method,
    /// The class of its status: `2xx`; `none` without an answer.
    pub class: &'static str,
    /// The time that requests took, in seconds.
    pub duration: HistogramSnapshot,
    /// The content of requests, in bytes.
    pub request_size: HistogramSnapshot,
    /// The content of answers as far as it was sent, in bytes.
    pub response_size: HistogramSnapshot,
}

/// The metrics of all requests so far.
#[derive(Clone, Debug)]
pub struct RequestMetrics {
    /// Those that have ended, by their labels.
    pub series: Vec<RequestSeries>,
    /// Those that have not, by method.
    pub active: Vec<(Method, u64)>,
}

impl RequestMetrics {
    /// The number of requests that have ended.
    pub fn total(&self) -> u64 {
        self.series.iter().map(|series| series.duration.count).sum()
    }
}

impl Metrics {
    /// The metrics of a server with sites of these names, of which the first have labels of their own.
    pub fn new(sites: Arc<SiteNames>) -> Arc<Self> {
        Arc::new(Metrics {
            sites,
            loops: Mutex::default(),
            started: Instant::now(),
        })
    }

    /// The labels of sites by their numbers, the last that of those without a label of their own.
    fn site_labels(&self) -> Vec<String> {
        let names = self.sites.all();
        let mut labels: Vec<_> = names
            .iter()
            .take(SITES)
            .map(|name| name.to_string())
            .collect();
        labels.resize(SITES + 1, OTHER.to_owned());
        labels
    }

    /// The metrics of one more loop, which it alone writes.
    pub fn add_loop(&self) -> Arc<LoopMetrics> {
        let of_loop = Arc::new(LoopMetrics::new(SITES + 1, self.started));
        self.lock().push(Arc::clone(&of_loop));
        of_loop
    }

    /// A loop that was heard of so long ago.
    #[cfg(test)]
    pub(crate) fn add_hanging_loop(&self, silent: Duration) {
        let started = Instant::now().checked_sub(silent).unwrap_or(self.started);
        let hanging = LoopMetrics::new(SITES + 1, started);
        hanging.forget_beat();
        self.lock().push(Arc::new(hanging));
    }

    /// The requests so far; those that end at this moment may be missing.
    pub fn requests(&self) -> RequestMetrics {
        let loops = self.loops();
        let mut series = Vec::new();
        for (number, site) in self.site_labels().iter().enumerate() {
            let cells = (0..CELLS).filter_map(|cell| {
                let mut found = loops.iter().filter_map(|one| one.series(number, cell));
                let first = found.next()?;
                Some((cell, found.fold(first, |sum, more| sum + more)))
            });
            series.extend(cells.filter_map(|(cell, sum)| sum.with_labels(site, cell)));
        }
        let active = METHODS.into_iter().enumerate().map(|(number, method)| {
            let counts = loops.iter().map(|one| one.active(number));
            // Of a loop that has just begun and ended some, one may be seen and the other not.
            let sum = counts.fold(0_i64, i64::wrapping_add);
            (method, u64::try_from(sum).unwrap_or(0))
        });
        RequestMetrics {
            series,
            active: active.collect(),
        }
    }

    /// The time since these metrics were made, with the server.
    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// The lags of the loops, in their order.
    pub fn lags(&self) -> Vec<LoopLag> {
        let now = Instant::now();
        self.loops().iter().map(|one| one.lag(now)).collect()
    }

    fn loops(&self) -> Vec<Arc<LoopMetrics>> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<LoopMetrics>>> {
        self.loops.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(site: usize, status: u16) -> Ended {
        Ended {
            site,
            version: Version::Http11,
            method: Method::Get,
            status,
            duration: Duration::from_millis(1),
            request_bytes: 0,
            response_bytes: 10,
        }
    }

    #[test]
    fn loops_are_added_up_by_labels() {
        let metrics = Metrics::new(Arc::default());
        let loops = [metrics.add_loop(), metrics.add_loop()];
        for one in &loops {
            for status in [200, 206, 304, 404, 503, 0, 999] {
                one.begin(Method::Get);
                one.end(&ended(0, status));
            }
            one.begin(Method::Other);
        }
        let found = metrics.requests();
        let counts: Vec<_> = found
            .series
            .iter()
            .map(|s| (s.class, s.duration.count))
            .collect();
        let expected = [("2xx", 4), ("3xx", 2), ("4xx", 2), ("5xx", 2), ("none", 4)];
        assert_eq!(counts, expected);
        assert_eq!(found.total(), 14);
        let active: Vec<_> = found
            .active
            .iter()
            .filter(|(_, count)| *count > 0)
            .collect();
        assert_eq!(active, [&(Method::Other, 2)]);
        assert!(found.series.iter().all(|s| s.site.is_empty()));
    }

    #[test]
    fn sites_beyond_a_hundred_share_a_label() {
        let names = Arc::new(SiteNames::default());
        let metrics = Metrics::new(Arc::clone(&names));
        let one = metrics.add_loop();
        for number in 1..=300 {
            names.number(&format!("site{number}"));
        }
        for site in [1, 99, 100, 300] {
            one.end(&ended(site, 200));
        }
        let found = metrics.requests().series;
        let found: Vec<_> = found.iter().map(|s| (&*s.site, s.duration.count)).collect();
        assert_eq!(found, [("site1", 1), ("site99", 1), ("_OTHER", 2)]);
    }

    #[test]
    fn a_site_that_comes_later_has_its_label_and_keeps_it() {
        let names = Arc::new(SiteNames::default());
        let metrics = Metrics::new(Arc::clone(&names));
        let one = metrics.add_loop();
        for name in ["a", "b", "a"] {
            one.end(&ended(usize::from(names.number(name)), 200));
        }
        one.end(&ended(0, 404));
        let found = metrics.requests().series;
        let found: Vec<_> = found.iter().map(|s| (&*s.site, s.duration.count)).collect();
        assert_eq!(found, [("", 1), ("a", 2), ("b", 1)]);
    }
}
