//! The server: who accepts connections, until it ends.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::sync::{Notify, watch};

use crate::live_reload::LiveReload;
use crate::portable::connection::Connection;
use crate::portable::listeners::Service;
use crate::portable::passwords::Passwords;
use crate::portable::request_log::RequestLog;
use crate::portable::seats::Seats;
use crate::portable::shared::Shared;
use crate::portable::sites::{Sites, hsts};
use crate::portable::tls::Tls;
use crate::settings::Limits;

/// The most bytes of the head of a request.
const HEAD: usize = 64 * 1024;

/// Requests of one connection of HTTP/2 that are under way at once.
const STREAMS: u32 = 128;

/// The time after which a listener is asked again that had no descriptor for a connection.
const AGAIN: Duration = Duration::from_millis(100);

/// Serves until `end` is notified; then answers under way are finished, for as long as the limits say or until it is
/// notified once more.
///
/// # Errors
/// A socket that the runtime cannot have, or no thread.
pub(crate) async fn serve(
    listeners: Vec<(TcpListener, Service)>,
    sites: Arc<Sites>,
    limits: Limits,
    tls: Option<Tls>,
    log: Option<RequestLog>,
    live_reload: Option<LiveReload>,
    end: &Notify,
) -> io::Result<()> {
    let _watch = tls.as_ref().map(Tls::watch).transpose()?;
    let (ends, ending) = watch::channel(false);
    let shared = Arc::new(Shared {
        sites,
        seats: Seats::new(limits.max_connections, limits.max_connections_per_client),
        builder: builder(&limits),
        log: log.map(Arc::new),
        cache_status: limits.cache_status,
        limits,
        hsts: tls.as_ref().and_then(|tls| tls.hsts).and_then(hsts),
        tls,
        passwords: Passwords::new(),
        live_reload,
        ending,
    });
    let graceful = Arc::new(GracefulShutdown::new());
    let mut accepting = tokio::task::JoinSet::new();
    for (listener, service) in listeners {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let (shared, graceful) = (Arc::clone(&shared), Arc::clone(&graceful));
        accepting.spawn(accept(listener, service, shared, graceful));
    }
    end.notified().await;
    accepting.shutdown().await;
    let _ = ends.send(true);
    if let Some(live_reload) = &shared.live_reload {
        live_reload.end();
    }
    let Some(graceful) = Arc::into_inner(graceful) else {
        return Ok(());
    };
    tokio::select! {
        () = graceful.shutdown() => {}
        () = tokio::time::sleep(shared.limits.drain) => {}
        () = end.notified() => {}
    }
    Ok(())
}

fn builder(limits: &Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder = match (limits.http1, limits.http2) {
        (true, false) => builder.http1_only(),
        (false, true) => builder.http2_only(),
        _ => builder,
    };
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_buf_size(HEAD)
        .half_close(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(u32::try_from(HEAD).unwrap_or(u32::MAX));
    builder
}

async fn accept(
    listener: tokio::net::TcpListener,
    service: Service,
    shared: Arc<Shared>,
    graceful: Arc<GracefulShutdown>,
) {
    while let Some(place) = shared.seats.place().await {
        let (stream, client) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // A client that has gone, or no descriptor: neither ends the server.
                tracing::warn!("a connection was not accepted: {error}");
                tokio::time::sleep(AGAIN).await;
                continue;
            }
        };
        if let Some(seat) = shared.seats.take(client.ip(), place) {
            let connection =
                Connection::new(Arc::clone(&shared), seat, graceful.watcher(), client.ip());
            tokio::spawn(connection.serve(stream, service));
        }
    }
}
