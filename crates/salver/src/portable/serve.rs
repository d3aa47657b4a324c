//! `salver serve` on the portable server: settings to a running server, until somebody ends it.

use std::io;
use std::sync::Arc;
use std::thread::available_parallelism;

use salver_config::Environment;
use tokio::sync::Notify;

use crate::access_log::Logs;
use crate::banner::banner;
use crate::failure::Failure;
use crate::portable::listeners::Listeners;
use crate::portable::request_log::RequestLog;
use crate::portable::server;
use crate::portable::sites::Sites;
use crate::serve_flags::ServeFlags;
use crate::settings::Settings;
use crate::site_settings::SiteSettings;
use crate::statistics::print_statistics;
use crate::working_on_site::{open_browser, watch};
use crate::{log, machine, signal};

/// Serves until a signal, and then until the answers under way are finished.
///
/// # Errors
/// Why it could not start, or what ended it.
pub fn run(flags: &ServeFlags, environment: &Environment) -> Result<(), Failure> {
    let configuration = flags
        .configuration(environment, machine::look())
        .map_err(first)?;
    log::prepare(*configuration.server.quiet);
    for remark in environment.unknown() {
        tracing::warn!("{remark}");
    }
    let mut settings = Settings::new(&configuration)?;
    crate::previous::start(&SiteSettings::kept_trees(&settings.sites), &[]);
    let sites = Arc::new(Sites::new(&settings)?);
    let listeners = Listeners::bind(&settings.addresses)?;
    log::start().map_err(failed("the log"))?;
    let mut logs = Logs::default();
    let access_log = logs.open(settings.access_log.as_ref())?;
    logs.set_current(access_log.clone());
    let workers = settings
        .workers
        .or_else(|| available_parallelism().ok().map(usize::from));
    let log = access_log.map(|log| {
        let (names, proxies) = (settings.site_names(), settings.proxies.clone());
        RequestLog::new(&log, workers.unwrap_or(1), names, proxies)
    });
    let log = log.transpose().map_err(failed("randomness"))?;
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
    let timeout = settings.limits.answer_timeout;
    let live_reload = watch(&configuration, &settings.sites, timeout)?;
    if settings.quiet {
        for warning in &settings.warnings {
            tracing::warn!("{warning}");
        }
    } else {
        log::say(banner(&settings, &listeners.addresses, prewarmed, &[]).trim_end());
    }
    if *configuration.server.open {
        open_browser(&listeners.addresses);
    }
    let (limits, tls) = (settings.limits.clone(), settings.tls.take());
    let serving = server::serve(
        listeners.all,
        Arc::clone(&sites),
        limits,
        tls,
        log,
        live_reload,
        &end,
    );
    let result = runtime.block_on(serving);
    // A load that hangs holds up nobody's end.
    runtime.shutdown_background();
    let logged = logs.end();
    if settings.statistics
        && let Some(statistics) = sites.statistics()
    {
        let logged =
            logged.map(|logged| [("log_lines", logged.lines), ("log_dropped", logged.dropped)]);
        let logged = logged.as_ref().map_or(&[][..], |logged| logged);
        print_statistics(statistics, logged).map_err(failed("standard output"))?;
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
