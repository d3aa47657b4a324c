//! The contexts of connections: the state that they share within a loop, and within the server.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::IpAddr;
use std::rc::{Rc, Weak};
use std::sync::Arc;
#[cfg(feature = "http3")]
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use http::HeaderMap;
use salver_admin::metrics::Metrics;
use salver_assets::{Content, Engine, LogLimit, ResponsePlan};
use salver_http1::Limits;

use crate::access_log::LoopLog;
use crate::clock::Clock;
use crate::deadlines::Deadlines;
use crate::handler::Handlers;
use crate::listener::ListenerId;
use crate::listener_fields::ListenerFields;
use crate::loader::Loader;
use crate::memory_budget::{Account, MemoryBudget, OpenFile};
use crate::passwords::Passwords;
use crate::pending_limit::{PendingLimit, service_unavailable};
use crate::rendered_responses::RenderedResponses;
use crate::seats::{ConnectionKind, NoSeat, Seat, Seats};
use crate::send_buffer::SendBuffer;
use crate::settings::Settings;
use crate::shared_reads::SharedReads;
use crate::sites::Sites;
use crate::turns::Turns;

/// The state that all loops of a server share: one generation of it, from its start or a reload to the next reload.
/// Engine and settings are of this generation; what counts, limits or remembers is of all.
pub(crate) struct ServerContext {
    pub(crate) sites: Sites,
    pub(crate) settings: Settings,
    pub(crate) loader: Arc<Loader>,
    pub(crate) shared_reads: Arc<SharedReads>,
    pub(crate) handlers: Arc<Handlers>,
    /// True if there are any: here, where each request looks.
    pub(crate) has_handlers: bool,
    pub(crate) seats: Arc<Seats>,
    pub(crate) pending_limit: Arc<PendingLimit>,
    pub(crate) passwords: Arc<Passwords>,
    pub(crate) log_limits: Arc<LogLimits>,
    /// The number of handshakes of HTTP/3 under way.
    #[cfg(feature = "http3")]
    pub(crate) quic_handshakes: Arc<AtomicUsize>,
    started: Instant,
}

/// The limits on log lines about frequent events.
#[derive(Debug, Default)]
pub(crate) struct LogLimits {
    pub(crate) connections_full: LogLimit,
    pub(crate) share_full: LogLimit,
    pub(crate) descriptors_exhausted: LogLimit,
    pub(crate) peers_stall: LogLimit,
    pub(crate) files_change: LogLimit,
    pub(crate) handlers_fail: LogLimit,
    pub(crate) proxies_fail: LogLimit,
}

impl ServerContext {
    pub(crate) fn new(sites: Sites, settings: Settings, handlers: Handlers) -> Arc<Self> {
        let engine = sites.first();
        let most = settings.max_connections;
        let memory = MemoryBudget::new(settings.connection_memory, most);
        let loader = Loader::new(
            settings.loader_threads,
            settings.loader_queue,
            engine.mount_count(),
        );
        loader.take_checks_of(engine);
        Arc::new(ServerContext {
            shared_reads: Arc::default(),
            loader: Arc::new(loader),
            has_handlers: !handlers.is_empty(),
            handlers: Arc::new(handlers),
            seats: Seats::new(most, settings.most_of_one(), memory),
            pending_limit: PendingLimit::new(most, engine.mount_count()),
            passwords: Passwords::new(),
            sites,
            settings,
            log_limits: Arc::default(),
            #[cfg(feature = "http3")]
            quic_handshakes: Arc::default(),
            started: Instant::now(),
        })
    }

