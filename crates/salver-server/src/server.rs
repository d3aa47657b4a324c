//! The server: bound, run and ended.

use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::channel;

use salver_assets::Engine;

use crate::context::ServerContext;
use crate::handler::Handlers;
use crate::http3::QuicSockets;
use crate::listener::{BindError, Listeners};
use crate::settings::Settings;
use crate::shutdown::Handle;
use crate::{tls, worker};

/// The descriptors that are kept for listeners, loops, logs, and for loading files: a thread of the loader takes a
/// few.
const OTHER_DESCRIPTORS: u64 = 256;

/// The divisor of all descriptors for the share of files that answers hold open.
const FILES_SHARE: u64 = 4;

/// The divisor of all descriptors for the share of files that stay open between requests.
const KEPT_SHARE: u64 = 8;

/// A server that is bound and not yet running.
pub struct Server {
    engine: Engine,
    settings: Settings,
    pub(crate) handlers: Handlers,
    listeners: Listeners,
    /// The sockets of HTTP/3 of each worker, if it is served.
    quic: Vec<Option<QuicSockets>>,
    handle: Handle,
    pub(crate) on_ready: Option<OnReady>,
}

/// The addresses and the handle of a server that accepts connections on every worker.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ready {
    /// The addresses without TLS, with real port numbers.
    pub addresses: Vec<SocketAddr>,
    /// The addresses with TLS, with real port numbers.
    pub tls_addresses: Vec<SocketAddr>,
    /// The handle that ends the server.
    pub handle: Handle,
}

/// The function that is called when a server is ready.
pub(crate) type OnReady = Box<dyn FnOnce(Ready) + Send>;

/// The number of tries to find a port that is free over TCP and over UDP, where any will do.
const TRIES: usize = 16;

/// Binds everything.
fn bind_all(settings: &Settings) -> Result<(Listeners, Vec<Option<QuicSockets>>), BindError> {
    let tls = settings.tls();
    let any_port = tls.is_some_and(|tls| tls.addresses.iter().any(|address| address.port() == 0));
    let mut tries = if any_port { TRIES } else { 1 };
    loop {
        tries -= 1;
        let listeners = Listeners::bind(settings)?;
        match QuicSockets::bind(&listeners.tls, settings) {
            Ok(quic) => return Ok((listeners, quic)),
            // The port that the kernel chose for TCP is taken over UDP.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries > 0 => {}
            Err(error) => return Err(error),
        }
    }
}

impl Server {
    /// Binds the addresses; connections queue in the kernel until [`serve`](Self::serve). Raises the
    /// process's limit on descriptors as far as it may, and lowers `max_connections` to what that
    /// allows.
    ///
    /// # Errors
    /// [`BindError`] with the first address that cannot be bound.
    pub fn bind(engine: Engine, mut settings: Settings) -> Result<Self, BindError> {
        let limit = salver_os::raise_descriptor_limit();
        let files = limit / FILES_SHARE;
        let kept = usize::try_from(limit / KEPT_SHARE).unwrap_or(usize::MAX);
        engine.limit_open_files(kept);
        engine.limit_descriptors(usize::try_from(files).unwrap_or(usize::MAX));
        let descriptors = limit - OTHER_DESCRIPTORS.saturating_add(files).min(limit / 2);
        let most = usize::try_from(descriptors).unwrap_or(usize::MAX).max(1);
        if settings.max_connections > most {
            tracing::warn!(
                "{most} connections at most instead of {}: the limit on open files allows no more",
                settings.max_connections
            );
            settings.max_connections = most;
        }
        settings.workers = settings.workers.max(1);
        let (listeners, quic) = bind_all(&settings)?;
        Ok(Server {
            engine,
            settings,
            handlers: Handlers::default(),
            listeners,
            quic,
            handle: Handle::new(),
            on_ready: None,
        })
    }

    /// The engine, whose cache can be filled or cleared, and whose counters can be read.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The addresses without TLS, with real port numbers.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.listeners.plain
    }

    /// The addresses with TLS, with real port numbers.
    pub fn tls_addresses(&self) -> &[SocketAddr] {
        &self.listeners.tls
    }

    /// The addresses that only redirect to the first address with TLS.
    pub fn redirect_addresses(&self) -> &[SocketAddr] {
        &self.listeners.redirects
    }

    /// A handle that ends the server from any thread.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Serves until [`Handle::shutdown`], on as many threads as there are workers. Blocks the
    /// thread that calls it: within an async program, call it on one of its own.
    ///
    /// # Errors
    /// [`io::Error`] if a loop cannot be set up; the others are then ended too.
    pub fn serve(self) -> io::Result<()> {
        let ready = Ready {
            addresses: self.addresses().to_vec(),
            tls_addresses: self.tls_addresses().to_vec(),
            handle: self.handle(),
        };
        let Server {
            engine,
            settings,
            handlers,
            listeners,
            quic,
            handle,
            on_ready,
        } = self;
        let common = ServerContext::new(engine, settings, handlers);
        // Looks at the files of certificates until all workers have ended.
        let tls = common.settings.tls();
        let _watch = tls.map(|tls| tls::watch(&tls.handshakes)).transpose()?;
        let mut workers = Vec::new();
        let mut result = Ok(());
        let (accepts, accepting) = channel();
        let sockets = listeners.workers.into_iter().zip(quic);
        for (number, (listeners, quic)) in sockets.enumerate() {
            let (common, stage, ends) = (Arc::clone(&common), handle.watch(), handle.clone());
            let accepts = accepts.clone();
            let worker = std::thread::Builder::new().name(format!("salver-worker-{number}"));
            let started = worker.spawn(move || {
                let accepts = move || {
                    let _ = accepts.send(());
                };
                let result = worker::run(listeners, quic, common, stage, accepts);
                if result.is_err() {
                    ends.shutdown();
                }
                result
            });
            match started {
                Ok(worker) => workers.push(worker),
                Err(error) => {
                    handle.shutdown();
                    result = Err(error);
                }
            }
        }
        drop(accepts);
        // A worker that cannot be set up never sends.
        let all_accept =
            result.is_ok() && accepting.iter().take(workers.len()).count() == workers.len();
        let mut panicked = None;
        if all_accept && let Some(on_ready) = on_ready {
            let told = catch_unwind(AssertUnwindSafe(|| on_ready(ready)));
            panicked = told.err();
        }
        if panicked.is_some() {
            // There may be no other handle.
            handle.shutdown();
        }
        for worker in workers {
            let ended = worker.join();
            result = result.and(ended.unwrap_or_else(|_| Err(io::Error::other("a loop panicked"))));
        }
        if let Some(panic) = panicked {
            resume_unwind(panic);
        }
        result
    }
}
