//! The admission of connections at a listener: each gets a seat, or is told that there is none.

use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::time::{Duration, Instant};

use salver_access_log::Protocol;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_local;

use crate::access_log::ConnectionLog;
use crate::access_log::record::LogRecord;
use crate::context::WorkerContext;
use crate::listener::ListenerId;
use crate::listener_service::ListenerService;
use crate::pending_limit::service_unavailable;
use crate::proxy_header::read_proxy_header;
use crate::seats::ConnectionKind;
use crate::single_response::send_single_response;
use crate::unix_socket::LoopSocket;

/// The pause of accepting when there is no descriptor for another connection.
const PAUSE: Duration = Duration::from_millis(20);

/// The most connections that are admitted when a loop begins to drain: the kernel's queue holds no more.
const QUEUE: usize = 16 * 1024;

/// The time that a client without a seat has to read its answer.
const REFUSAL: Duration = Duration::from_secs(1);

/// The number of clients that are told so at the same time; beyond, connections are just closed.
const REFUSALS: usize = 128;

/// The admission of connections at a listener.
#[derive(Clone)]
pub(crate) struct Admission {
    listener: ListenerId,
    service: ListenerService,
    /// The clients that are being refused: each holds a reference.
    refusals: Rc<()>,
}

impl Admission {
    /// The admission at a listener with this service.
    pub(crate) fn new(listener: ListenerId, service: &ListenerService) -> Self {
        Admission {
            listener,
            service: service.clone(),
            refusals: Rc::new(()),
        }
    }

    fn admit(&self, context: &Rc<WorkerContext>, stream: TcpStream, address: IpAddr) {
        let proxies = &context.common.settings.proxies;
        if proxies.protocol && proxies.trusted.contains(address) {
            spawn_local(
                self.clone()
                    .admit_proxied(Rc::clone(context), stream, address),
            );
        } else {
            self.admit_client(context, stream, address);
        }
    }

    /// Admits the client that a proxy names, which has a seat of its own until it has named it.
    async fn admit_proxied(self, context: Rc<WorkerContext>, mut stream: TcpStream, proxy: IpAddr) {
        let seat = match context.seat(proxy, ConnectionKind::Plain) {
            Ok(seat) => seat,
            Err(why) => return context.common.log_no_seat(why),
        };
        let time = context.common.settings.header_timeout;
        let now = Instant::now();
        let deadline = context.deadlines.add(now + time);
        deadline.set_waiting(now + time, now);
        let goes_on = || !context.ends_idle();
        let reading = Box::pin(read_proxy_header(&mut stream));
        match deadline.bound(reading, goes_on).await {
            Some(Ok(client)) => {
                drop((deadline, seat));
                self.admit_client(&context, stream, client.unwrap_or(proxy));
            }
            Some(Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                let common = &context.common;
                if common.log_limits.proxies_fail.permits(common.uptime()) {
                    tracing::warn!(
                        "a connection from {proxy} was closed: {error} (said at most once a minute)"
                    );
                }
            }
            Some(Err(_)) | None => {}
        }
    }

    fn admit_client(&self, context: &Rc<WorkerContext>, stream: TcpStream, address: IpAddr) {
        let service = &self.service;
        match context.seat(address, service.connection_kind()) {
            Ok(seat) => {
                // Linux hands the listener's setting down; others do not.
                #[cfg(not(target_os = "linux"))]
                let _ = stream.set_nodelay(true);
                service.serve(context, stream, seat, self.listener);
            }
            Err(why) => {
                context.common.log_no_seat(why);
                if service.is_without_tls() && Rc::strong_count(&self.refusals) <= REFUSALS {
                    let refusals = Rc::clone(&self.refusals);
                    let date = context.clock.now().date.format();
                    let log = ConnectionLog::new(context.log.as_ref(), address);
                    let record = log.map(|log| log.unread(Protocol::Http11, b""));
                    spawn_local(async move {
                        let _one = refusals;
                        let refusal = refuse(stream, date, record);
                        let _ = tokio::time::timeout(REFUSAL, refusal).await;
                    });
                }
            }
        }
    }

    /// Admits the connections in the kernel's queue, and refuses all others from then on: the kernel resets those
    /// that are in the queue when it is closed.
    pub(crate) fn admit_queued(&self, context: &Rc<WorkerContext>, listener: TcpListener) {
        let Ok(listener) = listener.into_std() else {
            return;
        };
        for _ in 0..QUEUE {
            match listener.accept() {
                Ok((stream, peer)) => {
                    let usable = stream.set_nonblocking(true);
                    if let Ok(stream) = usable.and_then(|()| TcpStream::from_std(stream)) {
                        self.admit(context, stream, peer.ip());
                    }
                }
                // The client went away before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => return,
            }
        }
    }
}

/// Accepts connections at a listener, until the task is aborted.
pub(crate) async fn accept(
    context: Rc<WorkerContext>,
    admission: Rc<Admission>,
    listener: Rc<TcpListener>,
) {
    let common = &context.common;
    // A descriptor in reserve, closed for a moment when descriptors run out, so that a waiting client can be turned
    // away instead of being left hanging.
    let mut reserve = File::open("/dev/null").ok();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => admission.admit(&context, stream, peer.ip()),
            Err(error) if lacks_resources(&error) => {
                if common
                    .log_limits
                    .descriptors_exhausted
                    .permits(common.uptime())
                {
                    tracing::warn!(
                        "cannot accept connections: {error} \
                         (said at most once a minute; raise the limit on open files)"
                    );
                }
                if reserve.take().is_some() {
                    let turned_away = tokio::time::timeout(PAUSE, listener.accept()).await;
                    drop(turned_away);
                }
                tokio::time::sleep(PAUSE).await;
                reserve = File::open("/dev/null").ok();
            }
            // The client went away before it was accepted.
            Err(_) => {}
        }
    }
}

/// The address that connections over Unix sockets count as: this machine's.
const THIS_MACHINE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Accepts connections at a Unix socket, until the task is aborted.
pub(crate) async fn accept_unix(
    context: Rc<WorkerContext>,
    admission: Admission,
    socket: Rc<LoopSocket>,
) {
    loop {
        match socket.accept().await {
            Ok(stream) => admission.admit_client(&context, stream, THIS_MACHINE),
            Err(error) if lacks_resources(&error) => tokio::time::sleep(PAUSE).await,
            // The client went away before it was accepted.
            Err(_) => {}
        }
    }
}

/// True for EMFILE, ENFILE, ENOBUFS, ENOMEM (accept(2)); other errors concern that connection alone.
fn lacks_resources(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(24 | 23 | 105 | 55 | 12))
}

/// Answers 503 to a client without a seat, and waits until it has read that.
async fn refuse(stream: TcpStream, date: [u8; 29], record: Option<LogRecord>) -> io::Result<()> {
    let plan = service_unavailable("Service Unavailable: too many connections");
    send_single_response(stream, &plan, &date, record).await
}
