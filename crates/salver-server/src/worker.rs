//! The worker: the event loop of one core, which accepts, serves, sweeps deadlines and drains.

use std::io;
use std::net::TcpListener as StdListener;
use std::os::fd::AsFd;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::runtime::LocalOptions;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_local};

use crate::access_log::ended;
use crate::admission::{Admission, accept, accept_unix};
use crate::clock;
use crate::context::{Drain, Generation, WorkerContext};
use crate::deadlines::SWEEP_INTERVAL;
use crate::http3::{Http3Endpoints, NextHttp3, QuicSockets};
use crate::listener::{Listener, ListenerId, ListenerKind};
use crate::listener_service::ListenerService;
use crate::shutdown::ShutdownStage;
use crate::turns;
use crate::unix_socket::LoopSocket;
use crate::worker_message::{NextGeneration, WorkerMessage, WorkerSockets};

/// The time that the last connections admitted have for their first requests, which are on their way. From then on
/// they drain as the others.
const LAST_REQUESTS: Duration = Duration::from_millis(250);

/// The interval at which a draining loop checks if it is done.
const DRAIN_INTERVAL: Duration = Duration::from_millis(10);

/// The ends of a worker's links to the rest of the server.
pub(crate) struct WorkerLinks {
    pub(crate) messages: UnboundedReceiver<WorkerMessage>,
    pub(crate) stage: watch::Receiver<ShutdownStage>,
    /// A counter that grows while the loop runs.
    pub(crate) beat: Arc<AtomicU64>,
    /// Dropped when the loop no longer reads the sockets for HTTP/3.
    pub(crate) reads_datagrams: Sender<()>,
}

/// Runs one loop on this thread until the server is drained. Calls `accepts` once it accepts
/// connections.
pub(crate) fn run(
    first: NextGeneration,
    links: WorkerLinks,
    accepts: impl FnOnce(),
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_park(ended::make_lines)
        .on_thread_unpark(|| {
            clock::note_wait();
            turns::note_wait();
        })
        .build_local(LocalOptions::default())?;
    salver_os::become_event_loop();
    runtime.block_on(serve(first, links, accepts))
}

async fn serve(
    first: NextGeneration,
    links: WorkerLinks,
    accepts: impl FnOnce(),
) -> io::Result<()> {
    let WorkerLinks {
        mut messages,
        mut stage,
        beat,
        reads_datagrams,
    } = links;
    let context = WorkerContext::new(Arc::clone(&first.common))?;
    let mut worker = Worker::start(Prepared::new(first, context)?);
    accepts();
    let mut sweep = tokio::time::interval(SWEEP_INTERVAL);
    while *stage.borrow_and_update() == ShutdownStage::Running {
        tokio::select! {
            changed = stage.changed() => if changed.is_err() { break },
            Some(message) = messages.recv() => worker.handle(message).await,
            due = sweep.tick() => {
                beat.fetch_add(1, Ordering::Relaxed);
                worker.sweep(due.into_std());
            }
        }
    }
    let hands_over = *stage.borrow() == ShutdownStage::HandingOver;
    let context = Rc::clone(&worker.generation.context);
    let began = Instant::now();
    let end = began + context.common.settings.grace;
    // Another process accepts by the same sockets; what has been accepted is answered here.
    let last = match hands_over {
        true => Rc::clone(&context),
        false => context.for_last_connections(),
    };
    worker.unix.clear();
    for accepting in std::mem::take(&mut worker.accepting) {
        accepting.end(&last).await;
    }
    let mut drain = match hands_over {
        true => Drain::AfterAnswers,
        false => Drain::Now,
    };
    worker.drain(drain);
    if hands_over {
        worker.http3.leave_new_connections();
    }
    let mut reads_datagrams = Some(reads_datagrams);
    while context.deadlines.len() > 0 && *stage.borrow() != ShutdownStage::Ended {
        let now = Instant::now();
        if now >= end {
            match context.deadlines.len() {
                1 => tracing::warn!("1 connection did not end in time"),
                many => tracing::warn!("{many} connections did not end in time"),
            }
            break;
        }
        // Whoever asked for nothing until then is told.
        let is_late = now + LAST_REQUESTS >= end || *stage.borrow() == ShutdownStage::Draining;
        if drain != Drain::Now && is_late {
            drain = Drain::Now;
            worker.drain(drain);
        }
        if !hands_over
            && now >= began + LAST_REQUESTS
            && last.drain.replace(Drain::Now) == Drain::No
        {
            context.deadlines.wake_all();
        }
        if hands_over && reads_datagrams.is_some() && worker.http3.are_idle() {
            worker.http3.end().await;
            reads_datagrams = None;
        }
        beat.fetch_add(1, Ordering::Relaxed);
        context.deadlines.sweep(now);
        tokio::time::sleep(DRAIN_INTERVAL).await;
    }
    worker.http3.end().await;
    Ok(())
}

