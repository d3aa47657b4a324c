//! `salver serve`: settings to a running server, until somebody ends it.

use std::io::{self, Write};
use std::sync::mpsc::{Sender, channel};

use salver_assets::{Engine, Prewarmed, Statistics};
use salver_config::Environment;
use salver_server::Server;

use crate::access_log::OpenedLog;
use crate::banner::banner;
use crate::failure::Failure;
use crate::serve_flags::ServeFlags;
use crate::settings::Settings;
use crate::signal::Order;
use crate::{log, signal};

/// What the main thread waits for.
enum Event {
    /// What an operator wants.
    Order(Order),
    /// The cache is filled, or nobody asked for that.
    Ready(Option<Prewarmed>),
    /// The server has ended.
    Ended(io::Result<()>),
}

/// Serves until a signal, and then until the answers under way are finished.
///
/// # Errors
/// Why it could not start, or what ended it.
pub fn run(flags: &ServeFlags, environment: &Environment) -> Result<(), Failure> {
    let configuration = flags.configuration(environment).map_err(first)?;
    // From here on nothing is said but through the log, which holds up neither start nor end.
    log::start(*configuration.server.quiet).map_err(failed("the log"))?;
    for remark in environment.unknown() {
        tracing::warn!("{remark}");
    }
    let settings = Settings::new(&configuration)?;
    let engine = Engine::new(settings.engine.clone())
        .map_err(|error| Failure::Misused(error.to_string()))?;
    let log = settings.access_log.as_ref().map(OpenedLog::open);
    let log = log.transpose()?;
    let of_server = salver_server::Settings {
        access_log: log.as_ref().map(OpenedLog::log),
        ..settings.server.clone()
    };
    let server = Server::bind(engine.clone(), of_server)
        .map_err(|error| Failure::Failed(error.to_string()))?;
    let handle = server.handle();
    let counting = engine.clone();

    let (events, next) = channel();
    let signals = events.clone();
    signal::take_orders(move |order| {
        let _ = signals.send(Event::Order(order));
    })
    .map_err(failed("the signal handlers"))?;
    if settings.prewarm {
        start("salver-prewarm", &events, move || {
            Event::Ready(Some(engine.prewarm()))
        })?;
    } else {
        let _ = events.send(Event::Ready(None));
    }

    // Taken when it begins to run.
    let mut server = Some(server);
    let mut stopping = false;
    for event in next {
        match event {
            Event::Ready(prewarmed) => {
                let Some(server) = server.take() else {
                    continue;
                };
                announce(&settings, &server, prewarmed);
                start("salver-server", &events, move || {
                    Event::Ended(server.serve())
                })?;
            }
            Event::Order(Order::Reload) => tracing::info!(
                "SIGHUP: nothing to reload: files and certificates are followed by themselves"
            ),
            Event::Order(Order::Reopen) => {
                if let Some(log) = &log {
                    log.reopen();
                }
            }
            Event::Order(Order::Other) => {}
            // Nothing is under way before it runs.
            Event::Order(Order::End) if server.is_some() => return Ok(()),
            Event::Order(Order::End) => {
                handle.shutdown();
                if !settings.quiet && !stopping {
                    let grace = humantime::format_duration(settings.server.grace);
                    log::say(&format!(
                        "stopping: waiting up to {grace} for answers under way; \
                         a second signal ends them"
                    ));
                }
                stopping = true;
            }
            Event::Ended(result) => {
                let logged = log.map(OpenedLog::end);
                if settings.statistics {
                    print(counting.statistics(), logged)?;
                }
                return result.map_err(failed("the server"));
            }
        }
    }
    Ok(())
}

/// The first of several failures, in one line that says how to hear of the others.
fn first(failures: Vec<Failure>) -> Failure {
    let more = failures.len().saturating_sub(1);
    let mut failures = failures.into_iter();
    let Some(first) = failures.next() else {
        return Failure::Failed("the configuration cannot be read".to_owned());
    };
    match first {
        Failure::Misused(text) if more > 0 => Failure::Misused(format!(
            "{text} (and {more} more: `salver check` with the same arguments says all)"
        )),
        first => first,
    }
}

/// Runs `work` on a thread of its own; what it gives becomes an event.
fn start(
    name: &str,
    events: &Sender<Event>,
    work: impl FnOnce() -> Event + Send + 'static,
) -> Result<(), Failure> {
    let events = events.clone();
    let thread = std::thread::Builder::new().name(name.to_owned());
    let run = move || {
        // A panic is a defect; waiting for ever for what will not come would be a second one.
        let work = std::panic::AssertUnwindSafe(work);
        let event = std::panic::catch_unwind(work)
            .unwrap_or_else(|_| Event::Ended(Err(io::Error::other("a thread panicked"))));
        let _ = events.send(event);
    };
    thread.spawn(run).map(drop).map_err(failed("a thread"))
}

fn announce(settings: &Settings, server: &Server, prewarmed: Option<Prewarmed>) {
    if settings.quiet {
        for warning in &settings.warnings {
            tracing::warn!("{warning}");
        }
    } else {
        log::say(banner(settings, server, prewarmed).trim_end());
    }
}

/// Prints the counters for a program that reads them.
fn print(
    statistics: Statistics,
    logged: Option<salver_access_log::Statistics>,
) -> Result<(), Failure> {
    let Statistics {
        hits,
        misses,
        coalesced,
        loads,
        revalidations,
        evictions,
        bytes_loaded,
        entries,
        bytes,
        open_files,
    } = statistics;
    let mut line = serde_json::json!({
        "hits": hits,
        "misses": misses,
        "coalesced": coalesced,
        "loads": loads,
        "revalidations": revalidations,
        "evictions": evictions,
        "bytes_loaded": bytes_loaded,
        "entries": entries,
        "bytes": bytes,
        "open_files": open_files,
    });
    if let (Some(logged), Some(line)) = (logged, line.as_object_mut()) {
        line.insert("log_lines".to_owned(), logged.lines.into());
        line.insert("log_dropped".to_owned(), logged.dropped.into());
    }
    writeln!(io::stdout(), "{line}").map_err(failed("standard output"))
}

fn failed(what: &str) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::Failed(format!("{what} failed: {error}"))
}
