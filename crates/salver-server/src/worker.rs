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
use crate::seats::{Carrier, NoSeat, Seat};
use crate::shutdown::Stage;

/// How long accepting pauses when there is no descriptor for another connection.
const PAUSE: Duration = Duration::from_millis(20);

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
        .on_thread_unpark(clock::note_wait)
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
        let listener = TcpListener::from_std(listener)?;
        accepting.push(spawn_local(accept(Rc::clone(&context), listener, entrance)));
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
    for task in accepting {
        // The listener goes with its task: new connections are refused from here on.
        task.abort();
    }
    context.draining.set(true);
    context.deadlines.wake_all();
    let end = Instant::now() + context.common.settings.grace;
    while context.deadlines.len() > 0 && *stage.borrow() != Stage::Ended {
        let now = Instant::now();
        if now >= end {
            tracing::warn!(
                "{} connections did not end in time",
                context.deadlines.len()
            );
            break;
        }
        context.deadlines.sweep(now);
        tokio::time::sleep(DRAIN_INTERVAL).await;
    }
    if let Some(quic) = quic {
        quic.end().await;
    }
    Ok(())
}

async fn accept(context: Rc<Context>, listener: TcpListener, entrance: Entrance) {
    let common = Arc::clone(&context.common);
    let refusals = Rc::new(());
    // Given up for a moment when descriptors run out, so that a waiting client can be turned away
    // instead of being left hanging.
    let mut reserve = File::open("/dev/null").ok();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => match seat(&context, peer.ip(), entrance.carrier()) {
                Ok(seat) => {
                    // Linux hands the listener's setting down; others do not.
                    #[cfg(not(target_os = "linux"))]
                    let _ = stream.set_nodelay(true);
                    entrance.admit(&context, stream, seat);
                }
                Err(why) => {
                    common.say_no_seat(why);
                    if entrance.speaks_plainly() && Rc::strong_count(&refusals) <= REFUSALS {
                        let refusals = Rc::clone(&refusals);
                        let date = context.clock.now().date.format();
                        spawn_local(async move {
                            let _one = refusals;
                            let _ = tokio::time::timeout(REFUSAL, refuse(stream, date)).await;
                        });
                    }
                }
            },
            Err(error) if lacks_resources(&error) => {
                if common.said.descriptors_exhausted.now(common.uptime()) {
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

/// A seat for a client at `address`. Where all are taken, the connection that has waited longest for its
/// client makes room: it ends before this one is served.
///
/// # Errors
/// Why there is none.
pub(crate) fn seat(context: &Context, address: IpAddr, carrier: Carrier) -> Result<Seat, NoSeat> {
    let seats = &context.common.seats;
    match seats.take(address, carrier, false) {
        Err(NoSeat::Full) if context.deadlines.make_room(Instant::now()) => {
            seats.take(address, carrier, true)
        }
        taken => taken,
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
    answer_and_close(stream, &plan, &date, true).await
}