/// A worker that runs.
struct Worker {
    generation: Rc<Generation>,
    /// The contexts of older generations that some connection still has.
    older: Vec<Weak<WorkerContext>>,
    accepting: Vec<Accepting>,
    /// The Unix sockets, if this worker is the one that has them.
    unix: Vec<AcceptingUnix>,
    http3: Http3Endpoints,
    /// The generation that may come next.
    prepared: Option<Prepared>,
}

/// A generation with everything that it needs of the system.
struct Prepared {
    generation: Rc<Generation>,
    /// The service of each listener.
    services: Vec<(ListenerId, ListenerService)>,
    /// The listeners that are new.
    listeners: Vec<(ListenerId, Rc<TcpListener>)>,
    /// The Unix sockets, if they are new.
    unix: Vec<Rc<LoopSocket>>,
    http3: NextHttp3,
}

impl Prepared {
    /// What there is to be for the next generation, whose context is this.
    ///
    /// # Errors
    /// A socket cannot be watched, or TLS is not possible by these settings.
    fn new(next: NextGeneration, context: Rc<WorkerContext>) -> io::Result<Self> {
        let quic_port = next.quic.as_ref().map(QuicSockets::port);
        // One for all listeners of a kind, so that they share rendered responses.
        let mut kinds: Vec<(ListenerKind, ListenerService)> = Vec::new();
        let (mut services, mut fields) = (Vec::new(), Vec::new());
        let has_unix = !next.common.settings.unix_sockets.is_empty();
        let unix = has_unix.then_some((ListenerId::UNIX, ListenerKind::Plain));
        let over_ip = next.listeners.iter();
        let over_ip = over_ip.map(|Listener { id, kind, .. }| (*id, *kind));
        for (id, kind) in over_ip.chain(unix) {
            let found = kinds.iter().find(|(of, _)| *of == kind);
            let service = match found {
                Some((_, service)) => service.clone(),
                None => {
                    let service = ListenerService::new(kind, &context.common, quic_port)?;
                    kinds.push((kind, service.clone()));
                    service
                }
            };
            let of_service = service.fields();
            fields.extend(of_service.map(|(tls, of)| (id, tls, Rc::clone(of))));
            services.push((id, service));
        }
        let open = |(id, listener)| Ok((id, Rc::new(TcpListener::from_std(listener)?)));
        let listeners = next.sockets.into_iter().map(open);
        let unix = next.unix.into_iter();
        let unix = unix.map(|socket| Ok(Rc::new(socket.on_loop()?)));
        let leaving = context.for_last_connections();
        leaving.drain.set(Drain::AfterAnswers);
        Ok(Prepared {
            listeners: listeners.collect::<io::Result<_>>()?,
            unix: unix.collect::<io::Result<_>>()?,
            http3: NextHttp3::open(next.quic, next.datagrams_are_awaited)?,
            services,
            generation: Rc::new(Generation {
                context,
                leaving,
                listeners: fields,
            }),
        })
    }
}

impl Worker {
    /// Serves by the first generation.
    fn start(prepared: Prepared) -> Self {
        let mut worker = Worker {
            generation: Rc::clone(&prepared.generation),
            older: Vec::new(),
            accepting: Vec::new(),
            unix: Vec::new(),
            http3: Http3Endpoints::default(),
            prepared: None,
        };
        worker.accept_by(prepared, Vec::new());
        worker
    }

    /// Accepts by this generation, at its new listeners and these.
    fn accept_by(&mut self, prepared: Prepared, kept: Vec<(ListenerId, Rc<TcpListener>)>) {
        let Prepared {
            generation,
            services,
            listeners,
            unix,
            http3,
        } = prepared;
        let kept_unix = std::mem::take(&mut self.unix).into_iter();
        let kept_unix = kept_unix.map(|accepting| Rc::clone(&accepting.socket));
        let of_unix = services.iter().find(|(id, _)| *id == ListenerId::UNIX);
        if let Some((id, service)) = of_unix {
            let admission = Admission::new(*id, service);
            let sockets = kept_unix.chain(unix);
            let start = |socket| AcceptingUnix::start(&generation.context, &admission, socket);
            self.unix = sockets.map(start).collect();
        }
        for (id, listener) in kept.into_iter().chain(listeners) {
            let mut services = services.iter();
            if let Some((_, service)) = services.find(|(of, _)| *of == id) {
                let accepting = Accepting::start(&generation.context, id, service, listener);
                self.accepting.push(accepting);
            }
        }
        generation.context.current().set(&generation);
        self.http3.serve(http3, &generation);
        self.generation = generation;
    }

    /// Does what is done at times; this time it was `due` then.
    fn sweep(&self, due: Instant) {
        let (context, now) = (&self.generation.context, Instant::now());
        if let Some(metrics) = context.log.as_ref().and_then(|log| log.metrics()) {
            metrics.tick(now.saturating_duration_since(due));
        }
        context.deadlines.sweep(now);
        context.common.sites.first().sweep(now);
        context.scratch.borrow_mut().rendered_responses.sweep();
    }

