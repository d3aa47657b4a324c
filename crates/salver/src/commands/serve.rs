//! `salver serve`: settings to a running server, until somebody ends it.

use std::io;
use std::path::PathBuf;
use std::slice;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use bytes::Bytes;
use http::Request;
use salver_assets::Prewarmed;
use salver_config::Environment;
use salver_server::{BuildError, InheritedSockets, Metrics, Reply, Server};

use crate::access_log::Logs;
use crate::admin::{BoundAdmin, Current, Reload, RunningAdmin, Served, admin_settings};
use crate::banner::{Addresses, banner};
use crate::failure::Failure;
use crate::live_reload::{self, LiveReload};
use crate::previous;
use crate::process::confinement::Confinement;
use crate::process::handover::{FromPredecessor, Given, Predecessor, Successor};
use crate::process::pid_file::PidFile;
use crate::process::service_manager::{ServiceManager, given_sockets};
use crate::roots::{give_stores, make_stores};
use crate::running::{Running, adopt, adopted, first, prewarm, warn_of_unreadable};
use crate::serve_flags::ServeFlags;
use crate::settings::Settings;
use crate::signal::Order;
use crate::site_settings::SiteSettings;
use crate::statistics::print_statistics;
use crate::working_on_site::{open_browser, watch};
use crate::{log, machine, signal};

/// What the main thread waits for.
enum Event {
    /// What an operator wants.
    Order(Order),
    /// The admin listener is asked for a reload, and waits for what comes of it.
    Reload(SyncSender<Result<String, String>>),
    /// The cache is filled, or nobody asked for that.
    Ready(Option<Prewarmed>),
    /// The server accepts connections.
    Accepts,
    /// The process that was to be replaced has said something.
    Predecessor(FromPredecessor),
    /// A new program is ready to replace this process, or is not.
    Upgraded(Result<Successor, String>),
    /// The server has ended.
    Ended(io::Result<()>),
}

/// Serves until a signal, and then until the answers under way are finished.
///
/// # Errors
/// Why it could not start, or what ended it.
pub fn run(flags: &ServeFlags, environment: &Environment) -> Result<(), Failure> {
    let before = Predecessor::of_environment();
    let before = before.map_err(failed("taking over from the process before"))?;
    let (predecessor, given) = match before {
        Some((predecessor, given)) => (Some(Arc::new(predecessor)), Some(given)),
        None => (None, None),
    };
    let served = serve(flags, environment, predecessor.clone(), given);
    if let (Err(failure), Some(predecessor)) = (&served, predecessor) {
        predecessor.has_failed(&failure.to_string());
    }
    served
}

fn serve(
    flags: &ServeFlags,
    environment: &Environment,
    predecessor: Option<Arc<Predecessor>>,
    given: Option<Given>,
) -> Result<(), Failure> {
    let (events, next) = channel();
    let (mut running, server, admin) = start_up(flags, environment, given, &events)?;
    let signals = events.clone();
    signal::take_orders(move |order| {
        let _ = signals.send(Event::Order(order));
    })
    .map_err(failed("the signal handlers"))?;
    // Answers from now on, while the cache is filled, until the server has ended.
    let admin = admin.map(BoundAdmin::start).transpose();
    running.admin = admin.map_err(failed("the admin listener"))?;
    previous::start(&SiteSettings::kept_trees(&running.settings.sites), &[]);
    if running.settings.prewarm {
        let sites = running.sites.clone();
        start("salver-prewarm", &events, move || {
            Event::Ready(Some(prewarm(&sites)))
        })?;
    } else {
        let _ = events.send(Event::Ready(None));
    }
    handle_events(running, server, predecessor, &events, next)
}

