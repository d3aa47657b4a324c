//! The worker: the event loop of one core, which accepts, serves, sweeps deadlines and drains.

use std::fs::File;
use std::io;
use std::net::{IpAddr, TcpListener as StdListener};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use salver_access_log::Protocol;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::LocalOptions;
use tokio::sync::watch;
use tokio::task::spawn_local;

use crate::access_log::ConnectionLog;
use crate::access_log::record::LogRecord;
use crate::clock;
use crate::context::{ServerContext, WorkerContext};
use crate::deadlines::SWEEP_INTERVAL;
use crate::http3::{Http3Endpoints, QuicSockets};
use crate::listener::ListenerKind;
use crate::listener_service::ListenerService;
use crate::pending_limit::service_unavailable;
use crate::proxy_header::read_proxy_header;
use crate::seats::ConnectionKind;
use crate::shutdown::ShutdownStage;
use crate::single_response::send_single_response;
use crate::turns;

/// The pause of accepting when there is no descriptor for another connection.
const PAUSE: Duration = Duration::from_millis(20);

/// The time that the last connections admitted have for their first requests, which are on their way. From then on
/// they drain as the others.
const LAST_REQUESTS: Duration = Duration::from_millis(250);

/// The most connections that are admitted when a loop begins to drain: the kernel's queue holds no more.
const QUEUE: usize = 16 * 1024;

/// The interval at which a draining loop checks if it is done.
const DRAIN_INTERVAL: Duration = Duration::from_millis(10);

/// The time that a client without a seat has to read its answer.
const REFUSAL: Duration = Duration::from_secs(1);

/// The number of clients that are told so at the same time; beyond, connections are just closed.
const REFUSALS: usize = 128;

/// Runs one loop on this thread until the server is drained. Calls `accepts` once it accepts
/// connections.
pub(crate) fn run(
    listeners: Vec<(ListenerKind, StdListener)>,
    quic: Option<QuicSockets>,
    common: Arc<ServerContext>,
    stage: watch::Receiver<ShutdownStage>,
    accepts: impl FnOnce(),
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_unpark(|| {
            clock::note_wait();
            turns::note_wait();
        })
        .build_local(LocalOptions::default())?;
    runtime.block_on(serve(listeners, quic, common, stage, accepts))
}

async fn serve(
    listeners: Vec<(ListenerKind, StdListener)>,
    quic: Option<QuicSockets>,
    common: Arc<ServerContext>,
    mut stage: watch::Receiver<ShutdownStage>,
    accepts: impl FnOnce(),
) -> io::Result<()> {
    let context = WorkerContext::new(common)?;
    let mut accepting = Vec::new();
    let quic_port = quic.as_ref().and_then(QuicSockets::port);
    let quic = quic
        .map(|sockets| Http3Endpoints::start(sockets, &context))
        .transpose()?;
    // One for all listeners of a kind, so that they share rendered responses.
    let mut services: Vec<(ListenerKind, ListenerService)> = Vec::new();
    for (kind, listener) in listeners {
        let found = services.iter().find(|(of, _)| *of == kind);
        let service = match found {
            Some((_, service)) => service.clone(),
            None => {
                let service = ListenerService::new(kind, &context.common, quic_port)?;
                services.push((kind, service.clone()));
                service
            }
        };
        let admission = Rc::new(Admission {
            service,
            refusals: Rc::new(()),
        });
        let listener = Rc::new(TcpListener::from_std(listener)?);
        let task = accept(
            Rc::clone(&context),
            Rc::clone(&admission),
            Rc::clone(&listener),
        );
        let task = spawn_local(task);
        accepting.push((admission, listener, task));
    }
    accepts();
    let mut sweep = tokio::time::interval(SWEEP_INTERVAL);
    while *stage.borrow_and_update() == ShutdownStage::Running {
        tokio::select! {
            changed = stage.changed() => if changed.is_err() { break },
            _ = sweep.tick() => {
                let now = Instant::now();
                context.deadlines.sweep(now);
                context.common.engine.sweep(now);
                context.scratch.borrow_mut().rendered_responses.sweep();
            }
        }
    }
    let began = Instant::now();
    let end = began + context.common.settings.grace;
    let last = context.for_last_connections();
    for (admission, listener, task) in accepting {
        task.abort();
        let _ = task.await;
        if let Some(listener) = Rc::into_inner(listener) {
            admission.admit_queued(&last, listener);
        }
    }
    context.draining.set(true);
    context.deadlines.wake_all();
    while context.deadlines.len() > 0 && *stage.borrow() != ShutdownStage::Ended {
        let now = Instant::now();
        if now >= end {
            match context.deadlines.len() {
                1 => tracing::warn!("1 connection did not end in time"),
                many => tracing::warn!("{many} connections did not end in time"),
            }
            break;
        }
        if now >= began + LAST_REQUESTS && !last.draining.replace(true) {
            context.deadlines.wake_all();
        }
        context.deadlines.sweep(now);
        tokio::time::sleep(DRAIN_INTERVAL).await;
    }
    if let Some(quic) = quic {
        quic.end().await;
    }
    Ok(())
}

/// The admission of connections at a listener.
#[derive(Clone)]
struct Admission {
    service: ListenerService,
    /// The clients that are being refused: each holds a reference.
    refusals: Rc<()>,
}

impl Admission {
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
        let goes_on = || !context.draining.get();
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
                service.serve(context, stream, seat);
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
    fn admit_queued(&self, context: &Rc<WorkerContext>, listener: TcpListener) {
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

async fn accept(context: Rc<WorkerContext>, admission: Rc<Admission>, listener: Rc<TcpListener>) {
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

/// True for EMFILE, ENFILE, ENOBUFS, ENOMEM (accept(2)); other errors concern that connection alone.
fn lacks_resources(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(24 | 23 | 105 | 55 | 12))
}

/// Answers 503 to a client without a seat, and waits until it has read that.
async fn refuse(stream: TcpStream, date: [u8; 29], record: Option<LogRecord>) -> io::Result<()> {
    let plan = service_unavailable("Service Unavailable: too many connections");
    send_single_response(stream, &plan, &date, record).await
}
