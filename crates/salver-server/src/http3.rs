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
mod receive_window;
mod request;
mod routed_socket;
mod send_order;
mod shared_connection;
mod socket_layer;
mod stall_timer;
mod translate;
mod transport;

use std::cell::RefCell;
use std::io;
use std::net::UdpSocket;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use quinn::{Endpoint, ServerConfig};
use salver_assets::{Field, ResponsePlan};
use salver_fields::Scratch;
use salver_http3::{ErrorCode, Limits, RenderedFields};
use tokio::task::{JoinHandle, spawn_local};

pub(crate) use self::quic_sockets::QuicSockets;
use self::shared_connection::code;
use crate::cache_status_fields::CacheStatusFields;
use crate::context::{Drain, Generation, WorkerContext};
use crate::deadlines::{Deadlines, SWEEP_INTERVAL};
use crate::listener::ListenerId;
use crate::listener_fields::FieldsBySite;
use crate::listener_service::tls_fields;
use crate::seats::ConnectionKind;

/// The time for the last packets to leave when the server ends.
const FAREWELL: Duration = Duration::from_millis(500);

/// The state that the HTTP/3 connections of one loop share: one generation of it.
struct Http3Context {
    context: Rc<WorkerContext>,
    /// The deadlines of requests that wait for their client; those of connections are in `context`.
    deadlines: Rc<Deadlines>,
    limits: Limits,
    /// The fields of each answer over TLS.
    listener_fields: Http3Fields,
    /// Those of sites that have others, by the number that a plan has of them, counted from 1.
    by_site: Vec<Http3Fields>,
    /// The buffers for heads that are being read.
    scratch: RefCell<Scratch>,
    /// The current generation, which is this one for a while.
    current: Rc<CurrentHttp3>,
}

/// HTTP/3 of the current generation on one loop, which [`Http3Endpoints`] keeps.
#[derive(Default)]
struct CurrentHttp3 {
    context: RefCell<Weak<Http3Context>>,
    /// For connections whose listener is no more: they drain.
    leaving: RefCell<Weak<Http3Context>>,
    listeners: RefCell<Vec<ListenerId>>,
}

impl CurrentHttp3 {
    /// The state for a connection that came to this listener; `None` if the loop has ended.
    fn of(&self, listener: ListenerId) -> Option<Rc<Http3Context>> {
        match self.listeners.borrow().contains(&listener) {
            true => self.context.borrow().upgrade(),
            false => self.leaving.borrow().upgrade(),
        }
    }
}

/// The fields of answers, rendered.
struct Http3Fields {
    plain: Rc<RenderedFields>,
    /// The same with `Cache-Status`; `None` if that is not sent.
    with_cache_status: Option<CacheStatusFields<RenderedFields>>,
}

impl Http3Fields {
    fn new(fields: &[Field], cache_status: bool) -> Self {
        Http3Fields {
            plain: Rc::new(render_fields(fields)),
            with_cache_status: cache_status.then(|| CacheStatusFields::new(fields)),
        }
    }
}

fn render_fields(fields: &[Field]) -> RenderedFields {
    RenderedFields::new(fields.iter().map(|(name, value)| (*name, &**value)))
}

impl Http3Context {
    /// The state for the connections of this context.
    fn new(
        context: &Rc<WorkerContext>,
        deadlines: &Rc<Deadlines>,
        current: &Rc<CurrentHttp3>,
    ) -> Rc<Self> {
        let tls = context.common.settings.tls();
        let fields = tls.map(|tls| tls_fields(tls, &context.common.sites));
        let FieldsBySite { server, by_site } = fields.unwrap_or_default();
        let cache_status = context.common.settings.cache_status;
        let render = |fields: &Vec<Field>| Http3Fields::new(fields, cache_status);
        let mut scratch = Scratch::default();
        let for_program = context.common.keeps_lines();
        scratch.section.keep_lines(for_program);
        Rc::new(Http3Context {
            context: Rc::clone(context),
            deadlines: Rc::clone(deadlines),
            limits: context.limits,
            listener_fields: render(&server),
            by_site: by_site.iter().map(render).collect(),
            scratch: RefCell::new(scratch),
            current: Rc::clone(current),
        })
    }

