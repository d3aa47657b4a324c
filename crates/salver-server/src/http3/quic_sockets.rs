//! The UDP sockets of all workers.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;

use quinn::{AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, ServerConfig, TokioRuntime};

use super::connection_ids::{ConnectionIds, IdGenerator};
use super::fair_socket::FairLayer;
use super::limited_socket::LimitLayer;
use super::routed_socket::{DatagramRouter, RoutingLayer};
use super::socket_layer::LayeredSocket;
use super::transport;
use crate::inherited_sockets::InheritedSockets;
use crate::listener::{BindError, Listener, ListenerId, ListenerKind, bind_for_workers};
use crate::settings::Settings;

/// HTTP/3 for one worker from a start or a reload on: the listeners that have it, the sockets of those that are new, and
/// the configuration of QUIC.
pub(crate) struct QuicSockets {
    worker: u16,
    listeners: Vec<ListenerId>,
    port: u16,
    sockets: Vec<(ListenerId, UdpSocket, Arc<DatagramRouter>)>,
    ids: ConnectionIds,
    config: ServerConfig,
    endpoint: EndpointConfig,
}

impl QuicSockets {
    /// Binds the listeners with TLS among these, for every worker, but for those that are inherited and those that
    /// have their sockets already. Returns what each worker needs, if HTTP/3 is served at all.
    ///
    /// # Errors
    /// [`BindError`] with the first address that cannot be bound, or with one of them if QUIC is not possible at all.
    pub(crate) fn bind(
        listeners: &[Listener],
        settings: &Settings,
        inherited: &mut InheritedSockets,
        already: &[ListenerId],
    ) -> Result<Vec<Option<Self>>, BindError> {
        let with_tls = listeners.iter().filter(|one| one.kind == ListenerKind::Tls);
        let with_tls: Vec<&Listener> = with_tls.collect();
        let tls = settings.tls().filter(|_| settings.http3);
        let (Some(tls), Some(first)) = (tls, with_tls.first()) else {
            return Ok((0..settings.workers).map(|_| None).collect());
        };
        let config = tls.handshakes.over_quic().map_err(io::Error::other);
        let config = config
            .and_then(|config| transport::config(config, settings).map_err(io::Error::other))
            .map_err(|error| BindError::over_udp(first.address, error))?;
        let workers = u16::try_from(settings.workers).unwrap_or(u16::MAX);
        let ids = ConnectionIds::new(workers);
        // One configuration for all, with one key: the stateless reset of a connection is the same on each worker
        // (RFC 9000 section 10.3).
        let endpoint = transport::endpoint_config();
        let mut all: Vec<QuicSockets> = (0..workers)
            .map(|worker| QuicSockets {
                worker,
                listeners: with_tls.iter().map(|listener| listener.id).collect(),
                port: first.address.port(),
                sockets: Vec::new(),
                ids: ids.clone(),
                config: config.clone(),
                endpoint: endpoint.clone(),
            })
            .collect();
        for listener in with_tls {
            if already.contains(&listener.id) {
                continue;
            }
            let (address, families) = (listener.address, listener.families);
            let router = DatagramRouter::new(ids.clone(), all.len());
            let failed = |error| BindError::over_udp(address, error);
            let given = inherited.take_datagrams(listener.configured, all.len());
            let sockets = match given.map_err(failed)? {
                Some(given) => given,
                None => {
                    let bind = |address, share| salver_os::bind_datagrams(address, families, share);
                    let bound = bind_for_workers(address, all.len(), bind, UdpSocket::local_addr);
                    let (_, sockets) = bound.map_err(failed)?;
                    sockets.into_iter().map(|one| vec![one]).collect()
                }
            };
            for (worker, sockets) in all.iter_mut().zip(sockets) {
                let sockets = sockets.into_iter();
                let routed = sockets.map(|socket| (listener.id, socket, Arc::clone(&router)));
                worker.sockets.extend(routed);
            }
        }
        Ok(all.into_iter().map(Some).collect())
    }

    /// The port of the first listener.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The listeners that have HTTP/3.
    pub(crate) fn listeners(&self) -> &[ListenerId] {
        &self.listeners
    }

    /// The configuration of handshakes.
    pub(super) fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// The sockets.
    pub(super) fn sockets(&self) -> impl Iterator<Item = (ListenerId, &UdpSocket)> {
        self.sockets.iter().map(|(id, socket, _)| (*id, socket))
    }

    /// Opens an endpoint for each socket, on the loop of this thread; beside each a duplicate of its socket.
    pub(super) fn open(self) -> io::Result<Vec<(ListenerId, Endpoint, UdpSocket)>> {
        let runtime: Arc<dyn Runtime> = Arc::new(TokioRuntime);
        let mut endpoint = self.endpoint;
        let (ids, worker) = (self.ids.clone(), self.worker);
        endpoint.cid_generator(move || Box::new(IdGenerator::new(ids.clone(), worker)));
        let open = |(listener, socket, router): (ListenerId, UdpSocket, Arc<DatagramRouter>)| {
            let duplicate = socket.try_clone()?;
            let mut socket: Arc<dyn AsyncUdpSocket> = runtime.wrap_udp_socket(socket)?;
            if router.has_others() {
                let routing = RoutingLayer::new(router, worker);
                socket = Arc::new(LayeredSocket::new(routing, socket));
            }
            let limited = Arc::new(LayeredSocket::new(LimitLayer::new(), socket));
            let socket = Arc::new(LayeredSocket::new(FairLayer::default(), limited));
            let endpoint = Endpoint::new_with_abstract_socket(
                endpoint.clone(),
                Some(self.config.clone()),
                socket,
                Arc::clone(&runtime),
            )?;
            Ok((listener, endpoint, duplicate))
        };
        self.sockets.into_iter().map(open).collect()
    }
}
