//! The stages of a server's shutdown.

/// The stage of a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ShutdownStage {
    /// Accepting and answering.
    Running,
    /// Another process accepts at the same sockets; connections end after the next answer of each.
    HandingOver,
    /// No new connections; answers under way are finished.
    Draining,
    /// Connections are closed, even with answers under way.
    Ended,
}
