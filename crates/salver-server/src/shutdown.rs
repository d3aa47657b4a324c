//! The stages of a server's shutdown, and the handle that begins it.

use std::sync::Arc;

use tokio::sync::watch;

/// The stage of a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ShutdownStage {
    /// Accepting and answering.
    Running,
    /// No new connections; answers under way are finished.
    Draining,
    /// Connections are closed, even with answers under way.
    Ended,
}

/// The handle that ends a running server; can be sent to any thread.
#[derive(Clone, Debug)]
pub struct Handle(Arc<watch::Sender<ShutdownStage>>);

impl Handle {
    pub(crate) fn new() -> Self {
        Handle(Arc::new(watch::Sender::new(ShutdownStage::Running)))
    }

    pub(crate) fn watch(&self) -> watch::Receiver<ShutdownStage> {
        self.0.subscribe()
    }

    /// Stops accepting, lets answers that are under way be finished within the grace period, and
    /// then has [`Server::serve`](crate::Server::serve) return. Called again it ends at once.
    pub fn shutdown(&self) {
        self.0.send_modify(|stage| {
            *stage = if *stage == ShutdownStage::Running {
                ShutdownStage::Draining
            } else {
                ShutdownStage::Ended
            };
        });
    }
}
