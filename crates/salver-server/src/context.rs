//! What the connections of one loop share.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use salver_assets::{Content, Engine, LogLimit};
use salver_http1::Limits;

use crate::awaited::AwaitedAnswers;
use crate::clock::Clock;
use crate::deadlines::Deadlines;
use crate::handler::{Handlers, RequestBody};
use crate::loader::Loader;
use crate::memory_budget::{Account, MemoryBudget, OpenFile};
use crate::outbox::Outbox;
use crate::ready::Ready;
use crate::seats::{Carrier, NoSeat, Seat, Seats};
use crate::settings::Settings;
use crate::shared_reads::SharedReads;
use crate::turns::Turns;

/// What all loops share.
pub(crate) struct Common {
    pub(crate) engine: Engine,
    pub(crate) settings: Settings,
    pub(crate) loader: Loader,
    pub(crate) shared_reads: SharedReads,
    pub(crate) handlers: Handlers,
    pub(crate) seats: Arc<Seats>,
    pub(crate) awaited: Arc<AwaitedAnswers>,
    pub(crate) said: Said,
    started: Instant,
}

/// What is worth a line in the log, but not one each time.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) connections_full: LogLimit,
    pub(crate) share_full: LogLimit,
    pub(crate) descriptors_exhausted: LogLimit,
    pub(crate) peers_stall: LogLimit,
    pub(crate) files_change: LogLimit,
    pub(crate) handlers_fail: LogLimit,
}

/// An answer may hold no file open.
#[derive(Debug)]
pub(crate) struct NoFile;

impl Common {
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
        Arc::new(Common {
            shared_reads: SharedReads::default(),
            loader,
            handlers,
            seats: Seats::new(most, most_of_one, memory),
            awaited: AwaitedAnswers::new(most, engine.mount_count()),
            engine,
            settings,
            said: Said {
                connections_full: LogLimit::new(),
                share_full: LogLimit::new(),
                descriptors_exhausted: LogLimit::new(),
                peers_stall: LogLimit::new(),
                files_change: LogLimit::new(),
                handlers_fail: LogLimit::new(),
            },
            started: Instant::now(),
        })
    }

    /// The content of a request that begins, if anybody is to have it.
    pub(crate) fn request_body(&self, account: &Arc<Account>) -> Option<RequestBody> {
        (!self.handlers.is_empty()).then(|| RequestBody::new(account))
    }

    /// Says in the log that there is no seat.
    pub(crate) fn say_no_seat(&self, why: NoSeat) {
        match why {
            NoSeat::Full if self.said.connections_full.permits(self.uptime()) => {
                tracing::warn!(
                    "all {} connections are in use, or all their memory: further ones are answered 503 or \
                     refused (said at most once a minute; see --max-connections, --connection-memory)",
                    self.seats.most()
                );
            }
            NoSeat::Share if self.said.share_full.permits(self.uptime()) => {
                tracing::warn!(
                    "one client has its share of the connections: further ones of it are answered 503 or \
                     refused (said at most once a minute; see --max-connections-per-client)"
                );
            }
            NoSeat::Full | NoSeat::Share => {}
        }
    }

    /// Counts an answer that holds files open, if it does.
    ///
    /// # Errors
    /// It may not hold them: others may need them.
    pub(crate) fn open_file(
        &self,
        account: &Arc<Account>,
        content: &Content,
    ) -> Result<Option<OpenFile>, NoFile> {
        let holds_file = match content {
            Content::Empty | Content::Memory(_) => false,
            Content::File(_) | Content::Parts(_) => true,
        };
        if !holds_file {
            return Ok(None);
        }
        let file = account.open_file(self.engine.files_left());
        file.map(Some).ok_or(NoFile)
    }

    /// For [`LogLimit::permits`].
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }
}

/// What one loop has.
pub(crate) struct Context {
    pub(crate) common: Arc<Common>,
    pub(crate) clock: Clock,
    pub(crate) deadlines: Rc<Deadlines>,
    pub(crate) limits: Limits,
    pub(crate) http2_limits: salver_http2::Limits,
    /// Set when no further request is to be answered on any connection.
    pub(crate) draining: Cell<bool>,
    pub(crate) scratch: RefCell<Scratch>,
    pub(crate) turns: Rc<Turns>,
    /// Connections that have more to send than they could.
    senders: Cell<usize>,
}

/// One of a loop's connections that have more to send; no longer when dropped.
pub(crate) struct Sender(Rc<Context>);

/// What a connection uses while it runs and gives back before it waits: an idle one holds nothing.
pub(crate) struct Scratch {
    pub(crate) input: Box<[u8]>,
    pub(crate) outbox: Outbox,
    pub(crate) ready: Ready,
    pub(crate) http2: salver_http2::Scratch,
}

/// What one `recv` takes at most; a head fits.
const INPUT: usize = 16 * 1024;

impl Drop for Sender {
    fn drop(&mut self) {
        self.0.senders.set(self.0.senders.get() - 1);
    }
}

impl Context {
    /// Counts a connection that has more to send than it could.
    pub(crate) fn sender(self: &Rc<Self>) -> Sender {
        self.senders.set(self.senders.get() + 1);
        Sender(Rc::clone(self))
    }

    /// Connections that have more to send than they could.
    pub(crate) fn senders(&self) -> usize {
        self.senders.get()
    }

    /// A seat for a client at `address`. Where all are taken, the connection that has waited longest for its
    /// client makes room: it ends before this one is served.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn seat(&self, address: IpAddr, carrier: Carrier) -> Result<Seat, NoSeat> {
        let seats = &self.common.seats;
        match seats.take(address, carrier, false) {
            Err(NoSeat::Full) if self.deadlines.make_room(Instant::now()) => {
                seats.take(address, carrier, true)
            }
            taken => taken,
        }
    }

    pub(crate) fn new(common: Arc<Common>) -> Rc<Self> {
        Context::with(common, Rc::default())
    }

    /// What connections share that are let in when all others of this loop drain already.
    pub(crate) fn for_the_last(&self) -> Rc<Self> {
        Context::with(Arc::clone(&self.common), Rc::clone(&self.deadlines))
    }

    fn with(common: Arc<Common>, deadlines: Rc<Deadlines>) -> Rc<Self> {
        let limits = Limits {
            max_body: common.settings.max_body,
            ..Limits::default()
        };
        Rc::new(Context {
            clock: Clock::new(),
            deadlines,
            limits,
            http2_limits: salver_http2::Limits {
                request: limits,
                for_program: !common.handlers.is_empty(),
                ..salver_http2::Limits::default()
            },
            common,
            turns: Turns::new(),
            senders: Cell::new(0),
            draining: Cell::new(false),
            scratch: RefCell::new(Scratch {
                input: vec![0; INPUT].into_boxed_slice(),
                outbox: Outbox::default(),
                ready: Ready::new(),
                http2: salver_http2::Scratch::default(),
            }),
        })
    }
}