    /// The fields of an answer.
    fn fields_of(&self, plan: &ResponsePlan) -> Rc<RenderedFields> {
        let site = usize::from(plan.driver_fields).checked_sub(1);
        let own = site.and_then(|site| self.by_site.get(site));
        let own = own.unwrap_or(&self.listener_fields);
        let with_status = own.with_cache_status.as_ref();
        let with_status = with_status.and_then(|fields| fields.of(plan, render_fields));
        with_status.unwrap_or_else(|| Rc::clone(&own.plain))
    }
}

/// A handshake under way, which counts until it is dropped.
struct HandshakeGuard(Arc<AtomicUsize>);

impl HandshakeGuard {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        HandshakeGuard(Arc::clone(count))
    }
}

impl Drop for HandshakeGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The endpoints of HTTP/3 on one loop.
#[derive(Default)]
pub(crate) struct Http3Endpoints {
    current: Rc<CurrentHttp3>,
    deadlines: Rc<Deadlines>,
    /// The sockets that another process still reads.
    awaited: Option<QuicSockets>,
    /// The configuration of handshakes.
    config: Option<ServerConfig>,
    /// What the current generation refers to weakly.
    _kept: Vec<Rc<Http3Context>>,
    serving: Vec<ServingEndpoint>,
    sweeping: Option<JoinHandle<()>>,
}

/// An endpoint, and the task that accepts its connections.
struct ServingEndpoint {
    listener: ListenerId,
    endpoint: Endpoint,
    /// A duplicate, to be handed to another process.
    socket: UdpSocket,
    task: JoinHandle<()>,
}

/// HTTP/3 of a generation that is to come.
pub(crate) struct NextHttp3 {
    opened: Vec<(ListenerId, Endpoint, UdpSocket)>,
    /// The sockets that another process still reads.
    awaited: Option<QuicSockets>,
    listeners: Vec<ListenerId>,
    config: Option<ServerConfig>,
}

impl NextHttp3 {
    /// Opens what is new, on the loop of this thread, unless it `is_awaited`.
    ///
    /// # Errors
    /// A socket cannot be watched.
    pub(crate) fn open(sockets: Option<QuicSockets>, is_awaited: bool) -> io::Result<Self> {
        let mut next = NextHttp3 {
            opened: Vec::new(),
            awaited: None,
            listeners: Vec::new(),
            config: None,
        };
        if let Some(sockets) = sockets {
            next.listeners = sockets.listeners().to_vec();
            next.config = Some(sockets.config().clone());
            match is_awaited {
                true => next.awaited = Some(sockets),
                false => next.opened = sockets.open()?,
            }
        }
        Ok(next)
    }
}

impl Http3Endpoints {
    /// Serves by the next generation from now on. Endpoints whose listener it lacks end when their connections have.
    pub(crate) fn serve(&mut self, next: NextHttp3, generation: &Generation) {
        let (deadlines, current) = (&self.deadlines, &self.current);
        let context = Http3Context::new(&generation.context, deadlines, current);
        let leaving = Http3Context::new(&generation.leaving, deadlines, current);
        *current.context.borrow_mut() = Rc::downgrade(&context);
        *current.leaving.borrow_mut() = Rc::downgrade(&leaving);
        current.listeners.borrow_mut().clone_from(&next.listeners);
        self._kept = vec![context, leaving];
        let stays = |one: &mut ServingEndpoint| next.listeners.contains(&one.listener);
        for gone in self.serving.extract_if(.., |one| !stays(one)) {
            spawn_local(end_when_idle(gone));
        }
        for one in &self.serving {
            one.endpoint.set_server_config(next.config.clone());
        }
        self.config = next.config;
        self.add(next.opened);
        if next.awaited.is_some() {
            self.awaited = next.awaited;
        }
    }

