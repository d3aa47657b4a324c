//! `salver serve` on the portable server: settings to a running server, until somebody ends it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use salver_config::Environment;
use tokio::sync::Notify;

use crate::failure::Failure;
use crate::portable::banner::banner;
use crate::portable::server;
use crate::portable::sites::Sites;
use crate::serve_flags::ServeFlags;
use crate::settings::Settings;
use crate::statistics::print_statistics;
use crate::{log, signal};

/// Serves until a signal, and then until the answers under way are finished.
///
/// # Errors
/// Why it could not start, or what ended it.
pub fn run(flags: &ServeFlags, environment: &Environment) -> Result<(), Failure> {
    let configuration = flags.configuration(environment).map_err(first)?;
    log::prepare(*configuration.server.quiet);
    for remark in environment.unknown() {
        tracing::warn!("{remark}");
    }
    let settings = Settings::new(&configuration)?;
    crate::previous::start(&settings.sites, &[]);
    let sites = Arc::new(Sites::new(&settings)?);
    let listeners = server::bind(&settings.addresses).map_err(|(address, error)| {
        let what = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "is taken: choose another --port, or end what listens there"
            }
            io::ErrorKind::PermissionDenied => "may not be listened on by this user",
            io::ErrorKind::AddrNotAvailable => "is no address of this machine",
            _ => return Failure::Failed(format!("{address} cannot be listened on: {error}")),
        };
        Failure::Failed(format!("{address} {what}"))
    })?;
    let addresses = listeners.iter().map(std::net::TcpListener::local_addr);
    let addresses = addresses.collect::<io::Result<Vec<SocketAddr>>>();
    let addresses = addresses.map_err(failed("a socket"))?;
    log::start().map_err(failed("the log"))?;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Some(workers) = settings.workers {
        runtime.worker_threads(workers.max(1));
    }
    let runtime = runtime
        .enable_all()
        .build()
        .map_err(failed("the runtime"))?;
    let end = Arc::new(Notify::new());
    let (ended, quiet, drain) = (Arc::clone(&end), settings.quiet, settings.limits.drain);
    signal::listen(move || {
        if !quiet {
            let grace = humantime::format_duration(drain);
            log::say(&format!(
                "stopping: waiting up to {grace} for answers under way; a second signal ends them"
            ));
        }
        ended.notify_one();
    })
    .map_err(failed("the signal handlers"))?;
    let prewarmed = settings.prewarm.then(|| {
        // Checks of siblings go to the runtime's threads.
        let _runtime = runtime.enter();
        sites.prewarm()
    });
    if settings.quiet {
        for warning in &settings.warnings {
            tracing::warn!("{warning}");
        }
    } else {
        log::say(banner(&settings, &addresses, prewarmed).trim_end());
    }
    let serving = server::serve(listeners, Arc::clone(&sites), settings.limits.clone(), &end);
    let result = runtime.block_on(serving);
    // A load that hangs holds up nobody's end.
    runtime.shutdown_background();
    if settings.statistics
        && let Some(statistics) = sites.statistics()
    {
        print_statistics(statistics, &[]).map_err(failed("standard output"))?;
    }
    result.map_err(failed("the server"))
}

/// The first of several failures, in one line that says how to hear of the others.
fn first(failures: Vec<Failure>) -> Failure {
    let more = failures.len().saturating_sub(1);
    match failures.into_iter().next() {
        None => Failure::Failed("the configuration cannot be read".to_owned()),
        Some(first) if more == 0 => first,
        Some(first) => first.and(more),
    }
}

fn failed(what: &str) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::Failed(format!("{what} failed: {error}"))
}
