//! HTTP/3: QUIC at the ports that have TLS, over UDP.
//!
//! Each worker has a socket and an endpoint of its own, on its own loop: workers share the
//! configuration and nothing else. The kernel spreads datagrams over their sockets; what belongs to
//! another worker, because a client's address has changed, is handed over (`socket.rs`,
//! `routing.rs`). QUIC itself is quinn's; the streams of HTTP/3 are divided by `salver-http3`.

mod amplification;
mod bind;
mod connection;
mod control_stream;
mod datagram;
mod fair_socket;
mod going_away;
mod limited_socket;
mod path_state;
mod request;
mod routing;
mod send_order;
mod shared;
mod socket;
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
use salver_http3::{Code, Fields, Limits};
use tokio::task::{JoinHandle, spawn_local};

pub(crate) use self::bind::Sockets;
use crate::context::Context;
use crate::deadlines::{Deadlines, SWEEP_INTERVAL};
use crate::entrance::fields_over_tls;
use crate::seats::Carrier;

/// How long the last packets may take to leave when the server ends.
const FAREWELL: Duration = Duration::from_millis(500);

/// What the HTTP/3 connections of one loop share.
struct Loop {
    context: Rc<Context>,
    /// Of requests that wait for their client; those of connections are in `context`.
    deadlines: Rc<Deadlines>,
    limits: Limits,
    /// What a listener adds to each answer, encoded.
    front: Fields,
    /// For heads that are being read.
    scratch: RefCell<Scratch>,
    handshakes: Arc<Handshakes>,
}

/// The handshakes of all workers that have not come to their end.
#[derive(Debug, Default)]
struct Handshakes(AtomicUsize);

/// One of them; over when dropped.
struct Handshake(Arc<Handshakes>);

impl Handshakes {
    fn begin(self: &Arc<Self>) -> Handshake {
        self.0.fetch_add(1, Ordering::Relaxed);
        Handshake(Arc::clone(self))
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// HTTP/3 on one loop.
pub(crate) struct Serving {
    endpoints: Vec<Endpoint>,
    tasks: Vec<JoinHandle<()>>,
}

impl Serving {
    /// Serves at the sockets of a worker.
    ///
    /// # Errors
    /// If the sockets cannot be used from this loop.
    pub(crate) fn start(sockets: Sockets, context: &Rc<Context>) -> io::Result<Self> {
        let tls = context.common.settings.tls();
        let fields = tls.map(fields_over_tls).unwrap_or_default();
        let fields = fields.iter().map(|(name, value)| (*name, &**value));
        let mut scratch = Scratch::default();
        let for_program = !context.common.handlers.is_empty();
        scratch.section.keep_lines(for_program);
        let shared = Rc::new(Loop {
            context: Rc::clone(context),
            deadlines: Rc::default(),
            limits: context.limits,
            front: Fields::new(fields),
            scratch: RefCell::new(scratch),
            handshakes: sockets.handshakes(),
        });
        let endpoints = sockets.open()?;
        let mut tasks = vec![spawn_local(sweep(Rc::clone(&shared.deadlines)))];
        for endpoint in &endpoints {
            let endpoint = endpoint.clone();
            tasks.push(spawn_local(accept(Rc::clone(&shared), endpoint)));
        }
        Ok(Serving { endpoints, tasks })
    }

    /// Closes what is still open, and sees to it that clients learn of it.
    pub(crate) async fn end(self) {
        for task in self.tasks {
            task.abort();
        }
        for endpoint in &self.endpoints {
            let code = VarInt::from_u64(Code::NoError.value()).unwrap_or(VarInt::MAX);
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

async fn accept(shared: Rc<Loop>, endpoint: Endpoint) {
    let common = Arc::clone(&shared.context.common);
    while let Some(incoming) = endpoint.accept().await {
        if shared.context.draining.get() {
            incoming.refuse();
            continue;
        }
        let many = shared.handshakes.count() >= common.settings.quic_handshakes;
        if many && !incoming.remote_address_validated() {
            // RFC 9000 section 8.1.2: who gives a false address never learns the token, and costs
            // nothing more than this.
            let _ = incoming.retry();
            continue;
        }
        let address = incoming.remote_address().ip();
        let seat = match shared.context.seat(address, Carrier::Quic) {
            Ok(seat) => seat,
            Err(why) => {
                common.say_no_seat(why);
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
