//! The UDP sockets of all workers.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use quinn::{AsyncUdpSocket, Endpoint, EndpointConfig, Runtime, ServerConfig, TokioRuntime};

use super::Handshakes;
use super::fair_socket::FairSocket;
use super::limited_socket::LimitedSocket;
use super::routing::{Generator, Ids};
use super::socket::{Exchange, Socket};
use super::transport;
use crate::listener::{BindError, families};
use crate::settings::Settings;

/// The sockets of one worker, and what it needs to speak QUIC over them.
pub(crate) struct Sockets {
    worker: u16,
    sockets: Vec<(UdpSocket, Arc<Exchange>)>,
    ids: Ids,
    config: ServerConfig,
    endpoint: EndpointConfig,
    handshakes: Arc<Handshakes>,
}

impl Sockets {
    /// Binds `addresses`, which have TLS, for every worker. For each worker its sockets, if there
    /// are any.
    ///
    /// # Errors
    /// The first address that cannot be bound, or one of them if QUIC is not possible at all.
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
        let ids = Ids::new(workers);
        // One configuration for all, with one key: what one worker says of a connection that is
        // gone is what any other would say (RFC 9000 section 10.3).
        let endpoint = transport::endpoint_config();
        let handshakes = Arc::new(Handshakes::default());
        let mut all: Vec<Sockets> = (0..workers)
            .map(|worker| Sockets {
                worker,
                sockets: Vec::new(),
                ids: ids.clone(),
                config: config.clone(),
                endpoint: endpoint.clone(),
                handshakes: Arc::clone(&handshakes),
            })
            .collect();
        // By what was asked for: the ports that the kernel chose tell nothing apart.
        let families = families(&tls.addresses);
        for (&address, families) in addresses.iter().zip(families) {
            let wrap = |error| BindError::over_udp(address, error);
            let exchange = Exchange::new(ids.clone(), all.len());
            // As for TCP: a socket that shares would also share with another server.
            let alone = salver_os::bind_datagrams(address, families, false).map_err(wrap)?;
            if let [one] = &mut *all {
                one.sockets.push((alone, exchange));
                continue;
            }
            drop(alone);
            for worker in &mut all {
                let socket = salver_os::bind_datagrams(address, families, true).map_err(wrap)?;
                worker.sockets.push((socket, Arc::clone(&exchange)));
            }
        }
        Ok(all.into_iter().map(Some).collect())
    }

    /// The first of its ports.
    pub(crate) fn port(&self) -> Option<u16> {
        let (socket, _) = self.sockets.first()?;
        socket.local_addr().ok().map(|address| address.port())
    }

    pub(super) fn handshakes(&self) -> Arc<Handshakes> {
        Arc::clone(&self.handshakes)
    }

    /// An endpoint for each socket, on the loop of this thread.
    ///
    /// # Errors
    /// If a socket cannot be used there.
    pub(super) fn open(self) -> io::Result<Vec<Endpoint>> {
        let runtime: Arc<dyn Runtime> = Arc::new(TokioRuntime);
        let mut endpoint = self.endpoint;
        let (ids, worker) = (self.ids.clone(), self.worker);
        endpoint.cid_generator(move || Box::new(Generator::new(ids.clone(), worker)));
        let open = |(socket, exchange): (UdpSocket, Arc<Exchange>)| {
            let mut socket: Arc<dyn AsyncUdpSocket> = runtime.wrap_udp_socket(socket)?;
            if exchange.has_others() {
                socket = Arc::new(Socket::new(socket, exchange, worker));
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