    /// The next generation. Its limits hold for all connections [from then on](Self::limit).
    pub(crate) fn next(&self, sites: Sites, settings: Settings) -> Arc<Self> {
        let engine = sites.first();
        self.loader.take_checks_of(engine);
        Arc::new(ServerContext {
            loader: Arc::clone(&self.loader),
            shared_reads: Arc::clone(&self.shared_reads),
            has_handlers: self.has_handlers,
            handlers: Arc::clone(&self.handlers),
            seats: Arc::clone(&self.seats),
            pending_limit: PendingLimit::new(settings.max_connections, engine.mount_count()),
            passwords: Arc::clone(&self.passwords),
            log_limits: Arc::clone(&self.log_limits),
            #[cfg(feature = "http3")]
            quic_handshakes: Arc::clone(&self.quic_handshakes),
            started: self.started,
            sites,
            settings,
        })
    }

    /// Puts the limits of these settings into force. Connections beyond them are not ended: there are no further ones.
    pub(crate) fn limit(&self) {
        let settings = &self.settings;
        let most = settings.max_connections;
        let seats = &self.seats;
        seats.limit(most, settings.most_of_one(), settings.connection_memory);
        let several = self.sites.first().mount_count() > 1;
        let loader = &self.loader;
        loader.limit(settings.loader_threads, settings.loader_queue, several);
    }

    /// True if all field lines of requests are kept: handlers, rules and the log may ask for any.
    pub(crate) fn keeps_lines(&self) -> bool {
        self.has_handlers
            || self.settings.access_log.is_some()
            || self.sites.engines().any(Engine::reads_request_fields)
    }

    /// Logs that there is no seat.
    pub(crate) fn log_no_seat(&self, why: NoSeat) {
        match why {
            NoSeat::Full if self.log_limits.connections_full.permits(self.uptime()) => {
                tracing::warn!(
                    "all {} connections are in use, or all their memory: further ones are answered 503 or \
                     refused (said at most once a minute; see --max-connections, --connection-memory)",
                    self.seats.most()
                );
            }
            NoSeat::Share if self.log_limits.share_full.permits(self.uptime()) => {
                tracing::warn!(
                    "one client has its share of the connections: further ones of it are answered 503 or \
                     refused (said at most once a minute; see --max-connections-per-client)"
                );
            }
            NoSeat::Full | NoSeat::Share => {}
        }
    }

    /// Counts an answer while it holds files open. It becomes 503 where others may need the descriptors.
    #[inline]
    pub(crate) fn hold_open(
        &self,
        account: &Arc<Account>,
        plan: &mut ResponsePlan,
    ) -> Option<OpenFile> {
        let (Content::File(_) | Content::Parts(_)) = plan.content else {
            return None;
        };
        let file = account.open_file(self.sites.first().files_left());
        if file.is_none() {
            let text = "Service Unavailable: too many files are being sent";
            let refused = std::mem::replace(plan, service_unavailable(text));
            plan.driver_site = refused.driver_site;
            self.loader.discard(refused.content);
        }
        file
    }

    /// The time since the server was made, for [`LogLimit::permits`].
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// The same at a time that was read before.
    pub(crate) fn uptime_at(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.started)
    }
}

/// The state that the connections of one loop share.
pub(crate) struct WorkerContext {
    pub(crate) common: Arc<ServerContext>,
    pub(crate) clock: Clock,
    pub(crate) deadlines: Rc<Deadlines>,
    pub(crate) limits: Limits,
    pub(crate) http2_limits: salver_http2::Limits,
    /// How far the connections are to end.
    pub(crate) drain: Cell<Drain>,
    /// True when there is a later generation, which connections take before their next requests.
    pub(crate) superseded: Cell<bool>,
    /// The generation of this loop by which new connections are served.
    current: Rc<CurrentGeneration>,
    pub(crate) scratch: RefCell<WorkerBuffers>,
    /// The map of the last answer's fields, empty: its memory is for those of the next request that a handler takes.
    pub(crate) spare_fields: Cell<HeaderMap>,
    pub(crate) turns: Rc<Turns>,
    /// The access log and the metrics, if there are any.
    pub(crate) log: Option<Rc<LoopLog>>,
    /// The connections that have more to send than their socket took: each holds a reference.
    pub(crate) sending: Rc<()>,
}

