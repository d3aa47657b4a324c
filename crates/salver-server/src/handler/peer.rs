//! The peer of a request's connection.

use std::net::SocketAddr;

use salver_assets::strategy::Transport;

use crate::byte_stream::ByteStream;
use crate::listener::canonical;

/// The peer of a request's connection: in the extensions of each request that a handler takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// The address at the other end of the connection; a proxy's, if there is one between.
    pub address: SocketAddr,
    /// True if the connection has TLS.
    pub over_tls: bool,
}

impl Peer {
    /// The peer of a stream, if it is still connected.
    pub(crate) fn of<S: ByteStream>(stream: &S) -> Option<Self> {
        Some(Peer {
            address: canonical(stream.tcp().peer_addr().ok()?),
            over_tls: S::TRANSPORT == Transport::PassesThrough,
        })
    }
}
