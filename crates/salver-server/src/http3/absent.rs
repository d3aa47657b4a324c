//! HTTP/3 where it is left out: the names that the rest of the server uses. Of these types there is no value.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use crate::context::WorkerContext;
use crate::listener::BindError;
use crate::settings::Settings;

/// The sockets of a worker.
pub(crate) enum QuicSockets {}

impl QuicSockets {
    /// None for any worker.
    pub(crate) fn bind(
        _: &[SocketAddr],
        settings: &Settings,
    ) -> Result<Vec<Option<Self>>, BindError> {
        Ok((0..settings.workers).map(|_| None).collect())
    }

    pub(crate) fn port(&self) -> Option<u16> {
        match *self {}
    }
}

/// HTTP/3 on one loop.
pub(crate) enum Http3Endpoints {}

impl Http3Endpoints {
    pub(crate) fn start(sockets: QuicSockets, _: &Rc<WorkerContext>) -> io::Result<Self> {
        match sockets {}
    }

    pub(crate) async fn end(self) {
        match self {}
    }
}