/// How far the connections of a context are to end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Drain {
    /// They go on.
    No,
    /// The next answer of each is its last. Those that wait for a request may wait on, so that none gets lost.
    AfterAnswers,
    /// Those that wait for a request end.
    Now,
}

/// A generation on one loop: what connections are served by from a start or a reload to the next.
pub(crate) struct Generation {
    pub(crate) context: Rc<WorkerContext>,
    /// The context of connections whose listener this generation lacks: they drain.
    pub(crate) leaving: Rc<WorkerContext>,
    /// The listeners, true for those with TLS, and their fields.
    pub(crate) listeners: Vec<(ListenerId, bool, Rc<ListenerFields>)>,
}

/// The generation by which a loop serves now. The loop keeps it; the contexts of older ones only find it here.
#[derive(Default)]
pub(crate) struct CurrentGeneration(RefCell<Weak<Generation>>);

impl CurrentGeneration {
    /// Sets the generation that connections take from now on.
    pub(crate) fn set(&self, generation: &Rc<Generation>) {
        *self.0.borrow_mut() = Rc::downgrade(generation);
    }
}

impl Generation {
    /// The context for a connection that came to this listener, and the listener's fields if it is still there.
    fn of(
        &self,
        listener: ListenerId,
        over_tls: bool,
    ) -> (Rc<WorkerContext>, Option<Rc<ListenerFields>>) {
        let mut listeners = self.listeners.iter();
        let found = listeners.find(|(id, tls, _)| *id == listener && *tls == over_tls);
        match found {
            Some((_, _, fields)) => (Rc::clone(&self.context), Some(Rc::clone(fields))),
            None => (Rc::clone(&self.leaving), None),
        }
    }
}

/// The buffers of a loop, which a connection uses while it runs and gives back before it waits: an idle one holds
/// nothing.
pub(crate) struct WorkerBuffers {
    pub(crate) input: Box<[u8]>,
    pub(crate) send_buffer: SendBuffer,
    pub(crate) rendered_responses: RenderedResponses,
    pub(crate) http2: salver_http2::Scratch,
}

/// The most bytes of one `recv`; a head fits.
const INPUT: usize = 16 * 1024;

impl WorkerContext {
    /// Takes a seat for a client at `address`. Where all are taken, the connection that has waited longest for its
    /// client makes room: it ends before this one is served.
    pub(crate) fn seat(&self, address: IpAddr, kind: ConnectionKind) -> Result<Seat, NoSeat> {
        let seats = &self.common.seats;
        match seats.take(address, kind, false) {
            Err(NoSeat::Full) if self.deadlines.make_room(Instant::now()) => {
                seats.take(address, kind, true)
            }
            taken => taken,
        }
    }

    /// The context of a new loop.
    ///
    /// # Errors
    /// That of the system, which has to give what the access log needs.
    pub(crate) fn new(common: Arc<ServerContext>) -> io::Result<Rc<Self>> {
        let log = loop_log(&common.settings, None)?;
        Ok(WorkerContext::with(common, SharedByLoop::default(), log))
    }

    /// The context of the next generation on this loop.
    ///
    /// # Errors
    /// That of the system, which has to give what another access log needs.
    pub(crate) fn next(&self, common: Arc<ServerContext>) -> io::Result<Rc<Self>> {
        let (before, settings) = (&self.common.settings, &common.settings);
        let is_same_log = match (&before.access_log, &settings.access_log) {
            (Some(one), Some(other)) => one.is_same(other) && before.proxies == settings.proxies,
            (None, None) => true,
            (None, Some(_)) | (Some(_), None) => false,
        };
        let are_same_metrics = match &settings.metrics {
            Some(metrics) => counts_in(before, metrics),
            None => before.metrics.is_none(),
        };
        let log = match is_same_log && are_same_metrics {
            true => self.log.clone(),
            false => loop_log(settings, Some(self))?,
        };
        Ok(WorkerContext::with(common, self.shared_by_loop(), log))
    }

