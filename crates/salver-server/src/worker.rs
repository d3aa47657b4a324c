//! One core's loop: accepts, serves, sweeps deadlines, drains.

use std::fs::File;
use std::io;
use std::net::{IpAddr, TcpListener as StdListener};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use salver_assets::ResponsePlan;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::LocalOptions;
use tokio::sync::watch;
use tokio::task::spawn_local;

use crate::clock;
use crate::closing::answer_and_close;
use crate::context::{Common, Context};
use crate::deadlines::SWEEP_INTERVAL;
use crate::entrance::Entrance;
use crate::http3::{Serving, Sockets};
use crate::listener::Kind;
use crate::shutdown::Stage;
use crate::turns;

/// How long accepting pauses when there is no descriptor for another connection.
const PAUSE: Duration = Duration::from_millis(20);

/// How long those who were let in last may take to say what they want: what they ask for is on its
/// way. From then on they are treated as the others.
const LAST_REQUESTS: Duration = Duration::from_millis(250);

/// Connections that are let in when a loop begins to drain, at most: what the kernel's queue holds.
const QUEUE: usize = 16 * 1024;

/// How often a draining loop looks whether it is done.
const DRAIN_INTERVAL: Duration = Duration::from_millis(10);

/// How long a client that finds no seat may take to read that.
const REFUSAL: Duration = Duration::from_secs(1);

/// Clients that are being told so at the same time; beyond, connections are just closed.
const REFUSALS: usize = 128;

/// Runs one loop on this thread until the server is drained. Calls `accepts` once it accepts
/// connections.
///
/// # Errors
/// If the loop cannot be set up.
pub(crate) fn run(
    listeners: Vec<(Kind, StdListener)>,
    quic: Option<Sockets>,
    common: Arc<Common>,
    stage: watch::Receiver<Stage>,
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
    listeners: Vec<(Kind, StdListener)>,
    quic: Option<Sockets>,
    common: Arc<Common>,
    mut stage: watch::Receiver<Stage>,
    accepts: impl FnOnce(),
) -> io::Result<()> {
    let context = Context::new(common);
    let mut accepting = Vec::new();
    let quic_port = quic.as_ref().and_then(Sockets::port);
    let quic = quic
        .map(|sockets| Serving::start(sockets, &context))
        .transpose()?;
    // One for all listeners of a kind, so that they share answers that stand ready.
    let mut entrances: Vec<(Kind, Entrance)> = Vec::new();
    for (kind, listener) in listeners {
        let found = entrances.iter().find(|(of, _)| *of == kind);
        let entrance = match found {
            Some((_, entrance)) => entrance.clone(),
            None => {
                let entrance = Entrance::new(kind, &context.common, quic_port)?;
                entrances.push((kind, entrance.clone()));
                entrance
            }
        };
        let door = Rc::new(Door {
            entrance,
            refusals: Rc::new(()),
        });
        let listener = Rc::new(TcpListener::from_std(listener)?);
        let task = accept(Rc::clone(&context), Rc::clone(&door), Rc::clone(&listener));
        let task = spawn_local(task);
        accepting.push((door, listener, task));
    }
    accepts();
    let mut sweep = tokio::time::interval(SWEEP_INTERVAL);
    while *stage.borrow_and_update() == Stage::Running {
        tokio::select! {
            changed = stage.changed() => if changed.is_err() { break },
            _ = sweep.tick() => {
                let now = Instant::now();
                context.deadlines.sweep(now);
                context.common.engine.sweep(now);
                context.scratch.borrow_mut().ready.sweep();
            }
        }
    }
    let began = Instant::now();
    let end = began + context.common.settings.grace;
    let last = context.for_the_last();
    for (door, listener, task) in accepting {
        task.abort();
        let _ = task.await;
        if let Some(listener) = Rc::into_inner(listener) {
            door.close(&last, listener);
        }
    }
    context.draining.set(true);
    context.deadlines.wake_all();
    while context.deadlines.len() > 0 && *stage.borrow() != Stage::Ended {
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

/// What becomes of who comes in at a listener.
struct Door {
    entrance: Entrance,
    /// One more for each client that is being told that there is no room.
    refusals: Rc<()>,
}

impl Door {
    fn let_in(&self, context: &Rc<Context>, stream: TcpStream, address: IpAddr) {
        let entrance = &self.entrance;
        match context.seat(address, entrance.carrier()) {
            Ok(seat) => {
                // Linux hands the listener's setting down; others do not.
                #[cfg(not(target_os = "linux"))]
                let _ = stream.set_nodelay(true);
                entrance.admit(context, stream, seat);
            }
            Err(why) => {
                context.common.say_no_seat(why);
                if entrance.speaks_plainly() && Rc::strong_count(&self.refusals) <= REFUSALS {
                    let refusals = Rc::clone(&self.refusals);
                    let date = context.clock.now().date.format();
                    spawn_local(async move {
                        let _one = refusals;
                        let _ = tokio::time::timeout(REFUSAL, refuse(stream, date)).await;
                    });
                }
            }
        }
    }

    /// Lets in who waits in the kernel's queue, and refuses all others from here on: the kernel
    /// resets connections that are in the queue when it goes.
    fn close(&self, context: &Rc<Context>, listener: TcpListener) {
        let Ok(listener) = listener.into_std() else {
            return;
        };
        for _ in 0..QUEUE {
            match listener.accept() {
                Ok((stream, peer)) => {
                    let usable = stream.set_nonblocking(true);
                    if let Ok(stream) = usable.and_then(|()| TcpStream::from_std(stream)) {
                        self.let_in(context, stream, peer.ip());
                    }
                }
                // The client went away before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => return,
            }
        }
    }
}

async fn accept(context: Rc<Context>, door: Rc<Door>, listener: Rc<TcpListener>) {
    let common = &context.common;
    // Given up for a moment when descriptors run out, so that a waiting client can be turned away
    // instead of being left hanging.
    let mut reserve = File::open("/dev/null").ok();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => door.let_in(&context, stream, peer.ip()),
            Err(error) if lacks_resources(&error) => {
                if common.said.descriptors_exhausted.permits(common.uptime()) {
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

/// EMFILE, ENFILE, ENOBUFS, ENOMEM (accept(2)); what else fails concerns that connection alone.
fn lacks_resources(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(24 | 23 | 105 | 55 | 12))
}

/// Says that there is no room, and waits until that has been read.
async fn refuse(stream: TcpStream, date: [u8; 29]) -> io::Result<()> {
    let more = vec![("Retry-After", bytes::Bytes::from_static(b"1"))];
    let plan = ResponsePlan::error(503, "Service Unavailable: too many connections", more);
    answer_and_close(stream, &plan, &date).await
}
