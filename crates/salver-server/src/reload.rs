//! A running server, and its change to other settings.
//!
//! ```text
//! settings ──► new sockets bound ──► each loop prepares ──► limits ──► each loop commits ──► the engine of before cleared
//!                   │                      │ one cannot
//!                   ▼                      ▼
//!              why nothing changes ◄── all drop what they have prepared
//! ```

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use salver_assets::Engine;
use tokio::sync::mpsc::UnboundedSender;

use crate::context::ServerContext;
use crate::http3::QuicSockets;
use crate::inherited_sockets::InheritedSockets;
use crate::listener::{BindError, Listener, ListenerId, Listeners};
use crate::monitor::Monitor;
use crate::settings::Settings;
use crate::sites::Sites;
use crate::tls::{self, CertificateWatch};
use crate::worker_message::{NextGeneration, WorkerMessage, WorkerSockets};

/// The time for all loops to answer. They never block, so that only a machine that stands still takes as long.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a server has come to by a reload.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reloaded {
    /// The addresses without TLS, with real port numbers.
    pub addresses: Vec<SocketAddr>,
    /// The addresses with TLS, with real port numbers.
    pub tls_addresses: Vec<SocketAddr>,
    /// The addresses that only redirect to the first address with TLS.
    pub redirect_addresses: Vec<SocketAddr>,
}

/// Why a server goes on by the settings that it had.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReloadError {
    /// The server has not begun to run, or is ending.
    NotRunning,
    /// The number of workers is another.
    Workers {
        /// The number that it has.
        has: usize,
        /// The number that it should have.
        wanted: usize,
    },
    /// An address cannot be listened on.
    Address(BindError),
    /// A loop cannot be set up.
    Loop(io::Error),
}

impl fmt::Display for ReloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReloadError::NotRunning => f.write_str("the server does not run, or is ending"),
            ReloadError::Workers { has, wanted } => write!(
                f,
                "{wanted} workers instead of {has} need another process: upgrade or restart it"
            ),
            ReloadError::Address(error) => error.fmt(f),
            ReloadError::Loop(error) => write!(f, "a loop cannot be set up: {error}"),
        }
    }
}

impl std::error::Error for ReloadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReloadError::NotRunning | ReloadError::Workers { .. } => None,
            ReloadError::Address(error) => Some(error),
            ReloadError::Loop(error) => Some(error),
        }
    }
}

/// The sockets of a server, for another process: each with its address in the settings.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ServerSockets {
    /// The listeners.
    pub listeners: Vec<(SocketAddr, TcpListener)>,
    /// The sockets for HTTP/3.
    pub datagrams: Vec<(SocketAddr, UdpSocket)>,
    /// The Unix sockets, by their paths.
    pub unix: Vec<(PathBuf, UnixListener)>,
}

/// A server that runs.
pub(crate) struct RunningServer {
    common: Arc<ServerContext>,
    /// What is told of the newest generation.
    monitor: Monitor,
    listeners: Vec<Listener>,
    /// The listeners that have HTTP/3.
    quic: Vec<ListenerId>,
    workers: Vec<UnboundedSender<WorkerMessage>>,
    beats: Vec<Arc<AtomicU64>>,
    /// Disconnected when no loop reads the sockets for HTTP/3.
    reading: Option<Receiver<()>>,
    watch: Option<CertificateWatch>,
}

/// A worker as the server refers to it.
pub(crate) struct WorkerLink {
    pub(crate) messages: UnboundedSender<WorkerMessage>,
    pub(crate) beat: Arc<AtomicU64>,
}

impl RunningServer {
    /// A server whose workers serve by this.
    ///
    /// # Errors
    /// There is no thread to look at the files of certificates.
    pub(crate) fn new(
        (common, monitor): (Arc<ServerContext>, Monitor),
        (listeners, quic): (Vec<Listener>, Vec<ListenerId>),
        workers: Vec<WorkerLink>,
        reading: Receiver<()>,
    ) -> io::Result<Self> {
        Ok(RunningServer {
            watch: watch(&common.settings)?,
            common,
            monitor,
            listeners,
            quic,
            beats: workers.iter().map(|link| Arc::clone(&link.beat)).collect(),
            workers: workers.into_iter().map(|link| link.messages).collect(),
            reading: Some(reading),
        })
    }

    /// Changes to these settings, or to nothing.
    pub(crate) fn reload(
        &mut self,
        sites: Sites,
        mut settings: Settings,
    ) -> Result<Reloaded, ReloadError> {
        limit_descriptors(sites.first(), &mut settings);
        let (has, wanted) = (self.workers.len(), settings.workers.max(1));
        if has != wanted {
            return Err(ReloadError::Workers { has, wanted });
        }
        settings.continue_sessions(&self.common.settings);
        // These are bound once.
        settings.unix_sockets = self.common.settings.unix_sockets.clone();
        let nothing = &mut InheritedSockets::default();
        let mut listeners =
            Listeners::bind(&settings, nothing, &self.listeners).map_err(ReloadError::Address)?;
        let quic = QuicSockets::bind(&listeners.all, &settings, nothing, &self.quic)
            .map_err(ReloadError::Address)?;
        let with_quic = with_quic(&quic);
        let watch = watch(&settings).map_err(ReloadError::Loop)?;
        let common = self.common.next(sites, settings);
        let sockets = std::mem::take(&mut listeners.workers);
        let mut generations = sockets.into_iter().zip(quic);
        let prepared = self.tell_all(|done| {
            let (sockets, quic) = generations.next()?;
            let next = NextGeneration {
                common: Arc::clone(&common),
                listeners: listeners.all.clone(),
                sockets,
                quic,
                unix: Vec::new(),
                datagrams_are_awaited: false,
            };
            Some(WorkerMessage::Prepare(Box::new(next), done))
        });
        if let Err(error) = prepared {
            for worker in &self.workers {
                let _ = worker.send(WorkerMessage::Abort);
            }
            return Err(ReloadError::Loop(error));
        }
        common.limit();
        // From here on nothing fails but a loop that has ended, and the server with it.
        let committed = self.tell_all(|done| Some(WorkerMessage::Commit(done)));
        self.monitor.follow(&common);
        let before = std::mem::replace(&mut self.common, common);
        if !before.sites.first().is_same(self.common.sites.first()) {
            for engine in before.sites.engines() {
                engine.clear();
            }
        }
        self.listeners = listeners.all;
        self.quic = with_quic;
        self.watch = watch;
        committed.map_err(ReloadError::Loop)?;
        Ok(Reloaded {
            addresses: listeners.plain,
            tls_addresses: listeners.tls,
            redirect_addresses: listeners.redirects,
        })
    }

