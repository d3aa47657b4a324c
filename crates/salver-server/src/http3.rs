//! HTTP/3: QUIC at the ports that have TLS, over UDP.
//!
//! Each worker has a socket and an endpoint of its own, on its own loop: workers share the configuration and nothing
//! else. The kernel spreads datagrams over their sockets; those for another worker, because a client's address has
//! changed, are handed over (`routed_socket.rs`, `connection_ids.rs`). QUIC itself is quinn's; the streams of HTTP/3
//! are parsed by `salver-http3`.

mod amplification;
mod connection;
mod connection_ids;
mod control_stream;
mod datagram;
mod fair_socket;
mod graceful_shutdown;
mod limited_socket;
mod path_state;
mod quic_sockets;
mod request;
mod routed_socket;
mod send_order;
mod shared_connection;
mod stall_timer;
mod translate;
mod transport;

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use quinn::{Endpoint, VarInt};
use salver_fields::Scratch;
use salver_http3::{ErrorCode, Limits, RenderedFields};
use tokio::task::{JoinHandle, spawn_local};

pub(crate) use self::quic_sockets::QuicSockets;
use crate::context::WorkerContext;
use crate::deadlines::{Deadlines, SWEEP_INTERVAL};
use crate::listener_service::tls_fields;
use crate::seats::ConnectionKind;

/// The time for the last packets to leave when the server ends.
const FAREWELL: Duration = Duration::from_millis(500);

/// The state that the HTTP/3 connections of one loop share.
struct Http3Context {
    context: Rc<WorkerContext>,
    /// The deadlines of requests that wait for their client; those of connections are in `context`.
    deadlines: Rc<Deadlines>,
    limits: Limits,
    /// The fields of each answer over TLS, rendered.
    listener_fields: RenderedFields,
    /// The buffers for heads that are being read.
    scratch: RefCell<Scratch>,
    handshakes: Arc<HandshakeCount>,
}

/// The number of handshakes under way, of all workers.
#[derive(Debug, Default)]
struct HandshakeCount(AtomicUsize);

/// A handshake under way; over when dropped.
struct HandshakeGuard(Arc<HandshakeCount>);

impl HandshakeCount {
    fn begin(self: &Arc<Self>) -> HandshakeGuard {
        self.0.fetch_add(1, Ordering::Relaxed);
        HandshakeGuard(Arc::clone(self))
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for HandshakeGuard {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The endpoints of HTTP/3 on one loop.
pub(crate) struct Http3Endpoints {
    endpoints: Vec<Endpoint>,
    tasks: Vec<JoinHandle<()>>,
}

impl Http3Endpoints {
    /// Serves at the sockets of a worker.
    ///
    /// # Errors
    /// [`io::Error`] if the sockets cannot be used from this loop.
    pub(crate) fn start(sockets: QuicSockets, context: &Rc<WorkerContext>) -> io::Result<Self> {
        let tls = context.common.settings.tls();
        let fields = tls.map(tls_fields).unwrap_or_default();
        let fields = fields.iter().map(|(name, value)| (*name, &**value));
        let mut scratch = Scratch::default();
        let for_program = context.common.keeps_lines();
        scratch.section.keep_lines(for_program);
        let shared = Rc::new(Http3Context {
            context: Rc::clone(context),
            deadlines: Rc::default(),
            limits: context.limits,
            listener_fields: RenderedFields::new(fields),
            scratch: RefCell::new(scratch),
            handshakes: sockets.handshakes(),
        });
        let endpoints = sockets.open()?;
        let mut tasks = vec![spawn_local(sweep(Rc::clone(&shared.deadlines)))];
        for endpoint in &endpoints {
            let endpoint = endpoint.clone();
            tasks.push(spawn_local(accept(Rc::clone(&shared), endpoint)));
        }
        Ok(Http3Endpoints { endpoints, tasks })
    }

    /// Closes all connections, and waits until the last packets have been sent.
    pub(crate) async fn end(self) {
        for task in self.tasks {
            task.abort();
        }
        for endpoint in &self.endpoints {
            let code = VarInt::from_u64(ErrorCode::NoError.value()).unwrap_or(VarInt::MAX);
            endpoint.close(code, b"the server ends");
        }
        for endpoint in &self.endpoints {
            let _ = tokio::time::timeout(FAREWELL, endpoint.wait_idle()).await;
        }
    }
}

async fn sweep(deadlines: Rc<Deadlines>) {
    let mut interval = tokio::time::interval(SWEEP_INTERVAL);
    loop {
        interval.tick().await;
        deadlines.sweep(Instant::now());
    }
}

async fn accept(shared: Rc<Http3Context>, endpoint: Endpoint) {
    let common = Arc::clone(&shared.context.common);
    while let Some(incoming) = endpoint.accept().await {
        if shared.context.draining.get() {
            incoming.refuse();
            continue;
        }
        let many = shared.handshakes.count() >= common.settings.quic_handshakes;
        if many && !incoming.remote_address_validated() {
            // RFC 9000 section 8.1.2: a client with a false address never learns the token, and costs nothing more
            // than this.
            let _ = incoming.retry();
            continue;
        }
        let address = incoming.remote_address().ip();
        let seat = match shared.context.seat(address, ConnectionKind::Quic) {
            Ok(seat) => seat,
            Err(why) => {
                common.log_no_seat(why);
                incoming.refuse();
                continue;
            }
        };
        let shared = Rc::clone(&shared);
        spawn_local(async move {
            // The first packet has the most costly part of the handshake done.
            shared.context.turns.wait(seat.client).await;
            if let Ok(connecting) = incoming.accept() {
                connection::serve(shared, connecting, seat).await;
            }
        });
    }
}
