//! The contexts of connections: the state that they share within a loop, and within the server.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use salver_assets::{Content, Engine, LogLimit, ResponsePlan};
use salver_http1::Limits;

use crate::access_log::LoopLog;
use crate::clock::Clock;
use crate::deadlines::Deadlines;
use crate::handler::{Handlers, RequestBody};
use crate::loader::Loader;
use crate::memory_budget::{Account, MemoryBudget, OpenFile};
use crate::passwords::Passwords;
use crate::pending_limit::{PendingLimit, service_unavailable};
use crate::rendered_responses::RenderedResponses;
use crate::seats::{ConnectionKind, NoSeat, Seat, Seats};
use crate::send_buffer::SendBuffer;
use crate::settings::Settings;
use crate::shared_reads::SharedReads;
use crate::turns::Turns;

/// The state that all loops of a server share.
pub(crate) struct ServerContext {
    pub(crate) engine: Engine,
    pub(crate) settings: Settings,
    pub(crate) loader: Loader,
    pub(crate) shared_reads: SharedReads,
    pub(crate) handlers: Handlers,
    pub(crate) seats: Arc<Seats>,
    pub(crate) pending_limit: Arc<PendingLimit>,
    pub(crate) passwords: Arc<Passwords>,
    pub(crate) log_limits: LogLimits,
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
    pub(crate) fn new(engine: Engine, settings: Settings, handlers: Handlers) -> Arc<Self> {
        let most = settings.max_connections;
        let most_of_one = settings.max_connections_per_client;
        let most_of_one = most_of_one.unwrap_or(most.div_ceil(2));
        let memory = MemoryBudget::new(settings.connection_memory, most);
        let loader = Loader::new(
            settings.loader_threads,
            settings.loader_queue,
            engine.mount_count(),
        );
        loader.take_checks_of(&engine);
        Arc::new(ServerContext {
            shared_reads: SharedReads::default(),
            loader,
            handlers,
            seats: Seats::new(most, most_of_one, memory),
            pending_limit: PendingLimit::new(most, engine.mount_count()),
            passwords: Passwords::new(),
            engine,
            settings,
            log_limits: LogLimits::default(),
            started: Instant::now(),
        })
    }

    /// True if all field lines of requests are kept: handlers, rules and the log may ask for any.
    pub(crate) fn keeps_lines(&self) -> bool {
        !self.handlers.is_empty()
            || self.settings.access_log.is_some()
            || self.engine.reads_request_fields()
    }

    /// A buffer for the content of a request, if there are handlers.
    pub(crate) fn request_body(&self, account: &Arc<Account>) -> Option<RequestBody> {
        (!self.handlers.is_empty()).then(|| RequestBody::new(account))
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
    pub(crate) fn hold_open(
        &self,
        account: &Arc<Account>,
        plan: ResponsePlan,
    ) -> (ResponsePlan, Option<OpenFile>) {
        let (Content::File(_) | Content::Parts(_)) = plan.content else {
            return (plan, None);
        };
        let file = account.open_file(self.engine.files_left());
        if file.is_some() {
            return (plan, file);
        }
        self.loader.discard(plan.content);
        let text = "Service Unavailable: too many files are being sent";
        (service_unavailable(text), None)
    }

    /// The time since the server was made, for [`LogLimit::permits`].
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }
}

/// The state that the connections of one loop share.
pub(crate) struct WorkerContext {
    pub(crate) common: Arc<ServerContext>,
    pub(crate) clock: Clock,
    pub(crate) deadlines: Rc<Deadlines>,
    pub(crate) limits: Limits,
    pub(crate) http2_limits: salver_http2::Limits,
    /// True when no further request is to be answered on any connection.
    pub(crate) draining: Cell<bool>,
    pub(crate) scratch: RefCell<WorkerBuffers>,
    pub(crate) turns: Rc<Turns>,
    /// The access log, if there is one.
    pub(crate) log: Option<Rc<LoopLog>>,
    /// The connections that have more to send than their socket took: each holds a reference.
    pub(crate) sending: Rc<()>,
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
        let settings = &common.settings;
        let producer = settings.access_log.as_ref().map(|log| log.producer());
        let log = producer.map(|producer| LoopLog::new(producer, settings.proxies.clone()));
        Ok(WorkerContext::with(common, Rc::default(), log.transpose()?))
    }

    /// The context of connections that are admitted when all others of this loop drain already.
    pub(crate) fn for_last_connections(&self) -> Rc<Self> {
        let (common, deadlines) = (Arc::clone(&self.common), Rc::clone(&self.deadlines));
        WorkerContext::with(common, deadlines, self.log.clone())
    }

    fn with(
        common: Arc<ServerContext>,
        deadlines: Rc<Deadlines>,
        log: Option<Rc<LoopLog>>,
    ) -> Rc<Self> {
        let limits = Limits {
            max_body: common.settings.max_body,
            ..Limits::default()
        };
        Rc::new(WorkerContext {
            clock: Clock::new(),
            deadlines,
            limits,
            http2_limits: salver_http2::Limits {
                request: limits,
                for_program: !common.handlers.is_empty(),
                keeps_lines: common.keeps_lines(),
                ..salver_http2::Limits::default()
            },
            common,
            turns: Turns::new(),
            log,
            sending: Rc::new(()),
            draining: Cell::new(false),
            scratch: RefCell::new(WorkerBuffers {
                input: vec![0; INPUT].into_boxed_slice(),
                send_buffer: SendBuffer::default(),
                rendered_responses: RenderedResponses::new(),
                http2: salver_http2::Scratch::default(),
            }),
        })
    }
}
