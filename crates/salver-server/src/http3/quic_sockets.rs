//! The UDP sockets of all workers.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use quinn::{AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, ServerConfig, TokioRuntime};

use super::HandshakeCount;
use super::connection_ids::{ConnectionIds, IdGenerator};
use super::fair_socket::FairSocket;
use super::limited_socket::LimitedSocket;
use super::routed_socket::{DatagramRouter, RoutedSocket};
use super::transport;
use crate::listener::{BindError, families};
use crate::settings::Settings;

/// The UDP sockets of one worker, and its configuration of QUIC.
pub(crate) struct QuicSockets {
    worker: u16,
    sockets: Vec<(UdpSocket, Arc<DatagramRouter>)>,
    ids: ConnectionIds,
    config: ServerConfig,
    endpoint: EndpointConfig,
    handshakes: Arc<HandshakeCount>,
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
        let handshakes = Arc::new(HandshakeCount::default());
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
            let wrap = |error| BindError::over_udp(address, error);
            let router = DatagramRouter::new(ids.clone(), all.len());
            // As for TCP: a socket that shares would also share with another server.
            let alone = salver_os::bind_datagrams(address, families, false).map_err(wrap)?;
            if let [one] = &mut *all {
                one.sockets.push((alone, router));
                continue;
            }
            drop(alone);
            for worker in &mut all {
                let socket = salver_os::bind_datagrams(address, families, true).map_err(wrap)?;
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

    pub(super) fn handshakes(&self) -> Arc<HandshakeCount> {
        Arc::clone(&self.handshakes)
    }

    /// Opens an endpoint for each socket, on the loop of this thread.
    ///
    /// # Errors
    /// [`io::Error`] if a socket cannot be used there.
    pub(super) fn open(self) -> io::Result<Vec<Endpoint>> {
        let runtime: Arc<dyn Runtime> = Arc::new(TokioRuntime);
        let mut endpoint = self.endpoint;
        let (ids, worker) = (self.ids.clone(), self.worker);
        endpoint.cid_generator(move || Box::new(IdGenerator::new(ids.clone(), worker)));
        let open = |(socket, router): (UdpSocket, Arc<DatagramRouter>)| {
            let mut socket: Arc<dyn AsyncUdpSocket> = runtime.wrap_udp_socket(socket)?;
            if router.has_others() {
                socket = Arc::new(RoutedSocket::new(socket, router, worker));
            }
            let socket = Arc::new(FairSocket::new(Arc::new(LimitedSocket::new(socket))));
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
