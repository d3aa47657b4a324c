//! The monitor of a server: what it is doing, told from any thread.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

use tokio::sync::watch;

use crate::context::ServerContext;
use crate::shutdown::ShutdownStage;

/// The monitor of a server; can be sent to any thread, and outlives the server.
#[derive(Clone)]
pub struct Monitor(Arc<MonitorState>);

struct MonitorState {
    stage: watch::Receiver<ShutdownStage>,
    /// The newest generation of the server, from when it begins to run.
    server: Mutex<Weak<ServerContext>>,
    /// True once every worker accepts connections.
    is_ready: AtomicBool,
}

/// The stage of a server's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Connections wait in the kernel.
    Starting,
    /// Connections are accepted on every worker.
    Serving,
    /// Answers under way are finished, and nothing is accepted; or it has ended.
    Ending,
}

/// The load of a server at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerLoad {
    /// The connections.
    pub connections: usize,
    /// The most connections.
    pub most_connections: usize,
    /// The memory that connections hold, in bytes.
    pub connection_memory: u64,
    /// The most of it.
    pub most_connection_memory: u64,
    /// The threads that may wait for disks.
    pub loader_threads: usize,
    /// The jobs that they perform.
    pub loader_busy: usize,
    /// The loads that wait for one, or for their file to come to rest.
    pub loader_waiting: usize,
}

/// The end of a certificate in use.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CertificateExpiry {
    /// The names and addresses in it, for people.
    pub names: String,
    /// The moment from which it is no longer valid.
    pub not_after: SystemTime,
}

impl Monitor {
    pub(crate) fn new(stage: watch::Receiver<ShutdownStage>) -> Self {
        Monitor(Arc::new(MonitorState {
            stage,
            server: Mutex::default(),
            is_ready: AtomicBool::new(false),
        }))
    }

    /// Notes the generation that the server begins to run by, or has changed to.
    pub(crate) fn follow(&self, server: &Arc<ServerContext>) {
        *self.hold() = Arc::downgrade(server);
    }

    fn hold(&self) -> MutexGuard<'_, Weak<ServerContext>> {
        self.0.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that every worker accepts connections.
    pub(crate) fn set_ready(&self) {
        self.0.is_ready.store(true, Ordering::Release);
    }

    fn server(&self) -> Option<Arc<ServerContext>> {
        self.hold().upgrade()
    }

    /// The stage of its life.
    pub fn stage(&self) -> Stage {
        if *self.0.stage.borrow() != ShutdownStage::Running {
            return Stage::Ending;
        }
        match self.0.is_ready.load(Ordering::Acquire) {
            true => Stage::Serving,
            false => Stage::Starting,
        }
    }

    /// Its load; nothing before it runs, and when it has ended.
    pub fn load(&self) -> ServerLoad {
        let Some(server) = self.server() else {
            return ServerLoad::default();
        };
        let memory = server.seats.memory();
        let (threads, busy, waiting) = server.loader.occupancy();
        ServerLoad {
            connections: server.seats.taken(),
            most_connections: server.seats.most(),
            connection_memory: memory.in_use(),
            most_connection_memory: memory.most(),
            loader_threads: threads,
            loader_busy: busy,
            loader_waiting: waiting,
        }
    }

    /// The ends of the certificates that new connections are shown.
    pub fn certificates(&self) -> Vec<CertificateExpiry> {
        let server = self.server();
        let tls = server.as_ref().and_then(|server| server.settings.tls());
        let expiries = tls.map(|tls| tls.handshakes.expiries());
        let expiries = expiries.into_iter().flatten();
        let expiries = expiries.map(|(names, not_after)| CertificateExpiry { names, not_after });
        expiries.collect()
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Monitor").field(&self.stage()).finish()
    }
}
