//! What the connections of one loop share.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use salver_assets::Engine;
use salver_http1::Limits;

use crate::clock::Clock;
use crate::deadlines::Deadlines;
use crate::handler::{Handlers, Held, Holding};
use crate::http1::Ready;
use crate::loader::Loader;
use crate::occasional::Occasional;
use crate::outbox::Outbox;
use crate::passing::Passing;
use crate::settings::Settings;

/// What all loops share.
pub(crate) struct Common {
    pub(crate) engine: Engine,
    pub(crate) settings: Settings,
    pub(crate) loader: Loader,
    pub(crate) passing: Passing,
    pub(crate) handlers: Handlers,
    /// The content of requests that handlers are to have.
    pub(crate) holding: Holding,
    pub(crate) said: Said,
    connections: AtomicUsize,
    started: Instant,
}

/// What is worth a line in the log, but not one each time.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) connections_full: Occasional,
    pub(crate) descriptors_exhausted: Occasional,
    pub(crate) peers_stall: Occasional,
    pub(crate) files_change: Occasional,
    pub(crate) handlers_fail: Occasional,
}

/// One of the connections that the server may have; free again when dropped.
pub(crate) struct Seat(Arc<Common>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Common {
    pub(crate) fn new(engine: Engine, settings: Settings, handlers: Handlers) -> Arc<Self> {
        Arc::new(Common {
            loader: Loader::new(settings.loader_threads, settings.loader_queue),
            passing: Passing::default(),
            handlers,
            holding: Holding::new(settings.max_held),
            engine,
            settings,
            said: Said {
                connections_full: Occasional::new(),
                descriptors_exhausted: Occasional::new(),
                peers_stall: Occasional::new(),
                files_change: Occasional::new(),
                handlers_fail: Occasional::new(),
            },
            connections: AtomicUsize::new(0),
            started: Instant::now(),
        })
    }

    /// A seat for one more connection, if there is one.
    pub(crate) fn seat(self: &Arc<Self>) -> Option<Seat> {
        let taken = self.connections.fetch_add(1, Ordering::Relaxed);
        let seat = Seat(Arc::clone(self));
        (taken < self.settings.max_connections).then_some(seat)
    }

    /// Room for the content of a request, if anybody is to have it.
    pub(crate) fn hold(&self) -> Option<Held> {
        (!self.handlers.is_empty()).then(|| self.holding.begin())
    }

    /// Says in the log that there is no seat.
    pub(crate) fn say_full(&self) {
        if self.said.connections_full.now(self.uptime()) {
            tracing::warn!(
                "all {} connections are in use: further ones are answered 503 or refused \
                 (said at most once a minute; see --max-connections)",
                self.settings.max_connections
            );
        }
    }

    /// For [`Occasional::now`].
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
}

/// What a connection uses while it runs and gives back before it waits: an idle one holds nothing.
pub(crate) struct Scratch {
    pub(crate) input: Box<[u8]>,
    pub(crate) outbox: Outbox,
    pub(crate) ready: Ready,
    pub(crate) http2: salver_http2::Scratch,
}

/// What one `recv` takes at most; a head fits.
const INPUT: usize = 16 * 1024;

impl Context {
    pub(crate) fn new(common: Arc<Common>) -> Rc<Self> {
        let limits = Limits {
            max_body: common.settings.max_body,
            ..Limits::default()
        };
        Rc::new(Context {
            clock: Clock::new(),
            deadlines: Rc::default(),
            limits,
            http2_limits: salver_http2::Limits {
                request: limits,
                for_program: !common.handlers.is_empty(),
                ..salver_http2::Limits::default()
            },
            common,
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
