//! The UDP sockets of all workers.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use quinn::{AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, ServerConfig, TokioRuntime};

use super::connection_ids::{ConnectionIds, IdGenerator};
use super::fair_socket::FairLayer;
use super::limited_socket::LimitLayer;
use super::routed_socket::{DatagramRouter, RoutingLayer};
use super::socket_layer::LayeredSocket;
use super::transport;
use crate::listener::{BindError, bind_for_workers, families};
use crate::settings::Settings;

/// The UDP sockets of one worker, and its configuration of QUIC.
pub(crate) struct QuicSockets {
    worker: u16,
    sockets: Vec<(UdpSocket, Arc<DatagramRouter>)>,
    ids: ConnectionIds,
    config: ServerConfig,
    endpoint: EndpointConfig,
    handshakes: Arc<AtomicUsize>,
}

impl QuicSockets {
    /// Binds `addresses`, which have TLS, for every worker. Returns the sockets of each worker, if there are any.
    ///
    /// # Errors
    /// [`BindError`] with the first address that cannot be bound, or with one of them if QUIC is not possible at all.
    pub(crate) fn bind(
        addresses: &[SocketAddr],
        settings: &Settings,
    ) -> Result<Vec<Option<Self>>, BindError> {
        let tls = settings.tls().filter(|_| settings.http3);
        let (Some(tls), Some(first)) = (tls, addresses.first()) else {
            return Ok((0..settings.workers).map(|_| None).collect());
        };
        let config = tls.handshakes.over_quic().map_err(io::Error::other);
        let config = config
            .and_then(|config| transport::config(config, settings).map_err(io::Error::other))
            .map_err(|error| BindError::over_udp(*first, error))?;
        let workers = u16::try_from(settings.workers).unwrap_or(u16::MAX);
        let ids = ConnectionIds::new(workers);
        // One configuration for all, with one key: the stateless reset of a connection is the same on each worker
        // (RFC 9000 section 10.3).
        let endpoint = transport::endpoint_config();
        let handshakes = Arc::new(AtomicUsize::new(0));
        let mut all: Vec<QuicSockets> = (0..workers)
            .map(|worker| QuicSockets {
                worker,
                sockets: Vec::new(),
                ids: ids.clone(),
                config: config.clone(),
                endpoint: endpoint.clone(),
                handshakes: Arc::clone(&handshakes),
            })
            .collect();
        // By the addresses of the settings: the ports that the kernel chose tell nothing apart.
        let families = families(&tls.addresses);
        for (&address, families) in addresses.iter().zip(families) {
            let router = DatagramRouter::new(ids.clone(), all.len());
            let bind = |address, share| salver_os::bind_datagrams(address, families, share);
            let bound = bind_for_workers(address, all.len(), bind, UdpSocket::local_addr);
            let (_, sockets) = bound.map_err(|error| BindError::over_udp(address, error))?;
            for (worker, socket) in all.iter_mut().zip(sockets) {
                worker.sockets.push((socket, Arc::clone(&router)));
            }
        }
        Ok(all.into_iter().map(Some).collect())
    }

    /// The port of the first socket.
    pub(crate) fn port(&self) -> Option<u16> {
        let (socket, _) = self.sockets.first()?;
        socket.local_addr().ok().map(|address| address.port())
    }

    pub(super) fn handshakes(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.handshakes)
    }

    /// Opens an endpoint for each socket, on the loop of this thread.
    pub(super) fn open(self) -> io::Result<Vec<Endpoint>> {
        let runtime: Arc<dyn Runtime> = Arc::new(TokioRuntime);
        let mut endpoint = self.endpoint;
        let (ids, worker) = (self.ids.clone(), self.worker);
        endpoint.cid_generator(move || Box::new(IdGenerator::new(ids.clone(), worker)));
        let open = |(socket, router): (UdpSocket, Arc<DatagramRouter>)| {
            let mut socket: Arc<dyn AsyncUdpSocket> = runtime.wrap_udp_socket(socket)?;
            if router.has_others() {
                let routing = RoutingLayer::new(router, worker);
                socket = Arc::new(LayeredSocket::new(routing, socket));
            }
            let limited = Arc::new(LayeredSocket::new(LimitLayer::new(), socket));
            let socket = Arc::new(LayeredSocket::new(FairLayer::default(), limited));
            Endpoint::new_with_abstract_socket(
                endpoint.clone(),
                Some(self.config.clone()),
                socket,
                Arc::clone(&runtime),
            )
        };
        self.sockets.into_iter().map(open).collect()
    }
}
