//! The stages of a server's life, and who may end it.

use std::sync::Arc;

use tokio::sync::watch;

/// How far the end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Accepting and answering.
    Running,
    /// No new connections; answers under way are finished.
    Draining,
    /// Over, whatever is under way.
    Ended,
}

/// Ends a running server; can be sent to any thread.
#[derive(Clone, Debug)]
pub struct Handle(Arc<watch::Sender<Stage>>);

impl Handle {
    pub(crate) fn new() -> Self {
        Handle(Arc::new(watch::Sender::new(Stage::Running)))
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Stage> {
        self.0.subscribe()
    }

    /// Stops accepting, lets answers that are under way be finished within the grace period, and
    /// then has [`Server::serve`](crate::Server::serve) return. Called again it ends at once.
    pub fn shutdown(&self) {
        self.0.send_modify(|stage| {
            *stage = if *stage == Stage::Running {
                Stage::Draining
            } else {
                Stage::Ended
            };
        });
    }
}