/// Does all that has to be done before the first thread is there: from then on this process is what it is to be.
fn start_up(
    flags: &ServeFlags,
    environment: &Environment,
    mut given: Option<Given>,
    events: &Sender<Event>,
) -> Result<(Running, Server, Option<BoundAdmin>), Failure> {
    // Before anything else is opened.
    let mut from_manager = match given {
        None => given_sockets()?,
        Some(_) => InheritedSockets::default(),
    };
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("salver"));
    // In its sandbox a new program sees nothing of the machine.
    let confined = given.as_ref().filter(|given| given.sandbox.is_some());
    let machine = confined.and_then(|given| given.machine);
    let machine = machine.unwrap_or_else(machine::look);
    let configuration = flags.configuration(environment, machine);
    let configuration = configuration.map_err(first)?;
    // From here on nothing is said but through the log, which holds up neither start nor end.
    log::prepare(*configuration.server.quiet);
    for remark in environment.unknown() {
        tracing::warn!("{remark}");
    }
    // What is refused makes nothing.
    admin_settings(&configuration.server)?;
    let made = make_stores(&configuration)?;
    let mut settings = Settings::new(&configuration)?;
    let is_upgrade = given.is_some();
    let of_admin = settings.admin.as_ref();
    let addresses = of_admin.map_or(&[][..], |admin| &admin.addresses);
    let path = of_admin.and_then(|admin| admin.socket.as_ref());
    let all = match &mut given {
        Some(given) => &mut given.sockets,
        None => &mut from_manager,
    };
    let for_admin = all.split_off(addresses, path.map_or(&[], slice::from_ref));
    let (sockets, adopted, inherited) = match given {
        None => {
            let adopted = adopted(&configuration, &settings.server, &from_manager)?;
            (from_manager, adopted, None)
        }
        Some(given) => {
            if let Some(workers) = given.workers
                && !configuration.server.workers.is_said()
            {
                settings.server.workers = workers;
            }
            // What is not listened on any more is no fault here.
            let adopted = adopted(&configuration, &settings.server, &given.sockets);
            (given.sockets, adopted.unwrap_or_default(), given.sandbox)
        }
    };
    if let Some(addresses) = &adopted {
        adopt(&mut settings.server, addresses);
    }
    if let Some(sandbox) = &inherited {
        sandbox.permits(&configuration)?;
    }
    let confinement = Confinement::new(&configuration, &program, is_upgrade)?;
    let names = &settings.server.site_names;
    let metrics = settings
        .admin
        .as_ref()
        .map(|_| Metrics::new(Arc::clone(names)));
    settings.server.metrics.clone_from(&metrics);
    let sites = settings.sites(None)?;
    let mut server = Server::bind_with(sites.clone(), settings.server.clone(), sockets)
        .map_err(|error| Failure::Failed(error.to_string()))?;
    let current = Arc::<Current>::default();
    let admin = settings.admin.as_ref().zip(metrics);
    let admin = admin.map(|(admin, metrics)| {
        let served = Served {
            told: Arc::default(),
            current: Arc::clone(&current),
            monitor: server.monitor(),
            metrics,
            reload: ask_for_reload(events),
        };
        BoundAdmin::bind(admin, served, for_admin, confinement.owner())
    });
    let admin = admin.transpose()?;
    let pid_file = (*configuration.server.pid_file).as_ref();
    let pid_file = pid_file.map(|path| PidFile::open(path, confinement.owner()));
    let pid_file = pid_file.transpose()?;
    if let Some((kept, owner)) = settings.kept_codings.as_ref().zip(confinement.owner()) {
        kept.give_to(owner);
    }
    if let Some(owner) = confinement.owner() {
        give_stores(&made, owner)?;
    }
    let sandbox = confinement.enter()?.or(inherited);
    warn_of_unreadable(&configuration);
    log::start().map_err(failed("the log"))?;
    let mut logs = Logs::default();
    let access_log = logs.open(settings.access_log.as_ref())?;
    logs.set_current(access_log.clone());
    current.set(
        (&sites, settings.site_names()),
        settings.cache_size(),
        access_log.clone(),
        (settings.stores(), settings.buckets()),
    );
    server.set_access_log(access_log);
    let timeout = settings.server.answer_timeout;
    let live_reload = watch(&configuration, &settings.sites, timeout)?;
    if let Some(live_reload) = &live_reload {
        let served = serve_live_reload(server, live_reload);
        server = served.map_err(|error| Failure::Failed(error.to_string()))?;
    }
    let running = Running {
        admin: None,
        current,
        flags: flags.clone(),
        environment: environment.clone(),
        handle: server.handle(),
        manager: Arc::new(ServiceManager::of_environment()),
        configuration,
        settings,
        sites,
        logs,
        adopted,
        sandbox,
        pid_file,
        program,
        live_reload,
    };
    Ok((running, server, admin))
}