    async fn handle(&mut self, message: WorkerMessage) {
        match message {
            WorkerMessage::Prepare(next, done) => {
                let context = self.generation.context.next(Arc::clone(&next.common));
                let prepared = context.and_then(|context| Prepared::new(*next, context));
                let result = prepared.map(|prepared| self.prepared = Some(prepared));
                let _ = done.send(result);
            }
            WorkerMessage::Commit(done) => {
                if let Some(prepared) = self.prepared.take() {
                    self.change_to(prepared).await;
                }
                let _ = done.send(Ok(()));
            }
            WorkerMessage::Abort => self.prepared = None,
            WorkerMessage::Duplicate(to) => {
                let _ = to.send(self.sockets());
            }
            WorkerMessage::TakeDatagrams => {
                if let Err(error) = self.http3.take_datagrams() {
                    tracing::error!("HTTP/3 is not served: {error}");
                }
            }
        }
    }

    /// Serves by this generation from now on: new connections at once, the others from their next request on.
    async fn change_to(&mut self, prepared: Prepared) {
        let (mut kept, mut gone) = (Vec::new(), Vec::new());
        for accepting in std::mem::take(&mut self.accepting) {
            let stays = prepared.services.iter().any(|(id, _)| *id == accepting.id);
            match stays {
                true => kept.push((accepting.id, accepting.stop().await)),
                false => gone.push(accepting),
            }
        }
        let before = Rc::clone(&self.generation);
        self.older.retain(|context| context.strong_count() > 0);
        self.older.push(Rc::downgrade(&before.context));
        self.older.push(Rc::downgrade(&before.leaving));
        self.accept_by(prepared, kept);
        before.context.superseded.set(true);
        before.leaving.superseded.set(true);
        for accepting in gone {
            accepting.end(&self.generation.leaving).await;
        }
        // So that those that wait let go of what was before.
        self.generation.context.deadlines.wake_all();
    }

    /// Has the connections of all generations end.
    fn drain(&self, drain: Drain) {
        self.generation.context.drain.set(drain);
        self.generation.leaving.drain.set(drain);
        for context in self.older.iter().filter_map(Weak::upgrade) {
            context.drain.set(drain);
        }
        self.generation.context.deadlines.wake_all();
    }

    /// Duplicates of the sockets, for another process.
    fn sockets(&self) -> io::Result<WorkerSockets> {
        let duplicate = |accepting: &Accepting| {
            let socket = accepting.listener.as_fd().try_clone_to_owned()?;
            Ok((accepting.id, StdListener::from(socket)))
        };
        let listeners = self.accepting.iter().map(duplicate);
        let unix = self.unix.iter();
        let unix = unix.map(|accepting| accepting.socket.duplicate());
        Ok(WorkerSockets {
            listeners: listeners.collect::<io::Result<_>>()?,
            datagrams: self.http3.sockets()?,
            unix: unix.collect::<io::Result<_>>()?,
        })
    }
}

/// A listener, and the task that accepts its connections.
struct Accepting {
    id: ListenerId,
    listener: Rc<TcpListener>,
    admission: Rc<Admission>,
    task: JoinHandle<()>,
}

impl Accepting {
    fn start(
        context: &Rc<WorkerContext>,
        id: ListenerId,
        service: &ListenerService,
        listener: Rc<TcpListener>,
    ) -> Self {
        let admission = Rc::new(Admission::new(id, service));
        let task = accept(
            Rc::clone(context),
            Rc::clone(&admission),
            Rc::clone(&listener),
        );
        Accepting {
            id,
            listener,
            admission,
            task: spawn_local(task),
        }
    }

    /// Stops accepting; connections wait in the kernel's queue.
    async fn stop(self) -> Rc<TcpListener> {
        self.task.abort();
        let _ = self.task.await;
        self.listener
    }

    /// Stops accepting for good, and admits to this context who waits already.
    async fn end(self, last: &Rc<WorkerContext>) {
        let admission = Rc::clone(&self.admission);
        if let Some(listener) = Rc::into_inner(self.stop().await) {
            admission.admit_queued(last, listener);
        }
    }
}

/// A Unix socket, and the task that accepts its connections, which ends with this.
struct AcceptingUnix {
    socket: Rc<LoopSocket>,
    task: JoinHandle<()>,
}

impl AcceptingUnix {
    fn start(context: &Rc<WorkerContext>, admission: &Admission, socket: Rc<LoopSocket>) -> Self {
        let task = accept_unix(Rc::clone(context), admission.clone(), Rc::clone(&socket));
        AcceptingUnix {
            socket,
            task: spawn_local(task),
        }
    }
}

impl Drop for AcceptingUnix {
    fn drop(&mut self) {
        self.task.abort();
    }
}
