//! The messages to a running worker: another generation of settings, and its sockets for another process.

use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use crate::context::ServerContext;
use crate::http3::QuicSockets;
use crate::listener::{Listener, ListenerId};
use crate::unix_socket::UnixSocket;

/// A generation for one worker: what it serves by from its start or a reload to the next reload.
pub(crate) struct NextGeneration {
    pub(crate) common: Arc<ServerContext>,
    /// All listeners.
    pub(crate) listeners: Vec<Listener>,
    /// The sockets of those that are new.
    pub(crate) sockets: Vec<(ListenerId, TcpListener)>,
    pub(crate) quic: Option<QuicSockets>,
    /// The Unix sockets, if they are new and this worker is the one that has them.
    pub(crate) unix: Vec<UnixSocket>,
    /// True if another process still reads the sockets for HTTP/3.
    pub(crate) datagrams_are_awaited: bool,
}

/// The sockets of a worker, duplicated.
#[derive(Default)]
pub(crate) struct WorkerSockets {
    pub(crate) listeners: Vec<(ListenerId, TcpListener)>,
    pub(crate) datagrams: Vec<(ListenerId, UdpSocket)>,
    pub(crate) unix: Vec<(PathBuf, UnixListener)>,
}

/// A message to a worker. What can fail is prepared by all workers before any of them changes.
pub(crate) enum WorkerMessage {
    /// Make everything that this generation needs, and tell if that went well.
    Prepare(Box<NextGeneration>, Sender<io::Result<()>>),
    /// Serve by what was prepared, and tell when new connections and requests do.
    Commit(Sender<io::Result<()>>),
    /// Drop what was prepared.
    Abort,
    /// Duplicate the sockets.
    Duplicate(Sender<io::Result<WorkerSockets>>),
    /// Read the sockets for HTTP/3, which another process has left.
    TakeDatagrams,
}