/// The server that also serves the script of pages and the events that it waits for.
fn serve_live_reload(server: Server, live_reload: &LiveReload) -> Result<Server, BuildError> {
    let live_reload = live_reload.clone();
    server.with_guard(live_reload::PREFIX, async move |request: Request<Bytes>| {
        let (method, uri) = (request.method(), request.uri());
        let answer = live_reload.answer(method, uri, request.headers()).await;
        answer.map_or(Reply::Proceed, Reply::from)
    })
}

/// What asks the main thread for a reload, and waits for what comes of it.
fn ask_for_reload(events: &Sender<Event>) -> Reload {
    let events = events.clone();
    Box::new(move || {
        let (done, result) = sync_channel(1);
        let asked = events.send(Event::Reload(done)).is_ok();
        let result = result.recv().ok().filter(|_| asked);
        result.unwrap_or_else(|| Err("the server is ending: nothing is reloaded".to_owned()))
    })
}

fn handle_events(
    mut running: Running,
    server: Server,
    predecessor: Option<Arc<Predecessor>>,
    events: &Sender<Event>,
    next: Receiver<Event>,
) -> Result<(), Failure> {
    // Taken when it begins to run.
    let mut server = Some(server);
    let (mut stopping, mut is_upgrading, mut is_replaced) = (false, false, false);
    // From when every loop accepts; a signal for a reload before that is obeyed then.
    let (mut serves, mut reload_is_due) = (false, false);
    while let Ok(event) = next.recv() {
        match event {
            Event::Ready(prewarmed) => {
                let Some(mut server) = server.take() else {
                    continue;
                };
                let admin = running.admin.as_ref();
                let places = admin.map_or(&[][..], RunningAdmin::places);
                announce(&running.settings, &server, prewarmed, places);
                // After an upgrade it is open already.
                if *running.configuration.server.open && predecessor.is_none() {
                    open_browser(&addresses(&server));
                }
                let accepts = events.clone();
                server.set_on_ready(move |_| {
                    let _ = accepts.send(Event::Accepts);
                });
                start("salver-server", events, move || {
                    Event::Ended(server.serve())
                })?;
            }
            Event::Accepts => {
                serves = true;
                match &predecessor {
                    None => is_the_one(&mut running)?,
                    Some(predecessor) => {
                        predecessor.is_ready();
                        listen_to(predecessor, events)?;
                    }
                }
                if reload_is_due && !stopping {
                    let _ = running.reload();
                }
            }
            Event::Predecessor(FromPredecessor::Go) => is_the_one(&mut running)?,
            Event::Predecessor(FromPredecessor::Datagrams | FromPredecessor::Ended) => {
                running.handle.take_datagrams();
            }
            // It serves nobody any more, and is not asked.
            Event::Order(Order::Reload | Order::Upgrade) if stopping || is_replaced => {}
            Event::Order(Order::Reload) if !serves => reload_is_due = true,
            Event::Order(Order::Reload) => {
                let _ = running.reload();
            }
            Event::Reload(done) => {
                let why_not = match (stopping || is_replaced, serves) {
                    (true, _) => Some("the server is ending: nothing is reloaded"),
                    (false, false) => Some("the server does not serve yet: nothing is reloaded"),
                    (false, true) => None,
                };
                let result = match why_not {
                    Some(why) => Err(why.to_owned()),
                    None => running.reload(),
                };
                // Whoever asked may have gone.
                let _ = done.send(result);
            }
            Event::Order(Order::Reopen) => running.logs.reopen(),
            Event::Order(Order::Upgrade) if is_upgrading || !serves => {
                tracing::warn!(
                    "SIGUSR2: another program is being started, or this one has only begun"
                );
            }
            Event::Order(Order::Upgrade) => {
                if let Some(file) = &mut running.pid_file {
                    file.begin();
                }
                match running.upgrade() {
                    Ok(work) => {
                        is_upgrading = true;
                        start("salver-upgrade", events, move || Event::Upgraded(work()))?;
                    }
                    Err(why) => not_upgraded(&mut running, why),
                }
            }
            Event::Upgraded(Err(why)) => {
                is_upgrading = false;
                not_upgraded(&mut running, why);
            }
            Event::Upgraded(Ok(_)) if stopping => {}
            Event::Upgraded(Ok(successor)) => {
                is_replaced = true;
                hand_over(&mut running, successor)?;
            }
            // Nothing is under way before it runs.
            Event::Order(Order::End) if server.is_some() => {
                // So that nobody waits for a reload any more, and keeps the admin listener from its end.
                drop(next);
                running.end(false);
                return Ok(());
            }
            Event::Order(Order::End) => {
                running.handle.shutdown();
                if let Some(live_reload) = &running.live_reload {
                    live_reload.end();
                }
                if !is_replaced {
                    running.manager.is_stopping();
                }
                if !running.settings.quiet && !stopping {
                    let grace = humantime::format_duration(running.settings.server.grace);
                    log::say(&format!(
                        "stopping: waiting up to {grace} for answers under way; \
                         a second signal ends them"
                    ));
                }
                stopping = true;
            }
            Event::Ended(result) => {
                let (counting, has_statistics) =
                    (running.sites.first().clone(), running.settings.statistics);
                drop(next);
                let logged = running.end(is_replaced);
                if has_statistics {
                    let logged = logged.map(|logged| {
                        [("log_lines", logged.lines), ("log_dropped", logged.dropped)]
                    });
                    let logged = logged.as_ref().map_or(&[][..], |logged| logged);
                    let written = print_statistics(counting.statistics(), logged);
                    written.map_err(failed("standard output"))?;
                }
                return result.map_err(failed("the server"));
            }
        }
    }
    Ok(())
}