    /// The context of connections that are admitted when all others of this loop drain already.
    pub(crate) fn for_last_connections(&self) -> Rc<Self> {
        let common = Arc::clone(&self.common);
        WorkerContext::with(common, self.shared_by_loop(), self.log.clone())
    }

    /// What all generations of a loop share.
    fn shared_by_loop(&self) -> SharedByLoop {
        SharedByLoop {
            deadlines: Rc::clone(&self.deadlines),
            turns: Rc::clone(&self.turns),
            sending: Rc::clone(&self.sending),
            current: Rc::clone(&self.current),
        }
    }

    /// Where the current generation of the loop is found.
    pub(crate) fn current(&self) -> &CurrentGeneration {
        &self.current
    }

    /// The context of the current generation for a connection that came to this listener, and the listener's fields
    /// if that has it; `None` if the loop has ended.
    #[cold]
    pub(crate) fn renewed(
        &self,
        listener: ListenerId,
        over_tls: bool,
    ) -> Option<(Rc<Self>, Option<Rc<ListenerFields>>)> {
        let current = self.current.0.borrow().upgrade()?;
        Some(current.of(listener, over_tls))
    }

    /// True if no further request is answered on a connection after the next.
    #[inline]
    pub(crate) fn drains(&self) -> bool {
        self.drain.get() != Drain::No
    }

    /// True if connections that wait for a request are to end.
    #[inline]
    pub(crate) fn ends_idle(&self) -> bool {
        self.drain.get() == Drain::Now
    }

    fn with(
        common: Arc<ServerContext>,
        of_loop: SharedByLoop,
        log: Option<Rc<LoopLog>>,
    ) -> Rc<Self> {
        let limits = Limits {
            max_body: common.settings.max_body,
            ..Limits::default()
        };
        Rc::new(WorkerContext {
            clock: Clock::new(),
            deadlines: of_loop.deadlines,
            limits,
            http2_limits: salver_http2::Limits {
                request: limits,
                for_program: common.has_handlers,
                keeps_lines: common.keeps_lines(),
                ..salver_http2::Limits::default()
            },
            common,
            turns: of_loop.turns,
            log,
            sending: of_loop.sending,
            drain: Cell::new(Drain::No),
            superseded: Cell::new(false),
            current: of_loop.current,
            scratch: RefCell::new(WorkerBuffers {
                input: vec![0; INPUT].into_boxed_slice(),
                send_buffer: SendBuffer::default(),
                rendered_responses: RenderedResponses::new(),
                http2: salver_http2::Scratch::default(),
            }),
            spare_fields: Cell::default(),
        })
    }
}

/// What all generations of a loop share.
struct SharedByLoop {
    deadlines: Rc<Deadlines>,
    turns: Rc<Turns>,
    sending: Rc<()>,
    current: Rc<CurrentGeneration>,
}

impl Default for SharedByLoop {
    fn default() -> Self {
        SharedByLoop {
            deadlines: Rc::default(),
            turns: Turns::new(),
            sending: Rc::default(),
            current: Rc::default(),
        }
    }
}

/// The access log and the metrics of a loop, as far as there are any. It counts on in the metrics of before, if these
/// are of the same server.
fn loop_log(
    settings: &Settings,
    before: Option<&WorkerContext>,
) -> io::Result<Option<Rc<LoopLog>>> {
    let producer = settings.access_log.as_ref().map(|log| log.producer());
    let metrics = settings.metrics.as_ref().map(|metrics| {
        let before = before.filter(|before| counts_in(&before.common.settings, metrics));
        let before = before.and_then(|before| before.log.as_ref()?.shared_metrics());
        before.unwrap_or_else(|| metrics.add_loop())
    });
    let proxies = settings.proxies.clone();
    LoopLog::new(producer, &settings.site_names, metrics, proxies)
}

/// True if these settings count requests in these metrics.
fn counts_in(settings: &Settings, metrics: &Arc<Metrics>) -> bool {
    let own = settings.metrics.as_ref();
    own.is_some_and(|own| Arc::ptr_eq(own, metrics))
}
