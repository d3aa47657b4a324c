//! The handle of a running server: ends it, has it serve by other settings, or hands its sockets to another process.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::reload::{ReloadError, Reloaded, RunningServer, ServerSockets};
use crate::settings::Settings;
use crate::shutdown::ShutdownStage;
use crate::sites::Sites;

/// The handle of a running server; can be sent to any thread.
#[derive(Clone)]
pub struct Handle(Arc<HandleState>);

struct HandleState {
    stage: watch::Sender<ShutdownStage>,
    /// The server, while it runs.
    running: Mutex<Option<RunningServer>>,
}

impl Handle {
    pub(crate) fn new() -> Self {
        Handle(Arc::new(HandleState {
            stage: watch::Sender::new(ShutdownStage::Running),
            running: Mutex::new(None),
        }))
    }

    pub(crate) fn watch(&self) -> watch::Receiver<ShutdownStage> {
        self.0.stage.subscribe()
    }

    /// Notes the server while it runs; `None` when it has ended.
    pub(crate) fn set_running(&self, running: Option<RunningServer>) {
        *self.hold() = running;
    }

    fn hold(&self) -> MutexGuard<'_, Option<RunningServer>> {
        self.0
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops accepting, lets answers that are under way be finished within the grace period, and
    /// then has [`Server::serve`](crate::Server::serve) return. Called again it ends at once.
    pub fn shutdown(&self) {
        self.0.stage.send_modify(|stage| {
            *stage = match *stage {
                ShutdownStage::Running | ShutdownStage::HandingOver => ShutdownStage::Draining,
                ShutdownStage::Draining | ShutdownStage::Ended => ShutdownStage::Ended,
            };
        });
    }

    /// Has the server serve these sites - or one, an [`Engine`](salver_assets::Engine) - by these settings, or leaves everything as it is. Waits until all loops
    /// do: new connections are served by them at once, the others from their next request on. Nobody is cut off.
    ///
    /// Listeners that stay keep their sockets, and who waits there is served; new ones are bound before anything
    /// changes; connections of those that go end after the next answer of each. Sessions of TLS are resumed as
    /// before. Limits hold from then on: connections beyond them stay, and there are no further ones. Handlers and
    /// guards stay. The engines may be the same, by which their cache stays, too; that of before is cleared, and dropped
    /// when the last answer by it has ended.
    ///
    /// # Errors
    /// [`ReloadError`]: why nothing has changed.
    pub fn reload(
        &self,
        sites: impl Into<Sites>,
        settings: Settings,
    ) -> Result<Reloaded, ReloadError> {
        if *self.0.stage.borrow() != ShutdownStage::Running {
            return Err(ReloadError::NotRunning);
        }
        match &mut *self.hold() {
            Some(running) => running.reload(sites.into(), settings),
            None => Err(ReloadError::NotRunning),
        }
    }

    /// Duplicates of all sockets that the server listens on, for another process: each with its address in the
    /// settings.
    ///
    /// # Errors
    /// The server does not run, or there are too few descriptors.
    pub fn sockets(&self) -> io::Result<ServerSockets> {
        match &*self.hold() {
            Some(running) => running.sockets(),
            None => Err(io::Error::other("the server does not run")),
        }
    }

    /// Ends the server as [`shutdown`](Self::shutdown) does, but leaves its addresses to another process that has
    /// [its sockets](Self::sockets): a connection ends after its next answer, so that no request is lost, or when the
    /// grace period is over.
    pub fn hand_over(&self) {
        self.0.stage.send_modify(|stage| {
            *stage = (*stage).max(ShutdownStage::HandingOver);
        });
    }

    /// Waits until the server no longer reads its sockets for HTTP/3, after [`hand_over`](Self::hand_over).
    pub fn wait_for_datagrams(&self) {
        let reading = self.hold().as_mut().and_then(RunningServer::take_reading);
        if let Some(reading) = reading {
            // Nothing is ever sent.
            let _ = reading.recv();
        }
    }

    /// Reads the sockets for HTTP/3 from now on, which were left alone for
    /// [another process](crate::InheritedSockets::await_datagrams).
    pub fn take_datagrams(&self) {
        if let Some(running) = &*self.hold() {
            running.take_datagrams();
        }
    }

    /// The counters of all loops, each of which grows several times a second while its loop goes on; empty if the
    /// server does not run.
    pub fn heartbeats(&self) -> Vec<u64> {
        let running = self.hold();
        running
            .as_ref()
            .map(RunningServer::beats)
            .unwrap_or_default()
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Handle")
            .field(&*self.0.stage.borrow())
            .finish()
    }
}
