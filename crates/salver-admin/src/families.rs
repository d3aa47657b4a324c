//! The families of metrics: which there are, what they are called, and what is in them.

use crate::exposition::{Exposition, Format, Kind, Label, decimal};
use crate::metrics::{
    DURATION_BOUNDS, HistogramSnapshot, LAG_BOUNDS, LoopLag, RequestMetrics, RequestSeries,
    SIZE_BOUNDS, method_label,
};
use crate::process::Process;
use crate::status::{State, Status};

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

/// A counter or a gauge without labels.
type Figure = (&'static str, Kind, &'static str, &'static str, u64);

/// All metrics as a text.
pub(crate) fn render(
    format: Format,
    status: &Status,
    requests: &RequestMetrics,
    lags: &[LoopLag],
) -> String {
    let mut text = Exposition::new(format);
    push_requests(&mut text, requests);
    push_loops(&mut text, lags);
    for (name, kind, unit, help, value) in figures(status) {
        text.family(name, kind, unit, help).sample(&[], value);
    }
    if !status.certificates.is_empty() {
        let name = "salver_tls_certificate_not_after_timestamp_seconds";
        let help = "The end of each certificate, in seconds since 1970.";
        let mut family = text.family(name, Kind::Gauge, "seconds", help);
        for (number, certificate) in status.certificates.iter().enumerate() {
            let number = number.to_string();
            let labels = [("certificate", &*number), ("names", &*certificate.names)];
            family.sample(&labels, certificate.not_after);
        }
    }
    push_process(&mut text, &status.process);
    let mut family = text.family("salver_build", Kind::Info, "", "The program.");
    family.sample(&[("version", &*status.version)], 1);
    text.end()
}

fn push_requests(text: &mut Exposition, requests: &RequestMetrics) {
    type Histogram = (
        &'static str,
        &'static str,
        &'static str,
        &'static [u64],
        u64,
        fn(&RequestSeries) -> &HistogramSnapshot,
    );
    let histograms: [Histogram; 3] = [
        (
            "http_server_request_duration_seconds",
            "seconds",
            "Duration of HTTP server requests.",
            &DURATION_BOUNDS,
            SECOND,
            |series| &series.duration,
        ),
        (
            "http_server_request_body_size_bytes",
            "bytes",
            "Size of HTTP server request bodies, as announced.",
            &SIZE_BOUNDS,
            1,
            |series| &series.request_size,
        ),
        (
            "http_server_response_body_size_bytes",
            "bytes",
            "Size of HTTP server response bodies, as far as they were sent.",
            &SIZE_BOUNDS,
            1,
            |series| &series.response_size,
        ),
    ];
    for (name, unit, help, bounds, per_unit, of) in histograms {
        let mut family = text.family(name, Kind::Histogram, unit, help);
        for series in &requests.series {
            family.histogram(&labels(series), bounds, of(series), per_unit);
        }
    }
    let help = "Number of active HTTP server requests.";
    let mut family = text.family("http_server_active_requests", Kind::Gauge, "", help);
    for (method, count) in &requests.active {
        family.sample(&[("http_request_method", method_label(*method))], count);
    }
}

fn labels(series: &RequestSeries) -> [Label<'_>; 4] {
    [
        ("site", &*series.site),
        ("network_protocol_version", series.version.label()),
        ("http_request_method", method_label(series.method)),
        ("http_response_status_class", series.class),
    ]
}

fn push_loops(text: &mut Exposition, lags: &[LoopLag]) {
    let name = "salver_loop_lag_seconds";
    let help = "How late each loop came to a timer, four times a second.";
    let mut family = text.family(name, Kind::Histogram, "seconds", help);
    for (number, lag) in lags.iter().enumerate() {
        let number = number.to_string();
        family.histogram(&[("loop", &*number)], &LAG_BOUNDS, &lag.lags, SECOND);
    }
    let name = "salver_loop_lag_recent_seconds";
    let help = "The longest lag of each loop in the last few seconds.";
    let mut family = text.family(name, Kind::Gauge, "seconds", help);
    for (number, lag) in lags.iter().enumerate() {
        let (number, lag) = (number.to_string(), lag.recent.as_nanos());
        let lag = decimal(u64::try_from(lag).unwrap_or(u64::MAX), SECOND);
        family.sample(&[("loop", &*number)], lag);
    }
}

fn figures(status: &Status) -> Vec<Figure> {
    use Kind::{Counter, Gauge};
    let (cache, loader) = (&status.cache, &status.loader);
    let (connections, events) = (&status.connections, &status.bucket_events);
    let mut figures = vec![
        (
            "salver_ready",
            Gauge,
            "",
            "1 if the server accepts requests.",
            u64::from(status.state == State::Ready),
        ),
        (
            "salver_cache_hits",
            Counter,
            "",
            "Requests that were answered from the cache.",
            cache.hits,
        ),
        (
            "salver_cache_misses",
            Counter,
            "",
            "Requests that had to load, or to wait for a load.",
            cache.misses,
        ),
        (
            "salver_cache_coalesced",
            Counter,
            "",
            "Requests that waited for a load that another one had begun.",
            cache.coalesced,
        ),
        ("salver_cache_loads", Counter, "", "Loads.", cache.loads),
        (
            "salver_cache_revalidations",
            Counter,
            "",
            "Loads that found an entry unchanged.",
            cache.revalidations,
        ),
        (
            "salver_cache_evictions",
            Counter,
            "",
            "Entries that were pushed out for others.",
            cache.evictions,
        ),
        (
            "salver_cache_loaded_bytes",
            Counter,
            "bytes",
            "Bytes that were read into memory.",
            cache.loaded_bytes,
        ),
        (
            "salver_cache_entries",
            Gauge,
            "",
            "Entries of the cache.",
            cache.entries,
        ),
        (
            "salver_cache_size_bytes",
            Gauge,
            "bytes",
            "Memory of the cache, with bookkeeping.",
            cache.bytes,
        ),
        (
            "salver_cache_limit_bytes",
            Gauge,
            "bytes",
            "The most memory of the cache.",
            cache.most_bytes,
        ),
        (
            "salver_cache_open_files",
            Gauge,
            "",
            "Files that are held open.",
            cache.open_files,
        ),
        (
            "salver_codings_made",
            Counter,
            "",
            "Codings of files that were made.",
            cache.codings_made,
        ),
        (
            "salver_codings_taken",
            Counter,
            "",
            "Verdicts on codings that were taken from the directory that keeps them.",
            cache.codings_taken,
        ),
        (
            "salver_codings_useless",
            Counter,
            "",
            "Codings that were made and do not save enough.",
            cache.codings_useless,
        ),
        (
            "salver_codings_waiting",
            Gauge,
            "",
            "Codings that wait for being made, or are being made.",
            cache.codings_waiting,
        ),
        (
            "salver_codings_size_bytes",
            Gauge,
            "bytes",
            "Memory of made codings, apart from that of the cache.",
            cache.coding_bytes,
        ),
        (
            "salver_bucket_event_objects",
            Counter,
            "",
            "Objects that events of buckets named.",
            events.objects,
        ),
        (
            "salver_bucket_event_objects_ignored",
            Counter,
            "",
            "Objects of these that nothing is served of.",
            events.ignored,
        ),
        (
            "salver_bucket_events_refused",
            Counter,
            "",
            "Requests with events of buckets that could not be read.",
            events.refused,
        ),
        (
            "salver_cache_paused",
            Gauge,
            "",
            "1 if the cache is paused.",
            u64::from(cache.paused),
        ),
        (
            "salver_loader_threads",
            Gauge,
            "",
            "Threads that may wait for disks.",
            loader.threads,
        ),
        (
            "salver_loader_busy",
            Gauge,
            "",
            "Jobs that such threads perform.",
            loader.busy,
        ),
        (
            "salver_loader_waiting",
            Gauge,
            "",
            "Loads that wait for such a thread, or for their file to come to rest.",
            loader.waiting,
        ),
        (
            "salver_connections",
            Gauge,
            "",
            "Open connections.",
            connections.open,
        ),
        (
            "salver_connections_limit",
            Gauge,
            "",
            "The most connections.",
            connections.most,
        ),
        (
            "salver_connection_memory_bytes",
            Gauge,
            "bytes",
            "Memory that connections hold.",
            connections.memory_bytes,
        ),
        (
            "salver_connection_memory_limit_bytes",
            Gauge,
            "bytes",
            "The most memory that connections may hold.",
            connections.most_memory_bytes,
        ),
    ];
    if let Some(log) = &status.log {
        figures.extend([
            (
                "salver_access_log_lines",
                Counter,
                "",
                "Lines of the access log that were written.",
                log.lines,
            ),
            (
                "salver_access_log_dropped",
                Counter,
                "",
                "Lines of the access log that there was no room for.",
                log.dropped,
            ),
        ]);
    }
    figures
}

fn push_process(text: &mut Exposition, process: &Process) {
    if let Some(ticks) = process.cpu_ticks {
        let help = "Time on a CPU, in user mode and in the system.";
        let mut family = text.family("process_cpu_seconds", Kind::Counter, "seconds", help);
        family.sample(&[], decimal(ticks, 100));
    }
    for (name, unit, help, value) in [
        (
            "process_resident_memory_bytes",
            "bytes",
            "Memory in use.",
            process.resident_bytes,
        ),
        (
            "process_start_time_seconds",
            "seconds",
            "Start of the process, in seconds since 1970.",
            process.started,
        ),
        (
            "process_open_fds",
            "",
            "Open descriptors.",
            process.open_fds,
        ),
        (
            "process_max_fds",
            "",
            "The most open descriptors.",
            process.max_fds,
        ),
        ("process_threads", "", "Threads.", process.threads),
    ] {
        if let Some(value) = value {
            text.family(name, Kind::Gauge, unit, help)
                .sample(&[], value);
        }
    }
}