    /// Tells all workers, and waits for all of them.
    fn tell_all<T>(
        &self,
        mut message: impl FnMut(Sender<io::Result<T>>) -> Option<WorkerMessage>,
    ) -> io::Result<Vec<T>> {
        let (done, results) = channel();
        for worker in &self.workers {
            let ended = || io::Error::other("a loop has ended");
            let message = message(done.clone()).ok_or_else(ended)?;
            worker.send(message).map_err(|_| ended())?;
        }
        drop(done);
        let until = Instant::now() + PATIENCE;
        let mut all = Vec::new();
        for _ in &self.workers {
            let left = until.saturating_duration_since(Instant::now());
            let result = results.recv_timeout(left).map_err(io::Error::other)?;
            all.push(result?);
        }
        Ok(all)
    }

    /// Duplicates of all sockets.
    pub(crate) fn sockets(&self) -> io::Result<ServerSockets> {
        let of_workers = self.tell_all(|done| Some(WorkerMessage::Duplicate(done)))?;
        let configured = |id: ListenerId| {
            let found = self.listeners.iter().find(|listener| listener.id == id);
            found.map(|listener| listener.configured)
        };
        let mut all = ServerSockets::default();
        for WorkerSockets {
            listeners,
            datagrams,
            unix,
        } in of_workers
        {
            all.unix.extend(unix);
            let listeners = listeners.into_iter();
            let with_address = |(id, socket)| Some((configured(id)?, socket));
            all.listeners.extend(listeners.filter_map(with_address));
            let datagrams = datagrams.into_iter();
            let with_address = |(id, socket)| Some((configured(id)?, socket));
            all.datagrams.extend(datagrams.filter_map(with_address));
        }
        Ok(all)
    }

    /// What is disconnected when no loop reads the sockets for HTTP/3, once.
    pub(crate) fn take_reading(&mut self) -> Option<Receiver<()>> {
        self.reading.take()
    }

    pub(crate) fn take_datagrams(&self) {
        for worker in &self.workers {
            let _ = worker.send(WorkerMessage::TakeDatagrams);
        }
    }

    pub(crate) fn beats(&self) -> Vec<u64> {
        let beats = self.beats.iter();
        beats.map(|beat| beat.load(Ordering::Relaxed)).collect()
    }
}

/// The listeners that have HTTP/3.
pub(crate) fn with_quic(sockets: &[Option<QuicSockets>]) -> Vec<ListenerId> {
    let first = sockets.first().and_then(Option::as_ref);
    first
        .map(|quic| quic.listeners().to_vec())
        .unwrap_or_default()
}

/// Looks at the files of certificates until it is dropped, if there are any.
fn watch(settings: &Settings) -> io::Result<Option<CertificateWatch>> {
    let tls = settings.tls();
    Ok(tls
        .map(|tls| tls::watch(&tls.handshakes))
        .transpose()?
        .flatten())
}

/// The descriptors that are kept for listeners, loops, logs, and for loading files, where a thread of the loader takes a
/// few; besides one for the root of each mount.
const OTHER_DESCRIPTORS: u64 = 256;

/// The divisor of all descriptors for the share of files that answers hold open.
const FILES_SHARE: u64 = 4;

/// The divisor of all descriptors for the share of files that stay open between requests.
const KEPT_SHARE: u64 = 8;

/// Raises the process's limit on descriptors as far as it may, and lowers what these need to what that allows.
pub(crate) fn limit_descriptors(engine: &Engine, settings: &mut Settings) {
    let limit = salver_os::raise_descriptor_limit();
    let files = limit / FILES_SHARE;
    let kept = usize::try_from(limit / KEPT_SHARE).unwrap_or(usize::MAX);
    engine.limit_open_files(kept);
    engine.limit_descriptors(usize::try_from(files).unwrap_or(usize::MAX));
    let mounts = u64::try_from(engine.mount_count()).unwrap_or(u64::MAX);
    let other = OTHER_DESCRIPTORS.saturating_add(mounts);
    let descriptors = limit - other.saturating_add(files).min(limit / 2);
    let most = usize::try_from(descriptors).unwrap_or(usize::MAX).max(1);
    if settings.max_connections > most {
        tracing::warn!(
            "{most} connections at most instead of {}: the limit on open files allows no more",
            settings.max_connections
        );
        settings.max_connections = most;
    }
}