    /// Serves at the sockets that another process has left.
    ///
    /// # Errors
    /// A socket cannot be watched.
    pub(crate) fn take_datagrams(&mut self) -> io::Result<()> {
        let Some(awaited) = self.awaited.take() else {
            return Ok(());
        };
        let mut opened = awaited.open()?;
        let listeners = self.current.listeners.borrow().clone();
        opened.retain(|(listener, ..)| listeners.contains(listener));
        for (_, endpoint, _) in &opened {
            endpoint.set_server_config(self.config.clone());
        }
        self.add(opened);
        Ok(())
    }

    fn add(&mut self, opened: Vec<(ListenerId, Endpoint, UdpSocket)>) {
        for (listener, endpoint, socket) in opened {
            let accepting = accept(Rc::clone(&self.current), endpoint.clone(), listener);
            self.serving.push(ServingEndpoint {
                listener,
                endpoint,
                socket,
                task: spawn_local(accepting),
            });
        }
        if self.sweeping.is_none() && !self.serving.is_empty() {
            self.sweeping = Some(spawn_local(sweep(Rc::clone(&self.deadlines))));
        }
    }

    /// Duplicates of the sockets, for another process.
    ///
    /// # Errors
    /// There is no descriptor left.
    pub(crate) fn sockets(&self) -> io::Result<Vec<(ListenerId, UdpSocket)>> {
        let serving = self.serving.iter().map(|one| (one.listener, &one.socket));
        let awaited = self.awaited.iter().flat_map(QuicSockets::sockets);
        let duplicate = |(listener, socket): (_, &UdpSocket)| Ok((listener, socket.try_clone()?));
        serving.chain(awaited).map(duplicate).collect()
    }

    /// Leaves new connections to another process that has these sockets, and takes up none until it reads them: the
    /// packets of a client that comes meanwhile are dropped, and come again. A refusal would be its last word.
    pub(crate) fn leave_new_connections(&self) {
        for one in &self.serving {
            one.endpoint.set_server_config(None);
        }
    }

    /// True if there is no connection.
    pub(crate) fn are_idle(&self) -> bool {
        let mut all = self.serving.iter();
        all.all(|one| one.endpoint.open_connections() == 0)
    }

    /// Closes all connections, and waits until the last packets have been sent.
    pub(crate) async fn end(&mut self) {
        if let Some(task) = self.sweeping.take() {
            task.abort();
        }
        let serving = std::mem::take(&mut self.serving);
        for one in &serving {
            one.task.abort();
            let why = code(ErrorCode::NoError);
            one.endpoint.close(why, b"the server ends");
        }
        for one in &serving {
            let _ = tokio::time::timeout(FAREWELL, one.endpoint.wait_idle()).await;
        }
    }
}

/// Ends an endpoint once its connections have ended, which drain.
async fn end_when_idle(gone: ServingEndpoint) {
    gone.endpoint.wait_idle().await;
    gone.task.abort();
}

async fn sweep(deadlines: Rc<Deadlines>) {
    let mut interval = tokio::time::interval(SWEEP_INTERVAL);
    loop {
        interval.tick().await;
        deadlines.sweep(Instant::now());
    }
}

async fn accept(current: Rc<CurrentHttp3>, endpoint: Endpoint, listener: ListenerId) {
    while let Some(incoming) = endpoint.accept().await {
        let Some(shared) = current.of(listener) else {
            return incoming.ignore();
        };
        let common = &shared.context.common;
        match shared.context.drain.get() {
            Drain::No => {}
            // Another process or nobody has this address soon: the client asks again in a moment.
            Drain::AfterAnswers => {
                incoming.ignore();
                continue;
            }
            Drain::Now => {
                incoming.refuse();
                continue;
            }
        }
        let handshakes = Arc::clone(&common.quic_handshakes);
        let many = handshakes.load(Ordering::Relaxed) >= common.settings.quic_handshakes;
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
        spawn_local(async move {
            // The first packet has the most costly part of the handshake done.
            shared.context.turns.wait(seat.client).await;
            // Meanwhile this address may have become another process's.
            if shared.context.drain.get() == Drain::AfterAnswers {
                return incoming.ignore();
            }
            if let Ok(connecting) = incoming.accept() {
                let handshake = HandshakeGuard::new(&handshakes);
                connection::serve(shared, (connecting, handshake), seat, listener).await;
            }
        });
    }
}