/// Tells the world that this process is the one that serves.
fn is_the_one(running: &mut Running) -> Result<(), Failure> {
    if let Some(file) = &mut running.pid_file {
        file.take();
    }
    let manager = Arc::clone(&running.manager);
    manager.is_ready("serving");
    if manager.has_watchdog() {
        let handle = running.handle.clone();
        let thread = std::thread::Builder::new().name("salver-watchdog".to_owned());
        let started = thread.spawn(move || manager.watch(&handle));
        started.map_err(failed("a thread"))?;
    }
    Ok(())
}

/// Takes what the process before says, on a thread of its own.
fn listen_to(predecessor: &Arc<Predecessor>, events: &Sender<Event>) -> Result<(), Failure> {
    let (predecessor, events) = (Arc::clone(predecessor), events.clone());
    let thread = std::thread::Builder::new().name("salver-upgrade".to_owned());
    let listen = move || {
        let mut is_the_one = false;
        loop {
            let said = predecessor.next();
            // One that ends in another way has left everything, too.
            if said == FromPredecessor::Ended && !is_the_one {
                let _ = events.send(Event::Predecessor(FromPredecessor::Go));
            }
            is_the_one |= said == FromPredecessor::Go;
            if events.send(Event::Predecessor(said)).is_err() || said == FromPredecessor::Ended {
                return;
            }
        }
    };
    thread.spawn(listen).map(drop).map_err(failed("a thread"))
}

fn not_upgraded(running: &mut Running, why: String) {
    tracing::error!("this program serves on: {why}");
    running.has_changed(&Err(why));
}

/// Leaves everything to a new program, and ends when the answers under way are finished.
fn hand_over(running: &mut Running, successor: Successor) -> Result<(), Failure> {
    let pid = successor.pid();
    tracing::info!("process {pid} has taken over: waiting for the answers under way");
    if let Some(file) = &mut running.pid_file {
        file.end(&Ok(format!("upgraded: process {pid} serves now")));
    }
    running.manager.is_replaced_by(pid);
    successor.go();
    running.handle.hand_over();
    if let Some(admin) = &running.admin {
        admin.hand_over();
    }
    let handle = running.handle.clone();
    let thread = std::thread::Builder::new().name("salver-upgrade".to_owned());
    let leave = move || {
        handle.wait_for_datagrams();
        successor.leave_datagrams();
    };
    thread.spawn(leave).map(drop).map_err(failed("a thread"))
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

fn announce(settings: &Settings, server: &Server, prewarmed: Option<Prewarmed>, admin: &[String]) {
    if settings.quiet {
        for warning in &settings.warnings {
            tracing::warn!("{warning}");
        }
    } else {
        log::say(banner(settings, &addresses(server), prewarmed, admin).trim_end());
    }
}

fn addresses(server: &Server) -> Addresses {
    Addresses {
        https: server.tls_addresses().to_vec(),
        http: server.addresses().to_vec(),
        redirects: server.redirect_addresses().to_vec(),
    }
}

fn failed(what: &str) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::Failed(format!("{what} failed: {error}"))
}
