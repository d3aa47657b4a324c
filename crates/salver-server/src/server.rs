//! The server: bound, run and ended.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::channel;

use salver_access_log::AccessLog;
use salver_assets::Engine;
use tokio::sync::mpsc::unbounded_channel;

use crate::context::ServerContext;
use crate::handle::Handle;
use crate::handler::Handlers;
use crate::http3::QuicSockets;
use crate::inherited_sockets::InheritedSockets;
use crate::listener::{BindError, Listeners};
use crate::monitor::Monitor;
use crate::reload::{RunningServer, WorkerLink, limit_descriptors, with_quic};
use crate::settings::Settings;
use crate::sites::Sites;
use crate::unix_socket::UnixSocket;
use crate::worker::{self, WorkerLinks};
use crate::worker_message::NextGeneration;

/// A server that is bound and not yet running.
pub struct Server {
    sites: Sites,
    settings: Settings,
    pub(crate) handlers: Handlers,
    listeners: Listeners,
    /// The sockets of HTTP/3 of each worker, if it is served.
    quic: Vec<Option<QuicSockets>>,
    /// The Unix sockets, which one worker has.
    unix: Vec<UnixSocket>,
    /// True if another process still reads the sockets for HTTP/3.
    datagrams_are_awaited: bool,
    handle: Handle,
    monitor: Monitor,
    pub(crate) on_ready: Option<OnReady>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("handle", &self.handle)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
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

/// Binds everything that is not inherited.
fn bind_all(
    settings: &Settings,
    inherited: &mut InheritedSockets,
) -> Result<(Listeners, Vec<Option<QuicSockets>>), BindError> {
    let tls = settings.tls();
    let any_port = tls.is_some_and(|tls| tls.addresses.iter().any(|address| address.port() == 0));
    let mut tries = if any_port { TRIES } else { 1 };
    loop {
        tries -= 1;
        let listeners = Listeners::bind(settings, inherited, &[])?;
        match QuicSockets::bind(&listeners.all, settings, inherited, &[]) {
            Ok(quic) => return Ok((listeners, quic)),
            // The port that the kernel chose for TCP is taken over UDP.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries > 0 => {}
            Err(error) => return Err(error),
        }
    }
}

impl Server {
    /// Binds the addresses, for one site - an [`Engine`] - or several; connections queue in the kernel until [`serve`](Self::serve). Raises the
    /// process's limit on descriptors as far as it may, and lowers `max_connections` to what that
    /// allows.
    ///
    /// # Errors
    /// [`BindError`] with the first address that cannot be bound.
    pub fn bind(sites: impl Into<Sites>, settings: Settings) -> Result<Self, BindError> {
        Server::bind_with(sites, settings, InheritedSockets::default())
    }

    /// The same with sockets that another process has bound, where there are some for an address. Of those for no
    /// address of the settings nothing is made.
    ///
    /// # Errors
    /// [`BindError`] with the first address that cannot be bound.
    pub fn bind_with(
        sites: impl Into<Sites>,
        mut settings: Settings,
        mut inherited: InheritedSockets,
    ) -> Result<Self, BindError> {
        let sites = sites.into();
        limit_descriptors(sites.first(), &mut settings);
        settings.workers = settings.workers.max(1);
        let (listeners, quic) = bind_all(&settings, &mut inherited)?;
        let unix = UnixSocket::bind_all(&settings.unix_sockets, &mut inherited)?;
        let handle = Handle::new();
        Ok(Server {
            sites,
            settings,
            handlers: Handlers::default(),
            listeners,
            quic,
            unix,
            datagrams_are_awaited: inherited.datagrams_are_awaited(),
            monitor: Monitor::new(handle.watch()),
            handle,
            on_ready: None,
        })
    }

    /// The engine of the first site, whose cache can be filled or cleared, and whose counters can be read.
    pub fn engine(&self) -> &Engine {
        self.sites.first()
    }

    /// The sites.
    pub fn sites(&self) -> &Sites {
        &self.sites
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

    /// Sets the log that each request gets a line of, instead of that of the settings.
    pub fn set_access_log(&mut self, log: Option<AccessLog>) {
        self.settings.access_log = log;
    }

    /// Sets what is called once every worker accepts connections: see [`Builder::on_ready`](crate::Builder::on_ready).
    pub fn set_on_ready(&mut self, callback: impl FnOnce(Ready) + Send + 'static) {
        self.on_ready = Some(Box::new(callback));
    }

    /// A handle that ends the server from any thread.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// A monitor, which tells from any thread what the server is doing.
    pub fn monitor(&self) -> Monitor {
        self.monitor.clone()
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
            sites,
            settings,
            handlers,
            listeners,
            quic,
            mut unix,
            datagrams_are_awaited,
            handle,
            monitor,
            on_ready,
        } = self;
        let common = ServerContext::new(sites, settings, handlers);
        monitor.follow(&common);
        let mut links = Vec::new();
        let mut starts = Vec::new();
        let (reads_datagrams, reading) = channel();
        let with_quic = with_quic(&quic);
        for (sockets, quic) in listeners.workers.into_iter().zip(quic) {
            let first = NextGeneration {
                common: Arc::clone(&common),
                listeners: listeners.all.clone(),
                sockets,
                quic,
                unix: std::mem::take(&mut unix),
                datagrams_are_awaited,
            };
            let (messages, received) = unbounded_channel();
            let beat = Arc::<AtomicU64>::default();
            let of_worker = WorkerLinks {
                messages: received,
                stage: handle.watch(),
                beat: Arc::clone(&beat),
                reads_datagrams: reads_datagrams.clone(),
            };
            links.push(WorkerLink { messages, beat });
            starts.push((first, of_worker));
        }
        drop(reads_datagrams);
        // Looks at the files of certificates until all workers have ended. Whoever has an answer may have the server reloaded:
        // it is known before there is one.
        let running = RunningServer::new(
            (common, monitor.clone()),
            (listeners.all, with_quic),
            links,
            reading,
        )?;
        handle.set_running(Some(running));
        let mut workers = Vec::new();
        let mut result = Ok(());
        let (accepts, accepting) = channel();
        for (number, (first, of_worker)) in starts.into_iter().enumerate() {
            let ends = handle.clone();
            let accepts = accepts.clone();
            let worker = std::thread::Builder::new().name(format!("salver-worker-{number}"));
            let started = worker.spawn(move || {
                let accepts = move || {
                    let _ = accepts.send(());
                };
                // So that it does not stand while a loader has the core.
                salver_os::ask_for_short_slices();
                let result = worker::run(first, of_worker, accepts);
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
        if all_accept {
            monitor.set_ready();
        }
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
        handle.set_running(None);
        if let Some(panic) = panicked {
            resume_unwind(panic);
        }
        result
    }
}
