//! `salver serve`: settings to a running server, until somebody ends it.

use std::io::{self, Write};
use std::sync::mpsc::{Sender, channel};

use salver_assets::{Engine, Prewarmed, Statistics};
use salver_server::Server;

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

/// Serves until a signal, and then until the answers under way are finished. `remarks` are what is
/// to be said before anything else, a line each.
///
/// # Errors
/// Why it could not start, or what ended it.
pub fn run(flags: &ServeFlags, remarks: &[String]) -> Result<(), Failure> {
    // From here on nothing is said but through the log, which holds up neither start nor end.
    log::start(flags.quiet).map_err(failed("the log"))?;
    for remark in remarks {
        tracing::warn!("{remark}");
    }
    let settings = Settings::from_flags(flags)?;
    let engine = Engine::new(settings.engine.clone())
        .map_err(|error| Failure::Misused(error.to_string()))?;
    let server = Server::bind(engine.clone(), settings.server.clone())
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
                if settings.statistics {
                    print(counting.statistics())?;
                }
                return result.map_err(failed("the server"));
            }
        }
    }
    Ok(())
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
fn print(statistics: Statistics) -> Result<(), Failure> {
    let Statistics {
        hits,
        misses,
        coalesced,
        loads,
        revalidations,
        evictions,
        bytes_loaded,
        rulings,
        entries,
        bytes,
        open_files,
    } = statistics;
    let line = serde_json::json!({
        "hits": hits,
        "misses": misses,
        "coalesced": coalesced,
        "loads": loads,
        "revalidations": revalidations,
        "evictions": evictions,
        "bytes_loaded": bytes_loaded,
        "rulings": rulings,
        "entries": entries,
        "bytes": bytes,
        "open_files": open_files,
    });
    writeln!(io::stdout(), "{line}").map_err(failed("standard output"))
}

fn failed(what: &str) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::Failed(format!("{what} failed: {error}"))
}
